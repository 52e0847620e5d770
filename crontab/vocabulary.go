package crontab

import (
	"errors"
	"slices"
	"time"
)

// OptionSpec is one word of the directive language.
type OptionSpec struct {
	Key     string
	Values  string // what it takes, in words
	Extend  bool   // beyond the core vocabulary
	Guard   bool   // running the entry without it would break what it says
	Same    string // the value that asks for what this version does anyway
	Meaning string

	apply func(*plan, string) error // nil: this version does not act on it
	check func(string) error        // for those without apply; nil: not checked
}

// Built tells whether this version acts on the option.
func (s *OptionSpec) Built() bool { return s.apply != nil }

// Vocabulary is all options that this version knows by name.
func Vocabulary() []OptionSpec { return slices.Clone(vocabulary) }

const (
	aDuration = "a duration: 90s, 5m, 1h30m, 2d, 1w"
	anInstant = "an instant: 2026-03-01T08:00:00Z, or 2026-03-01T08:00 in the entry's zone"
	yesNo     = "yes, no"
)

// vocabulary is the table that parser, lint and manual page share. The
// functions that read values are in value.go.
var vocabulary = []OptionSpec{
	// Identity and description.
	{Key: "name", Values: "1 to 64 letters, digits, dots, underscores, hyphens", Meaning: "identity for history and commands",
		apply: func(p *plan, v string) error { p.Name = v; return checkName(v) }},
	{Key: "desc", Values: "text", Extend: true, Meaning: "description for people"},
	{Key: "labels", Values: "key:value,...", Extend: true, Meaning: "filter and group"},
	{Key: "owner", Values: "text", Extend: true, Meaning: "whom to ask"},
	{Key: "enabled", Values: yesNo, Guard: true, Meaning: "no: known, but never started here",
		apply: func(p *plan, v string) (err error) { p.Enabled, err = oneOf(v, answers); return err }},

	// When.
	{Key: "tz", Values: "a name of the zone database, as Europe/Paris", Guard: true, Meaning: "zone of the time fields",
		apply: func(p *plan, v string) error { return p.setZone(v) }},
	{Key: "dst", Values: "cron, literal, second", Meaning: "what zone changes do",
		apply: func(p *plan, v string) (err error) { p.modifiers.dst, err = oneOf(v, dsts); return err }},
	{Key: "sec", Values: "seconds: 0,30 or */10 or 0-30/5", Extend: true, Meaning: "seconds within each minute that the fields name",
		apply: func(p *plan, v string) (err error) { p.modifiers.seconds, err = parseSeconds(v); return err }},
	{Key: "year", Values: "years", Extend: true, Guard: true, Meaning: "only in these years"},
	{Key: "day", Values: "last, workday, mon#2, ...", Extend: true, Guard: true, Meaning: "a further filter on the date"},
	{Key: "calendar", Values: "names", Extend: true, Guard: true, Meaning: "only on the dates of named lists"},
	{Key: "except", Values: "names", Extend: true, Guard: true, Meaning: "not on the dates of named lists"},
	{Key: "shift", Values: "none, next, prev", Extend: true, Meaning: "move an excluded start to an allowed day"},
	{Key: "window", Values: "[days/]HH:MM-HH:MM,...", Extend: true, Guard: true, Meaning: "allowed times"},
	{Key: "blackout", Values: "[days/]HH:MM-HH:MM,...", Extend: true, Guard: true, Meaning: "forbidden times"},
	{Key: "outside", Values: "skip, wait", Extend: true, Meaning: "what a start outside the window does"},
	{Key: "from", Values: anInstant, Extend: true, Guard: true, Meaning: "nothing before this instant",
		apply: func(p *plan, v string) (err error) { p.modifiers.from, err = parseInstant(v, p.zone); return err }},
	{Key: "until", Values: anInstant, Extend: true, Guard: true, Meaning: "nothing after this instant",
		apply: func(p *plan, v string) (err error) { p.modifiers.until, err = parseInstant(v, p.zone); return err }},
	{Key: "count", Values: "1 to 1000000", Extend: true, Guard: true, Meaning: "only so many occurrences, counted from from=",
		apply: func(p *plan, v string) (err error) { p.modifiers.count, err = parseInt(v, 1, MaxCount); return err }},
	{Key: "every", Values: aDuration, Meaning: "a fixed rate in place of the time fields",
		apply: func(p *plan, v string) error { return positive(&p.modifiers.every, v) }},
	{Key: "phase", Values: aDuration, Meaning: "shift of every=",
		apply: func(p *plan, v string) error { return duration(&p.modifiers.phase, v) }},
	{Key: "delay", Values: aDuration, Extend: true, Meaning: "a fixed delay after the last end"},
	{Key: "at", Values: anInstant, Guard: true, Meaning: "once, in place of the time fields",
		apply: func(p *plan, v string) (err error) { p.modifiers.at, err = parseInstant(v, p.zone); return err }},
	{Key: "on", Values: "job:NAME[:OUTCOME,...], file:GLOB, event:NAME, boot, resume", Guard: true, Meaning: "start on an event",
		apply: func(p *plan, v string) (err error) { p.On, err = parseOn(v); return err }},
	{Key: "trigger", Values: "clock, manual", Guard: true, Meaning: "manual: only by hand",
		apply: func(p *plan, v string) (err error) { p.Manual, err = oneOf(v, triggers); return err }},
	{Key: "jitter", Values: aDuration, Meaning: "a random delay, another for each start",
		apply: func(p *plan, v string) error { return duration(&p.modifiers.jitter, v) }},
	{Key: "spread", Values: aDuration, Extend: true, Meaning: "a random delay, chosen once",
		apply: func(p *plan, v string) error { return duration(&p.modifiers.spread, v) }},

	// Late, missed, overlapping.
	{Key: "grace", Values: aDuration, Meaning: "lateness that still counts as on time",
		apply: func(p *plan, v string) error { return duration(&p.Grace, v) }},
	{Key: "catchup", Values: "cron, skip, once, all, all:N", Meaning: "what becomes of missed occurrences",
		apply: func(p *plan, v string) error { return parseCatchup(v, &p.Options) }},
	{Key: "deadline", Values: aDuration, Meaning: "never start later than this",
		apply: func(p *plan, v string) error { p.limited = true; return duration(&p.Deadline, v) }},
	{Key: "pause-counts", Values: yesNo, Extend: true, Same: "no", Meaning: "whether occurrences in a pause are missed", check: checkWords("yes", "no")},
	{Key: "overlap", Values: "allow, skip, queue, queue-all, replace, kill", Guard: true, Meaning: "what an occurrence does while a run of the entry lives",
		apply: func(p *plan, v string) (err error) { p.Overlap, err = oneOf(v, overlaps); return err }},
	{Key: "max-instances", Values: "1 to 100000", Guard: true, Meaning: "most runs at once",
		apply: func(p *plan, v string) (err error) { p.MaxInstances, err = parseInt(v, 1, 100_000); return err }},
	{Key: "once-per", Values: "hour, day, week, month, due", Extend: true, Guard: true, Meaning: "at most one success in a period"},

	// Dependencies and guards.
	{Key: "after", Values: "NAME[:OUTCOME],...; an outcome is ok, fail, done, skip, lost, dead", Guard: true, Meaning: "wait for runs of other jobs",
		apply: func(p *plan, v string) (err error) { p.After, err = parseAfter(v); return err }},
	{Key: "when", Values: "all, any, none-failed, or a rule of Airflow as one-success", Guard: true, Meaning: "how many of after= must hold",
		apply: func(p *plan, v string) (err error) { p.When, err = parseJoin(v); return err }},
	{Key: "wait", Values: aDuration, Meaning: "how long after= may take",
		apply: func(p *plan, v string) error { return positive(&p.Wait, v) }},
	{Key: "if", Values: "a command", Guard: true, Meaning: "run only if the command succeeds",
		apply: func(p *plan, v string) error { p.If = v; return checkText(v) }},
	{Key: "pool", Values: "NAME[:slots]", Guard: true, Meaning: "take slots of a named pool",
		apply: func(p *plan, v string) error { return parsePool(v, &p.Options) }},

	// Running.
	{Key: "timeout", Values: aDuration, Meaning: "stop the run after this time",
		apply: func(p *plan, v string) error { return duration(&p.Timeout, v) }},
	{Key: "stop-signal", Values: "TERM, INT, HUP, QUIT, KILL, USR1, USR2, ALRM, ABRT, WINCH", Meaning: "the signal that stops a run",
		apply: func(p *plan, v string) (err error) { p.StopSignal, err = parseSignal(v); return err }},
	{Key: "stop-grace", Values: aDuration, Meaning: "time from the signal to KILL",
		apply: func(p *plan, v string) error { return duration(&p.StopGrace, v) }},
	{Key: "watchdog", Values: aDuration, Extend: true, Meaning: "the run must report within this time"},
	{Key: "cwd", Values: "a path", Extend: true, Meaning: "working folder"},
	{Key: "umask", Values: "an octal number", Extend: true, Meaning: "file mode mask"},
	{Key: "env", Values: "NAME=value", Extend: true, Meaning: "environment"},
	{Key: "env-file", Values: "a path", Extend: true, Meaning: "environment from a file"},
	{Key: "group", Values: "a group", Extend: true, Meaning: "group of the run"},
	{Key: "ok", Values: "exit statuses: 0,3", Meaning: "what counts as success",
		apply: func(p *plan, v string) (err error) { p.OK, err = parseCodes(v); return err }},
	{Key: "skip-code", Values: "exit statuses: 99", Meaning: "what counts as skipped",
		apply: func(p *plan, v string) (err error) { p.SkipCodes, err = parseCodes(v); return err }},
	{Key: "retry", Values: "0 to 1000", Meaning: "further attempts after a failure",
		apply: func(p *plan, v string) (err error) { p.Retry, err = parseInt(v, 0, 1000); return err }},
	{Key: "backoff", Values: "waits: 30s, 1s..5m or 1s..5mx2", Meaning: "wait between attempts",
		apply: func(p *plan, v string) (err error) { p.Backoff, err = parseBackoff(v); return err }},
	{Key: "retry-jitter", Values: "percent: 0% to 100%", Meaning: "how far waits are spread",
		apply: func(p *plan, v string) error { return percent(&p.RetryJitter, v) }},
	{Key: "retry-for", Values: aDuration, Extend: true, Meaning: "total time for attempts"},
	{Key: "retry-on", Values: "exit statuses, timeout, lost, any, none", Meaning: "failures that are tried again",
		apply: func(p *plan, v string) (err error) { p.RetryOn, err = parseFailures(v); return err }},
	{Key: "no-retry-on", Values: "exit statuses, timeout, lost, any, none", Meaning: "failures that are not tried again",
		apply: func(p *plan, v string) (err error) { p.NoRetryOn, err = parseFailures(v); return err }},
	{Key: "breaker", Values: "N/duration", Meaning: "hold the entry after N failures",
		apply: func(p *plan, v string) (err error) { p.Breaker, err = parseBreaker(v); return err }},
	{Key: "on-exhausted", Values: "dead, continue, pause", Meaning: "what a failed last attempt does",
		apply: func(p *plan, v string) (err error) { p.Exhausted, err = oneOf(v, exhausteds); return err }},
	{Key: "if-lost", Values: "fail, rerun, leave", Meaning: "what becomes of a run whose process vanished",
		apply: func(p *plan, v string) (err error) { p.IfLost, err = oneOf(v, ifLosts); return err }},

	// Order, resources, protection.
	{Key: "priority", Values: "1 to 10", Meaning: "order among those that wait",
		apply: func(p *plan, v string) (err error) { p.Priority, err = parseInt(v, 1, 10); return err }},
	{Key: "preempt", Values: yesNo, Extend: true, Same: "no", Meaning: "may stop others", check: checkWords("yes", "no")},
	{Key: "preemptible", Values: yesNo, Extend: true, Same: "no", Meaning: "may be stopped by others", check: checkWords("yes", "no")},
	{Key: "nice", Values: "-20 to 19", Meaning: "processor priority",
		apply: func(p *plan, v string) (err error) { p.resources().Nice, err = parseNice(v); return err }},
	{Key: "idle", Values: yesNo, Meaning: "run only when nothing else does",
		apply: func(p *plan, v string) (err error) { p.resources().Idle, err = oneOf(v, answers); return err }},
	{Key: "io-weight", Values: "1 to 10000", Meaning: "share of disk time",
		apply: func(p *plan, v string) (err error) {
			p.resources().IOWeight, err = parseInt(v, 1, mostWeight)
			return err
		}},
	{Key: "cpu-weight", Values: "1 to 10000", Meaning: "share of processor time",
		apply: func(p *plan, v string) (err error) {
			p.resources().CPUWeight, err = parseInt(v, 1, mostWeight)
			return err
		}},
	{Key: "memory", Values: "a size: 512M, 2G", Guard: true, Meaning: "most memory",
		apply: func(p *plan, v string) (err error) { p.resources().Memory, err = parseMemory(v); return err }},
	{Key: "memory-high", Values: "a size: 512M, 2G", Guard: true, Meaning: "memory from which the run is slowed",
		apply: func(p *plan, v string) (err error) { p.resources().MemoryHigh, err = parseMemory(v); return err }},
	{Key: "cpu", Values: "percent or cores: 50%, 2", Guard: true, Meaning: "most processor time",
		apply: func(p *plan, v string) (err error) { p.resources().CPU, err = parseCPU(v); return err }},
	{Key: "tasks", Values: "1 to 4194304", Guard: true, Meaning: "most processes",
		apply: func(p *plan, v string) (err error) { p.resources().Tasks, err = parseInt(v, 1, mostTasks); return err }},
	{Key: "nofile", Values: "1 to 1073741816", Guard: true, Meaning: "most open files",
		apply: func(p *plan, v string) (err error) { p.resources().NoFile, err = parseInt(v, 1, mostFiles); return err }},
	{Key: "slice", Values: "a name", Guard: true, Meaning: "systemd slice of the run",
		apply: func(p *plan, v string) (err error) { p.resources().Slice, err = parseSlice(v); return err }},
	{Key: "need-memory", Values: "a size", Extend: true, Guard: true, Meaning: "start only with so much memory free"},
	{Key: "need-disk", Values: "SIZE:PATH", Extend: true, Guard: true, Meaning: "start only with so much disk free"},
	{Key: "load", Values: "<N", Extend: true, Guard: true, Meaning: "start only below this load"},
	{Key: "on-battery", Values: "run, skip, wait", Extend: true, Guard: true, Same: "run", Meaning: "what a start on battery does", check: checkWords("run", "skip", "wait")},
	{Key: "sandbox", Values: "off, basic, strict", Extend: true, Guard: true, Same: "off", Meaning: "confinement", check: checkWords("off", "basic", "strict")},
	{Key: "network", Values: yesNo, Extend: true, Guard: true, Same: "yes", Meaning: "no: the run has no network", check: checkWords("yes", "no")},
	{Key: "read-only", Values: "paths", Extend: true, Guard: true, Meaning: "paths that the run cannot write"},
	{Key: "write", Values: "paths", Extend: true, Guard: true, Meaning: "the only paths that the run can write"},
	{Key: "credential", Values: "ID:PATH", Extend: true, Meaning: "a secret for the run"},

	// Output and notice.
	{Key: "log", Values: "journal, file:PATH, none", Meaning: "where output goes besides the history",
		apply: func(p *plan, v string) (err error) { p.Log, err = parseLog(v); return err }},
	{Key: "output-max", Values: "a size up to 16M: 64K", Meaning: "how much output is kept of a run",
		apply: func(p *plan, v string) error { n, err := parseSize(v, 1, mostOutput); p.OutputMax = int(n); return err }},
	{Key: "mail", Values: "output, always, failure, never", Meaning: "when mail is sent",
		apply: func(p *plan, v string) (err error) { p.Mail, err = oneOf(v, mailWhens); return err }},
	{Key: "mailto", Values: "addresses with commas between", Meaning: "whom mail is sent to",
		apply: func(p *plan, v string) error { p.MailTo = &v; return checkAddresses(v) }},
	{Key: "notify", Values: "names of channels with commas between", Meaning: "channels that are told",
		apply: func(p *plan, v string) (err error) { p.Notify, err = parseChannels(v); return err }},
	{Key: "notify-on", Values: "fail, dead, lost, missed, late, recover, success, start, held, each", Meaning: "what they are told of",
		apply: func(p *plan, v string) (err error) { p.NotifyOn, err = parseNotices(v); return err }},
	{Key: "ping", Values: "a URL", Extend: true, Meaning: "address that start and end are sent to"},
	{Key: "quiet", Values: yesNo, Extend: true, Same: "no", Meaning: "no log line on success", check: checkWords("yes", "no")},
	{Key: "keep", Values: "a number of runs, a duration, or both: 1000,90d", Meaning: "how much history is kept",
		apply: func(p *plan, v string) (err error) { p.Keep, err = parseKeep(v); return err }},
	{Key: "max-late", Values: aDuration, Meaning: "warn when a start is later",
		apply: func(p *plan, v string) error { return duration(&p.MaxLate, v) }},
	{Key: "max-run", Values: aDuration, Meaning: "warn when a run is longer",
		apply: func(p *plan, v string) error { return duration(&p.MaxRun, v) }},
	{Key: "expect", Values: aDuration, Meaning: "warn without a success for so long",
		apply: func(p *plan, v string) error { return duration(&p.Expect, v) }},

	// Ring.
	{Key: "scope", Values: "host, ring, all", Guard: true, Same: "host", Meaning: "on this host, on one member, on every member", check: checkWords("host", "ring", "all")},
	{Key: "host", Values: "names with commas between", Guard: true, Meaning: "only on these hosts",
		apply: func(p *plan, v string) (err error) { p.Hosts, err = parseHosts(v); return err }},
	{Key: "need", Values: "key:value,...", Extend: true, Guard: true, Meaning: "only on members with these labels"},
	{Key: "avoid", Values: "key:value,...", Extend: true, Guard: true, Meaning: "not on members with these labels"},
	{Key: "prefer", Values: "key:value*weight,...", Extend: true, Meaning: "rather on members with these labels"},
	{Key: "route", Values: "hash, least, any", Extend: true, Meaning: "choice among fit members"},
	{Key: "shards", Values: "1 to 100000", Extend: true, Same: "1", Meaning: "runs for each occurrence", check: checkInt(1, 100_000)},
	{Key: "if-partitioned", Values: "run, hold", Meaning: "what a member without quorum does", check: checkWords("run", "hold")},
	{Key: "quorum", Values: "1 to 100000", Meaning: "how many members are enough", check: checkInt(1, 100_000)},
}

// The readers of the commonest values, for apply.

func duration(to *time.Duration, text string) (err error) {
	*to, err = ParseDuration(text)
	return err
}

func positive(to *time.Duration, text string) error {
	if err := duration(to, text); err != nil {
		return err
	}
	if *to == 0 {
		return errors.New("the duration is 0")
	}
	return nil
}

func percent(to *int, text string) (err error) {
	if n := len(text); n > 0 && text[n-1] == '%' {
		text = text[:n-1]
	}
	*to, err = parseInt(text, 0, 100)
	return err
}

// vocabularyByKey finds a row of the table.
var vocabularyByKey = func() map[string]*OptionSpec {
	m := make(map[string]*OptionSpec, len(vocabulary))
	for i := range vocabulary {
		m[vocabulary[i].Key] = &vocabulary[i]
	}
	return m
}()

// keyAliases are the names that other schedulers have for options. They are
// read, never written.
var keyAliases = map[string]string{
	"concurrencyPolicy":       "overlap",  // Kubernetes
	"startingDeadlineSeconds": "deadline", // Kubernetes, in seconds
	"timeZone":                "tz",       // Kubernetes
	"misfire":                 "catchup",  // Quartz
	"misfire-policy":          "catchup",
	"AFTER":                   "after", // dcron
}

// valueAliases are other schedulers' words for values.
var valueAliases = map[string]map[string]string{
	"overlap": {
		"Allow": "allow", "Forbid": "skip", "Replace": "replace", // Kubernetes
		"AllowAll": "allow", "Skip": "skip", "BufferOne": "queue", "BufferAll": "queue-all", // Temporal
		"CancelOther": "replace", "TerminateOther": "kill",
	},
	"catchup": {
		"Skip": "skip", "FireOnceNow": "once", "FireAllMissed": "all",
		"DO_NOTHING": "skip", "FIRE_ONCE_NOW": "once", "IGNORE": "all", // Quartz
	},
}

// unalias gives key and value their own names here.
func unalias(key, value string) (string, string) {
	if key == "startingDeadlineSeconds" {
		value += "s"
	}
	if own, ok := keyAliases[key]; ok {
		key = own
	}
	if own, ok := valueAliases[key][value]; ok {
		value = own
	}
	return key, value
}
