package pipe

import (
	"errors"
	"syscall"

	"github.com/cronring/cronring/daemon/starter"
)

// Ends are our ends of a child's standard output and standard error, and of
// what is said about the file of log=. The zero value has none.
type Ends [3]int

// Count returns the number of open pipes. 0 is never a pipe: it is the daemon's stdin.
func (p Ends) Count() (n int) {
	for _, fd := range p {
		if fd != 0 {
			n++
		}
	}
	return n
}

// Stdio is both sides of a child's three standard files.
type Stdio struct {
	Child    [3]int
	Ours     Ends
	Status   int // reading end of the new process's reports
	Progress *starter.Progress
}

// OpenPipes makes the output pipes.
func (io *Stdio) OpenPipes(cred *syscall.Credential) error {
	return io.openBoth(func(string) ([2]int, error) { return Open(cred) })
}

// OpenNamed makes output pipes with names that begin with base.
func (io *Stdio) OpenNamed(base string, cred *syscall.Credential) error {
	return io.openBoth(func(suffix string) ([2]int, error) { return OpenNamed(base+suffix, cred) })
}

func (io *Stdio) openBoth(open func(suffix string) ([2]int, error)) error {
	stdout, err := open(OutSuffix)
	if err != nil {
		return err
	}
	stderr, err := open(ErrSuffix)
	if err != nil {
		return errors.Join(err, syscall.Close(stdout[0]), syscall.Close(stdout[1]))
	}
	io.Ours[0], io.Ours[1] = stdout[0], stderr[0]
	io.Child[1], io.Child[2] = stdout[1], stderr[1]
	return nil
}
