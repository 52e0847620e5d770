package crontab

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Format tells what the columns of a file are.
type Format uint8

// The formats of files.
const (
	User    Format = iota // a user's own crontab
	System                // /etc/crontab, /etc/cron.d: the sixth column is the account
	Anacron               // /etc/anacrontab: period, delay, identifier, command
)

// Family is the kind of host whose defaults hold where crons differ.
type Family uint8

// The families of hosts.
const (
	Debian Family = iota
	RHEL
)

// Config is what Parse must know beyond the text. The zero value reads a
// user's crontab in UTC.
type Config struct {
	Format     Format
	Family     Family                                    // for remarks, and for anacrontab: a line of a crontab means the same everywhere
	Owner      string                                    // user whose crontab it is; "": root's, or a file named on the command line, which counts as root's
	User       string                                    // user that the entries of a user's crontab run as; "": Owner
	Privileged bool                                      // the table is root's: the - prefix has effect
	Local      *time.Location                            // the host's zone; nil means UTC
	Zone       func(name string) (*time.Location, error) // looks up CRON_TZ= and tz=; nil knows none
	Seed       uint64                                    // fixes what is chosen at random once: ~, jitter, spread
	StandIn    bool                                      // anacron is not installed: lines that run /etc/cron.daily and so on take its place
	Sidecar    *Sidecar                                  // options from elsewhere; nil: none
	MaxEntries int                                       // most jobs of a user's crontab, where an entry with shards=N counts as N; 0: no limit. Lines, bytes and variables are limited in proportion.
	Channels   map[string][]string                       // what notify= may name, and the accounts whose own tables may, "*" for all; nil: anything
	RingUsers  []string                                  // users whose own crontabs may have scope=ring, "*" for all; nil: any
	Cache      *Cache                                    // shares zones and schedules with other tables; nil: this table alone
}

// Table is one crontab file. It is immutable.
type Table struct {
	Name    string // as given to Parse; often a path
	Format  Format
	Entries []Entry // the good lines, in file order
	text    string
	owner   string
	user    string
	touched *touched // nil: no part of the sidecar is for an entry of it

	truncated bool
}

// Truncated reports whether the crontab is beyond Config.MaxEntries, so that
// Entries are only the first ones.
func (t *Table) Truncated() bool { return t.truncated }

// Entry is one line that names times and a command. It is a small index into
// its table's text (a host may hold a million), so most of it is read through
// methods. Entries that name the same times in the same zone share one
// Schedule value, which can therefore be compared with ==.
type Entry struct {
	Schedule cron.Schedule // Reboot for @reboot
	section  *section
	start    uint32 // offset of the line in the table's text
	line     uint32
	spec     uint16 // end of the time fields within the line
	command  uint16 // start of the command within the line
	flags    flags
}

// section is what stands above an entry and holds for it: shared by all
// entries between two lines that change it.
type section struct {
	table   *Table
	env     *setting // the nearest assignment above
	zone    *Zone
	options *Options
}

type flags uint16

const (
	flagQuiet         flags = 1 << iota // cronie's leading -: no log lines
	flagMailOnFailure                   // cronie's -n after the fields
)

// Owner is the user whose crontab it is. It is root for the crontabs of the host,
// whatever users their entries run as, and for files named on the command line.
// A job is identified by this owner and its name. An entry has no power over
// those of another owner, unless its own is root.
func (t *Table) Owner() string { return t.owner }

// Table is the file that the entry stands in.
func (e *Entry) Table() *Table { return e.section.table }

// Line is the entry's line number, from 1.
func (e *Entry) Line() int { return int(e.line) }

// Raw is the line as written, without its line end. Lines of anacrontab are
// joined first.
func (e *Entry) Raw() string {
	rest := e.section.table.text[e.start:]
	return strings.TrimSuffix(rest[:strings.IndexByte(rest, '\n')], "\r")
}

// Spec is the time fields or the nickname as written, without a leading - and
// with one blank between two fields, whatever the line has there; in anacrontab
// period and delay.
func (e *Entry) Spec() string {
	s := e.section.table.text[e.start : e.start+uint32(e.spec)]
	s = strings.TrimPrefix(strings.TrimLeft(s, blanks), "-")
	if strings.IndexByte(s, '\t') < 0 && !strings.Contains(s, "  ") { // most are cut out of the text, and take no memory
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// User is the account that the command runs as: the column of the system
// format, or Config.User of a user's crontab.
func (e *Entry) User() string {
	t := e.section.table
	switch t.Format {
	case User:
		return t.user
	case Anacron:
		return "root"
	}
	between := t.text[e.start+uint32(e.spec) : e.start+uint32(e.command)]
	between = strings.TrimLeft(between, blanks)
	return between[:wordEnd(between, 0)]
}

// Command is what the shell is given: the text up to the first unescaped %,
// with \% undone and all else untouched.
func (e *Entry) Command() string {
	if e.section.table.Format == Anacron {
		return e.rest() // to anacron % is a character as any other
	}
	command, _, _ := splitCommand(e.rest())
	return command
}

// Stdin is what the command reads, or false when the line has no %.
func (e *Entry) Stdin() (string, bool) {
	if e.section.table.Format == Anacron {
		return "", false
	}
	_, input, ok := splitCommand(e.rest())
	if !ok {
		return "", false
	}
	return stdinText(input), true
}

// rest is the line from the command on.
func (e *Entry) rest() string { return e.Raw()[e.command:] }

// Env is the assignments above the entry as NAME=value, in the order in which
// the names first appear; the last value of a name counts.
func (e *Entry) Env() []string { return e.section.env.list() }

// Lookup finds the value of a name that is assigned above the entry.
func (e *Entry) Lookup(name string) (string, bool) { return e.section.env.lookup(name) }

// Options is what the #@ directives say for the entry. It is shared and must
// not be changed.
func (e *Entry) Options() *Options { return e.section.options }

// Zone is the zone that the time fields are read in.
func (e *Entry) Zone() *Zone { return e.section.zone }

// Quiet tells whether the entry asks for no log line of its start (cronie's
// leading -, which only root's tables may use).
func (e *Entry) Quiet() bool { return e.flags&flagQuiet != 0 }

// MailOnFailure tells whether mail is sent only when the command fails
// (cronie's -n after the fields).
func (e *Entry) MailOnFailure() bool { return e.flags&flagMailOnFailure != 0 }

// Dir is the folder that the command starts in where that is not the account's
// home: / for the lines of anacrontab, else "". Those also run in /bin/sh,
// whatever SHELL says: both are how anacron does it.
func (e *Entry) Dir() string {
	if e.section.table.Format == Anacron {
		return "/"
	}
	return ""
}

// Reboot tells whether the entry runs once at each start of the host.
func (e *Entry) Reboot() bool { return e.Schedule == Reboot }
