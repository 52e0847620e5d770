package starter

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// The steps of a new process that are reported when they fail. From stepGroups
// on the command does not run. Each report is a step, a detail and an errno of
// four bytes, little endian.
const (
	stepDir   = 'd' // Dir cannot be entered; the command runs in /
	stepLimit = 'l' // a limit cannot be set; the detail is the resource
	stepNice  = 'n'

	stepGroups        = 'G'
	stepGID           = 'g'
	stepUID           = 'u'
	stepDirRequired   = 'h'
	stepDirSlow       = 'w' // Dir is being entered, with DirPatience
	stepDirEntered    = 'e' // not a failure
	stepExec          = 'x'
	stepGroupFile     = 'c'
	stepFiles         = 'o'
	stepLimitRequired = 'f'
	stepNiceRequired  = 'p'
	stepIdle          = 'i'
	stepNetwork       = 'N'
	stepStage         = 's' // a program before the command failed; the rest of the reports is its text
)

const reportSize = 6

// mostReports bounds the reports of a process in bytes, because a program before the command
// runs as its user.
const mostReports = 1 << 10

// EncodeFailure returns the report of a program that runs before the command and cannot execute it. An
// errno is that of the attempt to execute the command.
func EncodeFailure(why error) []byte {
	if errno, ok := why.(syscall.Errno); ok {
		return binary.LittleEndian.AppendUint32([]byte{stepExec, 0}, uint32(errno))
	}
	return append([]byte{stepStage, 0, 0, 0, 0, 0}, why.Error()...)
}

// Progress is what a new process has reported. The fields are for a daemon that takes over while
// the process is still starting.
type Progress struct {
	Command string // its path
	Dir     string
	OwnDir  bool `json:",omitempty"` // Dir is that of cwd=
	Reports []byte
}

// Add takes what was read from the pipe for reports. It returns true if nothing more counts: a process of the
// user can write to the pipe forever.
func (p *Progress) Add(reports []byte) (full bool) {
	p.Reports = append(p.Reports, reports[:min(len(reports), mostReports-len(p.Reports))]...)
	return len(p.Reports) == mostReports
}

// split returns the whole reports of the starter's process, and what a program before the command
// wrote after them. A process of the user can write a part of one.
func (p *Progress) split() (steps []byte, said string) {
	for at := 0; at+reportSize <= len(p.Reports); at += reportSize {
		if p.Reports[at] == stepStage {
			return p.Reports[:at], string(p.Reports[at+reportSize:])
		}
	}
	return p.Reports[:len(p.Reports)/reportSize*reportSize], ""
}

// Warnings describe the steps that failed without keeping the command from
// running.
func (p *Progress) Warnings() (warnings []string) {
	steps, _ := p.split()
	for report := range slices.Chunk(steps, reportSize) {
		err := errnoOf(report)
		switch report[0] {
		case stepDir:
			warnings = append(warnings, fmt.Sprintf("cannot enter %s: %v; running in /", p.Dir, err))
		case stepLimit:
			warnings = append(warnings, fmt.Sprintf("cannot set limit %s: %v", limitName(report[1]), err))
		case stepNice:
			warnings = append(warnings, fmt.Sprintf("cannot set nice value: %v", err))
		}
	}
	return warnings
}

// ExecError reports that Command could not be executed.
type ExecError struct {
	Command string
	Errno   syscall.Errno
}

func (e *ExecError) Error() string { return "run " + e.Command + ": " + e.Errno.Error() }

func (e *ExecError) Unwrap() error { return e.Errno }

// Failure returns why the command did not run, or nil. It is final when the pipe for reports was
// closed. An *ExecError is about the command itself.
func (p *Progress) Failure() error {
	steps, said := p.split()
	switch {
	case said != "":
		return errors.New(diagnostic.Harmless(said))
	case len(steps) == 0:
		return nil
	}
	report := steps[len(steps)-reportSize:]
	err := errnoOf(report)
	switch report[0] {
	case stepGroups:
		return fmt.Errorf("set groups: %w", err)
	case stepGID:
		return fmt.Errorf("become group: %w", err)
	case stepUID:
		return fmt.Errorf("become user: %w", err)
	case stepDirRequired:
		if p.OwnDir {
			return fmt.Errorf("enter the directory of cwd=: %s: %w", p.Dir, err)
		}
		return fmt.Errorf("chdir HOME failed: %s: %w", p.Dir, err)
	case stepDirSlow:
		return fmt.Errorf("enter the directory of cwd=: %s: it does not answer", p.Dir)
	case stepGroupFile:
		return fmt.Errorf("enter control group: %w", err)
	case stepFiles:
		return fmt.Errorf("set standard files: %w", err)
	case stepLimitRequired:
		return fmt.Errorf("set nofile=: %w; ask for no more than the user's hard limit, see ulimit -Hn", err)
	case stepNiceRequired:
		return fmt.Errorf("set nice=: %w; a user must not raise the priority of a job", err)
	case stepNetwork:
		return fmt.Errorf("network=no: set up the loopback interface: %w", err)
	case stepIdle:
		return fmt.Errorf("set idle: %w", err)
	case stepExec:
		switch err {
		case syscall.EAGAIN:
			return fmt.Errorf("start process: the limit of processes is reached: %w", err)
		case syscall.E2BIG:
			return fmt.Errorf("start process: command and environment are too long: %w", err)
		}
		return &ExecError{p.Command, err}
	}
	return nil
}

func errnoOf(report []byte) syscall.Errno {
	return syscall.Errno(binary.LittleEndian.Uint32(report[2:]))
}

var limitNames = map[byte]string{
	unix.RLIMIT_AS: "as", unix.RLIMIT_CORE: "core", unix.RLIMIT_CPU: "cpu", unix.RLIMIT_DATA: "data",
	unix.RLIMIT_FSIZE: "fsize", unix.RLIMIT_LOCKS: "locks", unix.RLIMIT_MEMLOCK: "memlock",
	unix.RLIMIT_MSGQUEUE: "msgqueue", unix.RLIMIT_NICE: "nice", unix.RLIMIT_NOFILE: "nofile",
	unix.RLIMIT_NPROC: "nproc", unix.RLIMIT_RSS: "rss", unix.RLIMIT_RTPRIO: "rtprio",
	unix.RLIMIT_SIGPENDING: "sigpending", unix.RLIMIT_STACK: "stack",
}

func limitName(resource byte) string { return cmp.Or(limitNames[resource], fmt.Sprint(resource)) }
