package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// RunID numbers the runs of one host from 1, in the order in which they were
// decided. It is never used twice.
type RunID int64

func (id RunID) String() string { return strconv.FormatInt(int64(id), 10) }

// Run is one execution of a job, or the wait for one.
type Run struct {
	ID         RunID     `json:"id"`
	Job        ID        `json:"job"`
	Due        time.Time `json:"due"` // the occurrence, UTC
	Era        Era       `json:"era,omitempty"`
	Attempt    int       `json:"attempt"` // from 1
	Trigger    Trigger   `json:"trigger"`
	By         string    `json:"by,omitempty"` // who asked, for a manual run
	State      RunState  `json:"state"`
	Reason     Reason    `json:"reason,omitempty"` // why it was decided, or what it waits for
	NotBefore  time.Time `json:"not_before,omitzero"`
	Invocation string    `json:"invocation"` // see Invocation
	Decided    time.Time `json:"decided"`
	Started    time.Time `json:"started,omitzero"`
	Ended      time.Time `json:"ended,omitzero"`
	PID        int       `json:"pid,omitempty"`
	User       string    `json:"user,omitempty"`
	Outcome    Outcome   `json:"outcome,omitzero"`
}

// RunState tells how far a run has come.
type RunState string

// The states of a run. Queued, waiting, decided and running are live.
const (
	RunQueued  RunState = "queued"  // waits for an earlier run of its job to end
	RunWaiting RunState = "waiting" // waits for NotBefore: a retry, or the delay of a period
	RunDecided RunState = "decided" // to be started now
	RunRunning RunState = "running" // a process exists
	RunEnded   RunState = "ended"   // Outcome is known, or known to be lost
	RunDropped RunState = "dropped" // was queued or waiting, and will never start; Reason says why
)

// Live reports whether the run may still start or end.
func (s RunState) Live() bool { return s != RunEnded && s != RunDropped }

// Trigger is what caused a run.
type Trigger string

// The triggers, as the environment variable CRONRING_TRIGGER gives them.
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

// Invocation is the idempotency key of an occurrence: 32 hex digits, stable
// over job, due time and era, shared by retries. A manual run mixes in its
// own RunID through salt, as two of them may share a due time.
func Invocation(id ID, due time.Time, era Era, salt RunID) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%d", id, due.UnixNano(), era, salt))
	return hex.EncodeToString(sum[:16])
}

// Outcome is how a run ended. The zero value means that it has not.
type Outcome struct {
	Kind   OutcomeKind `json:"kind"`
	Code   int         `json:"code,omitempty"`   // exit status, for Exited
	Signal int         `json:"signal,omitempty"` // signal number, for Signalled and TimedOut
	Error  string      `json:"error,omitempty"`  // what went wrong, for NotStarted and Lost
}

// OutcomeKind is the closed list of ways in which a run can end.
type OutcomeKind string

// The kinds of outcome.
const (
	Exited     OutcomeKind = "exited"
	Signalled  OutcomeKind = "signalled"
	TimedOut   OutcomeKind = "timed-out"
	NotStarted OutcomeKind = "not-started"
	Lost       OutcomeKind = "lost" // daemon or host died first; never counted as success
)

// IsZero reports whether the run has not ended.
func (o Outcome) IsZero() bool { return o.Kind == "" }

// OK reports success: exit status 0.
func (o Outcome) OK() bool { return o.Kind == Exited && o.Code == 0 }

// String says the outcome in a few words: "ok", "exit 3", "signal 9",
// "timed out", "not started: no such user", "lost".
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

// Stream tells the two outputs of a run, and the daemon's own words, apart.
type Stream string

// The streams of a run's output.
const (
	Stdout Stream = "out"
	Stderr Stream = "err"
	System Stream = "sys"
)

// Chunk is a piece of a run's output, in the order in which it was read.
type Chunk struct {
	Run    RunID     `json:"run"`
	Job    ID        `json:"job,omitempty"`
	Stream Stream    `json:"stream"`
	At     time.Time `json:"at"`
	Data   []byte    `json:"data,omitempty"` // any bytes; base64 in JSON
	Cut    int64     `json:"cut,omitempty"`  // bytes left out between the chunk before and this one
}
