package pipe

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// The pipes of standard output and standard error of a run that have names end in these.
const (
	OutSuffix = ".out"
	ErrSuffix = ".err"
)

// Open makes a pipe whose reading end does not block. It belongs to the
// user, so that the job may open /dev/stdout and /dev/stderr by name.
func Open(cred *syscall.Credential) (ends [2]int, err error) {
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return ends, err
	}
	err = syscall.SetNonblock(ends[0], true)
	if cred != nil {
		err = errors.Join(err, syscall.Fchown(ends[0], int(cred.Uid), int(cred.Gid)))
	}
	if err != nil {
		err = errors.Join(err, syscall.Close(ends[0]), syscall.Close(ends[1]))
	}
	return ends, err
}

// OpenNamed makes a pipe with a name. The job's end is the second one.
func OpenNamed(path string, cred *syscall.Credential) (ends [2]int, err error) {
	err = syscall.Mkfifo(path, 0o600)
	if err == syscall.EEXIST && syscall.Unlink(path) == nil { // of a history that is gone
		err = syscall.Mkfifo(path, 0o600)
	}
	if err != nil {
		return ends, err
	}
	const flags = syscall.O_CLOEXEC | syscall.O_NOFOLLOW
	ends[1], err = syscall.Open(path, syscall.O_RDWR|flags, 0)
	if err != nil {
		return ends, err
	}
	ends[0], err = syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return ends, errors.Join(err, syscall.Close(ends[1]))
	}
	if cred != nil {
		err = syscall.Fchown(ends[1], int(cred.Uid), int(cred.Gid))
	}
	if err != nil {
		err = errors.Join(err, syscall.Close(ends[0]), syscall.Close(ends[1]))
	}
	return ends, err
}

// Reopen opens a named pipe of another daemon to read; 0 means that it no longer
// exists.
func Reopen(path string) int {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	if !Usable(fd) {
		_ = syscall.Close(fd) // nothing was written to it
		return 0
	}
	// epoll reports the end of a pipe only if it had a writer since it was opened.
	if writer, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0); err == nil {
		_ = syscall.Close(writer) // nothing was written to it
	}
	return fd
}

// Usable looks at a descriptor from elsewhere and makes it fit to be read, or
// written.
func Usable(fd int) bool {
	var st syscall.Stat_t
	if fd <= 2 || syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return false
	}
	return syscall.SetNonblock(fd, true) == nil
}

// Input makes a file of the text after a command's %. Unlike a pipe it needs no writer, even if
// the text is long and the command never reads it. It is deleted with its last reader.
func Input(text string) (int, error) {
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return 0, fmt.Errorf("make standard input: %w", err)
	}
	if err := fill(fd, text); err != nil {
		return 0, errors.Join(fmt.Errorf("make standard input: %w", err), syscall.Close(fd))
	}
	return fd, nil
}

// fill writes the text and leaves the file offset at its start.
func fill(fd int, text string) error {
	for data, at := []byte(text), 0; at < len(data); {
		n, err := syscall.Pwrite(fd, data[at:], int64(at))
		if err != nil {
			return err
		}
		at += n
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	return err
}
