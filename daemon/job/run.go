package job

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// RunID numbers the runs of one host from 1, in the order of their decisions. Numbers are never
// reused.
type RunID int64

func (id RunID) String() string { return strconv.FormatInt(int64(id), 10) }

// MaxReruns limits how often if-lost=rerun starts a run again whose process vanished with
// the daemon or the host, and how often the attempts of an occurrence are preempted, together.
// Without a limit, a job that crashes the host would do so forever, and a preemptible one might
// never end.
const MaxReruns = 3

// Run is one execution of a job, or the wait for one.
type Run struct {
	ID         RunID     `json:"id"`
	Job        ID        `json:"job"`
	Due        time.Time `json:"due"` // the occurrence, UTC
	Era        Era       `json:"era,omitempty"`
	Attempt    int       `json:"attempt"`        // from 1
	Lost       int       `json:"lost,omitempty"` // earlier attempts that do not count for retry=: lost, with if-lost=rerun, or preempted
	Trigger    Trigger   `json:"trigger"`
	By         string    `json:"by,omitempty"` // the user who requested it, for a manual run
	State      RunState  `json:"state"`
	Reason     Reason    `json:"reason,omitempty"` // why it was decided, or what it waits for
	Detail     Detail    `json:"detail,omitempty"` // names and numbers that belong to Reason, while it waits and if it was dropped
	NotBefore  time.Time `json:"not_before,omitzero"`
	Previous   time.Time `json:"previous,omitzero"` // of a job without times that has parents: when the run before it came due; zero: none
	Forced     bool      `json:"forced,omitempty"`  // --force was used
	First      time.Time `json:"first,omitzero"`    // when the first attempt began, of a further one of a job with retry-for=
	Invocation string    `json:"invocation"`        // see Invocation
	Decided    time.Time `json:"decided"`
	Started    time.Time `json:"started,omitzero"`
	Ended      time.Time `json:"ended,omitzero"`
	PID        int       `json:"pid,omitempty"`
	User       string    `json:"user,omitempty"`
	Outcome    Outcome   `json:"outcome,omitzero"`
	Verdict    Verdict   `json:"verdict,omitempty"`
	Usage      Usage     `json:"usage,omitzero"`
	Parents    []Parent  `json:"parents,omitempty"`  // the runs that after= waited for, or that on= started it for
	Backfill   int64     `json:"backfill,omitempty"` // ID of its Backfill
	Token      uint64    `json:"token,omitempty"`    // in a ring with voters: the fencing token of the grant, larger than all before it
	Env        []string  `json:"env,omitempty"`      // NAME=value: variables that the requesting user added to the crontab's
	Trimmed    bool      `json:"trimmed,omitempty"`  // the history no longer has its Parents and Env
	Stop       *Stop     `json:"stop,omitempty"`     // the request that stopped it
	Doubled    string    `json:"doubled,omitempty"`  // where else in the ring its occurrence ran, and as which run
	Node       string    `json:"member,omitempty"`   // the member of the ring that ran it; "": the reporting member
}

// Stop is a request to end a run.
type Stop struct {
	By     Detail        `json:"by"`            // the user, or the run that needed the slots
	For    RunID         `json:"for,omitempty"` // the run that needed the slots; 0: a user stopped it
	At     time.Time     `json:"at"`
	Signal string        `json:"signal,omitempty"` // its name: TERM; "": the run had not begun
	Grace  time.Duration `json:"grace,omitempty"`  // from the signal to KILL, nanoseconds
}

// Reason returns why the run was stopped.
func (s *Stop) Reason() Reason {
	if s.For != 0 {
		return Preempted
	}
	return StopAsked
}

// Bulk is the size of the variables and parents of the run in memory, about, in bytes. Users can make it
// large: 64 KiB and more.
func (r *Run) Bulk() (size int) {
	for _, v := range r.Env {
		size += len(v)
	}
	return size + 100*len(r.Parents)
}

// OK reports whether the run succeeded, according to ok=, or with exit status 0.
func (r *Run) OK() bool {
	if r.Verdict != "" {
		return r.Verdict == VerdictOK
	}
	return r.Outcome.OK()
}

// Failed reports whether the run failed. A success, a skip, a preempted run and a lost run that does
// not count are not failures.
func (r *Run) Failed() bool {
	return !r.Outcome.IsZero() && !r.OK() && r.Verdict != VerdictSkip && r.Verdict != VerdictLeft &&
		(r.Verdict != VerdictRetry || r.Reason != Preempted)
}

// Length returns how long a run that has ended took by the host's clock. It is 0 if the clock was set back meanwhile
// by more than that.
func (r *Run) Length() time.Duration { return max(r.Ended.Sub(r.Started), 0) }

// OnlyStarted reports whether only the start of the run is known, because another cron ran it.
func (r *Run) OnlyStarted() bool { return r.State == RunEnded && r.Outcome.IsZero() }

// Ending describes the end of the run and, if its verdict differs from its outcome, what it counts
// as: "exit 3 (counts as success)".
func (r *Run) Ending() string {
	how := r.Result()
	switch {
	case r.Outcome.IsZero():
	case r.Verdict == VerdictOK && !r.Outcome.OK():
		return how + " (counts as success)"
	case r.Verdict == VerdictSkip:
		return r.status() + " (counts as skipped)"
	case r.Verdict == VerdictLeft:
		return how + " (counts as nothing)"
	case r.Outcome.OK() && r.Failed():
		return how + " (counts as failed)"
	case r.Verdict == VerdictDead:
		return how + " (dead letter)"
	}
	return how
}

// ResultOrState describes the end of the run, or its state while it is live.
func (r *Run) ResultOrState() string {
	switch r.State {
	case RunEnded:
		return r.Ending()
	case RunDecided:
		return "starting"
	}
	return string(r.State)
}

// status returns the outcome in words. For exit status 0 it returns "exit 0", not "ok".
func (r *Run) status() string {
	if r.Outcome.OK() {
		return "exit 0"
	}
	return r.Result()
}

// Result returns the outcome in words. If a user or a limit ended the run, it names that user or
// limit instead of the exit status.
func (r *Run) Result() string {
	if r.Stop == nil { // or of a run in brief
		return r.result("")
	}
	return r.result(r.Stop.By.Words())
}

// result is Result for a run that by stopped.
func (r *Run) result(by string) string {
	switch {
	case r.OnlyStarted():
		return "started"
	case r.Outcome.Kind == TimedOut && r.Reason == NoBeat:
		return "no sign of life"
	case r.Outcome.OK() && r.Failed():
		return "exit 0" // "ok" would contradict the verdict
	case r.Outcome.Kind != Exited && r.Outcome.Kind != Signalled || r.Outcome.OK() && r.Reason != Preempted:
	case r.Reason == StopAsked && by != "":
		return "stopped by " + by
	case r.Reason == StopAsked:
		return "stopped"
	case r.Reason == Preempted && by != "":
		return "preempted by " + by
	case r.Reason == Preempted:
		return "preempted"
	case r.Reason == OverMemory:
		return "memory limit"
	case r.Reason == OverTasks:
		return "process limit, " + r.Outcome.String()
	}
	return r.Outcome.String()
}

// Verdict is the effect of a run's end on its occurrence. It is empty while the run is live, and
// for a dropped run without effect.
type Verdict string

// The verdicts. All but VerdictRetry are final: no attempt follows.
const (
	VerdictOK       Verdict = "ok"
	VerdictFail     Verdict = "fail"
	VerdictDead     Verdict = "dead"     // failed, and became a dead letter
	VerdictLost     Verdict = "lost"     // its process vanished, and that counts as failed
	VerdictLeft     Verdict = "left"     // its process vanished, and that counts as nothing
	VerdictSkip     Verdict = "skip"     // it skipped itself, or if= or a skipped parent kept it from running
	VerdictUpstream Verdict = "upstream" // a parent failed or did not end in time, so it did not run
	VerdictRetry    Verdict = "retry"    // failed, and another attempt follows
)

// Words returns the verdict as the predicate of a sentence about the job.
func (v Verdict) Words() string {
	switch v {
	case VerdictOK:
		return "succeeded"
	case VerdictFail:
		return "failed"
	case VerdictDead:
		return "failed for good"
	case VerdictLost:
		return "was lost"
	case VerdictLeft:
		return "was lost from sight"
	case VerdictSkip:
		return "was skipped"
	case VerdictUpstream:
		return "could not run"
	case VerdictRetry:
		return "failed, and is tried again"
	}
	return "has not ended"
}

// Final reports whether the occurrence is over.
func (v Verdict) Final() bool { return v != "" && v != VerdictRetry }

// Bad reports whether the occurrence failed, for streaks and breakers.
func (v Verdict) Bad() bool {
	return v == VerdictFail || v == VerdictDead || v == VerdictLost || v == VerdictUpstream
}

// Parent is a run on which another run depended.
type Parent struct {
	Job     ID      `json:"job"`
	Run     RunID   `json:"run,omitempty"`     // 0: none came
	Verdict Verdict `json:"verdict,omitempty"` // empty: it had not ended
}

// Usage is the resource usage of a run's processes. Zero values are unknown.
type Usage struct {
	CPU    time.Duration `json:"cpu,omitempty"`    // user and system time, nanoseconds
	Memory int64         `json:"memory,omitempty"` // peak, bytes
	Read   int64         `json:"read,omitempty"`   // bytes from disks
	Write  int64         `json:"write,omitempty"`  // bytes to disks
}

// RunState is the progress of a run.
type RunState string

// The states of a run. Queued, waiting, decided and running are live.
const (
	RunQueued  RunState = "queued"  // waits for a slot: other runs must end first
	RunWaiting RunState = "waiting" // waits for a time, for parents or for the command of if=; NotBefore is the latest
	RunDecided RunState = "decided" // to be started now
	RunRunning RunState = "running" // a process exists
	RunEnded   RunState = "ended"   // Outcome is known, or known to be lost
	RunDropped RunState = "dropped" // was queued or waiting, and will never start; see Reason
)

// Live reports whether the run may still start or end.
func (s RunState) Live() bool { return s != RunEnded && s != RunDropped }

// Trigger is the cause of a run.
type Trigger string

// The triggers, as in the environment variable CRONRING_TRIGGER.
const (
	TriggerClock      Trigger = "clock"
	TriggerBoot       Trigger = "boot"
	TriggerManual     Trigger = "manual"
	TriggerRetry      Trigger = "retry"
	TriggerCatchup    Trigger = "catchup"
	TriggerBackfill   Trigger = "backfill"
	TriggerDependency Trigger = "dependency"
	TriggerEvent      Trigger = "event"
)

// Invocation is the idempotency key of an occurrence: 32 hex digits that depend on job, due time
// and era, so that retries share it. Manual runs pass their RunID as salt, because two of them may
// share a due time.
func Invocation(id ID, due time.Time, era Era, salt RunID) string {
	var usual [128]byte // on the stack
	text := append(usual[:0], id...)
	for _, n := range []int64{due.UnixNano(), int64(era), int64(salt)} {
		text = strconv.AppendInt(append(text, 0), n, 10)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Outcome describes the end of a run. It is zero until the run ends.
type Outcome struct {
	Kind   OutcomeKind `json:"kind"`
	Code   int         `json:"code,omitempty"`   // exit status, for Exited
	Signal int         `json:"signal,omitempty"` // signal number, for Signalled and TimedOut
	Error  string      `json:"error,omitempty"`  // what went wrong, for NotStarted and Lost
}

// OutcomeKind is the closed list of the kinds of ends of a run.
type OutcomeKind string

// The kinds of outcome.
const (
	Exited     OutcomeKind = "exited"
	Signalled  OutcomeKind = "signalled"
	TimedOut   OutcomeKind = "timed-out"
	NotStarted OutcomeKind = "not-started"
	Lost       OutcomeKind = "lost" // daemon or host died first; never counted as success
)

// IsZero reports whether there is no outcome yet.
func (o Outcome) IsZero() bool { return o.Kind == "" }

// OK reports success: exit status 0.
func (o Outcome) OK() bool { return o.Kind == Exited && o.Code == 0 }

// String describes the outcome in a few words: "ok", "exit 3", "signal 9", "timed out", "not
// started: no such user", "lost".
func (o Outcome) String() string {
	switch o.Kind {
	case "":
		return "not ended"
	case Exited:
		if o.Code == 0 {
			return "ok"
		}
		return "exit " + strconv.Itoa(o.Code)
	case Signalled:
		return "signal " + strconv.Itoa(o.Signal)
	case TimedOut:
		return "timed out"
	case NotStarted:
		return "not started: " + o.Error
	case Lost:
		return "lost"
	}
	return string(o.Kind)
}

// Stream distinguishes the two outputs of a run and the daemon's own messages.
type Stream string

// The streams of a run's output.
const (
	Stdout Stream = "out"
	Stderr Stream = "err"
	System Stream = "sys"
)

// Chunk is a piece of a run's output. Chunks are in the order of reading.
type Chunk struct {
	Run    RunID     `json:"run"`
	Job    ID        `json:"job,omitempty"`
	User   string    `json:"-"` // of the run; "" where it is not known
	Stream Stream    `json:"stream"`
	At     time.Time `json:"at"`
	Data   []byte    `json:"data,omitempty"` // any bytes; base64 in JSON
	Cut    int64     `json:"cut,omitempty"`  // bytes omitted between the previous chunk and this one
}

// Weight returns the memory of the chunk in bytes: a hostile job can write single bytes.
func (c *Chunk) Weight() int { return len(c.Data) + 128 }
