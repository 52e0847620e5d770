package migration

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/spool"
)

// timer is a systemd timer as a candidate for a crontab.
type timer struct {
	Unit       string    `json:"unit"`
	Path       string    `json:"path"`
	Activates  string    `json:"activates"`
	Enabled    bool      `json:"enabled"`
	Calendar   []string  `json:"on_calendar,omitempty"`
	Other      []string  `json:"other_triggers,omitempty"` // OnBootSec= and its like, as written
	Persistent bool      `json:"persistent,omitempty"`
	Delay      string    `json:"randomized_delay,omitempty"`
	User       string    `json:"user,omitempty"`
	Command    string    `json:"command,omitempty"` // ExecStart=, as written
	Next       time.Time `json:"next,omitzero"`
	Last       time.Time `json:"last,omitzero"`
	Lines      []string  `json:"crontab,omitempty"` // what would do the same
	WhyNot     []string  `json:"why_not,omitempty"` // what cannot be said in a crontab
	Loses      []string  `json:"loses,omitempty"`   // what the lines do differently
	Problem    string    `json:"problem,omitempty"` // why the unit could not be read
}

// unitPlaces are the directories of units, in the order of precedence. Generated units are
// excluded: they come from other files, perhaps crontabs.
var unitPlaces = []string{
	"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
}

// timers reads the timer units of the host.
func timers(ctx context.Context, m *inventory.Machine) []timer {
	paths := map[string]string{}
	for _, place := range slices.Backward(unitPlaces) {
		found, _ := filepath.Glob(filepath.Join(m.Root, place, "*.timer"))
		for _, path := range found {
			paths[filepath.Base(path)] = path
		}
	}
	var list []timer
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if path := paths[name]; !masked(path) && !alias(path) {
			list = append(list, readTimer(m, name, path))
		}
	}
	addElapsed(ctx, m, list)
	return list
}

// masked reports a unit that cannot be started: a link to /dev/null, or an
// empty file.
func masked(path string) bool {
	if target, err := os.Readlink(path); err == nil {
		return target == "/dev/null"
	}
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0
}

// alias reports a second name of another unit.
func alias(path string) bool {
	target, err := os.Readlink(path)
	return err == nil && filepath.Base(target) != filepath.Base(path)
}

func readTimer(m *inventory.Machine, name, path string) timer {
	t := timer{Unit: name, Path: m.HostPath(path), Enabled: wanted(m, name)}
	t.Activates = strings.TrimSuffix(name, ".timer") + ".service"
	u, err := readUnit(m, name, path)
	if err != nil {
		t.Problem = spool.Reason(err)
		return t
	}
	if other := u.last("Timer", "Unit"); other != "" {
		t.Activates = other
	}
	t.Calendar = u.list("Timer", "OnCalendar")
	for _, key := range []string{"OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec"} {
		for _, value := range u.list("Timer", key) {
			t.Other = append(t.Other, key+"="+value)
		}
	}
	for _, key := range []string{"OnClockChange", "OnTimezoneChange"} {
		if yes(u.last("Timer", key)) {
			t.Other = append(t.Other, key+"=yes")
		}
	}
	t.Persistent = yes(u.last("Timer", "Persistent"))
	if delay := u.last("Timer", "RandomizedDelaySec"); strings.Trim(delay, "0") != "" {
		t.Delay = delay
	}
	service := service(m, t.Activates)
	t.User, t.Command = service.last("Service", "User"), strings.Join(service.list("Service", "ExecStart"), "; ")
	t.translate(name, u, service)
	return t
}

// service returns the unit that a timer starts. If it is missing or unreadable, it has no
// settings.
func service(m *inventory.Machine, name string) unit {
	for _, place := range unitPlaces {
		path := filepath.Join(m.Root, place, name)
		if _, err := os.Lstat(path); err == nil {
			u, _ := readUnit(m, name, path)
			return u
		}
	}
	return unit{}
}

// wanted reports whether something pulls the unit in at boot.
func wanted(m *inventory.Machine, name string) bool {
	for _, place := range unitPlaces {
		for _, kind := range []string{"wants", "requires"} {
			found, _ := filepath.Glob(filepath.Join(m.Root, place, "*."+kind, name))
			if len(found) > 0 {
				return true
			}
		}
	}
	return false
}

// unit is the settings of a unit file and its drop-ins, in order.
type unit []setting

type setting struct{ section, key, value string }

// unit reads a unit file and, in the order of their names, its drop-ins.
func readUnit(m *inventory.Machine, name, path string) (unit, error) {
	text, err := m.Read(m.HostPath(path))
	if err != nil {
		return nil, err
	}
	u := parseUnit(text)
	dropIns := map[string]string{}
	for _, place := range slices.Backward(unitPlaces) {
		found, _ := filepath.Glob(filepath.Join(m.Root, place, name+".d", "*.conf"))
		for _, path := range found {
			dropIns[filepath.Base(path)] = path
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dropIns)) {
		if text, err := m.Read(m.HostPath(dropIns[name])); err == nil {
			u = append(u, parseUnit(text)...)
		}
	}
	return u, nil
}

// parseUnit reads the syntax of systemd.syntax(7).
func parseUnit(text string) unit {
	var u unit
	section, held := "", ""
	for line := range strings.Lines(text) {
		line = strings.Trim(line, " \t\r\n")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue // also between the lines of a continued one
		}
		if before, ok := strings.CutSuffix(line, `\`); ok {
			held += before + " "
			continue
		}
		line, held = held+line, ""
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line[1 : len(line)-1]
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok {
			u = append(u, setting{section, strings.TrimRight(key, " \t"), strings.TrimLeft(value, " \t")})
		}
	}
	return u
}

// list is all values of a key; an empty assignment drops those before it.
func (u unit) list(section, key string) []string {
	var values []string
	for _, s := range u {
		switch {
		case s.section != section || s.key != key:
		case s.value == "":
			values = nil
		default:
			values = append(values, s.value)
		}
	}
	return values
}

// last is the value of a key that holds one, or "".
func (u unit) last(section, key string) string {
	values := u.list(section, key)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

func yes(value string) bool {
	return slices.Contains([]string{"1", "yes", "y", "true", "t", "on"}, strings.ToLower(value))
}

// translate converts a timer to lines of a system crontab, or records what prevents it.
func (t *timer) translate(name string, u, service unit) {
	if strings.Contains(name, "@") {
		t.WhyNot = append(t.WhyNot, "it is a template: each instance is a timer of its own")
	}
	for _, other := range t.Other {
		t.WhyNot = append(t.WhyNot, other+": cron has no schedules relative to other events")
	}
	if len(t.Calendar)+len(t.Other) == 0 {
		t.WhyNot = append(t.WhyNot, "it has no OnCalendar=")
	}
	if !plainWord.MatchString(t.Activates) {
		t.WhyNot = append(t.WhyNot, "the name of its unit cannot be written in a crontab")
	}
	if yes(u.last("Timer", "WakeSystem")) {
		t.WhyNot = append(t.WhyNot, "WakeSystem=yes: cron does not wake a machine")
	}
	var options []string
	if t.Persistent {
		options = append(options, "catchup=once")
	}
	var delay time.Duration
	if t.Delay != "" {
		var err error
		if delay, err = timeSpan(t.Delay); err != nil {
			t.WhyNot = append(t.WhyNot, "RandomizedDelaySec: "+err.Error())
		}
		if yes(u.last("Timer", "FixedRandomDelay")) {
			t.Loses = append(t.Loses, "the random delay differs for each start")
		}
	}
	command := t.command(service)
	var lines []string
	for _, expression := range t.Calendar {
		c, err := translateCalendar(expression)
		if err != nil {
			t.WhyNot = append(t.WhyNot, fmt.Sprintf("OnCalendar=%s: %v", expression, err))
			continue
		}
		own := slices.Clone(options)
		if jitter := min(delay, longestJitter(c.spec)); jitter > 0 {
			own = append(own, "jitter="+timetable.DurationText(jitter))
			if jitter < delay {
				t.Loses = append(t.Loses, "the random delay is at most "+timetable.DurationText(jitter)+", because it must be shorter than the time between two starts")
			}
		}
		if c.zone != "" {
			own = append(own, "tz="+c.zone)
		}
		if len(own) > 0 {
			lines = append(lines, "#@ "+strings.Join(own, " "))
		}
		lines = append(lines, c.spec+" "+command)
	}
	if len(t.WhyNot) == 0 {
		t.Lines = lines
	} else {
		t.Loses = nil
	}
}

// longestJitter is the longest jitter= that time fields allow.
func longestJitter(spec string) time.Duration {
	s, _ := timetable.ParseSchedule(spec, nil, 0)
	if s == nil {
		return 0
	}
	return timetable.MaxJitter(s)
}

// plainSettings are those of a service that change nothing in what a command
// line does.
var plainSettings = []string{"Type", "ExecStart", "User", "SyslogIdentifier", "KillMode", "RemainAfterExit", "TimeoutStartSec"}

// plainUnitSettings are those of any unit that change nothing either.
var plainUnitSettings = []string{"Description", "Documentation", "After", "Before", "Wants"}

// plainWord matches a word that neither systemd nor a shell interprets. A % would end the
// command in a crontab, and is a specifier in a unit.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@:,./+=-]+$`)

// command is the account and the command that do what the service does. A
// service that is more than one plain command line is started as it is, so
// that its settings stay in force.
func (t *timer) command(service unit) string {
	user := cmp.Or(service.last("Service", "User"), "root")
	lines := service.list("Service", "ExecStart")
	plain := len(lines) == 1 && plainWord.MatchString(user) && strings.HasPrefix(lines[0], "/")
	for _, s := range service {
		switch {
		case s.section == "Service" && !slices.Contains(plainSettings, s.key):
			plain = false
		case s.section == "Unit" && !slices.Contains(plainUnitSettings, s.key):
			plain = false
		}
	}
	if plain {
		for word := range strings.FieldsSeq(lines[0]) {
			plain = plain && plainWord.MatchString(word)
		}
	}
	if plain {
		return user + " " + strings.Join(strings.Fields(lines[0]), " ")
	}
	return "root systemctl start " + t.Activates
}

var spanPart = regexp.MustCompile(`^([0-9]+)\s*([a-zA-Z]*)\s*`)

// timeSpan reads a time as systemd.time(7) writes it: "1h 30min", "90".
func timeSpan(text string) (time.Duration, error) {
	units := map[string]time.Duration{
		"": time.Second, "s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
		"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
		"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
		"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
		"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
	}
	bad := fmt.Errorf("%q is not a time in whole seconds", text)
	var total time.Duration
	for rest := text; rest != ""; {
		m := spanPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, bad
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		size := units[m[2]]
		if err != nil || size == 0 || n > int64((math.MaxInt64-total)/size) {
			return 0, bad
		}
		total += time.Duration(n) * size
		rest = rest[len(m[0]):]
	}
	return total, nil
}

// addElapsed reads from systemd, if it runs, when each timer elapses next.
func addElapsed(ctx context.Context, m *inventory.Machine, list []timer) {
	if !m.Booted() || len(list) == 0 {
		return
	}
	out, status, err := m.Exec(ctx, "systemctl", "list-timers", "--all", "--no-pager", "-o", "json")
	if err != nil || status != 0 {
		return
	}
	elapsed, err := parseListTimers(out)
	if err != nil {
		return
	}
	for i := range list {
		if e, ok := elapsed[list[i].Unit]; ok {
			list[i].Next, list[i].Last = e.next, e.last
		}
	}
}

type elapse struct{ next, last time.Time }

// parseListTimers reads systemctl's list, whose times are microseconds since
// the epoch, or 0 or null for none.
func parseListTimers(text string) (map[string]elapse, error) {
	var rows []struct {
		Unit       string
		Next, Last *float64
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, errors.New("systemctl list-timers printed something else than JSON")
	}
	instant := func(us *float64) time.Time {
		if us == nil || *us <= 0 || *us >= math.MaxInt64 {
			return time.Time{}
		}
		return time.UnixMicro(int64(*us)).UTC()
	}
	elapsed := map[string]elapse{}
	for _, r := range rows {
		elapsed[r.Unit] = elapse{instant(r.Next), instant(r.Last)}
	}
	return elapsed, nil
}
