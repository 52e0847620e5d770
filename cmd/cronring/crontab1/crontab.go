package crontab1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/direct"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/spool"
)

// crontabs reads and writes crontabs: the daemon, or for root without a daemon the spool
// itself.
type crontabs interface {
	UserCrontab(ctx context.Context, user, word string) (api.CrontabText, error)
	InstallCrontabFile(ctx context.Context, r api.CrontabFileRequest) (api.Installed, error)
	EndEdit(ctx context.Context, user string) error
}

// Program is one call of crontab(1).
type Program struct {
	in, out, err *os.File
	Env          func(string) string
	uid          uint32
	Host         spool.Host
	places       spool.Paths
	socket       string
	args         crontabArgs
}

// New returns crontab(1) for the calling user, on the standard streams.
func New() *Program {
	host := config.ThisHost()
	c := &Program{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, Env: os.Getenv, uid: uint32(os.Geteuid()),
		Host: host, places: host.Paths(""), socket: api.SystemSocket,
	}
	// Root's environment can come from another user (sudo -E, su), who must not receive
	// root's crontabs.
	if named := os.Getenv("CRONRING_SOCKET"); named != "" && c.uid != 0 {
		c.socket = named
	}
	return c
}

// Run executes a command line and returns the exit code: 0 or 1.
func (c *Program) Run(args []string) int {
	parsed, err := c.Parse(args)
	if err == nil {
		c.args = parsed
		err = c.do(context.Background())
	}
	return c.report(err)
}

func (c *Program) do(ctx context.Context) error {
	switch c.args.op {
	case opHelp:
		return errUsageShown{c.usage()}
	case opVersion:
		_, err := fmt.Fprintf(c.out, "cronring %s\n", api.Release())
		return err
	case opTest:
		return c.test()
	case opList:
		return c.list(ctx)
	case opRemove:
		return c.remove(ctx)
	case opEdit:
		return c.edit(ctx)
	}
	return c.replace(ctx)
}

// probeTime limits how long the daemon may take for its first answer.
const probeTime = 20 * time.Second

// crontabs connects to the daemon. If none answers, it returns the spool itself for root, and an error
// for other users.
func (c *Program) crontabs(ctx context.Context) (crontabs, error) {
	client := api.Dial(c.socket)
	probe, cancel := context.WithTimeoutCause(ctx, probeTime, messageError{fmt.Sprintf("cronringd did not answer for %s on %s", probeTime, c.socket)})
	defer cancel()
	_, err := client.Health(probe)
	switch {
	case err == nil:
		return client, nil
	case api.KindOf(err) != api.Unreachable:
		return nil, err
	case c.uid == 0:
		c.printf("crontab: cronringd does not answer on %s; continuing without it", c.socket)
		return direct.NewCrontabs(c.Host, c.places), nil
	}
	e, _ := errors.AsType[*api.Error](err)
	return nil, &api.Error{
		Kind: api.Unreachable, What: "cannot reach the crontabs: cronringd does not answer on " + c.socket,
		Why: e.Why, Fix: "ask the administrator: systemctl start cronring",
	}
}

func (c *Program) list(ctx context.Context) error {
	t, err := c.crontabs(ctx)
	if err != nil {
		return err
	}
	file, err := t.UserCrontab(ctx, c.args.user, api.LogList)
	if err != nil {
		return err
	}
	if file.Missing {
		return &api.Error{Kind: api.NotFound, What: "no crontab for " + file.User}
	}
	text := string(file.Text)
	if c.Env("CRONTAB_NOHEADER") == "N" {
		text = string(file.Header) + text
	}
	if c.debian() {
		text = obfuscation.Replace(text)
	}
	if cli.IsTerminal(c.out) {
		text = cli.EscapeText(text)
	}
	_, err = io.WriteString(c.out, text)
	return err
}

// obfuscation makes characters visible that hide part of a line, as Debian's crontab does,
// even if the output is not a terminal. A carriage return at the end of a line stays, so
// that "crontab -l | crontab -" keeps such files.
var obfuscation = strings.NewReplacer("\r\n", "\r\n", "\r", `\r`, "\b", `\b`)

func (c *Program) remove(ctx context.Context) error {
	t, err := c.crontabs(ctx)
	if err != nil {
		return err
	}
	if c.args.ask && !c.confirmed("crontab: really delete "+display.Text(c.userName())+"'s crontab? (y/n) ") {
		return nil
	}
	done, err := t.InstallCrontabFile(ctx, api.CrontabFileRequest{User: c.args.user, Gone: true, Strict: true})
	if err != nil {
		return err
	}
	c.notice(done)
	if cli.IsTerminal(c.err) && done.Before != 0 {
		c.printf("removed %s; undo: cronring undo %d", cli.Entries(done.Entries), done.Before)
	}
	return nil
}

// userName returns the owner of the crontab.
func (c *Program) userName() string {
	if c.args.user != "" {
		return c.args.user
	}
	return c.Host.Account
}

func (c *Program) replace(ctx context.Context) error {
	text, err := c.readFile(c.args.file)
	if err != nil {
		return err
	}
	if err := c.check(c.args.file, text); err != nil {
		return err
	}
	t, err := c.crontabs(ctx)
	if err != nil {
		return err
	}
	done, err := t.InstallCrontabFile(ctx, api.CrontabFileRequest{User: c.args.user, Text: []byte(text), Source: c.args.file, Strict: true})
	if err != nil {
		return err
	}
	c.notice(done)
	return nil
}

// notice prints the daemon's notice about a change.
func (c *Program) notice(done api.Installed) {
	if done.Notice != "" {
		c.printf("crontab: %s", display.Text(done.Notice))
	}
}

func (c *Program) test() error {
	text, err := c.readFile(c.args.file)
	if err != nil {
		return err
	}
	err = c.check(c.args.file, text)
	switch {
	case err != nil && c.debian():
		return err
	case err != nil:
		return messageError{"Invalid crontab file. Syntax issues were found."}
	case c.debian():
		c.printf("The syntax of the crontab file was successfully checked.")
	default:
		c.printf("No syntax issues were found in the crontab file.")
	}
	return nil
}

func (c *Program) debian() bool { return c.Host.Family == crontab.Debian }

// readFile reads a new crontab: "-" is standard input.
func (c *Program) readFile(name string) (string, error) {
	f := c.in
	if name == "-" {
		if cli.IsTerminal(f) {
			c.printf("crontab: type the new crontab, then Ctrl-D; Ctrl-C leaves the old one")
		}
	} else {
		var err error
		if f, err = os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
			return "", messageError{display.Text(name) + ": " + errnoText(err)}
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return "", messageError{display.Text(name) + ": Not a regular file."}
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, crontab.MaxText+1))
	if err != nil {
		return "", messageError{display.Text(name) + ": " + errnoText(err)}
	}
	return string(text), nil
}

// errnoText returns the message of the C library for an error.
func errnoText(err error) string {
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		text := []rune(errno.Error())
		text[0] = unicode.ToUpper(text[0])
		return string(text)
	}
	return err.Error()
}

// ShownDiagnostics is the highest number of diagnostics that are printed for one crontab.
const ShownDiagnostics = 20

// check parses a crontab as the daemon does, and prints the diagnostics. It returns an error if a
// line has one, because the user can correct it now.
func (c *Program) check(name, text string) error {
	config := c.Host.Config(name, false)
	config.Format, config.Owner, config.User = crontab.User, c.userName(), ""
	config.Privileged = config.Owner == "root"
	if c.args.op != opTest && c.uid != 0 {
		config.Calendars = leaveToDaemon(config.Calendars)
	}
	_, diagnostics := crontab.Parse(name, text, config)
	failed, cut, shown := false, false, 0
	for _, d := range diagnostics {
		if d.Severity == crontab.Note {
			continue
		}
		failed = failed || d.Severity == crontab.Error
		if cut = cut || d.Code == "B301"; d.Code == "B301" && c.debian() {
			continue
		}
		if shown++; shown <= ShownDiagnostics {
			c.showDiagnostic(name, text, d)
		}
	}
	if shown > ShownDiagnostics {
		c.printf("%d more of the kind", shown-ShownDiagnostics)
	}
	switch {
	case !failed:
		return nil
	case cut && c.debian():
		return messageError{"new crontab file is missing newline before EOF, can't install."}
	case c.debian():
		return messageError{"errors in crontab file, can't install."}
	}
	return messageError{"Invalid crontab file, can't install."}
}

// leaveToDaemon returns the calendars with dates for those that this user cannot read: the
// daemon can read them, and checks the crontab again.
func leaveToDaemon(calendars map[string]timetable.Calendar) map[string]timetable.Calendar {
	left := maps.Clone(calendars)
	for name, c := range left {
		if c.Dates == nil {
			left[name] = timetable.Calendar{Dates: timetable.Weekends()}
		}
	}
	return left
}

// showDiagnostic prints a diagnostic in the form of cron, with the file's name in quotes. Unlike
// Debian's cron it counts lines from 1.
func (c *Program) showDiagnostic(name, text string, d crontab.Diagnostic) {
	line := fmt.Sprintf("\"%s\":%d: ", display.Text(name), d.Line)
	if d.Severity == crontab.Warning {
		line += "warning: "
	}
	line += d.Message
	if d.Column > 0 {
		line += fmt.Sprintf(" (column %d)", d.Column)
	}
	c.printf("%s", display.Text(line))
	if !cli.IsTerminal(c.err) {
		return
	}
	if lines := strings.Split(text, "\n"); d.Line <= len(lines) {
		shown, carets := cli.Excerpt(strings.TrimSuffix(lines[d.Line-1], "\r"), d.Column, d.Length)
		c.printf("    %s", strings.TrimSuffix(shown+"\n    "+carets, "\n    "))
	}
	if d.Fix != "" {
		c.printf("    fix: %s", display.Text(d.Fix))
	}
}

// messageError is an error with the message of cron's crontab(1).
type messageError struct{ text string }

func (e messageError) Error() string { return e.text }

// errUsageShown is an error whose text is the usage message.
type errUsageShown struct{ text string }

func (e errUsageShown) Error() string { return e.text }

// report prints an error and returns the exit code.
func (c *Program) report(err error) int {
	if err == nil {
		return cli.ExitDone
	}
	e, ok := errors.AsType[*api.Error](err)
	switch {
	case !ok:
		c.printf("%s", strings.TrimSuffix(err.Error(), "\n"))
	case e.Kind == api.NotFound && strings.HasPrefix(e.What, "user `"):
		c.printf("crontab:  %s", display.Text(e.What))
	case e.Kind == api.NotFound, e.Kind == api.NotAllowed && !strings.HasPrefix(e.What, "cannot "):
		c.printf("%s", display.Text(e.What))
		if e.Fix != "" {
			c.printf("%s", display.Text(e.Fix))
		}
	default:
		c.printf("crontab: %s", display.Text(e.What))
		for _, part := range []struct{ name, text string }{{"why", e.Why}, {"fix", e.Fix}} {
			if part.text != "" {
				c.printf("  %s   %s", part.name, display.Text(part.text))
			}
		}
	}
	return cli.ExitFailed
}

// printf prints a message to the user.
func (c *Program) printf(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// confirmed asks a question until the user answers yes or no. The end of the input counts as no.
func (c *Program) confirmed(question string) bool {
	return c.confirmedOr(question, func() { fmt.Fprint(c.out, "Please enter Y or N: ") })
}

// confirmedOr is like confirmed, with another message for answers that are neither yes nor no.
func (c *Program) confirmedOr(question string, neither func()) bool {
	fmt.Fprint(c.out, question)
	for {
		answer, ok := cli.ReadAnswer(c.in)
		switch {
		case !ok:
			fmt.Fprintln(c.out)
			return false
		case strings.HasPrefix(strings.ToLower(answer), "y"):
			return true
		case strings.HasPrefix(strings.ToLower(answer), "n"):
			return false
		}
		neither()
	}
}
