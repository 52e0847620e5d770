package journal

import (
	"fmt"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Identifier is the program that a line of cron's log names as its source.
type Identifier uint8

// The identifiers. How they are spelled depends on the family.
const (
	Daemon  Identifier = iota // cron, crond
	Child                     // CRON, CROND: what runs a job
	Crontab                   // crontab(1)
	Anacron
)

// The priorities of syslog that are used here.
const (
	prioErr     = 3
	prioWarning = 4
	prioNotice  = 5
	prioInfo    = 6
	prioDebug   = 7
)

// CronLine is a line of cron's own log: IDENT[PID]: (WHO) WORD (TEXT).
// Watchers match it byte by byte.
type CronLine struct {
	From      Identifier
	PID       int // 0 is the daemon's
	Who       string
	Word      string // "": Text is all of the line, as anacron writes it
	Text      string // any bytes; what cannot be printed is shown as cron shows it
	MessageID string
	About     *Run
}

// message is the line without identifier and process.
func (l *CronLine) message() string {
	if l.Word == "" {
		return crontab.Printable(l.Text)
	}
	return "(" + crontab.Printable(l.Who) + ") " + crontab.Printable(l.Word) + " (" + crontab.Printable(l.Text) + ")"
}

// priority is info, except for errors, and notice for all lines of anacron.
func (l *CronLine) priority() int {
	switch {
	case l.From == Anacron:
		return prioNotice
	case l.word() == "ERROR":
		return prioErr
	}
	return prioInfo
}

// word is the line's, also where Text is the whole line.
func (l *CronLine) word() string {
	if l.Word != "" {
		return l.Word
	}
	_, after, _ := strings.Cut(l.Text, ") ")
	word, _, _ := strings.Cut(after, " (")
	return word
}

// Level is the bits of Debian's -L.
type Level int

// The bits. Silent stands for -L 0, as the zero Level is the default: starts.
const (
	Starts   Level = 1
	Ends     Level = 2
	Failures Level = 4
	PIDs     Level = 8
	Silent   Level = 16
)

// Words returns the log lines of the family's cron.
type Words struct {
	Family crontab.Family
	Level  Level // Debian's; cronie has none
}

func (w Words) has(bit Level) bool {
	if w.Level == 0 {
		return bit == Starts
	}
	return w.Level&bit != 0
}

func (w Words) format(i Identifier) string {
	names := [...]string{"cron", "CRON", "crontab", "anacron"}
	if w.Family == crontab.RHEL {
		names = [...]string{"crond", "CROND", "crontab", "anacron"}
	}
	return names[i]
}

// Started returns the lines for a run that has its process.
func (w Words) Started(r *Run) []CronLine {
	switch {
	case r.Anacron != "":
		return []CronLine{{From: Anacron, Text: "Job `" + r.Anacron + "' started", MessageID: StartedID, About: r}}
	case r.Quiet, w.Family == crontab.Debian && !w.has(Starts):
		return nil
	}
	return []CronLine{w.command("CMD", StartedID, r)}
}

// command is a line about a run's command: with the process of its shell, or
// with that in the text and the daemon's outside.
func (w Words) command(word, id string, r *Run) CronLine {
	if w.Family == crontab.Debian && w.has(PIDs) {
		return CronLine{From: Child, Who: r.User, Word: word, Text: fmt.Sprintf("[%d] %s", r.PID, r.Command), MessageID: id, About: r}
	}
	return CronLine{From: Child, PID: r.PID, Who: r.User, Word: word, Text: r.Command, MessageID: id, About: r}
}

// Ended returns the lines for an ended run. For cron, a run without a process never started.
func (w Words) Ended(r *Run, o job.Outcome) []CronLine {
	switch {
	case r.Anacron != "":
		return []CronLine{{From: Anacron, Text: w.anacronEnded(r, o), About: r}}
	case r.PID == 0:
		return nil
	case w.Family == crontab.RHEL && r.Quiet:
		return nil
	case w.Family == crontab.RHEL:
		return []CronLine{w.command("CMDEND", "", r)}
	}
	var lines []CronLine
	if text := grandchild(r, o); text != "" && w.has(Failures) {
		lines = append(lines, CronLine{From: Child, Who: "CRON", Word: "error", Text: text, About: r})
	}
	if w.has(Ends) && !r.Quiet {
		lines = append(lines, w.command("END", "", r))
	}
	return lines
}

func grandchild(r *Run, o job.Outcome) string {
	switch {
	case o.Kind == job.Exited && o.Code != 0:
		return fmt.Sprintf("grandchild #%d failed with exit status %d", r.PID, o.Code)
	case o.Kind == job.Signalled, o.Kind == job.TimedOut && o.Signal != 0:
		return fmt.Sprintf("grandchild #%d terminated by signal %d", r.PID, o.Signal)
	}
	return ""
}

func (w Words) anacronEnded(r *Run, o job.Outcome) string {
	output := ""
	switch {
	case r.Printed && w.Family == crontab.RHEL:
		output = " (produced output)"
	case r.Printed:
		output = " (mailing output)"
	}
	how := " abnormally"
	switch {
	case o.OK():
		how = ""
	case o.Kind == job.Exited:
		how = fmt.Sprintf(" (exit status: %d)", o.Code)
	case o.Signal != 0:
		how = fmt.Sprintf(" due to signal %d", o.Signal)
	}
	return "Job `" + r.Anacron + "' terminated" + how + output
}

// Output is a line that a job printed, as cronie logs it when it sends no
// mail.
func (w Words) Output(r *Run, text []byte) CronLine {
	return CronLine{From: Child, PID: r.PID, Who: r.User, Word: "CMDOUT", Text: string(text), About: r}
}

// Up returns the lines for the start of the daemon. Debian's cron logs none in the foreground,
// where an init system runs it.
func (w Words) Up(version string) []CronLine {
	if w.Family == crontab.Debian {
		return nil
	}
	return []CronLine{{Who: "CRON", Word: "STARTUP", Text: version}}
}

// Down returns the lines for the end of the daemon.
func (w Words) Down() []CronLine {
	if w.Family == crontab.Debian {
		return nil
	}
	return []CronLine{{Who: "CRON", Word: "INFO", Text: "Shutting down"}}
}

// Reboot returns the line about @reboot entries: whether this start of the daemon is one of the
// host.
func (w Words) Reboot(run bool) CronLine {
	l := CronLine{Who: "CRON", Word: "INFO", Text: "Running @reboot jobs"}
	switch {
	case !run && w.Family == crontab.RHEL:
		l.Text = "@reboot jobs will be run at computer's startup."
	case !run:
		l.Text = "Skipping @reboot jobs -- not system startup"
	}
	return l
}
