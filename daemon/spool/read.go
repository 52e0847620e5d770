package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
)

// Read reads a crontab that a person named into one string, in one allocation for a regular file. It
// waits for the end of a pipe, such as <(command) of a shell: atomicfile.ReadRegular reads all others.
// Of a file that is larger than any crontab may be it reads just enough for
// crontab.Parse to see that.
func Read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readAll(f)
}

// isNamedPipe reports whether path leads to a named pipe, which blocks until a program opens it for
// writing. A shell's <(command) is a pipe without a name.
func isNamedPipe(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return false
	}
	_, err = filepath.EvalSymlinks(path)
	return err == nil
}

func readAll(f *os.File) (string, error) {
	var b strings.Builder
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		b.Grow(int(min(info.Size(), crontab.MaxText)))
	}
	_, err := io.Copy(&b, io.LimitReader(f, crontab.MaxText+1))
	return b.String(), err
}

// load checks a file and reads it. It reads from the descriptor that was checked, so that the file
// cannot be replaced in between.
func (t trust) load(c candidate, who *account.Account, unknown error) (string, *Refusal) {
	f := &facts{candidate: c, account: who, unknown: unknown}
	opened := t.open(f)
	if opened != nil {
		defer opened.Close()
	}
	if r := t.refuse(f); r != nil {
		return "", r
	}
	text, err := readAll(opened)
	switch {
	case err != nil:
		f.err = err
		return "", t.refuse(f)
	case len(text) > crontab.MaxText:
		f.file.Size = int64(len(text)) // it grew meanwhile
		return "", t.refuse(f)
	}
	return text, nil
}

// open opens the file and fills in its facts. It returns nil if there is nothing to read.
//
// A file that is not regular is not opened at all, because opening a device may have effects. If it
// replaces a regular file just then, O_NONBLOCK keeps a pipe or a lease from blocking the daemon.
func (t trust) open(f *facts) *os.File {
	if f.kind == userCrontab && f.account == nil {
		return nil
	}
	var st unix.Stat_t
	if f.err = pathError("lstat", f.path, unix.Lstat(f.path, &st)); f.err != nil {
		return nil
	}
	flags := unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		link := st
		f.link = &link
		if t.family == crontab.Debian && f.kind == userCrontab && !t.permissive {
			f.err = pathError("open", f.path, unix.ELOOP)
			return nil
		}
		if f.err = pathError("stat", f.path, unix.Stat(f.path, &st)); f.err != nil {
			return nil
		}
	} else {
		flags |= unix.O_NOFOLLOW
	}
	switch f.file = st; st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFSOCK:
		f.err = pathError("open", f.path, unix.ENXIO) // what cron comes to before it sees the type
		return nil
	default:
		return nil
	}
	fd, err := openRetry(f.path, flags)
	if f.err = pathError("open", f.path, err); f.err != nil {
		return nil
	}
	opened := os.NewFile(uintptr(fd), f.path)
	f.err = pathError("fstat", f.path, unix.Fstat(fd, &f.file))
	if f.err == nil && f.link != nil {
		f.err = sameLink(f)
	}
	if f.err != nil {
		opened.Close()
		return nil
	}
	return opened
}

// sameLink ensures that the link whose owner is checked is the one that was followed.
func sameLink(f *facts) error {
	var st unix.Stat_t
	if err := unix.Lstat(f.path, &st); err != nil {
		return pathError("lstat", f.path, err)
	}
	if fingerprintOf(&st) != fingerprintOf(f.link) {
		return pathError("open", f.path, unix.EAGAIN)
	}
	return nil
}

func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}
