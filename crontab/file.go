package crontab

import (
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
)

// Format is the column layout of a file.
type Format uint8

// The formats of files.
const (
	User    Format = iota // a user's own crontab
	System                // /etc/crontab, /etc/cron.d: the sixth column is the user
	Anacron               // /etc/anacrontab: period, delay, identifier, command
)

// Family selects the behaviour where the crons of distributions differ.
type Family uint8

// The families of hosts.
const (
	Debian Family = iota
	RHEL
)

// Config is the context of a crontab. The zero value reads a user's crontab in
// UTC.
type Config struct {
	Format     Format
	Family     Family                                    // for diagnostics and anacrontab: the meaning of crontab entries does not depend on it
	Owner      string                                    // user whose crontab it is; "": root's, or a file named on the command line, which counts as root's
	User       string                                    // user that the entries of a user's crontab run as; "": Owner
	Privileged bool                                      // the crontab is root's: the - prefix has effect
	Local      *time.Location                            // the host's zone; nil means UTC
	Zone       func(name string) (*time.Location, error) // looks up CRON_TZ= and tz=; nil: every name is unknown
	Seed       uint64                                    // of the random choices for ~, jitter and spread
	StandIn    bool                                      // anacron is not installed: entries that run /etc/cron.daily and similar get a Period
	Sidecar    *sidecar.Sidecar                          // options from elsewhere; nil: none
	MaxEntries int                                       // most jobs of a user's crontab, where an entry with shards=N counts as N; 0: no limit. Lines, bytes and variables are limited in proportion.
	Channels   map[string][]string                       // channels for notify=, and the users whose own crontabs may use each, "*" for all; nil: no check
	Processors int                                       // of the host; 0: unknown, so that cpu= is not compared with it
	PingHosts  []string                                  // hosts that ping= of users' own crontabs may name, with their port if it is not the usual one; nil: any
	RingUsers  []string                                  // users whose own crontabs may have scope=ring, "*" for all; nil: any
	Calendars  map[string]timetable.Calendar             // that calendar= and except= may name
	Cache      *Cache                                    // shares zones and schedules with other crontabs; nil: not shared
}

// File is one crontab file. It is immutable.
type File struct {
	Name    string // as given to Parse; often a path
	Format  Format
	Entries []Entry // the valid entries, in file order
	owner   string
	user    string
	touched *sidecar.Touched // nil: no part of the sidecar matches an entry of it

	truncated bool
}

// Truncated reports whether the crontab exceeds Config.MaxEntries, so that
// Entries are incomplete.
func (t *File) Truncated() bool { return t.truncated }

// Entry is one line with times and a command. Its methods return the parts of the
// line. Entries with the same times in the same zone share one Schedule value, so
// schedules can be compared with ==.
type Entry struct {
	Schedule cron.Schedule // Reboot for @reboot
	section  *section
	raw      string // the line
	line     uint32
	spec     uint16 // end of the time fields within the line
	command  uint16 // start of the command within the line
	flags    flags
}

// section is the context of an entry: the assignments and options above it. All
// entries between two lines that change the context share a section.
type section struct {
	file    *File
	env     *setting // the nearest assignment above
	zone    *timetable.Zone
	options *option.Options
}

type flags uint16

const (
	flagQuiet         flags = 1 << iota // cronie's leading -: no log lines
	flagMailOnFailure                   // cronie's -n after the fields
)

// Owner returns the user whose crontab it is. It is root for system crontabs,
// even if their entries run as other users, and for files from the command line.
// Owner and name identify a job. An entry cannot affect entries of other owners,
// unless its own owner is root.
func (t *File) Owner() string { return t.owner }

// File returns the crontab that contains the entry.
func (e *Entry) File() *File { return e.section.file }

// Line returns the entry's line number, from 1.
func (e *Entry) Line() int { return int(e.line) }

// Raw returns the line as written, without its line end. Continued lines of
// anacrontab are joined.
func (e *Entry) Raw() string { return e.raw }

// Spec returns the time fields or the nickname, without a leading - and with one
// blank between two fields. In anacrontab it returns period and delay.
func (e *Entry) Spec() string {
	s := e.raw[:e.spec]
	s = strings.TrimPrefix(strings.TrimLeft(s, lex.Blanks), "-")
	if strings.IndexByte(s, '\t') < 0 && !strings.Contains(s, "  ") { // most are cut out of the text, and take no memory
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// User returns the user that the command runs as: the column of a system
// crontab, or Config.User of a user's crontab.
func (e *Entry) User() string {
	t := e.section.file
	switch t.Format {
	case User:
		return t.user
	case Anacron:
		return "root"
	}
	between := strings.TrimLeft(e.raw[e.spec:e.command], lex.Blanks)
	return between[:lex.WordEnd(between, 0)]
}

// Command returns the command for the shell: the text up to the first unescaped
// %, with each \% replaced by %.
func (e *Entry) Command() string {
	if e.section.file.Format == Anacron {
		return e.rest() // % has no special meaning in anacrontab
	}
	command, _, _ := splitCommand(e.rest())
	return command
}

// Stdin returns the standard input of the command, or false if the line has no %.
func (e *Entry) Stdin() (string, bool) {
	if e.section.file.Format == Anacron {
		return "", false
	}
	_, input, ok := splitCommand(e.rest())
	if !ok {
		return "", false
	}
	return stdinText(input), true
}

// rest returns the line from the command on.
func (e *Entry) rest() string { return e.raw[e.command:] }

// Env returns the assignments above the entry and the variables of env= as NAME=value,
// in the order that the names first appear. The last value of a name applies.
func (e *Entry) Env() []string {
	env := e.section.env.list()
	for _, entry := range e.section.options.Process.Env {
		name := entry[:strings.IndexByte(entry, '=')+1]
		if i := slices.IndexFunc(env, func(old string) bool { return strings.HasPrefix(old, name) }); i >= 0 {
			env[i] = entry
			continue
		}
		env = append(env, entry)
	}
	return env
}

// Lookup returns the value that is assigned to a name above the entry.
func (e *Entry) Lookup(name string) (string, bool) { return e.section.env.lookup(name) }

// Options returns the options of the entry. They are shared between entries and
// must not be changed.
func (e *Entry) Options() *option.Options { return e.section.options }

// Zone returns the time zone of the time fields.
func (e *Entry) Zone() *timetable.Zone { return e.section.zone }

// Quiet reports whether starts of the entry are not logged (cronie's leading -,
// which only root's crontabs may use).
func (e *Entry) Quiet() bool { return e.flags&flagQuiet != 0 || e.section.options.Quiet }

// MailOnFailure reports whether mail is sent only if the command fails (cronie's
// -n after the fields).
func (e *Entry) MailOnFailure() bool { return e.flags&flagMailOnFailure != 0 }

// Dir returns the working directory of the command if that is not the user's
// home: / for entries of anacrontab, else "". Like in anacron, those entries also
// always run in /bin/sh and ignore SHELL.
func (e *Entry) Dir() string {
	if e.section.file.Format == Anacron {
		return "/"
	}
	return ""
}

// Meaning describes in words when the entry starts.
func (e *Entry) Meaning() string {
	if o := e.Options(); o.IsStartedByEvents() {
		return "at events: on=" + o.Text("on")
	}
	return timetable.Describe(e.Schedule)
}

// Reboot reports whether the entry runs once at each start of the host.
func (e *Entry) Reboot() bool { return e.Schedule == timetable.Reboot }
