package option

import (
	"errors"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
)

const (
	aDuration = "a duration up to 36525d: 90s, 5m, 1h30m, 2d, 1w"
	anInstant = "a date or time from 1970 to 2199: 2026-03-01T08:00:00Z, or 2026-03-01T08:00 in the entry's zone"
	yesNo     = "yes, no"
	somePaths = "paths that begin with /, with commas between"
	someHours = "times, or days and times, with commas between: 08:00-18:00 or mon-fri/08:00-18:00,sat/22:00-06:00"
)

// nothingLost is the Loss of options that do not change how an entry runs.
const nothingLost = "it runs as usual"

// vocabulary is the table of options for the parser, lint and the manual page.
var vocabulary = []Spec{
	// Identity and description.
	{Key: "name", Values: "1 to 64 letters, digits, dots, underscores, hyphens; no hyphen first", Form: "WORD", Default: "derived", Meaning: "identity in history and commands",
		Loss:  nothingLost,
		apply: func(p *Plan, v string) error { p.Name = v; return CheckName(v) }},
	{Key: "desc", Values: "a text of up to 500 bytes", Form: "TEXT", Default: "none", BuiltIn: "(none)", Meaning: "what the job is for",
		Loss:  nothingLost,
		apply: func(p *Plan, v string) error { p.Desc = v; return CheckNote(v) }},
	{Key: "labels", Values: "key:value,...", Form: "KEY:VALUE,...", Default: "none", BuiltIn: "(none)", Meaning: "labels to filter lists by",
		Loss:  nothingLost,
		apply: func(_ *Plan, v string) error { _, err := parseLabels(v); return err }},
	{Key: "owner", Values: "a text of up to 500 bytes", Form: "TEXT", Default: "none", BuiltIn: "(none)", Meaning: "whom to ask about the job",
		Loss:  nothingLost,
		apply: func(p *Plan, v string) error { p.Contact = v; return CheckNote(v) }},
	{Key: "access", Values: "view: or operate: and users or @groups with + between: view:@ops,operate:@oncall+ann", Form: "ROLE:@GROUP[+...],...", Default: "all", BuiltIn: "(all with a role)", Guard: true, Meaning: "which users and groups a role is for",
		Loss:  nothingLost,
		apply: func(p *Plan, v string) (err error) { p.Access, err = parseAccess(v); return err }},
	{Key: "enabled", Values: yesNo, Form: "yes|no", Default: "yes", BuiltIn: "yes", Guard: true, Same: "yes", Meaning: "no: listed, but not started by itself",
		Loss:  "it runs",
		apply: func(p *Plan, v string) (err error) { p.Enabled, err = oneOf(v, answers); return err }},

	{Key: "protect", Values: yesNo, Form: "yes|no", Default: "no", BuiltIn: "no", Same: "no", Meaning: "ask before run, stop and removal",
		Loss:  nothingLost,
		apply: func(p *Plan, v string) (err error) { p.Protect, err = oneOf(v, answers); return err }},

	// When.
	{Key: "tz", Values: "a name of the time zone database, such as Europe/Paris", Form: "ZONE", Default: "CRON_TZ", Guard: true, Meaning: "time zone of the time fields",
		Loss:  "its fields are read in the host's zone",
		apply: func(p *Plan, v string) error { return p.setZone(v) }},
	{Key: "dst", Values: "cron, literal, second", Form: "cron|literal|second", Default: "cron", BuiltIn: "cron", Same: "cron", Meaning: "rule for changes of the clock",
		Loss:  "changes of the clock follow the rules of that cron",
		apply: func(p *Plan, v string) (err error) { p.Modifiers.DST, err = oneOf(v, timetable.DSTs); return err }},
	{Key: "sec", Values: "seconds: 0,30 or */10 or 0-30/5", Form: "LIST", Default: "0", BuiltIn: "0", Meaning: "seconds within each minute",
		Loss:  "it runs once per minute, at second 0",
		apply: func(p *Plan, v string) (err error) { p.Modifiers.Seconds, err = parseSeconds(v); return err }},
	{Key: "day", Values: "rules with commas between: last, L-3, workday, first-workday, last-workday, 15W, mon#2, fri#last", Form: "RULE,...", Default: "any", BuiltIn: "(any)", Guard: true, Meaning: "only on these days of the month",
		Loss: "it runs on every day that its fields name",
		apply: func(p *Plan, v string) (err error) {
			p.Modifiers.Days.Rule, err = timetable.ParseDayRule(v)
			return err
		}},
	{Key: "year", Values: "years: 2027 or 2027-2029,2031", Form: "YEAR,...", Default: "any", BuiltIn: "(any)", Guard: true, Meaning: "only in these years",
		Loss:  "it runs in every year",
		apply: func(p *Plan, v string) (err error) { p.Modifiers.Days.Years, err = timetable.ParseYears(v); return err }},
	{Key: "weeks", Values: "1 to 520", Form: "N", Default: "1", BuiltIn: "1", Guard: true, Same: "1", Meaning: "only every N-th week since from=",
		Loss: "it runs in every week",
		apply: func(p *Plan, v string) (err error) {
			p.Modifiers.Days.Weeks, err = parseInt(v, 1, 520)
			return err
		}},
	{Key: "calendar", Values: "calendars of the configuration, or weekend, with commas between", Form: "NAME,...", Default: "none", BuiltIn: "(any day)", Guard: true, Meaning: "only on the dates of these calendars",
		Loss:  "it runs on every day that its fields name",
		apply: func(p *Plan, v string) (err error) { p.Modifiers.Days.Only, err = p.dates(v); return err }},
	{Key: "except", Values: "calendars of the configuration, or weekend, with commas between", Form: "NAME,...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "not on the dates of these calendars",
		Loss:  "it runs on every day that its fields name",
		apply: func(p *Plan, v string) (err error) { p.Modifiers.Days.Except, err = p.dates(v); return err }},
	{Key: "shift", Values: "none, next, prev", Form: "none|next|prev", Default: "none", BuiltIn: "none", Guard: true, Same: "none", Meaning: "move excluded days to allowed ones",
		Loss: "its days stay as they are",
		apply: func(p *Plan, v string) (err error) {
			p.Modifiers.Days.Shift, err = oneOf(v, timetable.Shifts)
			return err
		}},
	{Key: "window", Values: someHours, Form: "[DAYS/]HOURS,...", Default: "none", BuiltIn: "(any time)", Guard: true, Meaning: "start only at these times",
		Loss:  "it starts at any time that its fields name",
		apply: func(p *Plan, v string) (err error) { p.window, err = p.spans(v); return err }},
	{Key: "blackout", Values: someHours, Form: "[DAYS/]HOURS,...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "do not start at these times",
		Loss:  "it starts at any time that its fields name",
		apply: func(p *Plan, v string) (err error) { p.blackout, err = p.spans(v); return err }},
	{Key: "outside", Values: "skip, wait", Form: "skip|wait", Default: "skip", BuiltIn: "skip", Guard: true, Same: "skip", Meaning: "wait: start when allowed again",
		Loss:  "it starts at the times that its fields name",
		apply: func(p *Plan, v string) (err error) { p.WaitOutside, err = oneOf(v, outsides); return err }},
	{Key: "from", Values: anInstant, Form: "TIME", Default: "none", BuiltIn: "(any)", Guard: true, Meaning: "no occurrence before this time",
		Loss:  "it also runs before that",
		apply: func(p *Plan, v string) (err error) { p.Modifiers.From, err = ParseInstant(v, p.Zone); return err }},
	{Key: "until", Values: anInstant, Form: "TIME", Default: "none", BuiltIn: "(any)", Guard: true, Meaning: "no occurrence after this time",
		Loss:  "it continues to run after that",
		apply: func(p *Plan, v string) (err error) { p.Modifiers.Until, err = ParseInstant(v, p.Zone); return err }},
	{Key: "count", Values: "1 to 1000", Form: "N", Default: "none", BuiltIn: "(no limit)", Guard: true, Meaning: "the first N occurrences since from=",
		Loss: "it runs without limit",
		apply: func(p *Plan, v string) (err error) {
			p.Modifiers.Count, err = parseInt(v, 1, timetable.MaxCount)
			return err
		}},
	{Key: "every", Values: aDuration, Form: "DURATION", Default: "none", BuiltIn: "(none)", Meaning: "fixed interval instead of time fields",
		Loss:  "it follows its time fields",
		apply: func(p *Plan, v string) error { return positive(&p.Modifiers.Every, v) }},
	{Key: "phase", Values: aDuration, Form: "DURATION", Default: "0", BuiltIn: "0s", Meaning: "offset of every=",
		Loss:  "it follows its time fields",
		apply: func(p *Plan, v string) error { return duration(&p.Modifiers.Phase, v) }},
	{Key: "delay", Values: aDuration, Form: "DURATION", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "from the last run's end to the next",
		Loss:  "it follows its time fields",
		apply: func(p *Plan, v string) error { return positive(&p.Delay, v) }},
	{Key: "at", Values: anInstant, Form: "TIME", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "one time instead of the time fields",
		Loss:  "it follows its time fields, each year",
		apply: func(p *Plan, v string) (err error) { p.Modifiers.At, err = ParseInstant(v, p.Zone); return err }},
	{Key: "on", Values: "job:NAME[:OUTCOME,...], file:PATTERN, event:[USER/]NAME, boot, resume, clock, with commas between", Form: "EVENT,...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "start at events, not at times",
		Loss:  "it follows its time fields; 31 February means never",
		apply: func(p *Plan, v string) error { return p.setOn(v) }},
	{Key: "trigger", Values: "clock, manual", Form: "clock|manual", Default: "clock", BuiltIn: "clock", Guard: true, Same: "clock", Meaning: "manual: start only by command",
		Loss:  "it follows its time fields; 31 February means never",
		apply: func(p *Plan, v string) (err error) { p.Manual, err = oneOf(v, triggers); return err }},
	{Key: "jitter", Values: aDuration, Form: "DURATION", Default: "0", BuiltIn: "0s", Same: "0", Meaning: "random delay, another each time",
		Loss:  "it starts on the minute",
		apply: func(p *Plan, v string) error { return duration(&p.Modifiers.Jitter, v) }},
	{Key: "spread", Values: aDuration, Form: "DURATION", Default: "0", BuiltIn: "0s", Same: "0", Meaning: "random delay, always the same",
		Loss:  "it starts on the minute",
		apply: func(p *Plan, v string) error { return duration(&p.Modifiers.Spread, v) }},

	// Late, missed, overlapping.
	{Key: "grace", Values: aDuration, Form: "DURATION", Default: "60s", BuiltIn: "1m", Meaning: "delay up to which a start is on time",
		Loss:  "the limit for lateness is that cron's, about 5 minutes",
		apply: func(p *Plan, v string) error { return duration(&p.Grace, v) }},
	{Key: "catchup", Values: "cron, skip, once, all, all:N", Form: "cron|skip|once|all", Default: "cron", BuiltIn: "cron", Same: "cron", Meaning: "what to do with missed occurrences",
		Loss:  "a missed run is caught up only within minutes, or not at all",
		apply: func(p *Plan, v string) error { return parseCatchup(v, &p.Options) }},
	{Key: "deadline", Values: aDuration, Form: "DURATION", Default: "see text", BuiltIn: "(none)", Same: "0", Meaning: "never start later than this",
		Loss:  "it has no deadline",
		apply: func(p *Plan, v string) error { p.Limited = true; return duration(&p.Deadline, v) }},
	{Key: "pause-counts", Values: yesNo, Form: "yes|no", Default: "no", BuiltIn: "no", Guard: true, Same: "no", Meaning: "due runs in a pause count as missed",
		Loss:  "there are no pauses",
		apply: func(p *Plan, v string) (err error) { p.PauseCounts, err = oneOf(v, answers); return err }},
	{Key: "overlap", Values: "allow, skip, queue, queue-all, replace, kill", Form: "POLICY", Default: "allow", BuiltIn: "allow", Guard: true, Same: "allow", Meaning: "what to do while a run is active",
		Loss:  "a new run starts beside a running one; busybox skips it",
		apply: func(p *Plan, v string) (err error) { p.Overlap, err = oneOf(v, overlaps); return err }},
	{Key: "max-instances", Values: "1 to 100000", Form: "N", Default: "none", BuiltIn: "(no limit)", Guard: true, Meaning: "most runs at the same time",
		Loss:  "any number of runs at the same time; in busybox, one",
		apply: func(p *Plan, v string) (err error) { p.MaxInstances, err = parseInt(v, 1, 100_000); return err }},
	{Key: "once-per", Values: "hour, day, week, month, due", Form: "PERIOD", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "at most one success in a period",
		Loss:  "it runs as often as its fields name a time",
		apply: func(p *Plan, v string) (err error) { p.OncePer, err = oneOf(v, periods); return err }},

	// Dependencies and guards.
	{Key: "after", Values: "NAME[:OUTCOME],...; an outcome is ok, fail, done, skip, lost, dead", Form: "NAME[:OUTCOME],...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "wait for runs of other jobs",
		Loss:  "it starts at its time, independent of other jobs",
		apply: func(p *Plan, v string) error { return p.setAfter(v) }},
	{Key: "when", Values: "all, any, none-failed, or a rule of Airflow such as one-success", Form: "RULE", Default: "all", BuiltIn: "all", Guard: true, Meaning: "how many jobs of after= must match",
		Loss:  "it starts at its time, independent of other jobs",
		apply: func(p *Plan, v string) (err error) { p.When, err = parseJoin(v); return err }},
	{Key: "wait", Values: aDuration, Form: "DURATION", Default: "next time", BuiltIn: "(until the next occurrence)", Meaning: "how long to wait for after=",
		Loss:  "it does not wait",
		apply: func(p *Plan, v string) error { return positive(&p.Wait, v) }},
	{Key: "if", Values: "a command", Form: "COMMAND", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "run only if the command succeeds",
		Loss:  "it always runs",
		apply: func(p *Plan, v string) error { p.If = v; return checkText(v) }},
	{Key: "load", Values: "< and a number: <4, <1.5", Form: "<N", Default: "any", BuiltIn: "(any)", Guard: true, Meaning: "start only below this load average",
		Loss:  "it always runs",
		apply: func(p *Plan, v string) (err error) { p.conditions().Load, err = parseBelow(v, highestLoad); return err }},
	{Key: "pressure", Values: "cpu<N, io<N or memory<N in percent, with commas between", Form: "cpu|io|memory<N,...", Default: "any", BuiltIn: "(any)", Guard: true, Meaning: "start only below this pressure",
		Loss:  "it always runs",
		apply: func(p *Plan, v string) (err error) { p.conditions().Pressure, err = parsePressure(v); return err }},
	{Key: "need-memory", Values: "a size: 512M, 2G", Form: "SIZE", Default: "any", BuiltIn: "(any)", Guard: true, Meaning: "start only with this much free memory",
		Loss:  "it always runs",
		apply: func(p *Plan, v string) (err error) { p.conditions().Memory, err = parseMemory(v); return err }},
	{Key: "need-disk", Values: "a size and a path, with commas between: 10G:/srv,1G:/tmp", Form: "SIZE:PATH,...", Default: "any", BuiltIn: "(any)", Guard: true, Meaning: "start only with this much free space",
		Loss:  "it always runs",
		apply: func(p *Plan, v string) (err error) { p.conditions().Disks, err = parseDisks(v); return err }},
	{Key: "on-battery", Values: "run, skip, wait", Form: "run|skip|wait", Default: "run", BuiltIn: "run", Guard: true, Same: "run", Meaning: "whether occurrences run on battery",
		Loss:  "it always runs",
		apply: func(p *Plan, v string) (err error) { p.conditions().Battery, err = oneOf(v, batteries); return err }},
	{Key: "unmet", Values: "wait, skip", Form: "wait|skip", Default: "wait", BuiltIn: "wait", Guard: true, Same: "wait", Meaning: "what to do if a condition is not met",
		Loss:  "it always runs",
		apply: func(p *Plan, v string) (err error) { p.conditions().Skip, err = oneOf(v, unmets); return err }},
	{Key: "pool", Values: "NAME[:slots]", Form: "NAME[:SLOTS]", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "take slots of a shared pool",
		Loss:  "it does not wait for other jobs",
		apply: func(p *Plan, v string) error { return parsePool(v, &p.Options) }},

	// Running.
	{Key: "timeout", Values: aDuration, Form: "DURATION", Default: "0", BuiltIn: "(none)", Same: "0", Meaning: "stop the run after this time",
		Loss:  "a run can last forever",
		apply: func(p *Plan, v string) error { return duration(&p.Timeout, v) }},
	{Key: "stop-signal", Values: "TERM, INT, HUP, QUIT, KILL, USR1, USR2, ALRM, ABRT, WINCH", Form: "SIGNAL", Default: "TERM", BuiltIn: "TERM", Meaning: "signal that stops a run",
		Loss:  "nothing stops a run",
		apply: func(p *Plan, v string) (err error) { p.StopSignal, err = ParseSignal(v); return err }},
	{Key: "stop-grace", Values: aDuration, Form: "DURATION", Default: "30s", BuiltIn: "30s", Meaning: "time from that signal to KILL",
		Loss:  "nothing stops a run",
		apply: func(p *Plan, v string) error { return duration(&p.StopGrace, v) }},
	{Key: "watchdog", Values: aDuration, Form: "DURATION", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "stop a run without sign of life",
		Loss:  "nothing stops a run",
		apply: func(p *Plan, v string) error { return positive(&p.Watchdog, v) }},
	{Key: "cwd", Values: "a path that begins with /", Form: "PATH", Default: "HOME", BuiltIn: "(HOME)", Guard: true, Meaning: "directory in which a run starts",
		Loss:  "it starts in the user's home",
		apply: func(p *Plan, v string) (err error) { p.Process.Dir, err = parsePath(v); return err }},
	{Key: "umask", Values: "an octal number: 027", Form: "MASK", Default: "user's", BuiltIn: "(the user's)", Guard: true, Meaning: "file mode mask",
		Loss:  "it has the mask of cron's other jobs",
		apply: func(p *Plan, v string) (err error) { p.Process.Umask, err = parseUmask(v); return err }},
	{Key: "env", Values: "NAME=value,...", Form: "NAME=VALUE,...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "variables of this entry alone",
		Loss:  "it has only the variables of the crontab",
		apply: func(p *Plan, v string) (err error) { p.Process.Env, err = parseEnv(v); return err }},
	{Key: "env-file", Values: "a path that begins with /", Form: "PATH", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "file of variables, read at each start",
		Loss:  "it has only the variables of the crontab",
		apply: func(p *Plan, v string) (err error) { p.Process.EnvFile, err = parsePath(v); return err }},
	{Key: "group", Values: "the name or number of a group", Form: "GROUP", Default: "user's", BuiltIn: "(the user's)", Guard: true, Meaning: "primary group",
		Loss:  "it has the user's own groups",
		apply: func(p *Plan, v string) (err error) { p.Process.Group, err = parseGroup(v); return err }},
	{Key: "ok", Values: "exit statuses: 0,3", Form: "STATUS,...", Default: "0", BuiltIn: "0", Same: "0", Meaning: "exit statuses that mean success",
		Loss:  "the exit status has no effect",
		apply: func(p *Plan, v string) (err error) { p.OK, err = parseCodes(v); return err }},
	{Key: "skip-code", Values: "exit statuses: 99", Form: "STATUS,...", Default: "none", BuiltIn: "(none)", Meaning: "exit statuses that mean skipped",
		Loss:  "the exit status has no effect",
		apply: func(p *Plan, v string) (err error) { p.SkipCodes, err = parseCodes(v); return err }},
	{Key: "retry", Values: "0 to 1000", Form: "N", Default: "0", BuiltIn: "0", Same: "0", Meaning: "further attempts after a failure",
		Loss:  "there is one attempt",
		apply: func(p *Plan, v string) (err error) { p.Retry, err = parseInt(v, 0, 1000); return err }},
	{Key: "backoff", Values: "waits: 30s, 1s..5m or 1s..5mx2", Form: "WAIT", Default: "1s..5mx2", BuiltIn: "1s..5mx2", Meaning: "wait between attempts",
		Loss:  "there is one attempt",
		apply: func(p *Plan, v string) (err error) { p.Backoff, err = parseBackoff(v); return err }},
	{Key: "retry-jitter", Values: "percent: 0% to 100%", Form: "PERCENT", Default: "10%", BuiltIn: "10%", Meaning: "random part of that wait",
		Loss:  "there is one attempt",
		apply: func(p *Plan, v string) error { return percent(&p.RetryJitter, v) }},
	{Key: "retry-for", Values: aDuration, Form: "DURATION", Default: "none", BuiltIn: "(no limit)", Guard: true, Meaning: "total time for attempts",
		Loss:  "there is one attempt",
		apply: func(p *Plan, v string) error { return positive(&p.RetryFor, v) }},
	{Key: "retry-on", Values: "exit statuses, timeout, lost, any, none", Form: "FAILURE,...", Default: "any", BuiltIn: "(all but lost runs)", Meaning: "failures to retry",
		Loss:  "there is one attempt",
		apply: func(p *Plan, v string) (err error) { p.RetryOn, err = parseFailures(v); return err }},
	{Key: "no-retry-on", Values: "exit statuses, timeout, lost, any, none", Form: "FAILURE,...", Default: "none", BuiltIn: "(none)", Meaning: "failures not to retry",
		Loss:  "there is one attempt",
		apply: func(p *Plan, v string) (err error) { p.NoRetryOn, err = parseFailures(v); return err }},
	{Key: "breaker", Values: "N/duration", Form: "N/DURATION", Default: "none", BuiltIn: "(none)", Meaning: "suspend the job after N failures",
		Loss:  "it continues to run after failures",
		apply: func(p *Plan, v string) (err error) { p.Breaker, err = parseBreaker(v); return err }},
	{Key: "on-exhausted", Values: "dead, continue, pause", Form: "ACTION", Default: "see text", BuiltIn: "continue", Same: "continue", Meaning: "what to do after the last attempt",
		Loss:  "it runs again at its next time",
		apply: func(p *Plan, v string) (err error) { p.Exhausted, err = oneOf(v, exhausteds); return err }},
	{Key: "if-lost", Values: "fail, rerun, leave", Form: "fail|rerun|leave", Default: "fail", BuiltIn: "fail", Same: "leave", Meaning: "what to do with a lost run",
		Loss:  "a lost run is not noticed",
		apply: func(p *Plan, v string) (err error) { p.IfLost, err = oneOf(v, ifLosts); return err }},

	// Order, resources, protection.
	{Key: "priority", Values: "1 to 10", Form: "1..10", Default: "5", BuiltIn: "5", Meaning: "order of waiting runs, 10 first",
		Loss:  "all due jobs start at the same time",
		apply: func(p *Plan, v string) (err error) { p.Priority, err = parseInt(v, 1, 10); return err }},
	{Key: "preempt", Values: yesNo, Form: "yes|no", Default: "no", BuiltIn: "no", Guard: true, Same: "no", Meaning: "stop preemptible runs for their slots",
		Loss:  "it does not wait for other jobs",
		apply: func(p *Plan, v string) (err error) { p.Preempt, err = oneOf(v, answers); return err }},
	{Key: "preemptible", Values: yesNo, Form: "yes|no", Default: "no", BuiltIn: "no", Guard: true, Same: "no", Meaning: "may be stopped by runs with preempt",
		Loss:  "nothing stops a run",
		apply: func(p *Plan, v string) (err error) { p.Preemptible, err = oneOf(v, answers); return err }},
	{Key: "nice", Values: "-20 to 19", Form: "N", Default: "0", BuiltIn: "(the host's)", Meaning: "CPU priority",
		Loss:  "it runs with the priority of cron",
		apply: func(p *Plan, v string) (err error) { p.resources().Nice, err = parseNice(v); return err }},
	{Key: "idle", Values: yesNo, Form: "yes|no", Default: "no", BuiltIn: "no", Same: "no", Meaning: "use only idle CPU and disk time",
		Loss:  "it runs with the priority of cron",
		apply: func(p *Plan, v string) (err error) { p.resources().Idle, err = oneOf(v, answers); return err }},
	{Key: "io-weight", Values: "1 to 10000", Form: "N", Default: "100", BuiltIn: "(the host's)", Meaning: "share of disk time",
		Loss: "it has cron's share of the disk",
		apply: func(p *Plan, v string) (err error) {
			p.resources().IOWeight, err = parseInt(v, 1, mostWeight)
			return err
		}},
	{Key: "cpu-weight", Values: "1 to 10000", Form: "N", Default: "100", BuiltIn: "(the host's)", Meaning: "share of CPU time",
		Loss: "it has cron's share of the processors",
		apply: func(p *Plan, v string) (err error) {
			p.resources().CPUWeight, err = parseInt(v, 1, mostWeight)
			return err
		}},
	{Key: "memory", Values: "a size: 512M, 2G", Form: "SIZE", Default: "none", BuiltIn: "(no limit)", Guard: true, Meaning: "memory limit",
		Loss:  "nothing limits it",
		apply: func(p *Plan, v string) (err error) { p.resources().Memory, err = parseMemory(v); return err }},
	{Key: "memory-high", Values: "a size: 512M, 2G", Form: "SIZE", Default: "none", BuiltIn: "(no limit)", Guard: true, Meaning: "memory above which a run slows down",
		Loss:  "nothing limits it",
		apply: func(p *Plan, v string) (err error) { p.resources().MemoryHigh, err = parseMemory(v); return err }},
	{Key: "cpu", Values: "percent or cores: 50%, 2", Form: "AMOUNT", Default: "none", BuiltIn: "(no limit)", Guard: true, Meaning: "CPU limit",
		Loss:  "nothing limits it",
		apply: func(p *Plan, v string) (err error) { p.resources().CPU, err = parseCPU(v); return err }},
	{Key: "tasks", Values: "1 to 4194304", Form: "N", Default: "none", BuiltIn: "(the host's)", Guard: true, Meaning: "limit of processes and threads",
		Loss:  "nothing limits it",
		apply: func(p *Plan, v string) (err error) { p.resources().Tasks, err = parseInt(v, 1, mostTasks); return err }},
	{Key: "nofile", Values: "1 to 1073741816", Form: "N", Default: "user's", BuiltIn: "(the host's)", Guard: true, Meaning: "limit of open files",
		Loss:  "the user's own limit applies",
		apply: func(p *Plan, v string) (err error) { p.resources().NoFile, err = parseInt(v, 1, mostFiles); return err }},
	{Key: "slice", Values: "a name", Form: "NAME", Default: "none", BuiltIn: "(the host's)", Guard: true, Meaning: "systemd slice of the run",
		Loss:  "it runs among cron's own processes",
		apply: func(p *Plan, v string) (err error) { p.resources().Slice, err = parseSlice(v); return err }},
	{Key: "sandbox", Values: "off, basic, strict", Form: "off|basic|strict", Default: "off", BuiltIn: "off", Guard: true, Same: "off", Meaning: "which files a run can change",
		Loss:  "nothing confines it",
		apply: func(p *Plan, v string) (err error) { p.isolate().Sandbox, err = oneOf(v, sandboxes); return err }},
	{Key: "network", Values: yesNo, Form: "yes|no", Default: "yes", BuiltIn: "yes", Guard: true, Same: "yes", Meaning: "no: a run has no network",
		Loss:  "nothing confines it",
		apply: func(p *Plan, v string) (err error) { p.isolate().NoNetwork, err = oneOf(v, networks); return err }},
	{Key: "read-only", Values: somePaths, Form: "PATH,...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "what sandbox=strict can also read",
		Loss:  "nothing confines it",
		apply: func(p *Plan, v string) (err error) { p.isolate().ReadOnly, err = parsePaths(v); return err }},
	{Key: "write", Values: somePaths, Form: "PATH,...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "what a sandbox can also change",
		Loss:  "nothing confines it",
		apply: func(p *Plan, v string) (err error) { p.isolate().Write, err = parseWritable(v); return err }},
	{Key: "credential", Values: "ID:PATH with commas between, such as db:/etc/credstore/db", Form: "ID:PATH,...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "secrets for a run, as files in memory",
		Loss:  "it is given no secret",
		apply: func(p *Plan, v string) (err error) { p.isolate().Credentials, err = parseCredentials(v); return err }},

	// Output and notice.
	{Key: "log", Values: "journal, file:PATH, none", Form: "journal|none|file:PATH", Default: "journal", BuiltIn: "journal", Meaning: "where output goes besides the history",
		Loss:  "its output is mailed, and goes nowhere else",
		apply: func(p *Plan, v string) (err error) { p.Log, err = parseLog(v); return err }},
	{Key: "output-max", Values: "a size up to 16M: 64K", Form: "SIZE", Default: "64K or 1M", BuiltIn: "64K", Meaning: "output of a run that is kept",
		Loss:  "all of its output is mailed",
		apply: func(p *Plan, v string) error { n, err := parseSize(v, 1, MaxOutput); p.OutputMax = int(n); return err }},
	{Key: "mail", Values: "output, always, failure, never", Form: "WHEN", Default: "output", BuiltIn: "output", Same: "output", Meaning: "when to send mail",
		Loss:  "its output is mailed for any exit status",
		apply: func(p *Plan, v string) (err error) { p.Mail, err = oneOf(v, mailWhens); return err }},
	{Key: "mailto", Values: "addresses with commas between", Form: "ADDRESS,...", Default: "MAILTO", BuiltIn: "(the user)", Meaning: "recipients of mail",
		Loss:  "its output is mailed to MAILTO",
		apply: func(p *Plan, v string) error { p.MailTo = &v; return checkAddresses(v) }},
	{Key: "notify", Values: "names of channels with commas between", Form: "CHANNEL,...", Default: "none", BuiltIn: "(none)", Meaning: "notification channels",
		Loss:  "there are no notifications, only mail with the output",
		apply: func(p *Plan, v string) (err error) { p.Notify, err = parseChannels(v); return err }},
	{Key: "notify-on", Values: "fail, dead, lost, missed, late, recover, success, start, held, odd, each", Form: "EVENT,...", Default: "see text", BuiltIn: "fail,dead,lost,recover", Meaning: "events to notify about",
		Loss:  "there are no notifications, only mail with the output",
		apply: func(p *Plan, v string) (err error) { p.NotifyOn, err = parseNotices(v); return err }},
	{Key: "notify-after", Values: "a number from 1 to 1000", Form: "N", Default: "1", BuiltIn: "1", Same: "1", Meaning: "notify at the n-th failure in a row",
		Loss:  "there are no notifications, only mail with the output",
		apply: func(p *Plan, v string) (err error) { p.NotifyAfter, err = parseInt(v, 1, mostStreak); return err }},
	{Key: "ping", Values: "an http or https URL, which can contain {{.Job}}, {{.User}} and {{.Host}}", Form: "URL", Default: "none", BuiltIn: "(none)", Meaning: "URL that start and end are sent to",
		Loss:  "there are no notifications, only mail with the output",
		apply: func(p *Plan, v string) error { p.Ping = v; return checkPing(v) }},
	{Key: "quiet", Values: yesNo, Form: "yes|no", Default: "no", BuiltIn: "no", Same: "no", Meaning: "no log lines of successful runs",
		Loss:  "each start is in the log",
		apply: func(p *Plan, v string) (err error) { p.Quiet, err = oneOf(v, answers); return err }},
	{Key: "keep", Values: "a number of runs, a duration, or both: 1000,90d", Form: "N,DURATION", Default: "1000,90d", BuiltIn: "1000,90d", Meaning: "history to keep",
		Loss:  "no history is kept",
		apply: func(p *Plan, v string) (err error) { p.Keep, err = parseKeep(v); return err }},
	{Key: "max-late", Values: aDuration, Form: "DURATION", Default: "0", BuiltIn: "(none)", Meaning: "warn if a start is later",
		Loss:  "there is no warning",
		apply: func(p *Plan, v string) error { return duration(&p.MaxLate, v) }},
	{Key: "max-run", Values: aDuration, Form: "DURATION", Default: "0", BuiltIn: "(none)", Meaning: "warn if a run takes longer",
		Loss:  "there is no warning",
		apply: func(p *Plan, v string) error { return duration(&p.MaxRun, v) }},
	{Key: "expect", Values: aDuration, Form: "DURATION", Default: "0", BuiltIn: "(none)", Meaning: "warn without a success for this time",
		Loss:  "there is no warning",
		apply: func(p *Plan, v string) error { return duration(&p.Expect, v) }},

	// Ring.
	{Key: "scope", Values: "host, ring, all", Form: "host|ring|all", Default: "host", BuiltIn: "host", Guard: true, Same: "host", Meaning: "this host, one member or all members",
		Loss:  "it runs on every host that has the file",
		apply: func(p *Plan, v string) (err error) { p.Scope, err = oneOf(v, scopes); return err }},
	{Key: "host", Values: "names with commas between", Form: "NAME,...", Default: "any", BuiltIn: "(any)", Guard: true, Meaning: "only on these hosts",
		Loss:  "it runs on every host that has the file",
		apply: func(p *Plan, v string) (err error) { p.Hosts, err = parseHosts(v); return err }},
	{Key: "need", Values: "labels: zone:a,role:db", Form: "KEY:VALUE,...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "only on hosts with all these labels",
		Loss:  "it runs on every host that has the file",
		apply: func(p *Plan, v string) (err error) { p.Need, err = parseNeed(v); return err }},
	{Key: "avoid", Values: "labels: zone:a,role:db", Form: "KEY:VALUE,...", Default: "none", BuiltIn: "(none)", Guard: true, Meaning: "not on hosts with any of these labels",
		Loss:  "it runs on every host that has the file",
		apply: func(p *Plan, v string) (err error) { p.Avoid, err = parseLabels(v); return err }},
	{Key: "prefer", Values: "labels with weights: zone:a*3,role:db", Form: "KEY:VALUE[*W],...", Default: "none", BuiltIn: "(none)", Meaning: "members to prefer",
		Loss:  "it runs on every host that has the file",
		apply: func(p *Plan, v string) (err error) { p.Prefer, err = parsePrefer(v); return err }},
	{Key: "route", Values: "hash, any", Form: "hash|any", Default: "hash", BuiltIn: "hash", Meaning: "how to choose among the members",
		Loss:  "it runs on every host that has the file",
		apply: func(p *Plan, v string) (err error) { p.Route, err = oneOf(v, routes); return err }},
	{Key: "shards", Values: "1 to 1000", Form: "N", Default: "1", BuiltIn: "1", Same: "1", Meaning: "runs of each occurrence",
		Loss:  "it runs once",
		apply: func(p *Plan, v string) (err error) { p.Shards, err = parseInt(v, 1, mostShards); return err }},
	{Key: "if-partitioned", Values: "run, hold", Form: "run|hold", Default: "see text", BuiltIn: "(hold in strict mode, else run)", Guard: true, Meaning: "what to do in a network partition",
		Loss:  "it runs on every host that has the file",
		apply: func(p *Plan, v string) (err error) { p.Partitioned, err = oneOf(v, partitions); return err }},
	{Key: "quorum", Values: "1 to 1000", Form: "N", Default: "majority", BuiltIn: "(the voters' majority)", Guard: true, Meaning: "members that must be visible",
		Loss:  "it runs on every host that has the file",
		apply: func(p *Plan, v string) (err error) { p.Quorum, err = parseInt(v, 1, mostMembers); return err }},
}

// The readers of common values, for apply.

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
