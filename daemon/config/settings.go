package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/slots"
)

// The limits of settings.
const (
	mostRuns  = 1_000_000
	mostSlots = 1_000_000
	mostRate  = 1_000_000
	mostRows  = 1_000_000_000

	mostEntries = 100_000 // the supported scale of a host
)

// defaultPerUser is the default of max-running-per-user. It also limits what else the runs of a user
// need: processes, descriptors and memory for output.
const defaultPerUser = 200

// defaultRows is the default of history-rows-per-user: at most half a gigabyte of a user's history,
// without output.
const defaultRows = 500_000

// Defaults of the audit log, unless the configuration sets others. Entries of a
// user have at most 4 KB.
const (
	defaultAuditRows = 10_000
	defaultAuditAge  = 730 * 24 * time.Hour
)

// The values of session.
const (
	SessionAuto = "auto" // by PAM, if the PAM file of cron requires it
	SessionNone = "none"
	SessionPAM  = "pam"
)

// setting is one key: how it is read, and how its effective value is shown.
type setting struct {
	key     string
	atStart bool // running parts keep the value from their start
	read    func(*Config, value) error
	show    func(*Config) string
}

// settings contains all settings, in the order of the manual page.
var settings = append([]setting{
	{"session", true, func(c *Config, v value) error { return oneOf(&c.Session, v, SessionAuto, SessionNone, SessionPAM) },
		func(c *Config) string { return c.Session }},
	{"permissive", true, func(c *Config, v value) (err error) { c.Permissive, err = v.truth(); return err },
		func(c *Config) string { return strconv.FormatBool(c.Permissive) }},
	{"max-running", false, func(c *Config, v value) (err error) { c.Limits.MaxRunning, err = v.number(0, mostRuns); return err },
		func(c *Config) string { return limit(c.Limits.MaxRunning) }},
	{"max-running-per-user", false, func(c *Config, v value) (err error) {
		c.Limits.MaxPerUser, err = v.number(0, mostRuns)
		return err
	},
		func(c *Config) string { return limit(c.Limits.MaxPerUser) }},
	{"max-entries-per-user", false, func(c *Config, v value) (err error) { c.MaxEntries, err = v.number(1, mostEntries); return err },
		func(c *Config) string { return strconv.Itoa(c.EntriesPerUser()) }},
	{"queue-max", false, func(c *Config, v value) (err error) { c.Limits.QueueMax, err = v.number(1, mostRuns); return err },
		func(c *Config) string { return strconv.Itoa(c.Limits.Queue()) }},
	{"catchup.max-per-second", false, func(c *Config, v value) (err error) {
		c.CatchupRate, err = v.number(0, mostRuns)
		return err
	},
		func(c *Config) string { return limit(c.CatchupRate) }},
	{"history-rows-per-user", false, func(c *Config, v value) (err error) { c.HistoryRows, err = v.number(0, mostRows); return err },
		func(c *Config) string { return limit(c.HistoryRows) }},
	{"audit-rows-per-user", false, func(c *Config, v value) (err error) { c.AuditRows, err = v.number(1, mostRows); return err },
		func(c *Config) string { return strconv.Itoa(c.AuditRows) }},
	{"audit-age", false, func(c *Config, v value) (err error) { c.AuditAge, err = v.duration(); return err },
		func(c *Config) string { return timetable.DurationText(c.AuditAge) }},
	{"access.view", false, func(c *Config, v value) (err error) { c.Access.View, err = v.members(); return err },
		func(c *Config) string { return members(c.Access.View) }},
	{"access.operate", false, func(c *Config, v value) (err error) { c.Access.Operate, err = v.members(); return err },
		func(c *Config) string { return members(c.Access.Operate) }},
	{"access.admin", false, func(c *Config, v value) (err error) { c.Access.Admin, err = v.members(); return err },
		func(c *Config) string { return members(c.Access.Admin) }},
	{"ping-hosts", false, readPingHosts,
		func(c *Config) string { return cmp.Or(strings.Join(c.PingHosts, ","), "none") }},
	{"listen.address", true, func(c *Config, v value) (err error) { c.Listen, err = v.address(); return err },
		func(c *Config) string { return cmp.Or(c.Listen, "none") }},
	{"mail.command", true, func(c *Config, v value) (err error) { c.Mail.Command, err = v.text(); return err },
		func(c *Config) string { return cmp.Or(c.Mail.Command, "sendmail") }},
	{"mail.off", true, func(c *Config, v value) (err error) { c.Mail.Off, err = v.truth(); return err },
		func(c *Config) string { return strconv.FormatBool(c.Mail.Off) }},
	{"log.cron-lines", true, readCronLines,
		func(c *Config) string { return strconv.FormatBool(c.Log.CronLines == nil || *c.Log.CronLines) }},
	{"log.to", true, func(c *Config, v value) error {
		return oneOf(&c.Log.To, v, "auto", "journal", "syslog", "text", "json")
	},
		func(c *Config) string { return cmp.Or(c.Log.To, "auto") }},
}, ringSettings...)

// KeepStarted copies the settings that only a start of the daemon can change from old, and returns the
// names of those that differ.
func (c *Config) KeepStarted(old *Config) (waiting []string) {
	for _, s := range settings {
		if !s.atStart {
			continue
		}
		if s.show(c) != s.show(old) {
			waiting = append(waiting, s.key)
		}
		delete(c.Positions, s.key)
		if at, ok := old.Positions[s.key]; ok {
			c.Positions[s.key] = at
		}
	}
	users := c.Ring.Users
	c.Session, c.Permissive, c.Mail, c.Log, c.Listen, c.Ring = old.Session, old.Permissive, old.Mail, old.Log, old.Listen, old.Ring
	c.Ring.Users = users
	return waiting
}

func readCronLines(c *Config, v value) error {
	yes, err := v.truth()
	if err == nil {
		c.Log.CronLines = &yes
	}
	return err
}

func readPingHosts(c *Config, v value) error {
	hosts, err := v.texts()
	if err != nil {
		return err
	}
	for i, host := range hosts {
		hosts[i] = strings.ToLower(host)
		if u, err := url.Parse("https://" + hosts[i] + "/"); err != nil || u.Host != hosts[i] || u.Hostname() == "" {
			return fmt.Errorf("%q is not a host, or a host and a port", host)
		}
	}
	c.PingHosts = hosts
	return nil
}

func limit(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

func members(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }

func oneOf(to *string, v value, words ...string) error {
	text, err := v.text()
	if err != nil {
		return err
	}
	if !slices.Contains(words, text) {
		return fmt.Errorf("it is %q, want %s", text, list(words))
	}
	*to = text
	return nil
}

// list joins words, with or before the last one.
func list(words []string) string {
	text := strconv.Quote(words[0])
	for _, word := range words[1 : len(words)-1] {
		text += ", " + strconv.Quote(word)
	}
	return text + " or " + strconv.Quote(words[len(words)-1])
}

var errUnknown = errors.New("unknown key")

// tables are the paths of valid tables, in addition to those of settings; * is any name or number.
var tables = [][]string{
	{"token"}, {"token", "*"}, {"ring", "labels"}, {"default"}, {"job"}, {"job", "*"}, {"match"}, {"match", "*"}, {"match", "*", "set"},
	{"pool"}, {"pool", "*"}, {"channel"}, {"channel", "*"}, {"channel", "*", "header"}, {"calendar"}, {"calendar", "*"},
	{"blackout"}, {"blackout", "*"},
}

// open records a table. It returns false for an unknown one.
func (r *reader) open(path []string, at sidecar.Position) bool {
	known := slices.ContainsFunc(tables, func(shape []string) bool {
		return slices.EqualFunc(shape, path, func(want, got string) bool { return want == "*" || want == got })
	}) || slices.ContainsFunc(settings, func(s setting) bool { return strings.HasPrefix(s.key, dotted(path)+".") })
	if known && path[0] == "ring" {
		r.ringAt = cmp.Or(r.ringAt, at)
	}
	if !known || len(path) < 2 {
		return known
	}
	switch name := path[1]; path[0] {
	case "job":
		element(&r.jobs, name, sidecar.JobConfig{At: at})
	case "match":
		r.match(name, at)
	case "pool":
		element(&r.Limits.Pools, name, slots.Pool{})
	case "channel":
		r.channel(name)
	case "calendar":
		element(&r.Calendars, name, Calendar{})
	case "blackout":
		element(&r.Blackouts, name, Blackout{At: at})
	case "token":
		r.token(name)
	}
	return true
}

// set applies a key and its value.
func (r *reader) set(path []string, v value, at sidecar.Position) error {
	key := dotted(path)
	for _, s := range settings {
		if s.key == key {
			return r.placed(key, at, s.read(r.Config, v))
		}
	}
	switch last := path[len(path)-1]; {
	case path[0] == "default" && len(path) == 2:
		return addOption(&r.sidecar.Default, last, v, at)
	case path[0] == "job" && len(path) == 3:
		return r.setJob(path[1], last, v, at)
	case path[0] == "match" && len(path) == 4 && path[2] == "set":
		return addOption(&r.match(path[1], at).Set, last, v, at)
	case path[0] == "match" && len(path) == 3:
		return r.setMatch(path[1], last, v, at)
	case path[0] == "ring" && len(path) == 3:
		return r.placed("ring.labels", at, r.setLabel(last, v))
	case path[0] == "pool" && len(path) == 3:
		return r.placed(key, at, r.setPool(path[1], last, v))
	case path[0] == "calendar" && len(path) == 3:
		return r.placed(key, at, r.setCalendar(path[1], last, v, at))
	case path[0] == "token" && len(path) == 3:
		return r.placed(key, at, r.setToken(path[1], last, v))
	case path[0] == "blackout" && len(path) == 3:
		return r.placed(key, at, r.setBlackout(path[1], last, v, at))
	case path[0] == "channel" && len(path) == 3:
		return r.placed(key, at, setChannel(r.channel(path[1]), last, v))
	case path[0] == "channel" && len(path) == 4 && path[2] == "header":
		return r.placed(key, at, setHeader(r.channel(path[1]), last, v))
	}
	return errUnknown
}

// placed records the position of a value that applies.
func (r *reader) placed(key string, at sidecar.Position, err error) error {
	if err == nil {
		r.Positions[key] = at
	}
	return err
}

// knownKeys returns the valid keys for the last part of a path.
func knownKeys(path []string) []string {
	var keys []string
	switch {
	case len(path) == 1:
		for _, s := range settings {
			keys = append(keys, s.key)
		}
		return append(keys, "default", "job", "match", "pool", "channel", "calendar", "blackout", "token")
	case path[0] == "pool":
		return []string{"size", "rate", "users"}
	case path[0] == "calendar":
		return []string{"file"}
	case path[0] == "blackout":
		return []string{"hours", "from", "until", "zone", "reason"}
	case path[0] == "token":
		return []string{"file", "allow"}
	case path[0] == "match":
		return []string{"file", "user", "command", "set"}
	case path[0] == "channel":
		return channelKeys
	}
	for _, s := range settings {
		if key, ok := strings.CutPrefix(s.key, path[0]+"."); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// addOption adds an option to a set, or takes the place of one of the same key.
func addOption(set *[]sidecar.Setting, key string, v value, at sidecar.Position) error {
	text, err := v.option()
	if err != nil {
		return err
	}
	s := sidecar.Setting{Key: key, Value: text, File: at.File, Line: at.Line}
	if i := slices.IndexFunc(*set, func(old sidecar.Setting) bool { return old.Key == key }); i >= 0 {
		(*set)[i] = s
		return nil
	}
	*set = append(*set, s)
	return nil
}

// element returns the element with a name, and adds it if it is missing.
func element[V any](m *map[string]V, name string, missing V) V {
	if *m == nil {
		*m = map[string]V{}
	}
	v, ok := (*m)[name]
	if !ok {
		v = missing
		(*m)[name] = v
	}
	return v
}

func (r *reader) setJob(name, key string, v value, at sidecar.Position) (err error) {
	j := element(&r.jobs, name, sidecar.JobConfig{At: at})
	if key == "user" {
		j.User, err = v.text()
	} else {
		err = addOption(&j.Set, key, v, at)
	}
	r.jobs[name] = j
	return err
}

// match is the [[match]] of that number in the present file.
func (r *reader) match(number string, at sidecar.Position) *sidecar.Match {
	i, _ := strconv.Atoi(number)
	for len(r.sidecar.Matches) <= r.matches+i {
		r.sidecar.Matches = append(r.sidecar.Matches, sidecar.Match{At: at})
	}
	return &r.sidecar.Matches[r.matches+i]
}

func (r *reader) setMatch(number, key string, v value, at sidecar.Position) (err error) {
	m := r.match(number, at)
	switch key {
	case "file":
		m.File, err = v.text()
	case "user":
		m.User, err = v.text()
	case "command":
		m.Command, err = v.text()
	default:
		return errUnknown
	}
	return err
}

func (r *reader) setPool(name, key string, v value) (err error) {
	p := element(&r.Limits.Pools, name, slots.Pool{})
	switch key {
	case "size":
		p.Size, err = v.number(1, mostSlots)
	case "rate":
		p.Rate, p.Per, err = v.rate()
	case "users":
		p.Users, err = v.texts()
	default:
		return errUnknown
	}
	if err == nil {
		r.Limits.Pools[name] = p
	}
	return err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
