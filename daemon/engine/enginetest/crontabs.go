package enginetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/slots"
)

// Node is the name of the host.
const Node = "box.example.org"

// file is one crontab of the host.
type file struct {
	name   string
	owner  string // of a user's crontab
	format crontab.Format
	text   string
	parsed *crontab.File
}

// option generates random values of a key.
type option struct {
	key    string
	chance int // one of this many entries has it
	value  func(g *generator) string
}

// generator draws the text of one crontab.
type generator struct {
	rng   *rand.Rand
	now   time.Time
	named []string // jobs that an entry may wait for, oldest first
}

func (g *generator) pick(words ...string) string { return words[g.rng.IntN(len(words))] }

func (g *generator) list(most int, words ...string) string {
	g.rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words[:1+g.rng.IntN(min(most, len(words)))], ",")
}

func (g *generator) seconds(from, to int) string {
	return fmt.Sprintf("%ds", from+g.rng.IntN(to-from+1))
}

// edges draws jobs, each with or without an outcome.
func (g *generator) edges(prefix string, outcomes ...string) string {
	var edges []string
	seen := map[string]bool{}
	for range 1 + g.rng.IntN(3) {
		name := g.pick(g.named...)
		if g.rng.IntN(25) == 0 {
			name = "nobody" // there is none of that name
		}
		if !seen[name] {
			seen[name] = true
			edges = append(edges, prefix+name+g.pick(outcomes...))
		}
	}
	return strings.Join(edges, ",")
}

// options is the options that have an effect on scheduling. Options that
// belong together are drawn together, as "every=... phase=...".
var options = []option{
	{"enabled", 40, func(g *generator) string { return g.pick("no", "yes") }},
	{"host", 30, func(g *generator) string { return g.pick("box", "other", Node, "other,box") }},
	{"tz", 12, func(g *generator) string {
		return g.pick("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu")
	}},
	{"dst", 12, func(g *generator) string { return g.pick("cron", "literal", "second") }},
	{"day", 10, func(g *generator) string {
		return g.list(3, "last", "workday", "first-workday", "last-workday", "15W", "1W", "L-3", "mon#2", "fri#last")
	}},
	{"year", 20, func(g *generator) string {
		return g.pick(g.now.Format("2006"), "2026-2030", "1999", "2099")
	}},
	{"weeks", 20, func(g *generator) string {
		return g.pick("1", "2", "3", "52") + " from=" + g.now.AddDate(0, 0, -g.rng.IntN(40)).Format("2006-01-02")
	}},
	{"except", 12, func(g *generator) string {
		return g.pick("weekend", "odd", "odd,weekend", "none") + g.pick("", "", " shift=next", " shift=prev")
	}},
	{"calendar", 30, func(g *generator) string { return g.pick("weekend", "odd", "odd,weekend", "none", "unread") }},
	{"window", 10, func(g *generator) string {
		return g.list(3, "08:00-18:00", "mon-fri/06:30-20:15", "22:00-03:00", "sat-mon/00:00-24:00", "02:00-03:00", "00:00-00:01") + g.pick("", " outside=wait", " outside=skip")
	}},
	{"blackout", 15, func(g *generator) string {
		return g.list(2, "02:00-03:00", "mon-fri/12:00-13:00", "sun/20:00-04:00", "00:00-24:00") + g.pick("", " jitter=20m")
	}},
	{"once-per", 12, func(g *generator) string {
		return g.pick("hour", "day", "week", "month", "due") + g.pick("", "", " outside=wait")
	}},
	{"outside", 15, func(g *generator) string { return g.pick("wait", "skip") }},
	{"every", 15, func(g *generator) string {
		value := g.seconds(90, 20_000)
		if g.rng.IntN(2) == 0 {
			value += " phase=" + g.seconds(0, 90)
		}
		return value
	}},
	{"delay", 15, func(g *generator) string { return g.seconds(90, 20_000) + g.pick("", "", " window=06:00-21:00") }},
	{"at", 40, func(g *generator) string {
		return g.now.Add(time.Duration(g.rng.IntN(72)-8) * time.Hour).Format("2006-01-02T15:04")
	}},
	{"from", 40, func(g *generator) string {
		return g.now.Add(time.Duration(g.rng.IntN(72)-24) * time.Hour).Format("2006-01-02T15:04")
	}},
	{"count", 40, func(g *generator) string {
		return g.pick("1", "7", "1000") + " from=" + g.now.AddDate(0, 0, -g.rng.IntN(3)).Format("2006-01-02")
	}},
	{"sec", 40, func(g *generator) string { return g.pick("30", "0,30", "15-45/15") }},
	{"protect", 20, func(g *generator) string { return g.pick("yes", "no") }},
	{"labels", 20, func(g *generator) string { return g.pick("team:web", "team:web,tier:1") }},
	{"until", 40, func(g *generator) string {
		return g.now.Add(time.Duration(g.rng.IntN(96)) * time.Hour).Format("2006-01-02T15:04")
	}},
	{"trigger", 30, func(g *generator) string { return g.pick("manual", "clock") }},
	{"on", 8, func(g *generator) string {
		events := g.edges("job:", "", ":ok", ":fail", ":done", ":skip,lost", ":dead")
		if g.rng.IntN(3) > 0 {
			return events
		}
		if others := g.list(3, "boot", "resume", "clock", "event:ready", "event:ann/ready", "event:other", "file:/srv/in/*"); g.rng.IntN(2) == 0 {
			return events + "," + others
		} else {
			return others
		}
	}},
	{"jitter", 12, func(g *generator) string { return g.seconds(1, 600) }},
	{"spread", 30, func(g *generator) string { return g.seconds(1, 600) }},
	{"grace", 10, func(g *generator) string { return g.seconds(0, 900) }},
	{"catchup", 4, func(g *generator) string { return g.pick("cron", "skip", "once", "all", "all:3") }},
	{"deadline", 10, func(g *generator) string { return g.seconds(30, 20_000) }},
	{"pause-counts", 6, func(g *generator) string { return g.pick("yes", "yes", "no") }},
	{"overlap", 2, func(g *generator) string { return g.pick("allow", "skip", "queue", "queue-all", "replace", "kill") }},
	{"max-instances", 2, func(g *generator) string { return g.pick("1", "2", "3") }},
	{"after", 5, func(g *generator) string {
		value := g.edges("", "", ":ok", ":fail", ":done", ":skip", ":lost", ":dead")
		if g.rng.IntN(2) == 0 {
			value += " when=" + g.pick("all", "any", "none-failed", "all-success", "all-failed", "all-done", "all-done-min-one-success",
				"all-skipped", "one-failed", "one-success", "one-done", "none-failed-min-one-success", "none-skipped", "always")
		}
		if g.rng.IntN(2) == 0 {
			value += " wait=" + g.seconds(30, 7000)
		}
		return value
	}},
	{"if", 8, func(g *generator) string { return g.pick("'test -e /run/go'", "true") }},
	{"load", 10, func(g *generator) string { return g.pick("'<4'", "'<0.5' unmet=skip") }},
	{"pressure", 20, func(g *generator) string { return g.pick("'cpu<50'", "'io<1,memory<10'") }},
	{"need-memory", 20, func(g *generator) string { return g.pick("1G", "64M") }},
	{"need-disk", 20, func(g *generator) string { return g.pick("1G:/srv", "1G:/srv,10M:/tmp") }},
	{"on-battery", 15, func(g *generator) string { return g.pick("run", "skip", "wait") }},
	{"pool", 5, func(g *generator) string { return g.pick("wan", "wan:2", "own", "one", "wan:9") }},
	{"timeout", 5, func(g *generator) string { return g.seconds(1, 3000) }},
	{"watchdog", 8, func(g *generator) string { return g.seconds(1, 3000) }},
	{"stop-signal", 15, func(g *generator) string { return g.pick("TERM", "INT", "KILL", "USR1") }},
	{"stop-grace", 15, func(g *generator) string { return g.seconds(0, 60) }},
	{"ok", 8, func(g *generator) string { return g.pick("0", "0,3", "1", "3,75") }},
	{"skip-code", 8, func(g *generator) string { return g.pick("99", "99,10") }},
	{"retry", 4, func(g *generator) string { return g.pick("0", "1", "2", "5") }},
	{"retry-for", 12, func(g *generator) string { return g.pick("1s", "1m", "1h") + " retry=" + g.pick("1", "5") }},
	{"desc", 20, func(g *generator) string { return g.pick("nightly", "'two words'") }},
	{"access", 40, func(g *generator) string { return g.pick("view:@ops", "view:@ops+ann,operate:@oncall") }},
	{"owner", 20, func(g *generator) string { return g.pick("ops", "ann@example.org") }},
	{"quiet", 20, func(g *generator) string { return g.pick("yes", "no") }},
	{"backoff", 5, func(g *generator) string { return g.pick("5s", "1s..10m", "30s..2hx3") }},
	{"retry-jitter", 15, func(g *generator) string { return g.pick("0%", "50%", "100%") }},
	{"retry-on", 12, func(g *generator) string { return g.pick("any", "none", "timeout", "lost", "1,2,timeout", "10,lost") }},
	{"no-retry-on", 15, func(g *generator) string { return g.pick("none", "timeout", "2", "lost,10") }},
	{"breaker", 8, func(g *generator) string { return g.pick("1/10m", "2/2h", "3/30s") }},
	{"on-exhausted", 6, func(g *generator) string { return g.pick("dead", "continue", "pause") }},
	{"if-lost", 4, func(g *generator) string { return g.pick("fail", "rerun", "leave") }},
	{"priority", 6, func(g *generator) string { return g.pick("1", "4", "5", "9", "10") }},
	{"preempt", 8, func(g *generator) string { return g.pick("yes", "yes priority=9", "no") }},
	{"preemptible", 8, func(g *generator) string { return g.pick("yes", "yes priority=2", "no") }},
	{"nice", 20, func(g *generator) string { return g.pick("0", "10", "19") }},
	{"idle", 20, func(g *generator) string { return g.pick("yes", "no") }},
	{"io-weight", 20, func(g *generator) string { return g.pick("1", "10000") }},
	{"cpu-weight", 20, func(g *generator) string { return g.pick("1", "10000") }},
	{"memory", 20, func(g *generator) string { return g.pick("64M", "2G") }},
	{"memory-high", 20, func(g *generator) string { return g.pick("32M", "1G") }},
	{"cpu", 20, func(g *generator) string { return g.pick("50%", "2") }},
	{"tasks", 20, func(g *generator) string { return g.pick("10", "1000") }},
	{"nofile", 20, func(g *generator) string { return g.pick("64", "4096") }},
	{"slice", 20, func(g *generator) string { return g.pick("batch.slice", "jobs-night.slice") }},
	{"cwd", 20, func(g *generator) string { return g.pick("/srv", "/no/where") }},
	{"umask", 20, func(g *generator) string { return g.pick("027", "000") }},
	{"group", 20, func(g *generator) string { return g.pick("adm", "1000") }},
	{"env", 20, func(g *generator) string { return g.pick("A=1", "A=,B=2") }},
	{"env-file", 20, func(g *generator) string { return g.pick("/etc/default/x", "/etc/app.env") }},
	{"sandbox", 20, func(g *generator) string {
		return g.pick("off", "basic write=/srv", "strict read-only=/srv/in write=/srv/out")
	}},
	{"network", 20, func(g *generator) string { return g.pick("yes", "no") }},
	{"credential", 20, func(g *generator) string { return g.pick("db:/etc/credstore/db", "a:/x,b:/y") }},
	{"log", 20, func(g *generator) string { return g.pick("journal", "none", "file:/var/log/x") }},
	{"output-max", 20, func(g *generator) string { return g.pick("0", "1K", "4M") }},
	{"mail", 20, func(g *generator) string { return g.pick("output", "always", "failure", "never") }},
	{"mailto", 20, func(g *generator) string { return g.pick("ops", "a@example.org,b") }},
	{"notify", 3, func(g *generator) string {
		value := g.list(2, "ops", "pager")
		if g.rng.IntN(2) == 0 {
			value += " notify-on=" + g.list(6, "fail", "dead", "lost", "missed", "late", "recover", "success", "start", "held", "odd")
		}
		if g.rng.IntN(3) == 0 {
			value += " notify-after=" + g.pick("2", "3")
		}
		return value
	}},
	{"ping", 20, func(g *generator) string { return g.pick("https://hc.example/ping/x", "http://10.0.0.1:8000/{{.Job}}") }},
	{"keep", 20, func(g *generator) string { return g.pick("10", "30d", "100,2d") }},
	{"max-late", 8, func(g *generator) string { return g.seconds(1, 600) }},
	{"max-run", 8, func(g *generator) string { return g.seconds(1, 3000) }},
	{"expect", 8, func(g *generator) string { return g.seconds(600, 90_000) }},
}

// extremes are values at the ends of what options take, and beyond them: those
// that once overflowed are among them.
var extremes = map[string][]string{
	"day":        {"last,31W,L-30,sun#5"},
	"year":       {"1970", "2199", "1970-2199"},
	"weeks":      {"520 from=1970-01-01", "2 from=2199-12-31", "2"},
	"window":     {"00:00-00:01", "sun/23:59-24:00", "23:59-23:58", "00:00-24:00", "25:00-26:00"},
	"blackout":   {"00:00-24:00", "00:01-24:00", "00:01-00:00"},
	"every":      {"36525d", "36525d phase=36524d", "106751d", "106751d23h47m", "97s jitter=52w"},
	"delay":      longest,
	"at":         {"1970-01-01", "2199-12-31T23:59", "0001-01-01", "2263-01-01", "2300-01-01", "9999-12-31"},
	"from":       {"1970-01-01", "1970-01-01 count=1000", "2199-12-31", "2263-01-01", "9999-12-31"},
	"until":      {"1970-01-01", "2199-12-31", "9999-12-31"},
	"jitter":     longest,
	"spread":     longest,
	"grace":      longest,
	"deadline":   longest,
	"catchup":    {"all:1000", "all:1001"},
	"timeout":    longest,
	"watchdog":   longest,
	"stop-grace": longest,
	"retry":      {"1000"},
	"backoff":    {"36525d", "0s", "1s..36525d", "1s..36525dx1e300", "106751d"},
	"breaker":    {"1/36525d", "1000/1s", "1/106751d"},
	"max-late":   longest,
	"max-run":    longest,
	"expect":     longest,
	"keep":       {"36525d", "100000"},
}

var longest = []string{"0s", "59s", "52w", "36525d", "106751d", "106751d23h47m"}

// draw is a value of an option; one in twenty is extreme.
func (o *option) draw(g *generator) string {
	if most := extremes[o.key]; len(most) > 0 && g.rng.IntN(20) == 0 {
		return g.pick(most...)
	}
	return o.value(g)
}

// calendars are those of the configuration. "odd" has every other day around the
// days of the simulated hosts; "none" is not among them.
var calendars = map[string]timetable.Calendar{
	"odd": {Dates: timetable.NewDates("odd", func() (odd []timetable.DateRange) {
		from := timetable.DayOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), nil)
		for day := from; day < from+3*365; day += 2 {
			odd = append(odd, timetable.DateRange{First: day, Last: day})
		}
		return odd
	}())},
	"unread": {Unread: "the file is missing"},
}

// specs are times to choose from: often, at changes of zones, once a day, never.
var specs = []string{
	"* * * * *", "*/7 * * * *", "*/20 * * * *", "0 * * * *", "5 */2 * * *", "@hourly", "30 1 * * *", "15 2 * * *", "0-59/20 2 * * *",
	"15 2,3 * * 0", "30 6,18 * * *", "@daily", "0 3 1 * *", "@reboot", "0 0 31 2 *", "~ 4 * * *",
}

// entries writes n entries for a user.
func (g *generator) entries(n int, prefix, account string) string {
	var b strings.Builder
	for i := range n {
		name := ""
		if g.rng.IntN(4) > 0 {
			name = fmt.Sprintf("%s%d", prefix, i)
			fmt.Fprintf(&b, "#@ name=%s\n", name)
		}
		manyAtOnce := g.rng.IntN(5) == 0 // max-instances= goes with overlap=allow alone
		for _, o := range options {
			if o.key == "overlap" && manyAtOnce || o.key == "max-instances" && !manyAtOnce {
				continue
			}
			if g.rng.IntN(o.chance) > 0 || (o.key == "after" || o.key == "on") && len(g.named) == 0 {
				continue
			}
			fmt.Fprintf(&b, "#@ %s=%s\n", o.key, o.draw(g))
		}
		fmt.Fprintf(&b, "%s%s command-%s%d\n", g.pick(specs...), account, prefix, g.rng.IntN(n))
		if name != "" {
			g.named = append(g.named, name)
		}
	}
	return b.String()
}

// draw writes a crontab with new random entries.
func (h *Host) draw(f *file) {
	g := &generator{rng: h.rng, now: h.Now.Wall}
	switch {
	case f.format == crontab.Anacron:
		f.text = h.drawAnacrontab()
	case f.format == crontab.System:
		f.text = g.entries(1+h.rng.IntN(4), "root", " root") + g.entries(h.rng.IntN(3), "sys", " ann")
		if h.rng.IntN(2) == 0 {
			f.text += "25 6 * * * root run-parts /etc/cron.daily\n47 6 * * 7 root run-parts /etc/cron.weekly\n"
		}
	default:
		f.text = g.entries(1+h.rng.IntN(6), f.owner, "")
		if h.rng.IntN(6) == 0 { // in a circle
			f.text += "#@ name=" + f.owner + "x after=" + f.owner + "y\n3 * * * * x\n#@ name=" + f.owner + "y after=" + f.owner + "x:done\n4 * * * * y\n"
		}
	}
}

func (h *Host) drawAnacrontab() string {
	var b strings.Builder
	for _, line := range []string{
		"RANDOM_DELAY=45", "START_HOURS_RANGE=3-22", "1 5 cron.daily a", "7 500 cron.weekly b", "@monthly 45 cron.monthly c", "2 0 two e",
	} {
		if h.rng.IntN(3) > 0 {
			if h.rng.IntN(4) == 0 && !strings.Contains(line, "=") {
				b.WriteString("#@ retry=2 timeout=5m backoff=10s..1m notify=ops\n")
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// parse reads the text of a file.
func (h *Host) parse(f *file) {
	c := crontab.Config{
		Format: f.format, Owner: f.owner, Local: h.zone, Zone: time.LoadLocation, Seed: h.Seed, StandIn: true,
		Sidecar: h.sidecar, Channels: map[string][]string{"ops": {"*"}, "pager": {"ann"}}, Calendars: calendars,
	}
	f.parsed, _ = crontab.Parse(f.name, f.text, c)
}

// drawSidecar sets random options of entries in the configuration.
func (h *Host) drawSidecar() {
	set := func(pairs ...string) (s []sidecar.Setting) {
		for i := 0; i < len(pairs); i += 2 {
			s = append(s, sidecar.Setting{Key: pairs[i], Value: pairs[i+1], File: "/etc/cronring/cronring.toml", Line: i + 1})
		}
		return s
	}
	h.sidecar = &sidecar.Sidecar{}
	if h.rng.IntN(2) == 0 {
		return
	}
	at := sidecar.Position{File: "/etc/cronring/cronring.toml", Line: 9}
	g := &generator{rng: h.rng, now: h.Now.Wall}
	h.sidecar.Default = [][]sidecar.Setting{nil, set("catchup", "once"), set("notify", "ops", "retry", "1"), set("overlap", "queue")}[h.rng.IntN(4)]
	h.sidecar.Jobs = map[string]sidecar.JobConfig{
		"root0": {Set: set("overlap", g.pick("skip", "replace"), "timeout", "2m"), At: at},
		"ann1":  {User: "ann", Set: set("pool", "wan", "priority", "9"), At: at},
	}
	h.sidecar.Matches = []sidecar.Match{{User: "bob", Set: set("breaker", "2/1h", "on-exhausted", g.pick("pause", "dead")), At: at}}
}

// drawLimits sets random pools, limits and blackouts in the configuration.
func (h *Host) drawLimits() {
	h.blackouts = nil
	if h.rng.IntN(3) == 0 {
		from := h.Now.Wall.Add(time.Duration(h.rng.IntN(24)-4) * time.Hour)
		h.blackouts = timetable.Blackouts{{Name: "upgrade", From: from, Until: from.Add(time.Duration(1+h.rng.IntN(300)) * time.Minute)}}
	}
	h.limits = slots.Limits{Pools: map[string]slots.Pool{}}
	if h.rng.IntN(3) > 0 {
		h.limits.Pools["wan"] = slots.Pool{Size: 1 + h.rng.IntN(3), Users: []string{"ann"}}
	}
	if h.rng.IntN(4) == 0 {
		h.limits.Pools["own"] = slots.Pool{Size: 4, Rate: 2, Per: time.Minute, Users: []string{"*"}}
	}
	if h.rng.IntN(3) == 0 {
		h.rate = h.rng.IntN(3)
		h.limits.MaxRunning, h.limits.MaxPerUser = h.rng.IntN(6), h.rng.IntN(4)
	}
	if h.rng.IntN(3) == 0 {
		h.limits.QueueMax = 1 + h.rng.IntN(5)
	}
}
