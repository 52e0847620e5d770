package option

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/timetable"
)

// Options are the options of an entry, with all defaults applied. The zero value
// is not the default: see DefaultOptions.
type Options struct {
	Name    string  // "" when derived
	Desc    string  // what the job is for; "": not set
	Contact string  // person or team to contact, from owner=; "": not set
	Access  *Access // which users of a role have it for this job; nil: all
	Enabled bool
	Protect bool     // commands ask the user to type its name before they run, stop or remove it
	Hosts   []string // only on hosts with these names, in lower case; nil: on any

	Manual bool   // started by hand only; its schedule is Never
	On     []Edge // started by the end of these jobs' runs; its schedule is Never

	Triggers *Triggers     // the other events in on=, with which its schedule is Never or Reboot; nil: none
	Delay    time.Duration // from the end of a run to the next one; its schedule is AfterEnd; 0: not so

	Hours       *timetable.Hours // times at which runs may start, from window= and blackout=; nil: any
	WaitOutside bool             // a start outside of Hours, or in a blackout of the host, waits

	Overlap      Overlap
	OncePer      OncePer // the period with at most one success
	MaxInstances int     // highest number of simultaneous runs; 0 means no limit
	Catchup      Catchup
	MaxMade      int           // for CatchupAll: at most this many, the newest
	Scatter      time.Duration // jitter= and spread= together: how much later a caught-up run may start
	Grace        time.Duration // lateness that still counts as on time
	Deadline     time.Duration // never start later than this; 0 means no limit
	PauseCounts  bool          // occurrences that come due in a pause are missed, and not skipped
	Timeout      time.Duration // 0 means no limit
	Watchdog     time.Duration // longest time without a sign of life; 0 means no limit

	After []Edge        // waits for runs of these jobs
	When  Join          // how many of After must match
	Wait  time.Duration // how long to wait for After; 0: until the entry's next occurrence
	If    string        // a command that must succeed before the run; "": none
	Pool  string        // uses Slots of this pool; "": none
	Slots int

	Conditions *Conditions // nil: none

	StopSignal  syscall.Signal
	StopGrace   time.Duration // from StopSignal to SIGKILL
	OK          []uint8       // exit statuses that are success, in order
	SkipCodes   []uint8       // exit statuses that are neither success nor failure, in order; none is in OK
	Retry       int           // further attempts
	RetryFor    time.Duration // no attempt begins later than this after the first; 0: no limit
	Backoff     Backoff
	RetryJitter int       // random part of waits, in percent
	RetryOn     *Failures // only these are retried; nil: all but lost runs
	NoRetryOn   *Failures // these are not retried; nil: none
	Breaker     Breaker
	Exhausted   Exhausted
	IfLost      IfLost

	Priority    int        // 1 to 10; 10 starts first
	Preempt     bool       // it stops preemptible runs of lower priority to get slots
	Preemptible bool       // its runs may be stopped by runs with Preempt
	Resources   *Resources // nil: the host's own limits
	Process     Process
	Isolation   *Isolation // nil: none

	Log       Log
	Quiet     bool // the log has no lines of its successful runs
	OutputMax int  // bytes of output to keep for each run; 0: the daemon's default
	Mail      MailWhen
	MailTo    *string // nil: MAILTO of the crontab
	Notify    []string
	NotifyOn  Notices

	NotifyAfter int    // the first failure in a row that is notified
	Ping        string // URL that gets start and end of runs; "": none

	Keep    Keep
	MaxLate time.Duration // warn of a later start; 0 never
	MaxRun  time.Duration // warn of a longer run; 0 never
	Expect  time.Duration // warn if this time passes without a success; 0 never

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

// Text returns an option as written, or "".
func (o *Options) Text(key string) (value string) {
	for _, item := range o.Items {
		if item.Key == key {
			value = item.Value
		}
	}
	return value
}

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
		return fmt.Sprintf("(%s; %s when a person stops the run)", Find(key).BuiltIn, timetable.DurationText(ManualStopGrace))
	case key == "on-exhausted" && o.Retry > 0:
		return "dead"
	case key == "trigger" && o.IsStartedByEvents():
		return "(the events of on=)"
	}
	return Find(key).BuiltIn
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
		NotifyAfter: 1,
		Keep:        Keep{Runs: 1000, Age: 90 * 24 * time.Hour},
	}
}

// Plain is the shared Options of all entries without options.
var Plain = DefaultOptions()

// Plan is the options of one entry while they are read.
type Plan struct {
	Options
	Zone      *timetable.Zone
	Modifiers timetable.Modifiers
	Limited   bool // deadline= is given
	shared    *Shared

	window, blackout *timetable.Spans // nil: not given
}

// Shared contains the data that the entries of a crontab share while their options are read.
type Shared struct {
	Zone func(name string) (*timetable.Zone, error) // for tz=

	Calendars map[string]timetable.Calendar // for calendar= and except=

	starters map[string]starters // parsed values of after= and on=

	dates map[string]*timetable.Dates // of calendar= and except=
	spans map[string]*timetable.Spans // of window= and blackout=
	hours map[hoursKey]*timetable.Hours
}

// NewPlan returns the plan of an entry without options in zone.
func NewPlan(shared *Shared, zone *timetable.Zone, jitter time.Duration) *Plan {
	p := &Plan{Options: *Plain, shared: shared, Zone: zone, Modifiers: timetable.Modifiers{Jitter: jitter}}
	p.Exhausted = ExhaustedDefault
	return p
}

// Set applies an option. An error means that the value is invalid.
func (p *Plan) Set(s *Spec, value string) error { return s.apply(p, value) }

func (p *Plan) setZone(name string) error {
	if name == "" {
		return errors.New("the name is empty")
	}
	zone, err := p.shared.Zone(name)
	if err == nil {
		p.Zone = zone
	}
	return err
}

// Notifies reports whether an entry sends notifications for an event.
func (o *Options) Notifies(on Notices) bool { return len(o.Notify) > 0 && o.NotifyOn&on != 0 }

// cached returns the value of a key, which compute returns the first time.
func cached[K comparable, V any](known *map[K]V, key K, compute func() (V, error)) (V, error) {
	if v, ok := (*known)[key]; ok {
		return v, nil
	}
	v, err := compute()
	if err != nil {
		return v, err
	}
	if *known == nil {
		*known = map[K]V{}
	}
	(*known)[key] = v
	return v, nil
}

// dates returns the dates of calendars with commas between their names. Equal
// names return one value, so that schedules can be shared.
func (p *Plan) dates(names string) (*timetable.Dates, error) {
	return cached(&p.shared.dates, names, func() (*timetable.Dates, error) {
		var sets []*timetable.Dates
		for name := range strings.SplitSeq(names, ",") {
			c, ok := p.shared.Calendars[name]
			if !ok {
				c, ok = p.shared.Calendars[timetable.AnyCalendar]
			}
			switch {
			case name == timetable.WeekendCalendar:
				c.Dates = timetable.Weekends()
			case !ok:
				return nil, fmt.Errorf("the calendar %s is not in the configuration ([calendar.NAME])", diagnostic.Quote(name))
			case c.Dates == nil:
				return nil, fmt.Errorf("the calendar %s cannot be read: %s", diagnostic.Quote(name), c.Unread)
			}
			sets = append(sets, c.Dates)
		}
		return timetable.Union(sets...), nil
	})
}

// spans reads a list of times once for all entries.
func (p *Plan) spans(text string) (*timetable.Spans, error) {
	return cached(&p.shared.spans, text, func() (*timetable.Spans, error) { return timetable.ParseSpans(text) })
}

// hoursKey contains everything that determines the hours.
type hoursKey struct {
	window, blackout *timetable.Spans
	zone             *timetable.Zone
}

// SettleHours combines window= and blackout= in the zone of the entry. Equal ones
// are one value, so that schedules can be shared.
func (p *Plan) SettleHours() {
	if p.window == nil && p.blackout == nil {
		return
	}
	h, _ := cached(&p.shared.hours, hoursKey{p.window, p.blackout, p.Zone}, func() (*timetable.Hours, error) {
		return timetable.NewHours(p.window, p.blackout, p.Zone), nil
	})
	p.Hours, p.Modifiers.Hours, p.Modifiers.Wait = h, h, p.WaitOutside
}

// Settle replaces ExhaustedDefault by the value that applies, and drops resources
// without a value, an isolation that restricts nothing, and conditions that always hold.
func (o *Options) Settle() {
	if o.Exhausted == ExhaustedDefault {
		o.Exhausted = ExhaustedContinue
		if o.Retry > 0 {
			o.Exhausted = ExhaustedDead
		}
	}
	if o.Resources != nil && *o.Resources == (Resources{}) {
		o.Resources = nil
	}
	if i := o.Isolation; i != nil && i.Sandbox == SandboxOff && !i.NoNetwork && i.Credentials == nil {
		o.Isolation = nil
	}
	if c := o.Conditions; c != nil && c.IsEmpty() {
		o.Conditions = nil
	}
}

// hold and degrade keep the first reason.

func (o *Options) Hold(why string) {
	if o.Held == "" {
		o.Held = why
	}
}

func (o *Options) Degrade(why string) {
	if o.Degraded == "" {
		o.Degraded = why
	}
}

// HoursKeys are the options about the times of the week at which runs may start.
var HoursKeys = []string{"window", "blackout", "outside"}

// TimeKeys are the options about times of occurrences.
var TimeKeys = []string{"dst", "every", "phase", "at", "sec", "from", "until", "count", "day", "year", "weeks", "calendar", "except", "shift", "jitter", "spread"}

// Written returns an option as a directive line has it, with quotes if necessary. It returns "" if
// the value needs quotes and contains both kinds of them, which no line can have.
func Written(key, value string) string {
	quotes := ""
	if strings.ContainsAny(value, lex.Blanks) || strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'") {
		if quotes = `"`; strings.Contains(value, quotes) {
			quotes = "'"
		}
		if strings.Contains(value, quotes) {
			return ""
		}
	}
	return key + "=" + quotes + value + quotes
}
