// Package shim owns the process that takes care of running jobs while no daemon runs.
package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/groups"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/spawn/handed"
)

// A daemon that is stopped leaves running jobs alone. But if no process read their output, SIGPIPE
// would end them at their next line, and if no process waited for them, their results would be
// unknown. So the daemon starts a shim: this program under another name, which writes their
// output into their files, records their ends, and exits when the last job ends or a daemon takes
// them over.
//
// The service manager's store of descriptors does the same after a crash, but
// it is emptied when the service is stopped.

// Name is argv[0] of a shim.
const Name = "cronring-shim"

// variable holds two numbers of descriptors: the file with a keeping,
// and a pipe that is closed when the shim is at work.
const variable = "CRONRING_SHIM"

// input is the input of a shim.
type input struct {
	Runs     string       `json:"runs"` // directory of the output of runs
	Children []handed.Run `json:"children"`
}

// Socket is the path at which a shim waits for a daemon.
// Version 0.7.0 has the same path, so that a daemon finds the process of an older one.
func Socket(runs string) string { return filepath.Join(runs, "keeper.sock") }

// EndFile is the file into which a shim writes how a run ended.
func EndFile(runs string, id job.RunID) string { return filepath.Join(runs, id.String()+endSuffix) }

const endSuffix = ".end"

// ending is the content of that file.
type ending struct {
	Outcome job.Outcome `json:"outcome"`
	Ended   time.Time   `json:"ended"`
	Usage   job.Usage   `json:"usage,omitzero"`
	Limit   job.Reason  `json:"limit,omitempty"`
}

// Start starts a shim for runs of a paused or ended spawner, and returns when the shim works. runs is
// the directory of their output; without one there is no shim.
func Start(runs string, children []handed.Run) error {
	if len(children) == 0 || runs == "" {
		return nil
	}
	for i := range children {
		h := &children[i]
		h.Child, h.Output, h.Progress, h.Status = false, nil, nil, 0 // the output is in the run's file
	}
	plan, err := atomicfile.Memory("keeping", input{runs, children})
	if err != nil {
		return fmt.Errorf("start cronring-shim: %w", err)
	}
	var ready [2]int
	if err := syscall.Pipe2(ready[:], syscall.O_CLOEXEC); err != nil {
		return fmt.Errorf("start cronring-shim: %w", err)
	}
	for _, fd := range []int{plan, ready[1]} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("start cronring-shim: %w", err)
		}
	}
	_, err = syscall.ForkExec("/proc/self/exe", []string{Name}, &syscall.ProcAttr{
		Dir: "/", Env: []string{fmt.Sprintf("%s=%d %d", variable, plan, ready[1])},
		Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("start cronring-shim: %w", err)
	}
	if err := syscall.Close(ready[1]); err != nil {
		return fmt.Errorf("start cronring-shim: %w", err)
	}
	f := os.NewFile(uintptr(ready[0]), "ready")
	defer f.Close()
	_, _ = f.Read(make([]byte, 1)) // until it closes its end, or has ended
	return nil
}

// Main is the whole program of a shim, and nothing in any other process. It must be called first.
func Main() {
	if len(os.Args) != 1 || os.Args[0] != Name {
		return
	}
	if err := keep(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func keep() error {
	var plan, ready int
	if _, err := fmt.Sscanf(os.Getenv(variable), "%d %d", &plan, &ready); err != nil || plan <= 2 || ready <= 2 {
		return errors.New("this is a part of the daemon, not a command")
	}
	_ = os.WriteFile("/proc/self/comm", []byte(Name), 0) // for ps; it was exe
	var k input
	f := os.NewFile(uintptr(plan), "keeping")
	err := json.NewDecoder(f).Decode(&k)
	f.Close()
	if err != nil {
		return fmt.Errorf("read what to keep: %w", err)
	}
	socket := Socket(k.Runs)
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an older shim's socket: %w", err)
	}
	listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err != nil {
		return fmt.Errorf("wait for a daemon: %w", err)
	}
	defer listener.Close()
	s := spawn.New(spawn.Options{Runs: k.Runs, Record: true, Groups: &groups.Groups{}, Claim: func(job.RunID) bool { return true }})
	s.Adopt(k.Children)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		if err := s.Run(ctx); err != nil {
			failed <- err
		}
	}()
	came := make(chan *net.UnixConn, 1)
	go func() {
		if c, err := listener.AcceptUnix(); err == nil {
			came <- c
		}
	}()
	if err := syscall.Close(ready); err != nil {
		return fmt.Errorf("say that all is well: %w", err)
	}
	for left := len(k.Children); left > 0; {
		select {
		case ev := <-s.Events():
			left -= k.note(ev)
		case c := <-came:
			defer c.Close()
			return k.giveUp(s, c)
		case err := <-failed:
			return err
		}
	}
	return nil
}

// note writes down the end of a run, and returns 1 if nothing more comes of it.
func (k *input) note(ev event.Event) int {
	switch e := ev.(type) {
	case spawn.Ended:
		k.noteEnd(e)
		if !e.Late {
			return 1
		}
	case spawn.Late:
		if e.Last {
			return 1
		}
	}
	return 0
}

func (k *input) noteEnd(e spawn.Ended) {
	if e.Outcome.Kind == job.Lost && k.inSession(e.Run) {
		return // systemd has better information
	}
	text, err := json.Marshal(ending{e.Outcome, e.At, e.Usage, e.Limit})
	if err == nil {
		err = os.WriteFile(EndFile(k.Runs, e.Run), text, 0o600)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: write down the end of run %d: %v\n", Name, e.Run, err)
	}
}

func (k *input) inSession(run job.RunID) bool {
	return slices.ContainsFunc(k.Children, func(h handed.Run) bool { return h.Run == run && h.Session })
}

// giveUp hands everything to a daemon that came. Ends that are seen until then
// are written down first.
func (k *input) giveUp(s *spawn.Spawner, to *net.UnixConn) error {
	still := make(chan error, 1)
	go func() {
		_, err := s.Hold(context.Background())
		still <- err
	}()
	for held := false; !held; {
		select {
		case ev := <-s.Events():
			k.note(ev)
		case err := <-still:
			if err != nil {
				return err
			}
			held = true
		}
	}
	for len(s.Events()) > 0 {
		k.note(<-s.Events())
	}
	for _, h := range s.Handover() {
		h.Output = nil
		text, err := json.Marshal(h)
		if err != nil {
			return fmt.Errorf("hand a run over: %w", err)
		}
		if _, _, err := to.WriteMsgUnix(text, unix.UnixRights(Files(&h)...), nil); err != nil {
			return fmt.Errorf("hand run %d over: %w", h.Run, err)
		}
	}
	return nil
}

// Files returns the descriptors of a run, in the order they are sent.
func Files(h *handed.Run) (fds []int) {
	for _, fd := range []int{h.Out, h.Err, h.PIDFD, h.Log, h.LogStatus} {
		if fd != 0 {
			fds = append(fds, fd)
		}
	}
	return fds
}

// TakeOver takes over what a shim has, if there is one, and then the ends that shims wrote down. It
// waits for patience at most.
func TakeOver(runs string, patience time.Duration) (children []handed.Run, err error) {
	if runs == "" {
		return nil, nil
	}
	socket := Socket(runs)
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err == nil {
		children, err = receive(c, patience)
		c.Close()
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EINVAL) {
		err = nil // no shim listens, or none can: the path is too long
	}
	if err != nil {
		err = fmt.Errorf("take running jobs over from their shim: %w", err)
	}
	ended, endErr := Ends(runs)
	return append(children, ended...), errors.Join(err, endErr)
}

// receive reads what giveUp sends, until the shim has ended.
func receive(c *net.UnixConn, patience time.Duration) (children []handed.Run, err error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	text, rights := make([]byte, 64<<10), make([]byte, 256)
	for {
		n, rn, _, _, err := c.ReadMsgUnix(text, rights)
		if err != nil || n == 0 {
			return children, ignoreEnd(err)
		}
		h, err := unpack(text[:n], rights[:rn])
		if err != nil {
			return children, err
		}
		children = append(children, h)
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, syscall.ECONNRESET) || err != nil && strings.HasSuffix(err.Error(), "EOF") {
		return nil
	}
	return err
}

// unpack makes a run of a packet, with the numbers that its descriptors have
// here.
func unpack(text, rights []byte) (h handed.Run, err error) {
	var fds []int
	messages, err := unix.ParseSocketControlMessage(rights)
	for i := 0; err == nil && i < len(messages); i++ {
		var some []int
		some, err = unix.ParseUnixRights(&messages[i])
		fds = append(fds, some...)
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, err
	}
	for _, fd := range []*int{&h.Out, &h.Err, &h.PIDFD, &h.Log, &h.LogStatus} {
		if *fd == 0 {
			continue
		}
		if len(fds) == 0 {
			return h, fmt.Errorf("a descriptor of run %d is missing", h.Run)
		}
		*fd, fds = fds[0], fds[1:]
	}
	return h, nil
}

// Ends reads what shims wrote down. The files stay until the runs are known to have ended.
func Ends(runs string) (ended []handed.Run, err error) {
	if runs == "" {
		return nil, nil
	}
	var errs []error
	for _, file := range atomicfile.Match(runs, "*"+endSuffix) {
		id, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(file), endSuffix), 10, 64)
		if err != nil {
			continue
		}
		text, err := os.ReadFile(file)
		var e ending
		if err == nil {
			err = json.Unmarshal(text, &e)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read how run %d ended: %w", id, err))
			continue
		}
		ended = append(ended, handed.Run{
			Run: job.RunID(id), Outcome: e.Outcome, Ended: e.Ended, Usage: e.Usage, Limit: e.Limit,
		})
	}
	return ended, errors.Join(errs...)
}
