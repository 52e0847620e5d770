package crontab

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
)

// settle checks the options against each other: which ones exclude or require
// another.
func (p *parser) settle(plan *option.Plan, items []item) {
	if find(items, "tz") == nil && p.zoneHeld != "" {
		plan.Hold(p.zoneHeld)
	}
	if !plan.Limited && (plan.Catchup == option.CatchupOnce || plan.Catchup == option.CatchupAll) {
		plan.Deadline = 24 * time.Hour
	}
	if !p.isRoots() {
		p.settleRights(plan, items)
	}
	plan.Settle()
	p.settleTimes(plan, items)
	p.settleRuns(plan, items)
	p.settleChannels(plan, items)
	p.settleRing(plan, items)
}

// clash refuses the option key if bad is true, because it contradicts others.
func (p *parser) clash(plan *option.Plan, items []item, key string, bad bool, why, fix string) {
	if it := find(items, key); bad && it != nil && it.effective() {
		p.refuse(it, "B411", why, fix)
		take(plan, it)
	}
}

// idle is like clash, for an option without effect. It accepts defaults, because
// they are meant for other entries, where they have an effect.
func (p *parser) idle(plan *option.Plan, items []item, key string, bad bool, why, fix string) {
	if it := find(items, key); bad && it != nil && !it.isDefault() {
		p.clash(plan, items, key, bad, why, fix)
	}
}

// needs is like idle, for an option that has an effect only with another one.
func (p *parser) needs(plan *option.Plan, items []item, key, other string, met bool) {
	if !met && find(items, key) != nil {
		p.idle(plan, items, key, true, key+"= requires "+other+"=", "delete `"+key+"`, or write `"+other+"=...` too")
	}
}

// settleRights refuses options that would give a user's jobs preference over those
// of others. Items of the sidecar are allowed, because the administrator sets
// them.
func (p *parser) settleRights(plan *option.Plan, items []item) {
	above := func(key string, bad bool, why, fix string) bool {
		it := find(items, key)
		if it == nil || !bad || it.Origin != option.FromDefault && it.Origin != option.FromDirective {
			return false
		}
		if it.effective() {
			p.refuse(it, "B414", why+" is allowed only in root's crontabs and in the configuration", fix)
			take(plan, it)
		}
		return true
	}
	if it := find(items, "scope"); it != nil && it.File == "" && it.effective() && plan.Scope == option.ScopeRing && !p.mayUseRing() {
		p.refuse(it, "B414", fmt.Sprintf("scope=ring is not allowed for %s: ring.users in cronring.toml does not list this user", diagnostic.Quote(p.file.owner)),
			"delete `scope=ring`, or ask the administrator to add the user to `ring.users` on each member")
		take(plan, it)
		if it.off {
			plan.Scope = option.ScopeHost
		}
	}
	if above("priority", plan.Priority > option.Plain.Priority, "a priority above 5", "write `priority=5`, or less") {
		plan.Priority = option.Plain.Priority
	}
	r := plan.Resources
	if r == nil {
		return
	}
	if above("nice", r.Nice != nil && *r.Nice < 0, "a nice value below 0", "write `nice=0`, or more") {
		r.Nice = nil
	}
	if above("io-weight", r.IOWeight > option.UsualWeight, "an io-weight above 100", "write `io-weight=100`, or less") {
		r.IOWeight = 0
	}
	if above("cpu-weight", r.CPUWeight > option.UsualWeight, "a cpu-weight above 100", "write `cpu-weight=100`, or less") {
		r.CPUWeight = 0
	}
	if above("slice", r.Slice != "", "slice=", "delete `slice`, or ask the administrator to set it for this job") {
		r.Slice = ""
	}
}

// mayUseRing reports whether the owner of a user's crontab may have jobs of the ring.
func (p *parser) mayUseRing() bool {
	users := p.config.RingUsers
	return users == nil || slices.Contains(users, "*") || slices.Contains(users, p.file.owner)
}

func (p *parser) settleTimes(plan *option.Plan, items []item) {
	m := &plan.Modifiers
	p.clash(plan, items, "count", m.From.IsZero(), "count= requires from=: it selects the first occurrences at or after that time",
		"write `from=2026-01-01 count=3`")
	p.idle(plan, items, "phase", m.Every == 0, "phase= requires every=", "write `every=10m phase=3m`")
	p.clash(plan, items, "phase", m.Every > 0 && m.Phase >= m.Every, "phase= must be shorter than every=", "")
	p.idle(plan, items, "every", !m.At.IsZero(), "every= and at= exclude each other", "delete one of them")
	p.idle(plan, items, "sec", m.Every > 0 || !m.At.IsZero(), "sec= requires time fields, which every= and at= replace", "delete `sec`")
	p.idle(plan, items, "dst", m.Every > 0 || !m.At.IsZero(), "dst= requires time fields, which every= and at= replace", "delete `dst`")
	p.clash(plan, items, "until", !m.Until.IsZero() && m.Until.Before(m.From), "until= is before from=, so that the entry never runs", "exchange them")
	p.idle(plan, items, "trigger", plan.Manual && len(plan.On) > 0, "trigger=manual and on= exclude each other", "delete one of them")
	plan.Manual = plan.Manual && len(plan.On) == 0
}

func (p *parser) settleRuns(plan *option.Plan, items []item) {
	p.needs(plan, items, "when", "after", len(plan.After) > 0)
	p.needs(plan, items, "wait", "after", len(plan.After) > 0)
	p.needs(plan, items, "retry-on", "retry", plan.Retry > 0)
	p.needs(plan, items, "no-retry-on", "retry", plan.Retry > 0)
	p.needs(plan, items, "notify-on", "notify", len(plan.Notify) > 0)
	p.idle(plan, items, "max-instances", plan.Overlap != option.OverlapAllow, "max-instances= requires overlap=allow: all other values allow only one run at a time", "delete `max-instances`")
	p.idle(plan, items, "stop-grace", plan.StopSignal == syscall.SIGKILL, "stop-grace= has no effect with stop-signal=KILL, which ends a program immediately", "delete `stop-grace`")
	if r := plan.Resources; r != nil {
		p.lintCPU(r.CPU, items)
		p.idle(plan, items, "memory-high", r.Memory > 0 && r.MemoryHigh > r.Memory, "memory-high= is above memory=, so that a run is killed before it is slowed down", "exchange them")
	}
	p.settleCodes(plan, items)
}

// settleCodes makes sure that no exit status means both success and skipped: ok=
// has precedence.
func (p *parser) settleCodes(plan *option.Plan, items []item) {
	both := slices.IndexFunc(plan.SkipCodes, func(code uint8) bool { return slices.Contains(plan.OK, code) })
	if both < 0 {
		return
	}
	code := plan.SkipCodes[both]
	p.idle(plan, items, "skip-code", true, fmt.Sprintf("exit status %d already means success", code),
		fmt.Sprintf("remove %d here or from `ok=`", code))
	if find(items, "skip-code").isDefault() { // the remaining codes apply
		plan.SkipCodes = slices.DeleteFunc(plan.SkipCodes, func(code uint8) bool { return slices.Contains(plan.OK, code) })
		return
	}
	plan.SkipCodes = nil
}

// lintCPU warns about a limit, in thousandths of a processor, above the
// processors of the host.
func (p *parser) lintCPU(limit int, items []item) {
	it := find(items, "cpu")
	if most := p.config.Processors; most == 0 || it == nil || it.File != "" || limit <= 1000*most {
		return
	}
	message := fmt.Sprintf("cpu=%s is above the processors of this host, %d: it limits nothing here", it.Value, p.config.Processors)
	fix := fmt.Sprintf("write `cpu=%d` or less", p.config.Processors)
	if n, err := strconv.Atoi(it.Value); err == nil {
		fix += fmt.Sprintf("; for percent of one processor write `cpu=%d%%`", n)
	}
	p.reportItem(it, "B422", message, fix)
}

// settleRing checks the options of the ring against each other.
func (p *parser) settleRing(plan *option.Plan, items []item) {
	for _, key := range []string{"prefer", "route", "if-partitioned", "quorum"} {
		p.idle(plan, items, key, plan.Scope != option.ScopeRing, key+"= requires scope=ring, because it chooses the member that runs the entry",
			"delete `"+key+"`, or write `scope=ring` too")
	}
	both := slices.IndexFunc(plan.Need, func(l option.Label) bool { return slices.Contains(plan.Avoid, l) })
	p.clash(plan, items, "avoid", both >= 0, "need= and avoid= name the same label, so that no host may run the entry", "delete one of them")
	p.idle(plan, items, "quorum", plan.Partitioned == option.PartitionedRun, "quorum= has no meaning with if-partitioned=run, which runs with any number of members",
		"delete `quorum`")
}
