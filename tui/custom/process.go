package custom

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// linger limits the time for reading output after a command has ended.
const linger = time.Second

// Process returns the process of a command. It reads nothing, and ends with ctx, together with the
// processes that it has started. environment has more variables.
func (c *Command) Process(ctx context.Context, v Values, environment []string) *exec.Cmd {
	script, variables := c.script(v)
	p := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	p.Env = append(append(os.Environ(), environment...), variables...)
	if c.Output != Terminal {
		p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		p.Cancel = func() error { return syscall.Kill(-p.Process.Pid, syscall.SIGKILL) }
		p.WaitDelay = linger
	}
	return p
}

// LastLine runs a process, and returns the last line that it prints. After a failure, that line is
// part of the error.
func LastLine(p *exec.Cmd) (string, error) {
	var printed tail
	p.Stdout, p.Stderr = &printed, &printed
	err := p.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it has ended, and a process that it left behind prints
	}
	line := printed.last()
	if err != nil && line != "" {
		err = fmt.Errorf("%s (%w)", line, err)
	}
	return line, err
}

// mostTail limits the memory for the output of a process; only its last line counts.
const mostTail = 4 << 10

// tail keeps the end of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(len(t.text)-mostTail, 0):]
	return len(p), nil
}

func (t *tail) last() string {
	text := strings.TrimSpace(string(t.text))
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
