// Package othercron owns the files shared with other crons of the host, such as Debian's, so that
// only one of them runs at a time and no @reboot entry runs twice after a boot. When cronring
// replaces another cron, a file also has the time when that one stopped.
package othercron

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/filelock"
)

// PIDFile is the file that Debian's cron and cronie lock, so that a host runs only one cron.
const PIDFile = "/run/crond.pid"

// rebootMarks are the files that Debian's cron and cronie create when they have run the @reboot
// entries of this boot.
var rebootMarks = []string{"/run/crond.reboot", "/run/cron.reboot"}

// ownSign follows our number in PIDFile: no other cron writes a space there, and programs that read
// a number skip it.
const ownSign = " \n"

// Lock takes the lock of all crons, in both ways: Debian's takes it with flock, cronie with
// fcntl. It is held until the file is closed. Closing any descriptor of the file releases fcntl's
// lock, so no other function in this process may open it. relieves reports whether another cron had
// the lock last.
//
// Users cannot open the file: a lock that one of them holds would keep the daemon from starting. Other crons
// leave it open to them.
func Lock(root string) (lock *os.File, relieves bool, err error) {
	path := filepath.Join(root, PIDFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("open lock of all crons: %w", err)
	}
	_ = f.Chmod(0o600) // fails if the file belongs to another user, who runs this cron then
	if err := filelock.Lock(f, func() error { return lockBoth(f) }); err != nil {
		other, own := lockHolder(f), strings.HasSuffix(heldBy(f), ownSign)
		f.Close()
		switch taken := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES); {
		case taken && own:
			return nil, false, fmt.Errorf("cronringd already runs on this host (%s): every job would run twice; see cronring status, or stop it first: systemctl stop cronring", other)
		case taken:
			return nil, false, fmt.Errorf("another cron runs on this host (%s): every job would run twice; stop it first, for instance: systemctl disable --now cron", other)
		}
		return nil, false, fmt.Errorf("lock %s: %w", path, err)
	}
	last := heldBy(f)
	return f, last != "" && !strings.HasSuffix(last, ownSign), writePID(f)
}

func lockBoth(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	return unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
}

// heldBy returns what the last holder of the lock wrote into its file.
func heldBy(f *os.File) string {
	text := make([]byte, 32)
	n, _ := f.ReadAt(text, 0) // an empty file names no holder
	return string(text[:n])
}

// lockHolder describes the process that holds the lock. The number in the file
// may be of a process that has ended.
func lockHolder(f *os.File) string {
	who, ok := filelock.Of(f)
	if !ok {
		return "it holds " + f.Name()
	}
	return fmt.Sprintf("%v holds %s", who, f.Name())
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+ownSign), 0); err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return nil
}

// BootIsMarked reports whether a cron has run the @reboot entries of this boot.
func BootIsMarked(root string) bool {
	return slices.ContainsFunc(rebootMarks, func(mark string) bool {
		_, err := os.Lstat(filepath.Join(root, mark))
		return err == nil
	})
}

// MarkBoot leaves the marks that keep all crons from running the @reboot entries of
// this boot again.
func MarkBoot(root string) error {
	var errs []error
	for _, mark := range rebootMarks {
		f, err := os.OpenFile(filepath.Join(root, mark), os.O_RDONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0)
		switch {
		case errors.Is(err, fs.ErrExist):
		case err != nil:
			errs = append(errs, fmt.Errorf("mark this boot: %w", err))
		default:
			f.Close()
		}
	}
	return errors.Join(errs...)
}

// TakeSince returns until when another cron ran the crontabs, or zero. The installation of cronring
// records it as the time of a file in the state directory. It counts once.
func TakeSince(state string) time.Time {
	mark := filepath.Join(state, "since")
	info, err := os.Lstat(mark)
	if err != nil || os.Remove(mark) != nil {
		return time.Time{}
	}
	return info.ModTime()
}
