package cli

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// interruption holds what to report when the user presses Ctrl-C.
type interruption struct {
	report atomic.Pointer[func(context.Context) string]
}

// interruptTime limits how long a report about what continues may take.
const interruptTime = time.Second

// OnInterrupt sets what Ctrl-C reports from now on: what continues without this program,
// and how to follow it. report runs while the command still waits.
func (a *App) OnInterrupt(report func(context.Context) string) { a.interruption.report.Store(&report) }

// Interrupt reports what continues after Ctrl-C, and returns the exit code.
func (a *App) Interrupt() int {
	report := a.interruption.report.Load()
	if report == nil || a.Quiet {
		return ExitInterrupted
	}
	ctx, cancel := context.WithTimeout(context.Background(), interruptTime)
	defer cancel()
	if messages, ok := a.Err.(*os.File); ok && IsTerminal(messages) {
		fmt.Fprintln(a.Err) // leave the line with the echoed ^C
	}
	fmt.Fprintln(a.Err, (*report)(ctx))
	return ExitInterrupted
}
