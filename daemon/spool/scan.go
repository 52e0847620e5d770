package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// fingerprint holds the properties of an inode that change with the file. The change time cannot be set
// by users, so an edit that restores size and modification time is still detected.
type fingerprint struct {
	dev, ino     uint64
	mode, uid    uint32
	links        uint64
	size         int64
	mtime, ctime int64 // nanoseconds
}

func fingerprintOf(st *unix.Stat_t) fingerprint {
	return fingerprint{
		dev: uint64(st.Dev), ino: st.Ino, mode: uint32(st.Mode), uid: st.Uid, links: uint64(st.Nlink), size: st.Size,
		mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(),
	}
}

func (s fingerprint) isLink() bool { return s.mode&unix.S_IFMT == unix.S_IFLNK }

// pathFingerprint holds the fingerprint of a path, and of its target if it is a symbolic link.
type pathFingerprint struct{ self, target fingerprint }

// lookAt looks at a name in an open directory, or at a path with unix.AT_FDCWD.
// What a broken link leads to has the zero shape.
func lookAt(dir int, name string) (pathFingerprint, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return pathFingerprint{}, err
	}
	l := pathFingerprint{self: fingerprintOf(&st)}
	if l.self.isLink() && unix.Fstatat(dir, name, &st, 0) == nil {
		l.target = fingerprintOf(&st)
	}
	return l, nil
}

// saved returns when the file was changed, or put in its place.
func (l pathFingerprint) saved() time.Time { return time.Unix(0, max(l.self.ctime, l.target.ctime)) }

// freshness is how old a change must be so that the next one certainly has another time: clocks of
// file systems tick every few milliseconds, or every two seconds.
const freshness = 2 * time.Second

// fresh reports whether the next change may leave the same look. A change that
// lies well ahead was made before the clock was set back: the next one will
// have an earlier time.
func (l pathFingerprint) fresh(now time.Time, within time.Duration) bool {
	near := func(ctime int64) bool {
		age := now.UnixNano() - ctime
		return age < int64(within) && -age < int64(within)
	}
	return near(l.self.ctime) || near(l.target.ctime)
}

// found is a file that a scan came across.
type found struct {
	candidate
	look pathFingerprint
}

// placeholder keeps dpkg from deleting an empty directory. Every Debian host has it, so it is not
// reported.
const placeholder = ".placeholder"

// scanned is the result of a scan of the host's directories.
type scanned struct {
	found   []found
	ignored []Ignored
	failed  []*Refusal // directories that could not be listed
}

// file checks one file that may be missing.
func (s *scanned) file(c candidate, t trust) {
	l, err := lookAt(unix.AT_FDCWD, c.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR):
	case err != nil:
		s.failed = append(s.failed, t.refusal(&facts{candidate: c, err: pathError("lstat", c.path, err)}, CodeOpen, "CAN'T OPEN", "CAN'T OPEN", "it cannot be looked at: "+Reason(err), ""))
	default:
		s.found = append(s.found, found{c, l})
	}
}

// directory looks at all files of a directory, in the order of their names. A
// directory that is not there is empty.
func (s *scanned) directory(k kind, path string, t trust, lsb bool) {
	dir, names, err := list(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		s.failed = append(s.failed, unlisted(path, err))
		return
	}
	defer dir.Close()
	fd := int(dir.Fd())
	prefix := path + "/"
	s.found = slices.Grow(s.found, len(names))
	for _, name := range names {
		if why := ignore(k, t.family, lsb, name); why != "" {
			if name != placeholder {
				s.ignored = append(s.ignored, Ignored{prefix + name, why})
			}
			continue
		}
		l, err := lookAt(fd, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// Any other trouble shows again, and with words, when it is opened.
		s.found = append(s.found, found{candidate{k, prefix + name, name}, l})
	}
}

func list(path string) (*os.File, []string, error) {
	fd, err := openRetry(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return nil, nil, pathError("open", path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	names, err := dir.Readdirnames(-1)
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	slices.Sort(names)
	return dir, names, nil
}

// unlisted is the refusal of a whole directory. What its files said before
// stays loaded.
func unlisted(path string, err error) *Refusal {
	fix := ""
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		fix = "ask as root"
	}
	return &Refusal{
		Path: path, Who: "CRON", Code: CodeDirectory, Word: "OPENDIR FAILED", Kept: true,
		Why: "the directory cannot be listed: " + Reason(err), Fix: fix,
		Log: logLine("CRON", "OPENDIR FAILED", path),
	}
}

// regular reports whether what is looked at is a regular file in the end.
func (l pathFingerprint) regular() bool {
	end := l.self
	if end.isLink() {
		end = l.target
	}
	return end.mode&unix.S_IFMT == unix.S_IFREG
}

// leadsTo returns the target of a symbolic link, even if it does not exist, or "" if path is not a
// link.
func leadsTo(path string, l pathFingerprint) string {
	if !l.self.isLink() {
		return ""
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	target, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return filepath.Clean(target)
}
