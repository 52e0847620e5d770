package spawn

import (
	"errors"
	"syscall"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/command"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/starter"
)

// pipes are our ends of a child's standard output and standard error, and of
// what is said about the file of log=. The zero value has none.
type pipes [3]int

// pipeStreams are the streams of pipes.
var pipeStreams = [len(pipes{})]job.Stream{job.Stdout, job.Stderr, logStream}

// count returns the number of open pipes. 0 is never a pipe: it is the daemon's stdin.
func (p pipes) count() (n int) {
	for _, fd := range p {
		if fd != 0 {
			n++
		}
	}
	return n
}

// stdio is both sides of a child's three standard files.
type stdio struct {
	child    [3]int
	ours     pipes
	status   int // reading end of the new process's reports
	progress *starter.Progress
}

const outputLost = "the output of this run is lost: %v"

// openStdio makes a child's standard files. Without descriptors to spare, the
// job runs all the same, and its output is lost.
func (s *Spawner) openStdio(c *child, cmd command.Command) (stdio, error) {
	null := s.files.Null
	io := stdio{child: [3]int{null, null, null}}
	if text := c.start.Job.Stdin; text != "" {
		input, err := pipe.Input(text)
		if err != nil {
			return stdio{}, err
		}
		io.child[0] = input
	}
	if c.check {
		return io, nil
	}
	err := errNoneLeft
	if s.pump.room(2) {
		err = s.openOutput(c, &io, cmd.Cred)
	}
	if err != nil {
		s.note(c, outputLost, err)
		return io, nil
	}
	if file := command.OptionsOf(c.start).Log.File; file != "" {
		s.openLog(c, &io, file, cmd)
	}
	return io, nil
}

var errNoneLeft = errors.New("too many files are open")

// openOutput makes the output pipes of a run. Where they cannot have names, a
// daemon after a crash does not find them.
func (s *Spawner) openOutput(c *child, io *stdio, cred *syscall.Credential) error {
	if s.options.Runs != "" {
		c.named = true
		path := s.dir.Base(c.run)
		err := io.openBoth(func(suffix string) ([2]int, error) { return pipe.OpenNamed(path+suffix, cred) })
		if err == nil {
			return nil
		}
	}
	return io.openPipes(cred)
}

func (io *stdio) openPipes(cred *syscall.Credential) error {
	return io.openBoth(func(string) ([2]int, error) { return pipe.Open(cred) })
}

func (io *stdio) openBoth(open func(suffix string) ([2]int, error)) error {
	stdout, err := open(handed.OutSuffix)
	if err != nil {
		return err
	}
	stderr, err := open(handed.ErrSuffix)
	if err != nil {
		return errors.Join(err, syscall.Close(stdout[0]), syscall.Close(stdout[1]))
	}
	io.ours[0], io.ours[1] = stdout[0], stderr[0]
	io.child[1], io.child[2] = stdout[1], stderr[1]
	return nil
}
