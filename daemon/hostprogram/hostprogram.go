// Package hostprogram owns running programs of the host with limits of time and output, for commands
// that run without a daemon.
package hostprogram

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"time"
)

// Limits of a program.
type Limits struct {
	Time   time.Duration
	Output int // bytes that are kept
}

// Run runs a program without localisation, and returns its standard output and exit status. The error
// means that it could not run, or did not end in time.
func Run(ctx context.Context, limits Limits, argv ...string) (stdout []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0")
	cmd.WaitDelay = time.Second
	out := &Bounded{Room: limits.Output}
	cmd.Stdout = out
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return out.text.Bytes(), ended.ExitCode(), nil
	}
	return out.text.Bytes(), 0, err
}

// Bounded keeps the beginning of what is written to it.
type Bounded struct {
	Room int // bytes that it still keeps
	text bytes.Buffer
}

func (b *Bounded) Write(p []byte) (int, error) {
	kept := min(len(p), b.Room)
	b.text.Write(p[:kept])
	b.Room -= kept
	return len(p), nil
}

func (b *Bounded) String() string { return b.text.String() }
