package crontab

import (
	"errors"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/timetable"
)

// Options are the options of an entry, with all defaults applied. The zero value
// is not the default: see DefaultOptions.
type Options struct {
	Name    string // "" when derived
	Enabled bool
	Protect bool     // commands ask the user to type its name before they run, stop or remove it
	Hosts   []string // only on hosts with these names, in lower case; nil: on any

	Manual bool   // started by hand only; its schedule is Never
	On     []Edge // started by the end of these jobs' runs; its schedule is Never

	Overlap      Overlap
	MaxInstances int // highest number of simultaneous runs; 0 means no limit
	Catchup      Catchup
	MaxMade      int           // for CatchupAll: at most this many, the newest
	Grace        time.Duration // lateness that still counts as on time
	Deadline     time.Duration // never start later than this; 0 means no limit
	Timeout      time.Duration // 0 means no limit

	After []Edge        // waits for runs of these jobs
	When  Join          // how many of After must match
	Wait  time.Duration // how long to wait for After; 0: until the entry's next occurrence
	If    string        // a command that must succeed before the run; "": none
	Pool  string        // uses Slots of this pool; "": none
	Slots int

	StopSignal  syscall.Signal
	StopGrace   time.Duration // from StopSignal to SIGKILL
	OK          []uint8       // exit statuses that are success, in order
	SkipCodes   []uint8       // exit statuses that are neither success nor failure, in order; none is in OK
	Retry       int           // further attempts
	Backoff     Backoff
	RetryJitter int       // random part of waits, in percent
	RetryOn     *Failures // only these are retried; nil: all but lost runs
	NoRetryOn   *Failures // these are not retried; nil: none
	Breaker     Breaker
	Exhausted   Exhausted
	IfLost      IfLost

	Priority  int        // 1 to 10; 10 starts first
	Resources *Resources // nil: the host's own limits

	Log       Log
	OutputMax int // bytes of output to keep for each run; 0: the daemon's default
	Mail      MailWhen
	MailTo    *string // nil: MAILTO of the crontab
	Notify    []string
	NotifyOn  Notices
	Keep      Keep
	MaxLate   time.Duration // warn of a later start; 0 never
	MaxRun    time.Duration // warn of a longer run; 0 never
	Expect    time.Duration // warn if this time passes without a success; 0 never

	Scope       Scope
	Route       Route
	Partitioned Partitioned
	Shards      int          // runs of each occurrence, at least 1
	Quorum      int          // with fewer members it counts as partitioned; 0: the voters' majority
	Need        []Label      // only on hosts that have all of these
	Avoid       []Label      // not on hosts that have any of these
	Prefer      []Preference // each label that a member has counts

	Period *timetable.Period // not nil: runs once in a period; the schedule only sets the time of the check

	Held     string   // not "": the entry must not run, for this reason
	Degraded string   // not "": the entry runs, but without an option, for this reason
	Items    []Option // the options in effect as written, lowest precedence first
}

// Option is one key=value item as written.
type Option struct {
	Key, Value string
	Line       int
	Column     int  // from 1, in bytes
	Length     int  // likewise
	Maybe      bool // written ?key=value: older versions may ignore it
	Origin     Origin
	File       string // of an item of the sidecar; "": the crontab itself
}

// Origin is the source of an item, lowest precedence first.
type Origin uint8

// The origins of items.
const (
	BuiltIn            Origin = iota // not an item: the built-in default
	FromSidecarDefault               // [default] of the daemon's configuration
	FromSetting                      // an assignment above the entry
	FromDefault                      // a #@ default line
	FromDirective                    // a #@ line above the entry
	FromMatch                        // [[match]] of the daemon's configuration
	FromSidecar                      // [job.NAME] of it
)

func (o Origin) String() string {
	return [...]string{"built-in", "[default]", "assignment", "#@ default", "#@", "[[match]]", "[job.NAME]"}[o]
}

// Overlap is the rule for an occurrence while a run of its job is active.
type Overlap uint8

// The overlap rules.
const (
	OverlapAllow    Overlap = iota // start
	OverlapSkip                    // skip the new occurrence
	OverlapQueue                   // queue one occurrence, skip further ones
	OverlapQueueAll                // queue all
	OverlapReplace                 // stop the old run with TERM, then start
	OverlapKill                    // stop the old run with KILL, then start
)

// Catchup is the rule for occurrences that the daemon notices later than Grace.
type Catchup uint8

// The catch-up rules.
const (
	CatchupCron Catchup = iota // the newest, if at most 5 minutes old; fixed-time entries 180
	CatchupSkip                // none
	CatchupOnce                // the newest
	CatchupAll                 // each, oldest first, at most MaxMade newest
)

// ManualStopGrace is the time from StopSignal to SIGKILL when a person stops the run of an entry
// that does not set stop-grace=: the default of timeout= is too long for a person at a terminal.
const ManualStopGrace = 10 * time.Second

// DefaultOptions returns the options of an entry without directives.
func DefaultOptions() *Options {
	return &Options{
		Enabled:     true,
		Grace:       time.Minute,
		MaxMade:     100,
		StopSignal:  syscall.SIGTERM,
		StopGrace:   30 * time.Second,
		OK:          []uint8{0},
		Backoff:     Backoff{Min: time.Second, Max: 5 * time.Minute, Factor: 2},
		RetryJitter: 10,
		Exhausted:   ExhaustedContinue,
		Priority:    5,
		Shards:      1,
		NotifyOn:    NoticeFail | NoticeDead | NoticeLost | NoticeRecover,
		Keep:        Keep{Runs: 1000, Age: 90 * 24 * time.Hour},
	}
}

// plain is the shared Options of all entries without options.
var plain = DefaultOptions()

// plan is the options of one entry while they are read.
type plan struct {
	Options
	parser    *parser
	zone      *timetable.Zone
	modifiers timetable.Modifiers
	limited   bool // deadline= is given
}

func (p *parser) newPlan() *plan {
	plan := &plan{Options: *plain, parser: p, zone: p.zone, modifiers: timetable.Modifiers{Jitter: p.delay}}
	plan.Exhausted = ExhaustedDefault
	return plan
}

func (p *plan) setZone(name string) error {
	if name == "" {
		return errors.New("the name is empty")
	}
	zone, err := p.parser.cache.zone(name, p.parser.config.Zone)
	if err == nil {
		p.zone = zone
	}
	return err
}

// stand returns the context of an entry below the current assignments and
// defaults, with the directives of block and, overriding them, the items of the
// sidecar.
func (p *parser) stand(block []item, over ...[]item) *standing {
	plan := p.newPlan()
	below := p.hostDefaults()
	items := block // block belongs to this entry alone, the others are shared
	if len(below) > 0 || len(p.defaults) > 0 || len(over) > 0 {
		items = effective(append([][]item{below, p.defaults, block}, over...))
	}
	for _, zoneFirst := range []bool{true, false} { // other options need the zone
		for i := range items {
			if (items[i].Key == "tz") == zoneFirst {
				plan.take(&items[i])
			}
		}
	}
	p.settle(plan, items)
	p.cost += len(items)
	for i := range items {
		if items[i].effective() {
			plan.Items = append(plan.Items, items[i].Option)
		}
	}
	options := plain
	if len(items) > 0 || plan.Held != "" {
		own := plan.Options // a copy, so that the rest of the plan can be collected
		options = &own
		if len(p.defaults)+len(block)+len(over) == 0 && p.zoneHeld == "" {
			options = p.cache.share(defaulted{p.ruling, p.isRoots(), p.said}, options)
		}
	}
	s := &standing{
		section:   &section{file: p.file, env: p.env.newest, zone: plan.zone, options: options},
		modifiers: plan.modifiers,
		items:     items,
	}
	if !s.modifiers.Random() {
		s.schedules = p.cache.of(timing{plan.zone, plan.modifiers})
	}
	return s
}

// effective returns the items of all layers, lowest precedence first, without
// those that a higher layer overrides.
func effective(layers [][]item) (items []item) {
	for i, layer := range layers {
		for _, it := range layer {
			if !slices.ContainsFunc(layers[i+1:], func(higher []item) bool { return find(higher, it.Key) != nil }) {
				items = append(items, it)
			}
		}
	}
	return items
}

func find(items []item, key string) *item {
	for i := range items {
		if items[i].Key == key {
			return &items[i]
		}
	}
	return nil
}

// take applies an item to the plan. judge has already checked its value.
func (p *plan) take(it *item) {
	switch {
	case it.held != "":
		p.hold(it.held)
	case it.degraded != "":
		p.degrade(it.degraded)
	case it.effective() && it.spec != nil && it.spec.Built():
		if err := it.spec.apply(p, it.Value); err != nil {
			p.hold("The option " + it.Key + "= is invalid: " + err.Error() + ".")
		}
	}
}

// hold and degrade keep the first reason.

func (o *Options) hold(why string) {
	if o.Held == "" {
		o.Held = why
	}
}

func (o *Options) degrade(why string) {
	if o.Degraded == "" {
		o.Degraded = why
	}
}

// timeKeys are the options about times of occurrences.
var timeKeys = []string{"dst", "every", "phase", "at", "sec", "from", "until", "count", "jitter", "spread"}

// withoutTimes returns the context of an entry without scheduled times, such as
// @reboot. It refuses options about times, and those in further, because they
// have no effect. It ignores such options silently if they are defaults, which
// are meant for other entries, and not guards.
func (p *parser) withoutTimes(above *standing, entry string, further ...string) *standing {
	changed := false
	plan := plan{Options: *above.section.options}
	for i := range above.items {
		it := &above.items[i]
		if !slices.Contains(timeKeys, it.Key) && !slices.Contains(further, it.Key) ||
			!it.effective() || it.isDefault() && !it.spec.Guard {
			continue
		}
		changed = true
		refused := *it
		p.refuse(&refused, "B410", it.Key+"= has no effect for "+entry, "delete `"+it.Key+"`")
		plan.take(&refused)
	}
	if !changed {
		return above
	}
	section := *above.section
	section.options = &plan.Options
	return &standing{section: &section, items: above.items}
}

// claimName sets the name of an entry. A second entry with that name is held,
// because the two would share one history.
func (p *parser) claimName(above *standing) {
	options := above.section.options
	it := find(above.items, "name")
	if it == nil || !it.effective() {
		return
	}
	first, taken := p.names[it.Value]
	if !taken {
		p.names[it.Value] = p.number
		return
	}
	line := strconv.Itoa(first)
	p.reportItem(it, "B409", "the entry in line "+line+" has the name "+diagnostic.Quote(it.Value)+" too: this entry is held", "give it another name")
	options.Name = ""
	options.hold("The entry in line " + line + " has name=" + it.Value + " too.")
}
