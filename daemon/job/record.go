package job

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Record is an immutable fact. For a run the engine writes three records (decided, started,
// ended), each before the action that it describes. The store keeps them, and the event stream
// sends them.
type Record struct {
	At       time.Time  `json:"at"`
	Kind     RecordKind `json:"kind"`
	Job      ID         `json:"job,omitempty"`
	Due      time.Time  `json:"due,omitzero"`
	First    time.Time  `json:"first,omitzero"`  // oldest of several occurrences skipped for the same reason; Due is the newest
	Count    int        `json:"count,omitempty"` // minimum number of those occurrences; 0 means one
	Era      Era        `json:"era,omitempty"`
	Decision Decision   `json:"decision,omitempty"`
	Reason   Reason     `json:"reason,omitempty"`
	Detail   Detail     `json:"detail,omitempty"` // the names, numbers and times of the reason
	Run      *Run       `json:"run,omitempty"`    // the run as it is after this fact
	Hold     *Hold      `json:"pause,omitempty"`
	User     string     `json:"user,omitempty"`     // that the job ran as, in decisions to skip and in Resumed; "": unknown, or all users
	Backfill *Backfill  `json:"backfill,omitempty"` // as it is after this fact
	Was      time.Time  `json:"was,omitzero"`       // of Stepped: the time that the clock would show at At if it had not been set; not stored
}

// DecidesOccurrence distinguishes decisions about occurrences, which happen once and result from
// the clock, a boot, a catch-up rule, an event or the end of another job's run, from decisions about
// requests. A user may request a run twice, and a backfill repeats past occurrences; it counts what
// it skips itself.
func (r *Record) DecidesOccurrence() bool {
	switch {
	case r.Kind != Decided:
		return false
	case r.Run == nil:
		return r.Backfill == nil && r.Reason != AlreadyProcessed
	}
	switch r.Run.Trigger {
	case TriggerClock, TriggerBoot, TriggerCatchup, TriggerDependency, TriggerEvent, TriggerRetry: // the last one by if-lost=rerun, after a run of another host
		return true
	}
	return false
}

// Words returns the words of Detail, for a Doubled record after the name of its occurrence.
func (r *Record) Words() string {
	if r.Kind != Doubled {
		return r.Detail.Words()
	}
	return "the occurrence of " + r.Due.UTC().Format(time.RFC3339Nano) + " " + r.Detail.Words()
}

// RecordKind is the closed list of facts.
type RecordKind string

// The kinds of record.
const (
	Decided  RecordKind = "decided" // an occurrence: run or hold (with Run), or skip
	Queued   RecordKind = "queued"  // another attempt was scheduled
	Ready    RecordKind = "ready"   // a queued or waiting run is started now
	Dropped  RecordKind = "dropped" // a queued or waiting run will never start
	Started  RecordKind = "started"
	Stopping RecordKind = "stopping" // a user requested the end of a run, or it is preempted
	Ended    RecordKind = "ended"
	Paused   RecordKind = "paused"
	Resumed  RecordKind = "resumed"
	Loaded   RecordKind = "loaded"  // crontabs were read; Detail has the counts
	Stepped  RecordKind = "stepped" // the clock was set; Detail has the difference
	Filled   RecordKind = "filled"  // a backfill began, continued or ended
	Redrove  RecordKind = "redrove" // Run, a dead letter, was retried and is a dead letter no longer: Detail names the new run
	Buried   RecordKind = "buried"  // Run, a dead letter, was discarded
	Doubled  RecordKind = "doubled" // another member of the ring also ran the occurrence: Detail has where, and as which run
	Acked    RecordKind = "acked"   // a user acknowledged the failure of the job
	Unacked  RecordKind = "unacked" // a user withdrew an acknowledgement
	Emitted  RecordKind = "emitted" // User emitted the event Detail, which on=event: lists
	Up       RecordKind = "up"      // the daemon started
	Down     RecordKind = "down"    // the daemon is shutting down normally
)

// Decision is the result for an occurrence.
type Decision string

// The decisions.
const (
	DecideRun  Decision = "run"
	DecideSkip Decision = "skip"
	DecideHold Decision = "hold" // queued; a later record starts or drops it
)

// Reason explains a decision about an occurrence, or the end of a run. The list is
// closed. Command line, dashboard, journal and email use the same sentence for each reason.
type Reason string

// The reasons. Sentence describes each of them.
const (
	OnTime        Reason = "on-time"
	CaughtUp      Reason = "caught-up"
	AtBoot        Reason = "at-boot"
	AskedFor      Reason = "asked-for"
	Retried       Reason = "retried"
	RanAfterQueue Reason = "ran-after-queue"
	FoundDue      Reason = "found-due"
	RanAfterDelay Reason = "ran-after-delay"
	RanAfterHours Reason = "ran-after-hours" // window=, blackout=, a blackout of the host

	ParentEnded     Reason = "parent-ended"  // on=
	EventEmitted    Reason = "event-emitted" // on=event:
	FilesArrived    Reason = "files-arrived" // on=file:
	HostResumed     Reason = "host-resumed"  // on=resume
	ClockSet        Reason = "clock-set"     // on=clock
	RanAfterParents Reason = "ran-after-parents"
	RanAfterCheck   Reason = "ran-after-check"

	RanAfterConditions Reason = "ran-after-conditions"

	RanAfterSlot Reason = "ran-after-slot"
	Backfilled   Reason = "backfilled"
	Redriven     Reason = "redriven"
	Rerun        Reason = "rerun" // if-lost=rerun

	Late         Reason = "late"          // late, and older than the catch-up rule covers
	Superseded   Reason = "superseded"    // late, and a newer occurrence started instead
	OverLimit    Reason = "over-limit"    // late, and more were missed than catchup=all:N covers
	PastDeadline Reason = "past-deadline" // later than deadline=
	IsPaused     Reason = "paused"
	IsDisabled   Reason = "disabled"
	IsHeld       Reason = "held" // an option that guards the job, or limits it, cannot be applied
	Overlapping  Reason = "overlapping"
	QueueFull    Reason = "queue-full" // overlap=queue has queued one already
	Replaced     Reason = "replaced"   // a newer occurrence took its place in the queue
	JobRemoved   Reason = "job-removed"
	AlreadyRan   Reason = "already-ran" // its period is not over; the detail has the day
	NoUser       Reason = "no-user"
	// The account must not run jobs: it is expired, or its password must be changed.
	AccountRefused Reason = "account-refused"

	OtherHost        Reason = "other-host"
	TooMany          Reason = "too-many"       // max-instances=
	QueueOverflow    Reason = "queue-overflow" // queue-max of the configuration
	TooManyWait      Reason = "too-many-wait"  // the user has too many waiting runs
	Broken           Reason = "broken"         // breaker=
	OutsideHours     Reason = "outside-hours"  // window=, blackout=, a blackout of the host
	CheckRefused     Reason = "check-refused"  // if=
	ConditionUnmet   Reason = "condition-unmet"
	ParentFailed     Reason = "parent-failed"
	ParentSkipped    Reason = "parent-skipped"
	ParentMissed     Reason = "parent-missed"
	AlreadyProcessed Reason = "already-processed" // --reprocess of a backfill excludes it

	OtherLabels Reason = "other-labels" // need=, avoid=
	OtherMember Reason = "other-member"
	HandedOver  Reason = "handed-over" // the new owner records TakenOver
	TakenOver   Reason = "taken-over"  // the detail has the member that handed it over
	NoMember    Reason = "no-member"
	NoQuorum    Reason = "no-quorum"

	WaitsForParents Reason = "waits-for-parents"
	WaitsForCheck   Reason = "waits-for-check"
	WaitsForSlot    Reason = "waits-for-slot" // of a pool, or under max-running
	WaitsForClaim   Reason = "waits-for-claim"

	WaitsForRun   Reason = "waits-for-run"
	WaitsForRetry Reason = "waits-for-retry"
	WaitsForDelay Reason = "waits-for-delay" // of an entry with a period, or for START_HOURS_RANGE
	WaitsForHours Reason = "waits-for-hours"

	WaitsForConditions Reason = "waits-for-conditions"

	StopAsked     Reason = "stop-asked"
	OverTime      Reason = "over-time"
	NoBeat        Reason = "no-beat" // watchdog=
	Preempted     Reason = "preempted"
	OverMemory    Reason = "over-memory"
	OverTasks     Reason = "over-tasks"
	DaemonStopped Reason = "daemon-stopped"
	DaemonDied    Reason = "daemon-died"
)

// facts are the properties of a reason that programs use, beside its sentence.
type facts uint

const (
	missed       facts = 1 << iota // a skipped occurrence is worth a notification
	done                           // another run does the work of the dropped run
	elsewhere                      // another member of the ring has the occurrence
	stop                           // the run was stopped from outside
	failsAttempt                   // the occurrence fails if its further attempt is dropped
	timeLimit                      // the run exceeded a time limit of its entry
)

var reasons = map[Reason]struct {
	sentence string
	step     Step // at which an occurrence stops for the reason
	facts    facts
}{
	OnTime:          {"It was due, and nothing prevented it.", StepGate, 0},
	CaughtUp:        {"It was missed at its time, and catchup= covers it.", StepGate, 0},
	AtBoot:          {"The host started, and entries with @reboot or on=boot run once at each start.", StepGate, 0},
	AskedFor:        {"A user started it.", StepGate, 0},
	Retried:         {"The previous attempt failed, and retry= allows another.", StepGate, 0},
	RanAfterQueue:   {"It waited for an earlier run of the same job to end, and then started.", StepGate, 0},
	FoundDue:        {"Its period was over when the daemon checked.", StepGate, 0},
	RanAfterDelay:   {"It waited for the delay or the hours in its entry, or for runs that were caught up before it, and then started.", StepGate, 0},
	RanAfterHours:   {"It waited for a time at which it may start, and then started.", StepGate, 0},
	ParentEnded:     {"A run of a job in on= ended with the required outcome.", StepGate, 0},
	EventEmitted:    {"An event in on= was emitted.", StepGate, 0},
	FilesArrived:    {"Files that on= waits for were created or written.", StepGate, 0},
	HostResumed:     {"The host resumed from a suspend.", StepGate, 0},
	ClockSet:        {"The clock of the host was set.", StepGate, 0},
	RanAfterParents: {"The jobs in after= ended with the required outcomes, and then it started.", StepGate, 0},
	RanAfterCheck:   {"The command of if= allowed it.", StepGate, 0},

	RanAfterConditions: {"It waited for the host to meet the conditions of its entry, and then started.", StepGate, 0},

	RanAfterSlot:     {"It waited for a free slot, and then started.", StepGate, 0},
	Backfilled:       {"A user ran this occurrence again with a backfill.", StepGate, 0},
	Redriven:         {"A user ran it again, as the same occurrence.", StepGate, 0},
	Rerun:            {"The previous run was lost, and if-lost=rerun starts another.", StepGate, 0},
	Late:             {"It was noticed too late, and catchup= does not cover an occurrence this old.", StepDaemon, missed},
	Superseded:       {"It was missed, and a newer occurrence runs instead.", StepDaemon, missed},
	OverLimit:        {"More occurrences were missed than catchup=all:N covers.", StepDaemon, missed},
	PastDeadline:     {"It was noticed later than deadline= allows.", StepDaemon, missed},
	IsPaused:         {"The job was paused.", StepEnabled, 0},
	IsDisabled:       {"The entry has enabled=no.", StepEnabled, 0},
	IsHeld:           {"The entry is held, because running it without one of its options would be unsafe.", StepEnabled, 0},
	Overlapping:      {"The previous run was still active, and overlap= does not allow a second one.", StepOverlap, 0},
	QueueFull:        {"The previous run was still active, and another occurrence was already queued.", StepOverlap, 0},
	Replaced:         {"It was queued, and a newer occurrence replaced it.", StepOverlap, done | stop},
	JobRemoved:       {"The entry was removed from its crontab before the run started.", StepEntry, 0},
	AlreadyRan:       {"It already ran in this period.", StepGate, done},
	NoUser:           {"The user that it runs as does not exist.", StepEnabled, missed},
	AccountRefused:   {"Its user is not allowed to run jobs.", StepEnabled, missed},
	OtherHost:        {"host= does not include this host.", StepHost, 0},
	OtherLabels:      {"need= and avoid= exclude this host.", StepHost, 0},
	OtherMember:      {"Another member of the ring took it over while this member was unreachable.", StepHost, done | elsewhere},
	HandedOver:       {"This member was leaving the ring, or could not start it, and handed it over to the others.", StepHost, done | elsewhere},
	TakenOver:        {"The member of the ring that owned it was leaving, or could not start it, and handed it over.", StepGate, 0},
	NoMember:         {"No member of the ring can run it.", StepHost, failsAttempt},
	NoQuorum:         {"The ring had no quorum to decide its owner, and a newer occurrence is waiting for one.", StepHost, 0},
	TooMany:          {"The job already had max-instances= active runs.", StepOverlap, 0},
	QueueOverflow:    {"Its user had more runs waiting for a slot than queue-max allows.", StepSlot, missed},
	TooManyWait:      {"Its user already had the maximum number of waiting runs.", StepSlot, missed},
	Broken:           {"The job failed several times in a row, and breaker= suspended it.", StepEnabled, 0},
	OutsideHours:     {"It must not start at this time, because of window=, blackout= or a blackout of the host.", StepEnabled, failsAttempt},
	CheckRefused:     {"The command of if= did not allow it.", StepCheck, 0},
	ConditionUnmet:   {"The host did not meet a condition of the entry.", StepCheck, 0},
	ParentFailed:     {"A job in after= failed, and after= requires another outcome.", StepParents, missed},
	ParentSkipped:    {"A job in after= did not fail, and after= requires another outcome.", StepParents, 0},
	ParentMissed:     {"A job in after= did not end within wait=.", StepParents, missed},
	AlreadyProcessed: {"It has already run, and --reprocess excludes it.", StepGate, 0},
	WaitsForParents:  {"It is waiting for the jobs in after=.", StepParents, 0},
	WaitsForCheck:    {"It is waiting for the command of if= to end.", StepCheck, 0},
	WaitsForSlot:     {"It is due, and is waiting for a free slot of its pool, its user or the host.", StepSlot, 0},
	WaitsForClaim:    {"It waited after the ring had granted it, and is waiting for a new grant.", StepHost, 0},
	WaitsForRun:      {"It is waiting for an earlier run of the same job to end.", StepOverlap, 0},
	WaitsForRetry:    {"The attempt failed, and the next one is waiting for its time.", StepGate, 0},
	WaitsForDelay:    {"It is due, and is waiting for the delay or the hours in its entry, or for runs that are caught up before it.", StepGate, 0},
	WaitsForHours:    {"It is due, and is waiting for a time at which it may start.", StepGate, 0},

	WaitsForConditions: {"It is due, and is waiting for the host to meet the conditions of its entry.", StepCheck, 0},

	StopAsked:     {"A user stopped it.", StepGate, stop},
	OverTime:      {"It ran longer than timeout= allows.", StepGate, stop | timeLimit},
	NoBeat:        {"It gave no sign of life for longer than watchdog= allows.", StepGate, stop | timeLimit},
	Preempted:     {"A run with preempt and a higher priority needed its slots.", StepGate, stop},
	OverMemory:    {"It was killed because it used more memory than memory= allows.", StepGate, 0},
	OverTasks:     {"It failed with as many processes as tasks= allows.", StepGate, 0},
	DaemonStopped: {"The daemon stopped, and the run did not end in time.", StepDaemon, stop},
	DaemonDied:    {"The daemon ended during the run, so the end of the run is unknown.", StepDaemon, 0},
}

// Step returns the step of the decision at which an occurrence stops for the reason.
func (r Reason) Step() Step { return reasons[r].step }

// Reasons returns all reasons in alphabetical order.
func Reasons() []Reason { return slices.Sorted(maps.Keys(reasons)) }

// Sentence describes the reason in one sentence. It returns "" for an unknown reason.
func (r Reason) Sentence() string { return reasons[r].sentence }

func (r Reason) has(f facts) bool { return reasons[r].facts&f != 0 }

// IsStop reports whether the run was stopped from outside.
func (r Reason) IsStop() bool { return r.has(stop) }

// IsTimeLimit reports whether the run was stopped because it exceeded a time limit of its entry.
// The run then counts as failed.
func (r Reason) IsTimeLimit() bool { return r.has(timeLimit) }

// IsMissed reports whether skipping for this reason is worth a notification. It is not if
// the entry itself or a person skips the occurrence, or if an open breaker does: the
// failures that opened it were reported.
func (r Reason) IsMissed() bool { return r.has(missed) }

// IsDone reports whether another run does the work of a run that was dropped for this reason.
func (r Reason) IsDone() bool { return r.has(done) }

// IsElsewhere reports whether a run was dropped because its occurrence belongs to another
// member of the ring. That member reports its progress.
func (r Reason) IsElsewhere() bool { return r.has(elsewhere) }

// FailsDropped reports whether an occurrence failed because a run was dropped for this reason,
// at its first or at a further attempt. The hours skip an occurrence as intended, but a further
// attempt that they drop leaves its occurrence failed.
func (r Reason) FailsDropped(attempt int) bool {
	return r.has(missed) || attempt > 1 && r.has(failsAttempt)
}

// With describes the reason in one sentence that includes the detail of a record.
func (r Reason) With(d Detail) string {
	if d == "" {
		return r.Sentence()
	}
	return strings.TrimSuffix(r.Sentence(), ".") + " (" + d.Words() + ")."
}
