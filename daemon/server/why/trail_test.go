package why

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/enginetest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/store"
)

var seeds = flag.Uint64("seeds", 10, "hosts to simulate")

// interview is a simulated host with its history in a real store, and the explainer of this history.
type interview struct {
	t    *testing.T
	seed uint64
	whys *Explainer
	call *call.Call
	runs map[job.RunID]job.Run // as of their newest record
}

// TestWhyOfEveryOccurrence simulates random hosts with every option, and then requests an explanation
// of every occurrence.
func TestWhyOfEveryOccurrence(t *testing.T) {
	seeds := *seeds
	if testing.Short() {
		seeds = min(seeds, 4)
	}
	for seed := range seeds {
		explainHost(t, seed+1)
		if t.Failed() {
			break
		}
	}
}

func explainHost(t *testing.T, seed uint64) {
	lived := enginetest.NewHost(seed)
	lived.Simulate(25)
	dir := t.TempDir()
	a := &interview{t: t, seed: seed, runs: map[job.RunID]job.Run{}}
	var records []job.Record
	var history *store.Store
	for i, daemon := range lived.Daemons {
		if history != nil {
			if err := history.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if history, err = store.Open(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		for b := range batches(lived.Daemons[i]) {
			b.BootID = daemon.Boot
			if err := history.Commit(t.Context(), b); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			records = append(records, b.Records...)
		}
	}
	defer history.Close()
	view := lived.Engine.View
	states := jobstate.New(history, view, members.None{})
	a.whys = New(history, lookup.New(history, view, states), func() api.Health { return api.Health{Host: "db-01"} }, members.None{}, func(job.Owned) string { return "" })
	a.call = call.Of(call.Peer{Admin: true}, view(), lived.Now.Wall)
	a.about(records)
}

// batches returns the writes of one daemon process, each of some steps.
func batches(l enginetest.Daemon) func(func(store.Batch) bool) {
	return func(yield func(store.Batch) bool) {
		var b store.Batch
		for i, s := range l.Steps {
			b.At, b.Era = s.At, s.Era
			for _, e := range s.Effects {
				if f, ok := e.(effect.Fact); ok {
					b.Records = append(b.Records, f.Record)
				}
			}
			last := i == len(l.Steps)-1 || l.Steps[i+1].Era != s.Era
			if len(b.Records) > 500 || last {
				if !yield(b) {
					return
				}
				b = store.Batch{}
			}
		}
	}
}

// about requests explanations of the decisions that can be found in the history: the newest of
// each instant, by its job. A few similar ones of each job are enough.
func (a *interview) about(records []job.Record) {
	const alike = 2
	type instant struct {
		job job.ID
		due int64
	}
	newest := map[instant]int{}
	for i, r := range records {
		if r.Run != nil {
			a.runs[r.Run.ID] = *r.Run
		}
		if r.DecidesOccurrence() {
			newest[instant{r.Job, r.Due.UnixNano()}] = i
		}
	}
	kinds := map[string]int{}
	for i, r := range records {
		if n, ok := newest[instant{r.Job, r.Due.UnixNano()}]; !ok || n != i {
			continue
		}
		kind := fmt.Sprint(r.Job, r.Decision, r.Reason, r.Count > 1)
		if r.Run != nil {
			run := a.runs[r.Run.ID]
			kind += fmt.Sprint(run.State, run.Reason, run.Verdict, run.Outcome.Kind)
		}
		if kinds[kind]++; kinds[kind] <= alike {
			a.ask(r)
		}
		if a.t.Failed() {
			return
		}
	}
}

func (a *interview) ask(r job.Record) {
	i, ok := a.call.View.Find(r.Job)
	if !ok {
		return // the job is gone, and cannot be asked about
	}
	ev, err := a.whys.gather(a.t.Context(), a.call, i, r.Due)
	if err != nil {
		a.t.Errorf("seed %d: why %s at %s: %v", a.seed, r.Job, r.Due, err)
		return
	}
	again, err := a.whys.again(a.t.Context(), a.call, ev)
	if err != nil {
		a.t.Errorf("seed %d: why %s at %s: %v", a.seed, r.Job, r.Due, err)
		return
	}
	answer := ev.explain(again)
	what := a.legible(answer)
	if !ev.at.Equal(r.Due) {
		return // the entry has different times now, one of them in the same minute
	}
	if ev.record.Era != r.Era {
		return // a stretch of a later era has it, too
	}
	what = append(what, a.fits(r, answer)...)
	if len(what) > 0 {
		a.t.Errorf("seed %d: why %s at %s:\n\t%s\nof %+v\nrun %+v\nsays %q\nsteps %+v\nfacts %q", a.seed, r.Job, r.Due.Format(time.RFC3339Nano),
			strings.Join(what, "\n\t"), r, answer.Run, answer.Verdict, answer.Steps, answer.Facts)
	}
}

// legible holds what is true of every answer.
func (a *interview) legible(w api.Why) (faults []string) {
	texts := append([]string{w.Verdict}, w.Facts...)
	crossed := 0
	for _, s := range w.Steps {
		texts = append(texts, s.Fact)
		if s.State == api.Crossed {
			crossed++
		}
	}
	if crossed > 1 {
		faults = append(faults, fmt.Sprintf("%d steps are crossed out", crossed))
	}
	for _, text := range texts {
		for _, bad := range []string{"%!", " 0001 ", "  as  ", "()", ": .", "..", "<nil>"} {
			if strings.Contains(text, bad) {
				faults = append(faults, fmt.Sprintf("%q is in %q", bad, text))
			}
		}
		if strings.TrimSpace(text) == "" || strings.HasSuffix(strings.TrimSpace(text), ":") {
			faults = append(faults, fmt.Sprintf("a text says nothing: %q", text))
		}
	}
	return faults
}

// stopsAt is the steps at which an occurrence may stop for a reason.
var stopsAt = map[job.Reason][]job.Step{
	job.Late: {job.StepDaemon, job.StepClock}, job.Superseded: {job.StepDaemon, job.StepClock}, job.OverLimit: {job.StepDaemon, job.StepClock},
	job.PastDeadline: {job.StepDaemon, job.StepClock, job.StepOverlap},
	job.IsPaused:     {job.StepEnabled}, job.IsDisabled: {job.StepEnabled}, job.IsHeld: {job.StepEnabled}, job.Broken: {job.StepEnabled}, job.OutsideHours: {job.StepEnabled},
	job.NoUser: {job.StepEnabled}, job.AccountRefused: {job.StepEnabled}, job.OtherHost: {job.StepHost}, job.JobRemoved: {job.StepEntry},
	job.Overlapping: {job.StepOverlap}, job.QueueFull: {job.StepOverlap}, job.Replaced: {job.StepOverlap}, job.TooMany: {job.StepOverlap},
	job.WaitsForRun: {job.StepOverlap}, job.AlreadyRan: {job.StepGate}, job.StopAsked: {job.StepGate},
	job.CheckRefused: {job.StepCheck}, job.WaitsForCheck: {job.StepCheck}, job.ConditionUnmet: {job.StepCheck}, job.WaitsForConditions: {job.StepCheck},
	job.ParentFailed: {job.StepParents}, job.ParentSkipped: {job.StepParents}, job.ParentMissed: {job.StepParents}, job.WaitsForParents: {job.StepParents},
	job.OtherLabels: {job.StepHost}, job.OtherMember: {job.StepHost}, job.HandedOver: {job.StepHost}, job.NoMember: {job.StepHost}, job.NoQuorum: {job.StepHost},
	job.QueueOverflow: {job.StepSlot}, job.TooManyWait: {job.StepSlot}, job.WaitsForSlot: {job.StepSlot},
}

// fits holds an answer against the decision and the run's newest record.
func (a *interview) fits(r job.Record, w api.Why) (faults []string) {
	wants := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	says := func(text string) { wants(strings.Contains(w.Verdict, text), "the verdict should say %q", text) }
	crossed := job.Step("")
	for _, s := range w.Steps {
		if s.State == api.Crossed {
			crossed = s.Name
		}
	}
	stops := func(reason job.Reason) {
		steps, known := stopsAt[reason]
		wants(known, "no step is known for %s", reason)
		wants(slices.Contains(steps, crossed), "%s should cross out one of %v, and %q is", reason, steps, crossed)
		says(reason.Sentence())
	}
	wants(w.Decision == r.Decision, "the decision is %s, not %q", r.Decision, w.Decision)
	if r.Run == nil {
		wants(!w.Ran, "a skip did not run")
		says("It did not start.")
		stops(r.Reason)
		return faults
	}
	run := a.runs[r.Run.ID]
	wants(w.Ran == !run.Started.IsZero(), "it ran: %t", !run.Started.IsZero())
	switch run.State {
	case job.RunQueued:
		says("It is late, not lost.")
		stops(run.Reason)
	case job.RunWaiting:
		says("It has not started yet")
		says(run.Reason.Sentence())
	case job.RunDropped:
		says("It did not start.")
		stops(run.Reason)
	case job.RunDecided:
		says("It is about to start.")
	case job.RunRunning:
		says("It has been running for ")
		wants(crossed == "", "%s is crossed out, and it runs", crossed)
	case job.RunEnded:
		a.fitsEnd(run, crossed, says, wants)
	}
	return faults
}

func (a *interview) fitsEnd(run job.Run, crossed job.Step, says func(string), wants func(bool, string, ...any)) {
	switch {
	case run.Outcome.Kind == job.NotStarted:
		says("It could not be started.")
		wants(crossed == job.StepGate, "%q is crossed out", crossed)
		return
	case run.Started.IsZero(): // it is unknown whether it did
		says("lost")
	default:
		says("It ran")
		if ending := run.Ending(); ending == "ok" {
			says("succeeded after")
		} else {
			says(ending)
		}
	}
	wants(crossed == "", "%s is crossed out, and it ended", crossed)
	if run.Failed() && !run.Started.IsZero() {
		says("and failed")
	}
	if run.Reason != "" {
		says(run.Reason.Sentence())
	}
}
