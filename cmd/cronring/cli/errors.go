package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// ExitCode is an error that has been reported already: it only carries the exit code.
type ExitCode int

func (e ExitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// UsageError returns an error about a command that cannot be executed as typed.
func UsageError(what, why, fix string) error { return Invalid("cannot "+what, why, fix) }

// Invalid returns an error about an invalid command line. what names the invalid part.
func Invalid(what, why, fix string) error {
	return &api.Error{What: what, Why: why, Fix: fix, Kind: api.Usage}
}

// FileError wraps an error about a file with its exit code.
func FileError(name string, err error) error {
	e := &api.Error{What: fmt.Sprintf("cannot read %q", name), Why: err.Error(), Kind: api.Internal}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		e.Why = p.Err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = api.NotFound
	case errors.Is(err, fs.ErrPermission):
		e.Kind = api.NotAllowed
	}
	return e
}

// CheckArgs turns complaints about arguments into errors of usage. Without a
// check any arguments will do.
func CheckArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return cobra.ArbitraryArgs
	}
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil {
			return nil
		}
		why := err.Error()
		if strings.Contains(why, "arg(s)") || strings.HasPrefix(why, "unknown command") { // cobra's words
			why = fmt.Sprintf("it got %s, and takes %s", display.Count(len(args), "argument"), operands(cmd))
		}
		return UsageError("run \""+cmd.CommandPath()+"\" like that", why, cmd.UseLine()+"    or see: "+cmd.CommandPath()+" --help")
	}
}

// operands returns the arguments that a command takes, as its usage names them.
func operands(cmd *cobra.Command) string {
	if _, words, found := strings.Cut(cmd.Use, " "); found {
		return words
	}
	return "none"
}

// checkFlags checks required and mutually exclusive flags before cobra does, whose errors
// have no exit code of ours.
func checkFlags(cmd *cobra.Command) error {
	err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups())
	if err == nil {
		return nil
	}
	why := err.Error()
	if _, set, ok := strings.Cut(why, "none of the others can be; ["); ok { // cobra's words
		set, _, _ = strings.Cut(set, "]")
		why = "--" + strings.ReplaceAll(set, " ", " and --") + " exclude each other"
	}
	return UsageError("read the flags of \""+cmd.CommandPath()+"\"", why, cmd.CommandPath()+" --help")
}

// The exit codes that are not those of an api.Kind. 125 and 130 are those of
// container runtimes and shells.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitProblems    = 8
	ExitWaitFailed  = 125 // own trouble of run --wait, which passes the job's code on
	ExitInterrupted = 130
)

// Report prints an error and returns its exit code.
func (p *Printer) Report(err error) int {
	if err == nil {
		return ExitDone
	}
	if code, ok := errors.AsType[ExitCode](err); ok {
		return int(code)
	}
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		e = &api.Error{What: err.Error()}
	}
	p.Out.Flush() // to keep the order of output; a write error is reported at the end
	fmt.Fprintf(p.Err, "cronring: %s\n", display.Text(e.What))
	for _, part := range []struct{ name, text string }{{"why", e.Why}, {"fix", e.Fix}} {
		if part.text != "" {
			fmt.Fprintf(p.Err, "  %s   %s\n", part.name, display.Text(part.text))
		}
	}
	return e.Kind.Exit()
}
