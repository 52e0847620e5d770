package job

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Record is an immutable fact. The engine writes three of them for a run
// (decided, started, ended), each before the act that it announces; the store
// keeps them, the event stream sends them.
type Record struct {
	At       time.Time  `json:"at"`
	Kind     RecordKind `json:"kind"`
	Job      ID         `json:"job,omitempty"`
	Due      time.Time  `json:"due,omitzero"`
	First    time.Time  `json:"first,omitzero"`  // oldest of several occurrences skipped alike; Due is the newest
	Count    int        `json:"count,omitempty"` // how many those are, at least; 0 means one
	Era      Era        `json:"era,omitempty"`
	Decision Decision   `json:"decision,omitempty"`
	Reason   Reason     `json:"reason,omitempty"`
	Detail   string     `json:"detail,omitempty"` // the reason's numbers and names
	Run      *Run       `json:"run,omitempty"`    // the run as it is after this fact
	Hold     *Hold      `json:"hold,omitempty"`
	User     string     `json:"user,omitempty"`     // that the job ran as, of a decision to skip and of Resumed; "": not known, or all
	Backfill *Backfill  `json:"backfill,omitempty"` // as it is after this fact
	Was      time.Time  `json:"was,omitzero"`       // what a clock that was Stepped would show at At; the store keeps Detail alone
}

// DecidesOccurrence tells the decisions about what happens once, as the clock, a
// boot, a catch-up rule or the end of another job's run named it, from those
// about what somebody asked for. A person may ask twice, and a backfill goes
// over what was decided in its time: what it leaves out it counts itself.
func (r *Record) DecidesOccurrence() bool {
	switch {
	case r.Kind != Decided:
		return false
	case r.Run == nil:
		return r.Backfill == nil && r.Reason != AlreadyProcessed
	}
	switch r.Run.Trigger {
	case TriggerClock, TriggerBoot, TriggerCatchup, TriggerDependency, TriggerRetry: // the last one by if-lost=rerun, after another host's
		return true
	}
	return false
}

// DoubledOf is how the Detail of a Doubled begins, which names the occurrence.
func DoubledOf(due time.Time) string {
	return "the occurrence of " + due.UTC().Format(time.RFC3339Nano) + " "
}

// CutDoubled splits the Detail of a Doubled into what DoubledOf returns, and where the
// occurrence ran too.
func CutDoubled(detail string) (of, where string, ok bool) {
	of, where, ok = strings.Cut(detail, " ran on ")
	return of + " ", "ran on " + where, ok
}

// RecordKind is the closed list of facts.
type RecordKind string

// The kinds of record.
const (
	Decided  RecordKind = "decided" // an occurrence: run or hold (with Run), or skip
	Queued   RecordKind = "queued"  // a further attempt, which waits for its time
	Ready    RecordKind = "ready"   // a queued or waiting run is started now
	Dropped  RecordKind = "dropped" // a queued or waiting run will never start
	Started  RecordKind = "started"
	Stopping RecordKind = "stopping" // a person wants a run to end
	Ended    RecordKind = "ended"
	Paused   RecordKind = "paused"
	Resumed  RecordKind = "resumed"
	Loaded   RecordKind = "loaded"  // tables were read; Detail counts
	Stepped  RecordKind = "stepped" // the clock was set; Detail says by how much
	Filled   RecordKind = "filled"  // a backfill was begun, has gone on, or is over
	Redrove  RecordKind = "redrove" // Run was run again, and is no dead letter any more: Detail names the new run
	Buried   RecordKind = "buried"  // Run, a dead letter, was discarded
	Doubled  RecordKind = "doubled" // another member of the ring ran the occurrence too
	Acked    RecordKind = "acked"   // a person has seen that the job failed
	Unacked  RecordKind = "unacked" // and has taken that back
	Up       RecordKind = "up"      // the daemon started
	Down     RecordKind = "down"    // the daemon stops in good order
)

// Decision is what became of an occurrence.
type Decision string

// The decisions.
const (
	DecideRun  Decision = "run"
	DecideSkip Decision = "skip"
	DecideHold Decision = "hold" // queued; a later record starts or drops it
)

// Reason is why an occurrence was decided as it was: a closed list, one
// sentence each, shared by command line, dashboard, journal and mail.
type Reason string

// The reasons. Sentence says each in words.
const (
	OnTime        Reason = "on-time"
	MadeUp        Reason = "made-up"
	AtBoot        Reason = "at-boot"
	AskedFor      Reason = "asked-for"
	Retried       Reason = "retried"
	RanAfterQueue Reason = "ran-after-queue"
	FoundDue      Reason = "found-due"
	RanAfterDelay Reason = "ran-after-delay"

	ParentEnded     Reason = "parent-ended" // on=
	RanAfterParents Reason = "ran-after-parents"
	RanAfterCheck   Reason = "ran-after-check"
	RanAfterPlace   Reason = "ran-after-place"
	Backfilled      Reason = "backfilled"
	Redriven        Reason = "redriven"
	Rerun           Reason = "rerun" // if-lost=rerun

	Late         Reason = "late"          // late, and the catch-up rule makes up none so old
	Superseded   Reason = "superseded"    // late, and a newer occurrence started instead
	OverLimit    Reason = "over-limit"    // late, and more were missed than catchup=all:N makes up
	PastDeadline Reason = "past-deadline" // later than deadline=
	IsPaused     Reason = "paused"
	IsDisabled   Reason = "disabled"
	IsHeld       Reason = "held" // an option that guards the job, or limits it, cannot be followed
	Overlapping  Reason = "overlapping"
	QueueFull    Reason = "queue-full" // overlap=queue holds one already
	Replaced     Reason = "replaced"   // a newer occurrence took its place in the queue
	JobRemoved   Reason = "job-removed"
	AlreadyRan   Reason = "already-ran" // its period is not over; the detail names the day
	NoAccount    Reason = "no-account"
	// The account may not run jobs: expired, or its password must be changed.
	AccountRefused Reason = "account-refused"

	OtherHost        Reason = "other-host"
	TooMany          Reason = "too-many"       // max-instances=
	QueueOverflow    Reason = "queue-overflow" // queue-max of the configuration
	TooManyWait      Reason = "too-many-wait"  // runs of the account without a process
	Broken           Reason = "broken"         // breaker=
	CheckRefused     Reason = "check-refused"  // if=
	ParentFailed     Reason = "parent-failed"
	ParentSkipped    Reason = "parent-skipped"
	ParentMissed     Reason = "parent-missed"
	AlreadyProcessed Reason = "already-processed" // --reprocess of a backfill leaves it out

	OtherLabels Reason = "other-labels" // need=, avoid=
	OtherMember Reason = "other-member"
	HandedOn    Reason = "handed-on"  // the other side of it is TakenOver
	TakenOver   Reason = "taken-over" // the detail names the member that handed it on
	NoMember    Reason = "no-member"
	NoQuorum    Reason = "no-quorum"

	WaitsForParents Reason = "waits-for-parents"
	WaitsForCheck   Reason = "waits-for-check"
	WaitsForPlace   Reason = "waits-for-place" // of a pool, or under max-running

	WaitsForRun   Reason = "waits-for-run"
	WaitsForRetry Reason = "waits-for-retry"
	WaitsForDelay Reason = "waits-for-delay" // and for its hours of the day
	StopAsked     Reason = "stop-asked"
	OverTime      Reason = "over-time"
	OverMemory    Reason = "over-memory"
	OverTasks     Reason = "over-tasks"
	DaemonStopped Reason = "daemon-stopped"
	DaemonDied    Reason = "daemon-died"
)

var sentences = map[Reason]string{
	OnTime:           "It was due and nothing stood in its way.",
	MadeUp:           "It was missed at its time and made up afterwards, as catchup= says.",
	AtBoot:           "The host started, and @reboot entries run once for each start.",
	AskedFor:         "A person asked for it.",
	Retried:          "The attempt before it failed, and retry= allows another.",
	RanAfterQueue:    "It waited for an earlier run of the same job to end, and then started.",
	FoundDue:         "Its period was over when the daemon looked.",
	RanAfterDelay:    "It waited for the delay and the hours that its line names, and then started.",
	ParentEnded:      "A run of a job that it starts on ended, as on= says.",
	RanAfterParents:  "The runs that it waited for ended as after= asks, and then it started.",
	RanAfterCheck:    "The command of if= allowed it.",
	RanAfterPlace:    "It waited for a place, and then started.",
	Backfilled:       "A person asked for this occurrence to be run again, by backfill.",
	Redriven:         "A person had it run again, as the same occurrence.",
	Rerun:            "The run before it was lost, and if-lost=rerun starts another.",
	Late:             "It was noticed too late, and catchup= makes up none so old.",
	Superseded:       "It was missed, and a newer occurrence started in its place.",
	OverLimit:        "It was missed together with more occurrences than catchup=all:N makes up.",
	PastDeadline:     "It was noticed later than deadline= allows.",
	IsPaused:         "The job was paused.",
	IsDisabled:       "The entry says enabled=no.",
	IsHeld:           "The entry is held: what it says of when or how it may run cannot be followed.",
	Overlapping:      "The run before it was still going, and overlap= allows no second one.",
	QueueFull:        "The run before it was still going, and another occurrence was queued already.",
	Replaced:         "It was queued, and a newer occurrence took its place.",
	JobRemoved:       "The entry was removed from its table before the run started.",
	AlreadyRan:       "It ran in this period already.",
	NoAccount:        "The account that it runs as does not exist.",
	AccountRefused:   "The account that it runs as may not run jobs.",
	OtherHost:        "host= names other hosts than this one.",
	OtherLabels:      "need= and avoid= leave this host out.",
	OtherMember:      "Another member of the ring took it while this one was gone.",
	HandedOn:         "This member was about to leave the ring, and handed it on to the others.",
	TakenOver:        "The member of the ring that had it was about to leave, and handed it on.",
	NoMember:         "No member of the ring may run it.",
	NoQuorum:         "The ring had no quorum to say whose it was, and a newer one waits for that.",
	TooMany:          "As many runs as max-instances= allows were going.",
	QueueOverflow:    "As many runs of the user waited for a slot as queue-max of the configuration allows.",
	TooManyWait:      "As many runs of the account waited to start as one account may have.",
	Broken:           "The job failed so often in a row that breaker= holds it.",
	CheckRefused:     "The command of if= did not allow it.",
	ParentFailed:     "A run that it waited for failed, and after= asks for another end.",
	ParentSkipped:    "A run that it waited for did not fail, and after= asks for another end.",
	ParentMissed:     "A run that it waited for did not end within wait=.",
	AlreadyProcessed: "It has run before, and --reprocess leaves it out.",
	WaitsForParents:  "It waits for the runs that after= names.",
	WaitsForCheck:    "It waits for the command of if= to answer.",
	WaitsForPlace:    "It is due, and waits for a place among the runs of its pool, its account or the host.",
	WaitsForRun:      "It waits for an earlier run of the same job to end.",
	WaitsForRetry:    "The attempt failed; the next one waits for its time.",
	WaitsForDelay:    "It is due, and waits for the delay and the hours that its line names.",
	StopAsked:        "A person asked for it to be stopped.",
	OverTime:         "It ran longer than timeout= allows.",
	OverMemory:       "It was killed as it used more memory than memory= allows.",
	OverTasks:        "It failed when it had as many processes as tasks= allows.",
	DaemonStopped:    "The daemon was told to stop, and the run did not end in time.",
	DaemonDied:       "The daemon ended while the run was going, so its end was not seen.",
}

// Reasons are all of the list, in the order of their words.
func Reasons() []Reason { return slices.Sorted(maps.Keys(sentences)) }

// Sentence says the reason in one sentence, or is "" for an unknown one.
func (r Reason) Sentence() string { return sentences[r] }

// IsStop reports whether the reason is that somebody had the run end.
func (r Reason) IsStop() bool {
	return r == StopAsked || r == OverTime || r == Replaced || r == DaemonStopped
}

// With says the reason in one sentence, with the detail of a record in it.
func (r Reason) With(detail string) string {
	if detail == "" {
		return r.Sentence()
	}
	return strings.TrimSuffix(r.Sentence(), ".") + " (" + detail + ")."
}
