package crontab

import (
	"fmt"
	"slices"

	"github.com/cronring/cronring/crontab/timetable"
)

// Effective returns the value and the origin of each option that this version
// supports, in the order of the vocabulary. The name of an entry without name=
// is "".
func (e *Entry) Effective() []Option {
	said := map[string]Option{}
	for _, it := range e.Settings() {
		said[it.Key] = it
	}
	for _, it := range e.Options().Items { // Items has no options that an assignment overrides
		if it.Origin == FromSidecarDefault && e.timeless() && slices.Contains(timeKeys, it.Key) {
			continue // the host's defaults about times do not apply to entries without times
		}
		said[it.Key] = it
	}
	var all []Option
	for i := range vocabulary {
		s := &vocabulary[i]
		if !s.Built() {
			continue
		}
		it, ok := said[s.Key]
		if !ok {
			it = Option{Key: s.Key, Value: e.builtIn(s.Key)}
		}
		all = append(all, it)
	}
	return all
}

// timeless reports whether the entry has no schedule of its own.
func (e *Entry) timeless() bool {
	return e.Schedule == timetable.Reboot || e.Schedule == timetable.Never || e.section.file.Format == Anacron
}

// builtIn returns the value that applies to the entry if an option is not set:
// in the option's own syntax, or in words between parentheses.
func (e *Entry) builtIn(key string) string {
	o := e.Options()
	anacron := o.Period != nil
	switch {
	case key == "tz":
		return e.Zone().String()
	case key == "catchup" && anacron:
		return "once"
	case key == "overlap" && anacron:
		return "skip"
	case key == "deadline" && o.Deadline > 0:
		return timetable.DurationText(o.Deadline)
	case key == "stop-grace":
		return fmt.Sprintf("(%s; %s when a person stops the run)", builtIns[key], timetable.DurationText(ManualStopGrace))
	case key == "on-exhausted" && o.Retry > 0:
		return "dead"
	case key == "trigger" && len(o.On) > 0:
		return "(the events of on=)"
	}
	return builtIns[key]
}

// builtIns are the values of options that are not set. A value in parentheses
// cannot be written as an option.
var builtIns = map[string]string{
	"name": "", "enabled": "yes", "protect": "no", "labels": "(none)",
	"sec": "0", "from": "(any)", "until": "(any)", "count": "(no limit)", "every": "(none)", "phase": "0s", "at": "(none)", "on": "(none)",
	"dst": "cron", "trigger": "clock", "jitter": "0s", "spread": "0s",
	"grace": "1m", "catchup": "cron", "deadline": "(none)", "overlap": "allow", "max-instances": "(no limit)",
	"after": "(none)", "when": "all", "wait": "(until the next occurrence)", "if": "(none)", "pool": "(none)",
	"timeout": "(none)", "stop-signal": "TERM", "stop-grace": "30s", "ok": "0", "skip-code": "(none)",
	"retry": "0", "backoff": "1s..5mx2", "retry-jitter": "10%", "retry-on": "(all but lost runs)", "no-retry-on": "(none)",
	"breaker": "(none)", "on-exhausted": "continue", "if-lost": "fail",
	"priority": "5", "nice": "(the host's)", "idle": "no", "io-weight": "(the host's)", "cpu-weight": "(the host's)",
	"memory": "(no limit)", "memory-high": "(no limit)", "cpu": "(no limit)", "tasks": "(the host's)", "nofile": "(the host's)", "slice": "(the host's)",
	"log": "journal", "output-max": "64K", "mail": "output", "mailto": "(the user)",
	"notify": "(none)", "notify-on": "fail,dead,lost,recover", "keep": "1000,90d",
	"max-late": "(none)", "max-run": "(none)", "expect": "(none)",
	"scope": "host", "host": "(any)", "need": "(none)", "avoid": "(none)", "prefer": "(none)", "route": "hash", "shards": "1",
	"if-partitioned": "(hold in strict mode, else run)", "quorum": "(the voters' majority)",
}
