package job

import (
	"cmp"
	"strings"
	"time"
)

// Job is a job as clients see it, with the crontab entry that defines it.
type Job struct {
	ID       ID                `json:"id"`
	Crontab  string            `json:"crontab"` // the crontab file
	Line     int               `json:"line"`    // counted from 1
	User     string            `json:"user"`
	Schedule string            `json:"schedule"` // as written: "*/5 * * * *", "@daily"
	Zone     string            `json:"zone"`     // IANA name, or "Local"
	Command  string            `json:"command"`  // text before the first unescaped %
	Stdin    string            `json:"stdin,omitempty"`
	Dir      string            `json:"dir,omitempty"`     // working directory, if it is not the home directory: then /bin/sh runs it, like under anacron
	Env      []string          `json:"env,omitempty"`     // NAME=value, in the order of the crontab
	Shard    int               `json:"shard,omitempty"`   // of Shards, from 0
	Shards   int               `json:"shards,omitempty"`  // number of jobs that shards= makes of the entry; 0: without shards=
	Options  map[string]string `json:"options,omitempty"` // effective #@ options as written
	Disabled bool              `json:"disabled,omitempty"`
	Held     string            `json:"held,omitempty"`     // why the job must not run: an option that guards it cannot be applied
	Degraded string            `json:"degraded,omitempty"` // an option that has no effect, and why
}

// furtherKeys are the options that StartsOn adds to time fields.
var furtherKeys = []string{"sec", "day", "year", "weeks", "calendar", "except", "shift", "window", "blackout", "outside"}

// StartsOn returns what starts the job, as written: its time fields with the seconds and the limits
// to some days that options add to them, or the option that replaces them.
func (j *Job) StartsOn() string {
	option := func(key string) string { // " key=value", or ""
		if value := j.Options[key]; value != "" {
			return " " + key + "=" + value
		}
		return ""
	}
	if text := cmp.Or(option("on"), option("at")); text != "" {
		return text[1:]
	}
	if j.Options["trigger"] == "manual" && j.Options["every"] == "" {
		return "by hand"
	}
	text := j.Schedule
	if delay := option("delay"); delay != "" {
		text = delay
	} else if every := option("every"); every != "" {
		text = every + option("phase")
	}
	for _, key := range furtherKeys {
		text += option(key)
	}
	return strings.TrimPrefix(text, " ")
}

// AfterEnd returns when the next occurrence of a job is due that has delay= and a live run, such as
// "end+5m" for delay=5m. startsOn is what starts the job.
func AfterEnd(startsOn string) string {
	rest, _ := strings.CutPrefix(FieldsOf(startsOn), "delay=")
	return "end+" + rest
}

// FieldsOf removes what StartsOn adds to time fields.
func FieldsOf(startsOn string) string {
	for _, key := range furtherKeys {
		startsOn, _, _ = strings.Cut(startsOn, " "+key+"=")
	}
	return startsOn
}

// Status is a job as seen now, in full. A line of the dashboard needs less; see Row of package api.
type Status struct {
	Job     Job       `json:"job"`
	State   State     `json:"state"`
	Next    time.Time `json:"next,omitzero"`    // zero: nothing planned
	Node    string    `json:"member,omitempty"` // of a ring job: the current owner of the next occurrence
	Hold    *Hold     `json:"pause,omitempty"`
	Planned *Hold     `json:"planned_pause,omitempty"` // a pause that begins later
	Running []Run     `json:"running,omitempty"`       // oldest first; queued and waiting runs too
	Last    *Run      `json:"last,omitempty"`          // newest ended run
	Recent  []Run     `json:"recent,omitempty"`        // only in the answer about a single job: newest first, beginning with Last
	Streak  int       `json:"streak,omitempty"`        // occurrences in a row that failed
	Problem string    `json:"problem,omitempty"`       // the warning of max-late=, max-run= or expect=
	Why     string    `json:"why,omitempty"`           // Problem if there is one, else why it is late, waiting, held or paused
	Ack     *Ack      `json:"ack,omitempty"`           // Last failed, and a user has acknowledged that

	Elsewhere *Elsewhere `json:"elsewhere,omitempty"` // another member of the ring took a later occurrence than Last
}

// Elsewhere is the newest occurrence of a ring job, if a member other than the reporting one
// claimed it. Only that member has its outcome.
type Elsewhere struct {
	Node string    `json:"member"`
	Due  time.Time `json:"due"`
}

// State is a job's place in the order of severity that lists are sorted by.
type State string

// The states of a job, worst first.
const (
	StateFailing  State = "failing"  // the newest run failed and is not acknowledged
	StateLate     State = "late"     // due, and neither started nor skipped; or Status.Problem is set
	StateRunning  State = "running"  // a run is live
	StateHeld     State = "held"     // an option that guards the job cannot be applied, or its user is barred
	StatePaused   State = "paused"   // a user paused the job
	StateDisabled State = "disabled" // enabled=no
	StateOK       State = "ok"       // the newest run succeeded, or its failure is acknowledged
	StateNew      State = "new"      // never ran
)

// States are the states of a job, worst first. A job that is paused and in a worse state is listed in
// that state with the mark of StatePaused, and filters by StatePaused find it too.
var States = [...]State{StateFailing, StateLate, StateRunning, StateHeld, StatePaused, StateDisabled, StateOK, StateNew}

// Severity returns the index of a state in States. An unknown state is the least severe.
func (s State) Severity() int {
	for i, known := range States {
		if s == known {
			return i
		}
	}
	return len(States) - 1
}

// Hold is a pause that a user requested. It survives reload and restart.
type Hold struct {
	Since  time.Time `json:"since"`
	From   time.Time `json:"from,omitzero"`  // zero: since Since
	Until  time.Time `json:"until,omitzero"` // zero: until resumed
	By     string    `json:"by"`
	Reason Detail    `json:"reason,omitempty"`
	User   string    `json:"user,omitempty"` // that the job ran as

	// Skips limits the pause to occurrences that come due in it: the job runs on request.
	Skips bool `json:"skips,omitempty"`
}

// Covers reports whether the pause is in effect at an instant, if it was requested before.
func (h *Hold) Covers(at time.Time) bool {
	return !at.Before(h.From) && (h.Until.IsZero() || at.Before(h.Until))
}

// Binds reports whether the pause applies to that user's job, and not to a job that another user
// had under the same name.
func (h Hold) Binds(user string) bool { return h.User == "" || h.User == user }

// Holds are the pauses of jobs. A job name may change to another user and back, and each user's job
// has its own pause. The lists are immutable, because clones of the map share them.
type Holds map[ID][]Hold

// Of returns the pause of a user's job.
func (m Holds) Of(id ID, user string) (h Hold, paused bool) {
	for _, h := range m[id] {
		if h.Binds(user) {
			return h, true
		}
	}
	return Hold{}, false
}

// Put stores h as the pause of a job of its user.
func (m Holds) Put(id ID, h Hold) { m[id] = append(m.others(id, h.User), h) }

// Lift ends the pause of a user's job, or the pauses of all users' jobs if user is "".
func (m Holds) Lift(id ID, user string) {
	if left := m.others(id, user); len(left) > 0 {
		m[id] = left
		return
	}
	delete(m, id)
}

// others returns a new list of the pauses of a job that belong to other users.
func (m Holds) others(id ID, user string) (others []Hold) {
	for _, h := range m[id] {
		if user != "" && !h.Binds(user) {
			others = append(others, h)
		}
	}
	return others
}

// Mark is the newest occurrence already decided for a job. It survives reload
// and restart: nothing at or before it is decided again in the same Era.
type Mark struct {
	Job ID        `json:"job"`
	Due time.Time `json:"due"`
	Era Era       `json:"era"`
}

// Era counts the times that the clock was set back far enough for occurrences to repeat.
// (job, due, era) identifies one occurrence permanently.
type Era int64
