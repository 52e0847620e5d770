package spool

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
)

// tempPrefix begins the names of crontabs that are being written. Both families
// pass over names that begin with a dot, and so does this daemon.
const tempPrefix = ".cronring-"

// UserCrontab returns the path of the crontab of a user. A user whose name is not a valid file name,
// or one that cron would ignore, has none.
func (p Paths) UserCrontab(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/\x00\n") || cronieIgnores(name) != "" {
		return "", fmt.Errorf("name the crontab of %q: no crontab can have that name", name)
	}
	return filepath.Join(p.Users, name), nil
}

// ReadCrontab reads the crontab of a user from the disk; the error is fs.ErrNotExist if there is
// none. It reads nothing that the user could have planted to see another user's file: no link, and
// no file of a third user or with a second name.
func (p Paths) ReadCrontab(who account.Account) (string, error) {
	path, err := p.UserCrontab(who.Name)
	if err != nil {
		return "", err
	}
	dir, err := openDirectory(p.Users)
	if err != nil {
		return "", fmt.Errorf("open spool: %w", err)
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, who.Name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return "", fmt.Errorf("read %s: it is %s, not a regular file", path, typeName(uint32(st.Mode)))
	case st.Uid != who.UID && st.Uid != uint32(os.Geteuid()):
		return "", fmt.Errorf("read %s: it belongs to %s", path, uid(st.Uid))
	case st.Nlink != 1:
		return "", fmt.Errorf("read %s: it has %d names", path, st.Nlink)
	case st.Size > crontab.MaxText+headerRoom:
		return "", fmt.Errorf("read %s: it has more than 16 MiB", path)
	}
	var b strings.Builder
	b.Grow(int(st.Size))
	_, err = io.Copy(&b, io.LimitReader(f, crontab.MaxText+headerRoom))
	return b.String(), err
}

// NoCrontab is the sum of a crontab that is not there.
const NoCrontab = "none"

// Sum returns the checksum of a version of a crontab, which depends only on its owner's text.
func Sum(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// headerRoom is more than a header takes.
const headerRoom = 1 << 10

// Install writes text as the crontab of a user. At every moment the crontab is either the old one
// or the new one; after an error it is the old one, unless the error is that of "sync directory". A
// link or another unexpected file in its place is replaced, not followed. If the spool is missing,
// Install makes it, with the permissions that the family's cron uses.
func Install(p Paths, who account.Account, text string) error {
	if _, err := p.UserCrontab(who.Name); err != nil {
		return err
	}
	group, shared := p.group()
	dir, err := openDirectory(p.Users)
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = makeSpool(p.Users, group, shared)
	}
	if err != nil {
		return fmt.Errorf("open spool: %w", err)
	}
	defer unix.Close(dir)
	if !shared {
		group = int(who.GID)
	}
	if err := put(dir, who.Name, text, int(who.UID), group, 0o600); err != nil {
		return fmt.Errorf("install crontab of %s: %w", who.Name, err)
	}
	return nil
}

// Remove removes the crontab of an account; fs.ErrNotExist when there is none.
func Remove(p Paths, who account.Account) error {
	if _, err := p.UserCrontab(who.Name); err != nil {
		return err
	}
	return withdraw(p.Users, who.Name)
}

// Restore writes a system crontab. Its owner and mode stay; a new one is root's, readable for all.
// It refuses a symbolic link, because other programs may use the target.
func Restore(p Paths, path, text string) error {
	dir, name, err := p.systemCrontab(path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return rewrite(dir, name, path, text)
}

// Overwrite writes a crontab that the daemon was given by name, as Restore does.
func Overwrite(path, text string) error {
	dir, err := openDirectory(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return rewrite(dir, filepath.Base(path), path, text)
}

func rewrite(dir int, name, path, text string) error {
	owner, group, mode := os.Geteuid(), os.Getegid(), uint32(0o644)
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("write %s: it is not a regular file", path)
	case err == nil:
		owner, group, mode = int(st.Uid), int(st.Gid), uint32(st.Mode&0o7777)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := put(dir, name, text, owner, group, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Withdraw removes a system crontab; fs.ErrNotExist when there is none.
func Withdraw(p Paths, path string) error {
	dir, name, err := p.systemCrontab(path)
	if err != nil {
		return err
	}
	unix.Close(dir)
	return withdraw(filepath.Dir(path), name)
}

// systemCrontab opens the directory of a crontab that root keeps. Any other path
// is refused.
func (p Paths) systemCrontab(path string) (dir int, name string, err error) {
	if !p.IsSystemCrontab(path) {
		return -1, "", fmt.Errorf("write %s: it is not a system crontab", path)
	}
	dir, err = openDirectory(filepath.Dir(path))
	return dir, filepath.Base(path), err
}

// IsSystemCrontab reports whether path is the place of a crontab of root.
func (p Paths) IsSystemCrontab(path string) bool {
	kind, _ := p.kindOf(path)
	return path == filepath.Clean(path) && (kind == systemCrontab || kind == anacrontab)
}

// IsUserCrontab reports whether path is in the spool, and whose crontab it is.
func (p Paths) IsUserCrontab(path string) (name string, ok bool) {
	kind, name := p.kindOf(path)
	return name, kind == userCrontab
}

func withdraw(path, name string) error {
	dir, err := openDirectory(path)
	if err != nil {
		return fmt.Errorf("open spool: %w", err)
	}
	defer unix.Close(dir)
	if err := unix.Unlinkat(dir, name, 0); err != nil {
		return &fs.PathError{Op: "remove", Path: filepath.Join(path, name), Err: err}
	}
	return seal(dir)
}

// group is the group that the spool's crontabs share; without one each has its
// owner's.
func (p Paths) group() (gid int, shared bool) {
	if p.Group == "" {
		return 0, false
	}
	g, err := user.LookupGroup(p.Group)
	if err != nil {
		return 0, false
	}
	gid, err = strconv.Atoi(g.Gid)
	return gid, err == nil
}

func openDirectory(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// makeSpool makes the directory of users' crontabs: where crontabs have a group of
// their own, its members may add and find names but not list them, and the
// sticky bit keeps them from each other's.
func makeSpool(path string, group int, shared bool) (int, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return -1, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return -1, err
	}
	dir, err := openDirectory(path)
	if err != nil || !shared {
		return dir, err
	}
	err = unix.Fchown(dir, -1, group)
	if err == nil {
		err = unix.Fchmod(dir, 0o1730)
	}
	if err != nil {
		unix.Close(dir)
		return -1, &fs.PathError{Op: "make", Path: path, Err: err}
	}
	return dir, nil
}

// put writes a file under a temporary name, to disk, and then renames it.
func put(dir int, name, text string, uid, gid int, mode uint32) error {
	temp := tempPrefix + rand.Text()
	fd, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("make temporary file: %w", err)
	}
	f := os.NewFile(uintptr(fd), temp)
	err = fill(f, text, uid, gid, mode)
	if err = errors.Join(err, f.Close()); err == nil {
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		return errors.Join(err, unix.Unlinkat(dir, temp, 0))
	}
	return seal(dir)
}

// fill sets the owner before the mode, because a change of the owner may clear bits of the mode.
func fill(f *os.File, text string, uid, gid int, mode uint32) error {
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	if err := f.Chown(uid, gid); err != nil {
		return err
	}
	if err := unix.Fchmod(int(f.Fd()), mode); err != nil {
		return err
	}
	return f.Sync()
}

// seal makes a change of names last, and shows it to crons that look at the
// directory's time alone.
func seal(dir int) error {
	now := unix.NsecToTimespec(time.Now().UnixNano())
	_ = unix.UtimesNanoAt(dir, ".", []unix.Timespec{now, now}, 0) // the rename has done as much already
	if err := unix.Fsync(dir); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
