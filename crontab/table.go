package crontab

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Format tells whether entries have a column for the account.
type Format uint8

// The two formats of crontab files.
const (
	User   Format = iota // a user's own crontab
	System               // /etc/crontab, /etc/cron.d: the sixth column is the account
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
	Family     Family
	Owner      string                                    // account of a user's crontab
	Privileged bool                                      // the table is root's: the - prefix has effect
	Local      *time.Location                            // the host's zone; nil means UTC
	Zone       func(name string) (*time.Location, error) // looks up CRON_TZ= and tz=; nil knows none
	Seed       uint64                                    // fixes what is chosen at random once: ~, jitter, spread
}

// Table is one crontab file. It is immutable.
type Table struct {
	Name    string // as given to Parse; often a path
	Format  Format
	Entries []Entry // the good lines, in file order
	text    string
}

// Entry is one line that names times and a command. It is a small index into
// its table's text (a host may hold a million), so most of it is read through
// methods. Entries that name the same times in the same zone share one
// Schedule value, which can therefore be compared with ==.
type Entry struct {
	Schedule cron.Schedule // Reboot for @reboot
	section  *section
	start    uint32 // offset of the line in the table's text
	length   uint32
	spec     uint32 // end of the time fields within the line
	command  uint32 // start of the command within the line
	line     int32
	flags    flags
}

// section is what stands above an entry and holds for it: shared by all
// entries between two lines that change it.
type section struct {
	table   *Table
	env     []string // NAME=value
	zone    *Zone
	options *Options
}

type flags uint16

const (
	flagQuiet         flags = 1 << iota // cronie's leading -: no log lines
	flagMailOnFailure                   // cronie's -n after the fields
)
