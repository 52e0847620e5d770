// Package config owns the configuration of a host, which it reads from cronring.toml and from the
// files of conf.d beside it, and checks. The files of conf.d are read in the order of their names; the
// last value of a setting applies. Settings of jobs become a sidecar.Sidecar, settings of limits
// slots.Limits. Each value keeps its file and line.
//
// Only root may write the files, and only known keys are valid: an unknown key is an error with its
// line. The valid settings still apply, so that one mistake does not stop a host's jobs.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/notify"
	"github.com/cronring/cronring/daemon/spool"
)

// Config is the content of the files in a directory.
type Config struct {
	Session string // whether jobs run in a session that PAM opened: SessionAuto or another
	Mail    struct {
		Command string // receives the message on its standard input, instead of sendmail
		Off     bool
	}
	Log struct {
		CronLines *bool  // the lines that log watchers know; nil: yes
		To        string // "", auto, journal, syslog, text or json
	}
	Permissive bool // cronie's -p: crontabs are trusted whoever owns them
	Ring       Ring
	Access     Access
	Listen     string           // address of the listener; "": none
	Tokens     map[string]Token // by name

	CatchupRate int // caught-up runs of each user that start in a second; 0: no limit
	MaxEntries  int // of a user's crontab; 0: defaultEntries

	Limits      slots.Limits
	HistoryRows int              // runs, skips and other facts of each user other than root that the history keeps, for each kind; 0: no limit
	AuditRows   int              // entries of each user other than admins that the audit log keeps
	AuditAge    time.Duration    // how long it keeps entries
	Sidecar     *sidecar.Sidecar // nil: no settings for entries
	PingHosts   []string         // that ping= of users' crontabs may name; not nil
	Channels    []notify.Channel // the valid ones, by name
	Calendars   map[string]Calendar
	Blackouts   map[string]Blackout
	Diagnostics []crontab.Diagnostic

	Positions map[string]sidecar.Position // the position of each setting that differs from the default
}

// Access names who has a role on the host: users, and groups with @ before them.
type Access struct{ View, Operate, Admin []string }

// defaultEntries is the highest number of entries of a user's crontab if the configuration sets no
// limit.
const defaultEntries = 10_000

// EntriesPerUser returns the highest number of entries of a user's crontab.
func (c *Config) EntriesPerUser() int { return cmp.Or(c.MaxEntries, defaultEntries) }

// OfCrontabs returns the settings that change the meaning of crontabs.
func (c *Config) OfCrontabs() spool.Settings {
	return spool.Settings{Sidecar: c.Sidecar, Channels: c.ChannelUsers(), RingUsers: c.RingUsers(), PingHosts: c.PingHosts, MaxEntries: c.EntriesPerUser()}
}

// Read reads the configuration in a directory; missing files are not an error.
func Read(dir string) Config {
	c := Config{Session: SessionAuto, Limits: slots.Limits{MaxPerUser: defaultPerUser}, HistoryRows: defaultRows, AuditRows: defaultAuditRows, AuditAge: defaultAuditAge, PingHosts: []string{}, Positions: map[string]sidecar.Position{}}
	r := reader{Config: &c, dir: dir, channels: map[string]*notify.Channel{}, jobs: map[string]sidecar.JobConfig{}}
	for _, file := range Files(dir) {
		r.read(file)
	}
	r.finish()
	return c
}

// Files returns the files of the configuration in a directory, in the order of reading. The first is
// included even if it is missing.
func Files(dir string) []string {
	return append([]string{filepath.Join(dir, "cronring.toml")}, atomicfile.Match(filepath.Join(dir, "conf.d"), "*.toml")...)
}

// Unread returns why a file of the configuration could not be read, or "".
func (c *Config) Unread() string {
	for _, d := range c.Diagnostics {
		if d.Code == unread {
			return placed(d)
		}
	}
	return ""
}

// Err returns the errors that disable a setting.
func (c *Config) Err() error {
	var errs []error
	for _, d := range c.Diagnostics {
		if d.Severity == crontab.Error {
			errs = append(errs, sentence(d))
		}
	}
	return errors.Join(errs...)
}

func sentence(d crontab.Diagnostic) error { return errors.New("read configuration: " + placed(d)) }

// placed returns a message after the place that it is about.
func placed(d crontab.Diagnostic) string {
	text := d.File
	if d.Line > 0 {
		text = fmt.Sprintf("%s:%d", d.File, d.Line)
	}
	return text + ": " + d.Message
}

// The codes of diagnostics on files, in addition to those of crontab on a Sidecar.
const (
	unread  crontab.Code = "B603" // a file
	unknown crontab.Code = "B604" // a key or a value

	unreadCalendar crontab.Code = "B605"
	UnusableToken  crontab.Code = "B606"
	OpenListener   crontab.Code = "B607" // an address that other hosts reach
)

// reader collects the settings of the files, which it reads one after the other.
type reader struct {
	*Config
	dir      string
	sidecar  sidecar.Sidecar
	jobs     map[string]sidecar.JobConfig
	channels map[string]*notify.Channel
	matches  int // of the files before this one
	ringAt   sidecar.Position
}

func (r *reader) report(at sidecar.Position, code crontab.Code, message, fix string) {
	r.Diagnostics = append(r.Diagnostics, crontab.Diagnostic{
		File: at.File, Line: at.Line, Severity: crontab.Error, Code: code, Message: message, Fix: fix,
	})
}

func (r *reader) read(file string) {
	text, err := readTrusted(file)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	at := sidecar.Position{File: file}
	if err != nil {
		r.report(at, unread, err.Error(), "")
		return
	}
	document := map[string]any{}
	_, err = toml.Decode(text, &document)
	var bad toml.ParseError
	switch {
	case errors.As(err, &bad):
		at.Line = bad.Position.Line
		r.report(at, unread, cmp.Or(bad.Message, "this is not TOML")+": nothing of this file counts", "")
		return
	case err != nil:
		r.report(at, unread, err.Error()+": nothing of this file counts", "")
		return
	}
	r.matches = len(r.sidecar.Matches)
	r.take(document, scan(text), file)
}

// take processes each key of a file, in order.
func (r *reader) take(document map[string]any, keys []key, file string) {
	var strange []string // an unknown table
	for _, k := range keys {
		at := sidecar.Position{File: file, Line: k.line}
		if len(strange) > 0 && len(k.path) >= len(strange) && slices.Equal(k.path[:len(strange)], strange) {
			continue
		}
		v := find(document, k.path)
		if isTable(v) {
			if !r.open(k.path, at) {
				strange = k.path
				r.reportUnknown(k.path, at)
			}
			continue
		}
		err := r.set(k.path, value{v}, at)
		if errors.Is(err, errUnknown) {
			r.reportUnknown(k.path, at)
		} else if err != nil {
			r.report(at, unknown, dotted(k.path)+": "+err.Error(), "")
		}
	}
}

func (r *reader) reportUnknown(path []string, at sidecar.Position) {
	fix := ""
	if near := diagnostic.Nearest(path[len(path)-1], knownKeys(path)); near != "" {
		fix = "write `" + dotted(append(slices.Clone(path[:len(path)-1]), near)) + "`"
	}
	r.report(at, unknown, "unknown key "+dotted(path), fix)
}

// dotted is a path as TOML writes it.
func dotted(path []string) string { return toml.Key(path).String() }

// finish checks the settings of all files together.
func (r *reader) finish() {
	r.checkRing()
	r.finishCalendars()
	r.finishBlackouts()
	r.finishListen()
	for _, name := range sortedKeys(r.channels) {
		r.addChannel(r.channels[name])
	}
	for name, p := range r.Limits.Pools {
		p.Size = max(p.Size, 1)
		r.Limits.Pools[name] = p
	}
	if len(r.jobs) > 0 {
		r.sidecar.Jobs = r.jobs
	}
	if s := &r.sidecar; len(s.Default)+len(s.Jobs)+len(s.Matches) > 0 {
		r.Sidecar = s
		r.Diagnostics = append(r.Diagnostics, crontab.CheckSidecar(s, crontab.Config{Zone: spool.LoadZone, Calendars: r.Dates()})...)
	}
	slices.SortStableFunc(r.Diagnostics, func(a, b crontab.Diagnostic) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// maxFile is the maximum size of a file of the configuration, in bytes.
const maxFile = 1 << 20

// readTrusted reads a file that only root or the daemon's user may have written.
func readTrusted(path string) (string, error) {
	return atomicfile.ReadTrusted(path, maxFile, atomicfile.Changeable)
}
