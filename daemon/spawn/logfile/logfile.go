package logfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cronring/cronring/daemon/spawn/command"
	"github.com/cronring/cronring/daemon/starter"
)

// logName is argv[0] of that process.
const logName = "cronring-log"

// CannotAppend is what is said about a file that cannot be written: its path and why.
const CannotAppend = "cannot append to %s: %v"

// logEnviron is the environment of the process of a file: it is short-lived, and
// has one thing to do.
var logEnviron = []string{"GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none"}

// Command is the command that appends its input to a file, as a user.
func Command(file string, cred *syscall.Credential) command.Command {
	return command.Command{Path: "/proc/self/exe", Argv: []string{logName, file}, Env: logEnviron, Cred: cred}
}

// Serve is the whole program of that process, and does nothing in any other
// one. It reports trouble through descriptor 3.
func Serve() {
	if len(os.Args) != 2 || os.Args[0] != logName {
		return
	}
	if err := writeLog(os.Args[1]); err != nil {
		status := os.NewFile(3, "status")
		fmt.Fprintf(status, CannotAppend+"\n", os.Args[1], err)
		os.Exit(1)
	}
	os.Exit(0)
}

func writeLog(path string) error {
	if err := starter.RejectSetID(); err != nil {
		return err
	}
	file, err := openRegular(path)
	if err != nil {
		return err
	}
	return appendAll(file)
}

// appendAll copies standard input as it comes.
func appendAll(file *os.File) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if n > 0 {
			if _, err := file.Write(buf[:n]); err != nil {
				return errors.Unwrap(err)
			}
		}
		if err != nil {
			return file.Close()
		}
	}
}

// openRegular opens a file to append to. A link is followed, because the user may
// have one; a pipe or a device is refused, and does not delay the caller.
func openRegular(path string) (*os.File, error) {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CREAT|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, errors.Join(err, errors.New("it is not a regular file"), syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}
