package spawn

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What a run with log=file:PATH prints is appended to the file by a process of
// the run's account, which gets it through a pipe: so nothing is opened with
// root's rights, and a file that takes nothing, as one of a network or of the
// account's own making may, holds up nobody but itself.

// logName is argv[0] of that process.
const logName = "cronring-log"

// logPipe is how much waits for such a file at most. What comes when that is
// full is left out of the file, and the run goes on.
const logPipe = 1 << 20

// mostLogWords bounds what a stranger's process may add to a run's output at
// once.
const mostLogWords = 512

// logFile is the way to a run's file. The zero value is one that has none.
type logFile struct {
	fd   int   // 0: none, or none any more
	pid  int   // of the process that writes; 0: it has ended
	lost int64 // bytes that it did not take
}

// write never waits.
func (l *logFile) write(data []byte) {
	if l.fd == 0 {
		return
	}
	n, err := unix.Write(l.fd, data)
	if err != nil {
		n = 0
	}
	l.lost += int64(len(data) - n)
}

// logPlan is what the process that writes the file is told.
type logPlan struct {
	Path   []byte
	Become bool
	UID    int
	GID    int
	Groups []int
}

const cannotLog = "cannot append to %s: %v"

// openLog starts the process of a run's file. Without it the run goes on.
func (s *Spawner) openLog(c *child, io *stdio, file string, cmd command) {
	status, input, err := s.startLog(c, file, cmd)
	if err != nil {
		s.note(c, cannotLog, file, err)
		return
	}
	c.log.fd, io.ours[2] = input, status
}

func (s *Spawner) startLog(c *child, file string, cmd command) (status, input int, err error) {
	p := logPlan{Path: []byte(file)}
	if cred := cmd.cred; cred != nil {
		p.Become, p.UID, p.GID = true, int(cred.Uid), int(cred.Gid)
		for _, gid := range cred.Groups {
			p.Groups = append(p.Groups, int(gid))
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return 0, 0, err
	}
	told, err := openInput(string(text))
	if err != nil {
		return 0, 0, err
	}
	defer s.files.release(told)
	in, err := openPipe(nil)
	if err != nil {
		return 0, 0, err
	}
	defer s.files.release(in[0])
	said, err := openPipe(nil)
	if err != nil {
		s.files.release(in[1])
		return 0, 0, err
	}
	defer s.files.release(said[1])
	err = errors.Join(unix.SetNonblock(in[0], false), unix.SetNonblock(in[1], true))
	_, _ = unix.FcntlInt(uintptr(in[1]), unix.F_SETPIPE_SZ, logPipe) // a smaller one loses more
	if err == nil && (!s.pump.room(4) || !s.pump.spare(1)) {
		err = errNoneLeft
	}
	if err != nil {
		s.files.release(in[1], said[0])
		return 0, 0, err
	}
	pid, err := forkExec(command{path: "/proc/self/exe", argv: []string{logName}, env: stageEnviron, dir: "/"},
		[]uintptr{uintptr(in[0]), uintptr(s.files.null), uintptr(s.files.null), uintptr(told), uintptr(said[1])})
	if err != nil {
		s.pump.spare(-1)
		s.files.release(in[1], said[0])
		return 0, 0, err
	}
	s.mu.Lock()
	c.log.pid, s.logs[pid] = pid, c
	s.mu.Unlock()
	return said[0], in[1], nil
}

// logPatience is how long the process of a file has for what is in its pipe
// when the run is over. An account may have a file system of its own that
// answers nothing: without an end its processes would become ever more, outside
// of the account's own limits.
const logPatience = time.Minute

// endLog is called when a run is over.
func (s *Spawner) endLog(c *child) {
	s.mu.Lock()
	if c.log.fd != 0 {
		s.closeLog(c)
	}
	if c.log.pid != 0 {
		time.AfterFunc(s.logPatience, func() { s.killLog(c) })
	}
	s.mu.Unlock()
	if c.log.lost > 0 {
		s.note(c, "%d bytes are missing in the file of log=, which did not take them in time", c.log.lost)
	}
}

// killLog ends the process of a run's file, if it is still there.
func (s *Spawner) killLog(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.log.pid != 0 {
		signalGroup(c.log.pid, syscall.SIGKILL)
	}
}

// closeLog lets the process of a run's file come to its end. Spawner.mu is held.
func (s *Spawner) closeLog(c *child) {
	s.files.release(c.log.fd)
	s.extra--
	c.log.fd = 0
}

// hasPrinted tells whether a run's output has come to its end. Spawner.mu is
// held.
func (p *pump) hasPrinted(c *child) bool {
	for _, fd := range c.pipes[:2] {
		if held, ok := p.streams[int32(fd)]; ok && held.child == c {
			return false
		}
	}
	return true
}

// writeLog is the whole program of the process. It reads what it is to do, and
// becomes the account for good before it touches the file.
func writeLog() error {
	plan, err := readLogPlan()
	if err != nil {
		return err
	}
	if plan.Become {
		err := errors.Join(syscall.Setgroups(plan.Groups), syscall.Setresgid(plan.GID, plan.GID, plan.GID), syscall.Setresuid(plan.UID, plan.UID, plan.UID))
		if err != nil {
			return fmt.Errorf("become uid %d: %w", plan.UID, err)
		}
	}
	file, err := openRegular(string(plan.Path))
	if err != nil {
		return fmt.Errorf(cannotLog, plan.Path, err)
	}
	if err := appendAll(file); err != nil {
		return fmt.Errorf(cannotLog, plan.Path, err)
	}
	return nil
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

func readLogPlan() (p logPlan, err error) {
	if os.Geteuid() != os.Getuid() || os.Getegid() != os.Getgid() {
		return p, errors.New("refused: the program is set-user-id or set-group-id")
	}
	if _, err := unix.FcntlInt(stagePlan, unix.F_GET_SEALS, 0); err != nil {
		return p, fmt.Errorf("read plan (this is a part of the daemon, not a command): %w", err)
	}
	syscall.CloseOnExec(stagePlan)
	syscall.CloseOnExec(stageStatus)
	plan := os.NewFile(stagePlan, "plan")
	defer plan.Close()
	return p, json.NewDecoder(plan).Decode(&p)
}

// openRegular opens a file to append to. A link is followed, as the account may
// have its own; a pipe or a device is refused, and does not hold us up.
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

// logStage is Stage for the process of a file.
func logStage() {
	if err := writeLog(); err != nil {
		status := os.NewFile(stageStatus, "status")
		fmt.Fprintf(status, "%v\n", err)
		os.Exit(stageFailed)
	}
	os.Exit(0)
}
