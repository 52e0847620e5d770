package spawn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/descriptor"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/command"
	"github.com/cronring/cronring/daemon/spawn/pipe"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

// Tool is a program that the daemon itself has use for: getent, id, sendmail.
type Tool struct {
	Argv      []string         // a name without a slash is looked for in the host's own directories
	Env       []string         // all of it: nothing of the daemon's is added
	Dir       string           // "" is /
	As        *account.Account // nil: whom the daemon runs as
	Stdin     io.Reader        // nil is /dev/null; an *os.File is passed on, others are read to their end first
	MaxOutput int              // bytes kept of each stream, the rest is thrown away; 0 is 1 MiB
	NoOutput  bool             // both streams are /dev/null, so that a user's program cannot keep the daemon busy
}

// Result is the result of a Tool.
type Result struct {
	Output  []byte // standard output
	Errput  []byte // standard error
	Outcome job.Outcome
}

// Exec runs a program and waits for its end. An exit status other than 0 is not an error. When ctx
// is done, the program's process group is killed, and Exec returns without waiting for its end.
//
// Exec may be called before Run and while Run waits for its last runs; Run waits for programs as it
// does for runs, unless they were killed. The goroutine that drains Events must not call it, because
// goroutines that send events end it.
func (s *Spawner) Exec(ctx context.Context, t Tool) (Result, error) {
	cmd, stdin, err := commandOf(t)
	if err != nil {
		return Result{}, err
	}
	limit := cmp.Or(t.MaxOutput, 1<<20)
	if t.NoOutput {
		limit = 0
	}
	return s.execCommand(ctx, cmd, stdin, limit)
}

// execCommand is Exec of a command with its standard input, of whose output limit bytes are kept; 0:
// it has none.
func (s *Spawner) execCommand(ctx context.Context, cmd command.Command, stdin, limit int) (Result, error) {
	c := &child{tool: &toolRun{command: cmd, stdin: stdin, limit: limit, done: make(chan struct{})}}
	if err := s.submit(c); err != nil {
		s.files.Release(c.tool.stdin)
		return Result{}, fmt.Errorf("run %s: %w", cmd.Argv[0], err)
	}
	select {
	case <-c.tool.done:
		return c.tool.result, c.tool.err
	case <-ctx.Done():
		s.endTool(c)
		return Result{}, fmt.Errorf("run %s: %w", cmd.Argv[0], context.Cause(ctx))
	}
}

// toolRun is the part of a child that only a program of the daemon's has.
type toolRun struct {
	command command.Command
	stdin   int // the child's; 0 is /dev/null
	limit   int
	result  Result        // of the reader and the process loop until done
	err     error         // likewise: it did not start
	done    chan struct{} // closed at the end
}

func commandOf(t Tool) (cmd command.Command, stdin int, err error) {
	if len(t.Argv) == 0 {
		return cmd, 0, errors.New("run a program: no program is named")
	}
	cmd = command.Command{Argv: t.Argv, Dir: t.Dir, Env: t.Env}
	if cmd.Path, err = findProgram(t.Argv[0]); err != nil {
		return cmd, 0, err
	}
	if t.As != nil {
		if cmd.Cred, err = command.Credential(*t.As); err != nil {
			return cmd, 0, err
		}
	}
	if stdin, err = toolInput(t.Stdin); err != nil {
		err = fmt.Errorf("run %s: %w", t.Argv[0], err)
	}
	return cmd, stdin, err
}

// programDirs are the directories of the host's own programs. The environment cannot change them,
// because root may run the programs.
var programDirs = []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"}

func findProgram(name string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	for _, dir := range programDirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("run %s: not in %s: %w", name, strings.Join(programDirs, ", "), os.ErrNotExist)
}

func toolInput(r io.Reader) (int, error) {
	switch r := r.(type) {
	case nil:
		return 0, nil
	case *os.File:
		return descriptor.Copy(r) // it lives as long as the process loop needs it
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, fmt.Errorf("read standard input: %w", err)
	}
	return pipe.Input(string(data))
}

// maxHanging is how many killed programs of a user may still exist. A program in a file system of the
// user that does not answer never ends, and each uses a process and descriptors of the daemon.
const maxHanging = 8

var errHanging = errors.New("too many programs of the user were killed and have not ended; a file system may not answer them")

func (s *Spawner) submit(c *child) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errStopping
	case s.hanging(c.tool.command.Cred) >= maxHanging:
		return errHanging
	}
	s.tools.Put(c.tool.queueUser(), c)
	s.busy[c] = true
	s.loop.Wake()
	return nil
}

// queueUser returns the user whose turn in the queue a program takes.
func (t *toolRun) queueUser() string {
	cred := t.command.Cred
	if cred == nil || cred.Uid == 0 {
		return budget.Root
	}
	return strconv.FormatUint(uint64(cred.Uid), 10)
}

// hanging counts the programs of a user that were killed and have not ended. Spawner.mu is held.
func (s *Spawner) hanging(user *syscall.Credential) (n int) {
	if user == nil || user.Uid == 0 {
		return 0
	}
	for c := range s.busy {
		if own := c.tool.command.Cred; c.kill != 0 && c.pid != 0 && own != nil && own.Uid == user.Uid {
			n++
		}
	}
	return n
}

// endTool kills a program, or keeps it from being started.
func (s *Spawner) endTool(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.kill = syscall.SIGKILL
	if c.pid != 0 && c.outcome.IsZero() {
		proc.SignalGroup(c.pid, syscall.SIGKILL)
	}
	s.loop.Wake() // the process loop may wait for this in order to return
}

// beginTool starts a program. A cancelled one is not worth a fork.
func (s *Spawner) beginTool(c *child) {
	if s.cancelled(c) {
		s.abandon(c, context.Canceled)
		return
	}
	io := pipe.Stdio{Child: [3]int{s.files.Null, s.files.Null, s.files.Null}}
	if c.tool.stdin != 0 {
		io.Child[0] = c.tool.stdin
	}
	if c.tool.limit > 0 {
		if err := io.OpenPipes(c.tool.command.Cred); err != nil {
			s.abandon(c, fmt.Errorf("run %s: %w", c.tool.command.Path, err))
			return
		}
	}
	c.tool.stdin = 0 // fork closes it
	if err := s.fork(c, c.tool.command, &io); err != nil {
		s.abandon(c, fmt.Errorf("run %s: %w", c.tool.command.Path, err))
		return
	}
	s.reader.watch(c, io.Ours, io.Status)
}

// keep takes what there is room for.
func (t *toolRun) keep(stream job.Stream, data []byte) {
	into := &t.result.Output
	switch stream {
	case job.Stderr:
		into = &t.result.Errput
	case job.System:
		t.err = errors.New(string(bytes.TrimSpace(data))) // its output is lost, and with it its use
		return
	}
	*into = append(*into, data[:min(len(data), t.limit-len(*into))]...)
}

// finish reports the result to Exec, which may no longer wait for it.
func (s *Spawner) finish(c *child) {
	c.tool.result.Outcome = c.outcome
	close(c.tool.done)
	s.mu.Lock()
	delete(s.busy, c)
	s.mu.Unlock()
	s.loop.Wake() // the process loop may wait for this in order to return, or to hold
}
