package job

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestWireForm freezes the JSON form of every noun: programs read it from the
// socket, from -o json and from the event stream.
func TestWireForm(t *testing.T) {
	at := time.Date(2026, 11, 20, 2, 30, 0, 4_000_000, time.UTC)
	run := Run{
		ID: 4213, Job: "backup", Due: at, Era: 1, Attempt: 2, Lost: 1, Trigger: TriggerRetry, By: "ann", State: RunEnded,
		Reason: OverTime, NotBefore: at, Invocation: Invocation("backup", at, 1, 0), Decided: at,
		Started: at, Ended: at.Add(time.Minute), PID: 4711, User: "root",
		Outcome: Outcome{Kind: TimedOut, Code: 1, Signal: 15, Error: "why"},
		Verdict: VerdictDead, Usage: Usage{CPU: time.Second, Memory: 1 << 20, Read: 3, Write: 4},
		Parents: []Parent{{Job: "dump", Run: 4212, Verdict: VerdictOK}}, Backfill: 7, Token: 9,
		Env: []string{"FULL=yes"}, Stop: &Stop{By: "ann", At: at, Signal: "HUP", Grace: 5 * time.Second},
	}
	ack := Ack{Run: 4213, At: at, By: "ann", Reason: "known"}
	hold := Hold{Since: at, Until: at.Add(time.Hour), By: "ann", Reason: "moving house"}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetIndent("", "  ")
	for _, noun := range []any{
		Job{
			ID: "backup", Crontab: "/etc/crontab", Line: 17, User: "root", Schedule: "30 2 * * *", Zone: "Europe/Berlin",
			Command: "backup", Stdin: "text\n", Dir: "/", Env: []string{"MAILTO=ops"}, Shard: 1, Shards: 2, Options: map[string]string{"retry": "3"},
			Disabled: true, Held: "why", Degraded: "what",
		},
		Status{Job: Job{ID: "backup"}, State: StateFailing, Next: at, Hold: &hold, Running: []Run{{ID: 1}}, Last: &run, Recent: []Run{{ID: 2}}, Streak: 3, Problem: "what", Why: "why", Ack: &ack},
		run,
		Run{ID: 1},
		Mark{Job: "backup", Due: at, Era: 1},
		Backfill{
			ID: 7, Job: "backup", User: "root", By: "ann", Asked: at, From: at, To: at, Overlap: "queue-all",
			Reprocess: ReprocessFailed, MaxActive: 2, Cursor: at, Started: 3, Skipped: 2, Failed: 1, State: BackfillGoing,
		},
		Summary{
			Job: "backup", User: "root", Verdict: VerdictOK, Run: 4213, Due: at, Ended: at, Success: at,
			Bad: 2, Notified: NotifiedFailure | NotifiedLate, Open: at, Watched: at, Ack: &ack,
		},
		Notice{
			At: at, On: OnDead, Job: "backup", User: "root", Due: at, Reason: OverTime, Text: "what", Streak: 3,
			Run: &Run{ID: 1}, Channels: []string{"ops"},
		},
		Chunk{Run: 1, Job: "backup", Stream: Stderr, At: at, Data: []byte{0, 255}, Cut: 9},
		Record{
			At: at, Kind: Decided, Job: "backup", Due: at, First: at, Count: 3, Era: 1, Decision: DecideSkip,
			Reason: Late, Detail: "2h late", Run: &Run{ID: 1}, Hold: &hold,
		},
	} {
		if err := enc.Encode(noun); err != nil {
			t.Fatal(err)
		}
	}
	const golden = "testdata/wire.golden"
	if *update {
		filetest.Write(t, golden, got.String(), 0o644)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the JSON form has changed; fields may be added (-update), never renamed\ngot:\n%s", got.String())
	}
}

func TestEveryReasonHasASentence(t *testing.T) {
	for _, r := range []Reason{
		OnTime, CaughtUp, AtBoot, AskedFor, Retried, RanAfterQueue, Late, Superseded, OverLimit, PastDeadline, IsPaused,
		IsDisabled, IsHeld, Overlapping, QueueFull, Replaced, JobRemoved, WaitsForRun, WaitsForRetry, StopAsked,
		OverTime, DaemonStopped, DaemonDied, FoundDue, RanAfterDelay, AlreadyRan, NoUser, AccountRefused, WaitsForDelay,
		ParentEnded, RanAfterParents, RanAfterCheck, RanAfterSlot, Backfilled, Redriven, Rerun, OtherHost, TooMany,
		QueueOverflow, TooManyWait, Broken, OutsideHours, WaitsForHours, RanAfterHours, CheckRefused, ParentFailed, ParentSkipped, ParentMissed, AlreadyProcessed,
		WaitsForParents, WaitsForCheck, WaitsForSlot, WaitsForClaim, RanAfterConditions, WaitsForConditions, ConditionUnmet, OverMemory, OverTasks, NoBeat, Preempted,
		EventEmitted, FilesArrived, HostResumed, ClockSet,
		OtherLabels, OtherMember, HandedOver, TakenOver, NoMember, NoQuorum,
	} {
		if r.Sentence() == "" || r.Step() == "" {
			t.Errorf("%s has no sentence or no step", r)
		}
	}
	if len(reasons) != 70 {
		t.Errorf("%d reasons; list the new reason here too", len(reasons))
	}
}

func TestOutcomeInWords(t *testing.T) {
	for want, o := range map[string]Outcome{
		"not ended":                 {},
		"ok":                        {Kind: Exited},
		"exit 3":                    {Kind: Exited, Code: 3},
		"signal 9":                  {Kind: Signalled, Signal: 9},
		"timed out":                 {Kind: TimedOut, Signal: 15},
		"not started: no such user": {Kind: NotStarted, Error: "no such user"},
		"lost":                      {Kind: Lost},
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v: got %q, want %q", o, got, want)
		}
		if o.OK() != (want == "ok") {
			t.Errorf("%+v: OK() = %t", o, o.OK())
		}
	}
}

func TestEndingNamesTheLimitAndTheUser(t *testing.T) {
	for _, test := range []struct {
		run  Run
		want string
	}{
		{Run{Reason: OverMemory, Outcome: Outcome{Kind: Exited, Code: 137}, Verdict: VerdictFail}, "memory limit"},
		{Run{Reason: OverMemory, Outcome: Outcome{Kind: Signalled, Signal: 9}, Verdict: VerdictDead}, "memory limit (dead letter)"},
		{Run{Reason: Preempted, Outcome: Outcome{Kind: Exited}, Verdict: VerdictRetry, Stop: &Stop{By: "run 7 (a)"}}, "preempted by run 7 (a)"},
		{Run{Reason: Preempted, Outcome: Outcome{Kind: Signalled, Signal: 15}, Verdict: VerdictRetry}, "preempted"},
		{Run{Reason: NoBeat, Outcome: Outcome{Kind: TimedOut, Signal: 15}, Verdict: VerdictFail}, "no sign of life"},
		{Run{Reason: OverMemory, Outcome: Outcome{Kind: Exited}, Verdict: VerdictOK}, "ok"}, // one of its processes was killed, and it continued
		{Run{Reason: OverTasks, Outcome: Outcome{Kind: Exited, Code: 3}}, "process limit, exit 3"},
		{Run{Reason: OnTime, Outcome: Outcome{Kind: Exited, Code: 137}}, "exit 137"},
		{Run{Reason: StopAsked, Stop: &Stop{By: "ann"}, Outcome: Outcome{Kind: Signalled, Signal: 15}}, "stopped by ann"},
		{Run{Reason: StopAsked, Outcome: Outcome{Kind: Exited, Code: 1}}, "stopped"},
		{Run{Reason: StopAsked, Stop: &Stop{By: "ann"}, Outcome: Outcome{Kind: Exited}}, "ok"},
	} {
		if got := test.run.Ending(); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.run, got, test.want)
		}
	}
}
