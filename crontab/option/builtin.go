package option

import (
	"fmt"

	"github.com/cronring/cronring/crontab/timetable"
)

// BuiltIn returns the value that applies if an option other than tz= is not set: in
// the option's own syntax, or in words between parentheses.
func (o *Options) BuiltIn(key string) string {
	anacron := o.Period != nil
	switch {
	case key == "catchup" && anacron:
		return "once"
	case key == "overlap" && (anacron || o.OncePer != OncePerNone || o.Conditions != nil && o.Conditions.Waits()):
		return "skip"
	case key == "deadline" && o.Deadline > 0:
		return timetable.DurationText(o.Deadline)
	case key == "stop-grace":
		return fmt.Sprintf("(%s; %s when a person stops the run)", builtIns[key], timetable.DurationText(ManualStopGrace))
	case key == "on-exhausted" && o.Retry > 0:
		return "dead"
	case key == "trigger" && o.IsStartedByEvents():
		return "(the events of on=)"
	}
	return builtIns[key]
}

// builtIns are the values of options that are not set. A value in parentheses
// cannot be written as an option.
var builtIns = map[string]string{
	"name": "", "desc": "(none)", "owner": "(none)", "access": "(all with a role)", "quiet": "no", "retry-for": "(no limit)", "enabled": "yes", "protect": "no", "labels": "(none)",
	"sec": "0", "from": "(any)", "until": "(any)", "count": "(no limit)", "every": "(none)", "phase": "0s", "delay": "(none)", "at": "(none)", "on": "(none)",
	"day": "(any)", "year": "(any)", "weeks": "1", "calendar": "(any day)", "except": "(none)", "shift": "none",
	"window": "(any time)", "blackout": "(none)", "outside": "skip", "once-per": "(none)",
	"dst": "cron", "trigger": "clock", "jitter": "0s", "spread": "0s",
	"grace": "1m", "catchup": "cron", "deadline": "(none)", "pause-counts": "no", "overlap": "allow", "max-instances": "(no limit)",
	"after": "(none)", "when": "all", "wait": "(until the next occurrence)", "if": "(none)", "pool": "(none)",
	"load": "(any)", "pressure": "(any)", "need-memory": "(any)", "need-disk": "(any)", "on-battery": "run", "unmet": "wait",
	"timeout": "(none)", "watchdog": "(none)", "stop-signal": "TERM", "stop-grace": "30s", "ok": "0", "skip-code": "(none)",
	"retry": "0", "backoff": "1s..5mx2", "retry-jitter": "10%", "retry-on": "(all but lost runs)", "no-retry-on": "(none)",
	"breaker": "(none)", "on-exhausted": "continue", "if-lost": "fail",
	"priority": "5", "preempt": "no", "preemptible": "no", "nice": "(the host's)", "idle": "no", "io-weight": "(the host's)", "cpu-weight": "(the host's)",
	"memory": "(no limit)", "memory-high": "(no limit)", "cpu": "(no limit)", "tasks": "(the host's)", "nofile": "(the host's)", "slice": "(the host's)",
	"cwd": "(HOME)", "umask": "(the user's)", "env": "(none)", "env-file": "(none)", "group": "(the user's)",
	"sandbox": "off", "network": "yes", "read-only": "(none)", "write": "(none)", "credential": "(none)",
	"log": "journal", "output-max": "64K", "mail": "output", "mailto": "(the user)",
	"notify": "(none)", "notify-on": "fail,dead,lost,recover", "notify-after": "1", "ping": "(none)", "keep": "1000,90d",
	"max-late": "(none)", "max-run": "(none)", "expect": "(none)",
	"scope": "host", "host": "(any)", "need": "(none)", "avoid": "(none)", "prefer": "(none)", "route": "hash", "shards": "1",
	"if-partitioned": "(hold in strict mode, else run)", "quorum": "(the voters' majority)",
}
