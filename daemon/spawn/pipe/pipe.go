package pipe

import (
	"errors"
	"syscall"

	"github.com/cronring/cronring/daemon/atomicfile"
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
	return atomicfile.Sealed("stdin", []byte(text))
}
