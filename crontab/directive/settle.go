package directive

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
)

// settle checks the options against each other: which ones exclude or require
// another.
func (r *Reader) settle(plan *option.Plan, items []Item) {
	if Find(items, "tz") == nil && r.ZoneHeld != "" {
		plan.Hold(r.ZoneHeld)
	}
	waits := plan.Conditions != nil && plan.Conditions.Waits()
	if !plan.Limited && (waits || plan.Catchup == option.CatchupOnce || plan.Catchup == option.CatchupAll) {
		plan.Deadline = 24 * time.Hour
	}
	if !r.Rules.Roots {
		r.settleRights(plan, items)
	}
	plan.Scatter = plan.Modifiers.Jitter + plan.Modifiers.Spread
	r.settleIsolation(plan, items)
	r.settleConditions(plan, items)
	plan.Settle()
	r.settleTimes(plan, items)
	r.settleOncePer(plan, items)
	r.settleRuns(plan, items)
	r.settleChannels(plan, items)
	r.settleRing(plan, items)
}

// clash refuses the option key if bad is true, because it contradicts others.
func (r *Reader) clash(plan *option.Plan, items []Item, key string, bad bool, why, fix string) {
	if it := Find(items, key); bad && it != nil && it.Effective() {
		r.Refuse(it, "B411", why, fix)
		it.ApplyTo(plan)
	}
}

// idle is like clash, for an option without effect. It accepts defaults, because
// they are meant for other entries, where they have an effect.
func (r *Reader) idle(plan *option.Plan, items []Item, key string, bad bool, why, fix string) {
	if it := Find(items, key); bad && it != nil && !it.IsDefault() {
		r.clash(plan, items, key, bad, why, fix)
	}
}

// needs is like idle, for an option that has an effect only with another one.
func (r *Reader) needs(plan *option.Plan, items []Item, key, other string, met bool) {
	if !met && Find(items, key) != nil {
		r.idle(plan, items, key, true, key+"= requires "+other+"=", "delete `"+key+"`, or write `"+other+"=...` too")
	}
}

// settleRights refuses options that would give a user's jobs preference over those
// of others. Items of the sidecar are allowed, because the administrator sets
// them.
func (r *Reader) settleRights(plan *option.Plan, items []Item) {
	above := func(key string, bad bool, why, fix string) bool {
		it := Find(items, key)
		if it == nil || !bad || it.Origin != option.FromDefault && it.Origin != option.FromDirective {
			return false
		}
		if it.Effective() {
			r.Refuse(it, "B414", why+" is allowed only in root's crontabs and in the configuration", fix)
			it.ApplyTo(plan)
		}
		return true
	}
	if it := Find(items, "scope"); it != nil && it.File == "" && it.Effective() && plan.Scope == option.ScopeRing && !r.mayUseRing() {
		r.Refuse(it, "B414", fmt.Sprintf("scope=ring is not allowed for %s: ring.users in cronring.toml does not list this user", diagnostic.Quote(r.Rules.Owner)),
			"delete `scope=ring`, or ask the administrator to add the user to `ring.users` on each member")
		it.ApplyTo(plan)
		if it.off {
			plan.Scope = option.ScopeHost
		}
	}
	if it := Find(items, "ping"); it != nil && it.File == "" && it.Effective() && plan.Ping != "" && !r.mayPing(plan.PingHost()) {
		r.Refuse(it, "B414", fmt.Sprintf("ping= must not send requests to %s: ping-hosts in cronring.toml does not list this host", diagnostic.Quote(plan.PingHost())),
			"delete `ping`, or ask the administrator to add the host to `ping-hosts`")
		it.ApplyTo(plan)
		plan.Ping = ""
	}
	if above("priority", plan.Priority > option.Plain.Priority, "a priority above 5", "write `priority=5`, or less") {
		plan.Priority = option.Plain.Priority
	}
	if above("quiet", plan.Quiet, "quiet=yes", "delete `quiet`") {
		plan.Quiet = false
	}
	limits := plan.Resources
	if limits == nil {
		return
	}
	if above("nice", limits.Nice != nil && *limits.Nice < 0, "a nice value below 0", "write `nice=0`, or more") {
		limits.Nice = nil
	}
	if above("io-weight", limits.IOWeight > option.UsualWeight, "an io-weight above 100", "write `io-weight=100`, or less") {
		limits.IOWeight = 0
	}
	if above("cpu-weight", limits.CPUWeight > option.UsualWeight, "a cpu-weight above 100", "write `cpu-weight=100`, or less") {
		limits.CPUWeight = 0
	}
	if above("slice", limits.Slice != "", "slice=", "delete `slice`, or ask the administrator to set it for this job") {
		limits.Slice = ""
	}
}

// mayPing reports whether a user's crontab may make the daemon send requests to a host: the daemon
// reaches hosts that the user cannot.
func (r *Reader) mayPing(host string) bool {
	return r.Rules.PingHosts == nil || slices.Contains(r.Rules.PingHosts, host)
}

// mayUseRing reports whether the owner of a user's crontab may have jobs of the ring.
func (r *Reader) mayUseRing() bool {
	users := r.Rules.RingUsers
	return users == nil || slices.Contains(users, "*") || slices.Contains(users, r.Rules.Owner)
}

func (r *Reader) settleTimes(plan *option.Plan, items []Item) {
	m := &plan.Modifiers
	r.clash(plan, items, "count", m.From.IsZero(), "count= requires from=: it selects the first occurrences at or after that time",
		"write `from=2026-01-01 count=3`")
	r.settleDays(plan, items)
	r.settleHours(plan, items)
	r.idle(plan, items, "phase", m.Every == 0, "phase= requires every=", "write `every=10m phase=3m`")
	r.clash(plan, items, "phase", m.Every > 0 && m.Phase >= m.Every, "phase= must be shorter than every=", "")
	r.idle(plan, items, "every", !m.At.IsZero(), "every= and at= exclude each other", "delete one of them")
	r.idle(plan, items, "sec", m.Every > 0 || !m.At.IsZero(), "sec= requires time fields, which every= and at= replace", "delete `sec`")
	r.idle(plan, items, "dst", m.Every > 0 || !m.At.IsZero(), "dst= requires time fields, which every= and at= replace", "delete `dst`")
	r.clash(plan, items, "until", !m.Until.IsZero() && m.Until.Before(m.From), "until= is before from=, so that the entry never runs", "exchange them")
	r.idle(plan, items, "trigger", plan.Manual && len(plan.On) > 0, "trigger=manual and on= exclude each other", "delete one of them")
	plan.Manual = plan.Manual && len(plan.On) == 0
	r.settleDelay(plan, items)
	r.idle(plan, items, "pause-counts", plan.PauseCounts && (len(plan.On) > 0 || plan.Manual), "pause-counts= has no effect for an entry that the clock does not start", "delete `pause-counts`")
	r.clash(plan, items, "pause-counts", plan.PauseCounts && plan.Scope == option.ScopeRing, "pause-counts= requires scope=host or scope=all: other members run what comes due in the pause of one", "delete `pause-counts`")
}

// settleDelay refuses delay= beside another option that starts the entry.
func (r *Reader) settleDelay(plan *option.Plan, items []Item) {
	if plan.Delay == 0 {
		return
	}
	r.idle(plan, items, "delay", len(plan.On) > 0, "delay= and on= exclude each other", "delete one of them")
	r.idle(plan, items, "delay", plan.Manual, "delay= and trigger=manual exclude each other", "delete one of them")
	r.clash(plan, items, "delay", plan.Scope == option.ScopeRing, "delay= requires scope=host or scope=all: a member knows only the ends of runs on its own host", "delete `delay`")
}

// settleDays checks the filters of the days, and counts weeks from from=.
func (r *Reader) settleDays(plan *option.Plan, items []Item) {
	m := &plan.Modifiers
	r.clash(plan, items, "weeks", m.Days.Weeks > 1 && m.From.IsZero(), "weeks= requires from=: weeks are counted from the one of that time",
		"write `weeks=2 from=2026-01-05`")
	if m.Days.Weeks > 1 {
		m.Days.Since = timetable.DayOf(m.From, plan.Zone.Location())
	}
	r.clash(plan, items, "shift", m.Days.Shift != timetable.ShiftNone && m.Days.Only == nil && m.Days.Except == nil, "shift= requires calendar= or except=, which say what days are allowed",
		"delete `shift`, or write `except=weekend` too")
	for _, key := range []string{"day", "year", "weeks", "calendar", "except"} {
		r.idle(plan, items, key, !m.At.IsZero(), key+"= requires time fields or every=, which at= replaces", "delete `"+key+"`")
		r.clash(plan, items, key, m.At.IsZero() && m.Every > timetable.MaxEveryOn, key+"= requires time fields, or every= of at most "+timetable.DurationText(timetable.MaxEveryOn),
			"write time fields instead of `every`")
	}
}

// settleHours combines window= and blackout=, which must leave some time.
func (r *Reader) settleHours(plan *option.Plan, items []Item) {
	plan.SettleHours()
	if plan.Hours == nil || !plan.Hours.Never() {
		return
	}
	const why = "window= and blackout= leave no time at which the entry may start"
	r.clash(plan, items, "blackout", true, why, "write a shorter `blackout`")
}

// settleOncePer makes sure that no two runs of an entry with once-per= are active.
func (r *Reader) settleOncePer(plan *option.Plan, items []Item) {
	if plan.OncePer == option.OncePerNone {
		return
	}
	overlap := Find(items, "overlap")
	r.clash(plan, items, "once-per", overlap != nil && !overlap.IsDefault() && plan.Overlap == option.OverlapAllow,
		"once-per= and overlap=allow exclude each other: two active runs could both succeed", "write `overlap=skip`")
	r.clash(plan, items, "once-per", plan.Scope == option.ScopeRing, "once-per= requires scope=host or scope=all: a member knows only the runs on its own host", "delete `once-per`")
	if plan.Overlap == option.OverlapAllow {
		plan.Overlap = option.OverlapSkip
	}
}

func (r *Reader) settleRuns(plan *option.Plan, items []Item) {
	r.needs(plan, items, "when", "after", len(plan.After) > 0)
	r.needs(plan, items, "wait", "after", len(plan.After) > 0)
	r.needs(plan, items, "retry-for", "retry", plan.Retry > 0)
	r.needs(plan, items, "retry-on", "retry", plan.Retry > 0)
	r.needs(plan, items, "no-retry-on", "retry", plan.Retry > 0)
	r.needs(plan, items, "notify-on", "notify", len(plan.Notify) > 0)
	r.needs(plan, items, "notify-after", "notify", len(plan.Notify) > 0)
	r.idle(plan, items, "max-instances", plan.Overlap != option.OverlapAllow, "max-instances= requires overlap=allow: all other values allow only one run at a time", "delete `max-instances`")
	r.idle(plan, items, "stop-grace", plan.StopSignal == syscall.SIGKILL, "stop-grace= has no effect with stop-signal=KILL, which ends a program immediately", "delete `stop-grace`")
	if limits := plan.Resources; limits != nil {
		for _, key := range []string{"env-file", "sandbox"} {
			r.clash(plan, items, key, (key != "sandbox" || plan.Isolation != nil) && limits.Tasks > 0 && limits.Tasks < leastTasks,
				fmt.Sprintf("%s= requires tasks= to be at least %d, because the process that applies it has several threads", key, leastTasks), "raise `tasks`")
		}
		r.lintCPU(limits.CPU, items)
		r.idle(plan, items, "memory-high", limits.Memory > 0 && limits.MemoryHigh > limits.Memory, "memory-high= is above memory=, so that a run is killed before it is slowed down", "exchange them")
	}
	r.settleCodes(plan, items)
}

// settleIsolation checks the paths of a sandbox.
func (r *Reader) settleIsolation(plan *option.Plan, items []Item) {
	i := plan.Isolation
	if i == nil {
		return
	}
	const add = "write `sandbox=strict` too"
	r.idle(plan, items, "read-only", i.Sandbox != option.SandboxStrict, "read-only= requires sandbox=strict: other runs can read all files of their user", add)
	r.idle(plan, items, "write", i.Sandbox == option.SandboxOff, "write= requires sandbox=: other runs can change all files of their user", add)
	if inner := i.Contradiction(); inner != "" {
		r.clash(plan, items, "read-only", true, "a run with this write= can change "+inner+": a sandbox cannot withdraw a right inside a directory", "name other directories in `write`")
	}
}

// settleConditions makes one run of an entry wait for conditions, unless overlap= is given.
func (r *Reader) settleConditions(plan *option.Plan, items []Item) {
	c := plan.Conditions
	if c == nil {
		return
	}
	own := *c
	own.Battery = option.BatteryRun
	r.idle(plan, items, "unmet", c.Skip && own.IsEmpty(), "unmet= requires load=, pressure=, need-memory= or need-disk=", "delete `unmet`")
	if overlap := Find(items, "overlap"); plan.Overlap == option.OverlapAllow && (overlap == nil || overlap.IsDefault()) && c.Waits() {
		plan.Overlap = option.OverlapSkip
	}
}

// leastTasks is the lowest limit of tasks with which a program of this project can run.
const leastTasks = 9

// settleCodes makes sure that no exit status means both success and skipped: ok=
// has precedence.
func (r *Reader) settleCodes(plan *option.Plan, items []Item) {
	both := slices.IndexFunc(plan.SkipCodes, func(code uint8) bool { return slices.Contains(plan.OK, code) })
	if both < 0 {
		return
	}
	code := plan.SkipCodes[both]
	r.idle(plan, items, "skip-code", true, fmt.Sprintf("exit status %d already means success", code),
		fmt.Sprintf("remove %d here or from `ok=`", code))
	if Find(items, "skip-code").IsDefault() { // the remaining codes apply
		plan.SkipCodes = slices.DeleteFunc(plan.SkipCodes, func(code uint8) bool { return slices.Contains(plan.OK, code) })
		return
	}
	plan.SkipCodes = nil
}

// lintCPU warns about a limit, in thousandths of a processor, above the
// processors of the host.
func (r *Reader) lintCPU(limit int, items []Item) {
	it := Find(items, "cpu")
	if most := r.Rules.Processors; most == 0 || it == nil || it.File != "" || limit <= 1000*most {
		return
	}
	message := fmt.Sprintf("cpu=%s is above the processors of this host, %d: it limits nothing here", it.Value, r.Rules.Processors)
	fix := fmt.Sprintf("write `cpu=%d` or less", r.Rules.Processors)
	if n, err := strconv.Atoi(it.Value); err == nil {
		fix += fmt.Sprintf("; for percent of one processor write `cpu=%d%%`", n)
	}
	r.ReportItem(it, "B422", message, fix)
}

// settleRing checks the options of the ring against each other.
func (r *Reader) settleRing(plan *option.Plan, items []Item) {
	for _, key := range []string{"prefer", "route", "if-partitioned", "quorum"} {
		r.idle(plan, items, key, plan.Scope != option.ScopeRing, key+"= requires scope=ring, because it chooses the member that runs the entry",
			"delete `"+key+"`, or write `scope=ring` too")
	}
	both := slices.IndexFunc(plan.Need, func(l option.Label) bool { return slices.Contains(plan.Avoid, l) })
	r.clash(plan, items, "avoid", both >= 0, "need= and avoid= name the same label, so that no host may run the entry", "delete one of them")
	r.idle(plan, items, "quorum", plan.Partitioned == option.PartitionedRun, "quorum= has no meaning with if-partitioned=run, which runs with any number of members",
		"delete `quorum`")
}

// settleChannels removes from notify= the channels that the crontab must not
// use. The others are still notified.
func (r *Reader) settleChannels(plan *option.Plan, items []Item) {
	it := Find(items, "notify")
	if r.Rules.Channels == nil || it == nil || !it.Effective() {
		return
	}
	var allowed []string
	for _, name := range plan.Notify {
		why, fix := r.barred(it, name)
		if why == "" {
			allowed = append(allowed, name)
			continue
		}
		plan.Degrade(sentence(it, why))
		r.reportChannel(it, name, why, fix)
	}
	plan.Notify = allowed
}

// barred returns the reason why the entry must not use a channel, or "". Options
// from the sidecar may use any channel, because the administrator sets them.
func (r *Reader) barred(it *Item, name string) (why, fix string) {
	users, known := r.Rules.Channels[name]
	switch {
	case name == option.MailChannel:
		return "", ""
	case !known:
		return fmt.Sprintf("channel %s does not exist", diagnostic.Quote(name)), "use `mail` or a channel from the configuration ([channel.NAME])"
	case it.File != "" || r.Rules.Roots || slices.Contains(users, "*") || slices.Contains(users, r.Rules.User):
		return "", ""
	}
	return fmt.Sprintf("channel %s is not allowed in crontabs of %s", diagnostic.Quote(name), diagnostic.Quote(r.Rules.User)), "use `mail`, or ask the administrator to add the user to the channel's users"
}

// reportChannel adds one diagnostic for each item. Without this check a default
// would repeat it for each entry that has options.
func (r *Reader) reportChannel(it *Item, name, why, fix string) {
	at := fmt.Sprintf("%d:%d %s", it.Line, it.Column, name)
	if it.File != "" || r.barredAt[at] {
		return
	}
	if r.barredAt == nil {
		r.barredAt = map[string]bool{}
	}
	r.barredAt[at] = true
	r.ReportItem(it, "B415", why+": it gets no notifications", fix)
}
