package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// kin is the state that the invariants about after= and on= are checked against.
type kin struct {
	runs map[job.RunID]job.Run // as of their newest record
	live map[job.ID]map[job.RunID]bool
	met  map[string]bool // ends that started a child, or skipped it

	waits   map[job.RunID]bool // runs that wait for parents
	ended   map[job.ID]bool    // jobs that had a run end since the engine last slept
	unclear map[job.RunID]bool // runs whose parents may seem to end in the future: the clock was set back
}

func newKin() kin {
	return kin{
		runs: map[job.RunID]job.Run{}, live: map[job.ID]map[job.RunID]bool{}, met: map[string]bool{},
		waits: map[job.RunID]bool{}, ended: map[job.ID]bool{}, unclear: map[job.RunID]bool{},
	}
}

// randomEdges adds names to most entries of a crontab, and lets them wait for or start on
// each other: usually on earlier entries, and sometimes in cycles.
func randomEdges(rng *rand.Rand, n int) []string {
	edges := make([]string, n)
	if rng.IntN(2) == 0 {
		return edges
	}
	circles := rng.IntN(4) == 0
	outcomes := []string{"", "", ":ok", ":fail", ":done", ":skip", ":lost"}
	joins := []string{
		"all", "any", "none-failed", "all-success", "all-failed", "all-done", "all-done-min-one-success", "all-skipped",
		"one-failed", "one-success", "one-done", "none-failed-min-one-success", "none-skipped", "always",
	}
	for i := range edges {
		edges[i] = fmt.Sprintf("#@ name=n%d\n", i)
		var after, on []string
		for p := range n {
			if p >= i && !circles || rng.IntN(3) > 0 {
				continue
			}
			edge := fmt.Sprintf("n%d%s", p, outcomes[rng.IntN(len(outcomes))])
			if rng.IntN(4) == 0 {
				on = append(on, "job:"+edge)
			} else {
				after = append(after, edge)
			}
		}
		if len(on) > 0 {
			edges[i] += "#@ on=" + strings.Join(on, ",") + "\n"
		}
		if len(after) > 0 {
			edges[i] += "#@ after=" + strings.Join(after, ",") + "\n"
			if rng.IntN(2) == 0 {
				edges[i] += "#@ when=" + joins[rng.IntN(len(joins))] + "\n"
			}
			if rng.IntN(2) == 0 {
				edges[i] += fmt.Sprintf("#@ wait=%dm\n", 1+rng.IntN(90))
			}
		}
	}
	return edges
}

// relatives checks the invariants about after= and on= for one step.
func (h *history) relatives(effects []effect.Effect) {
	var want, got map[job.ID]int // children of on=
	begin := func() { want, got = map[job.ID]int{}, map[job.ID]int{} }
	begin()
	for _, eff := range effects {
		switch eff := eff.(type) {
		case effect.Fact:
			r := eff.Record
			if r.Kind == job.Loaded {
				begin() // the names may refer to other jobs now
			}
			h.single(r)
			if r.Kind == job.Decided && (r.Run == nil || r.Run.Trigger == job.TriggerDependency) && len(h.startsOn(r.Job)) > 0 {
				got[r.Job]++
			}
			if r.Run != nil && (r.Kind == job.Ended || r.Kind == job.Dropped) {
				h.ends(*r.Run, want)
			}
		case effect.Start:
			h.join(eff)
		}
	}
	for _, counts := range []map[job.ID]int{want, got} {
		for child := range counts {
			if want[child] != got[child] {
				h.w.t.Errorf("invariant 12: %s was to start %d times, and %d were decided", child, want[child], got[child])
			}
		}
	}
}

// single checks invariant 13, and stores the run.
func (h *history) single(r job.Record) {
	if r.Run == nil || r.Kind == job.Redrove || r.Kind == job.Buried { // these are about runs that are over
		return
	}
	before, known := h.kin.runs[r.Run.ID]
	first := r.Kind == job.Decided || r.Kind == job.Queued && r.Run.Attempt > 1
	switch {
	case known && r.Kind == job.Decided:
		h.w.t.Errorf("invariant 13: run %d was decided twice", r.Run.ID)
	case known && !before.State.Live():
		h.w.t.Errorf("invariant 13: run %d is over, and then %s", r.Run.ID, r.Kind)
	case !known && !first:
		h.w.t.Errorf("invariant 13: run %d begins with %s", r.Run.ID, r.Kind)
	}
	h.kin.runs[r.Run.ID] = *r.Run
	if h.kin.live[r.Job] == nil {
		h.kin.live[r.Job] = map[job.RunID]bool{}
	}
	if h.kin.live[r.Job][r.Run.ID] = true; !r.Run.State.Live() {
		delete(h.kin.live[r.Job], r.Run.ID)
		h.kin.ended[r.Job] = true
	}
	if h.kin.waits[r.Run.ID] = true; r.Run.State != job.RunWaiting || r.Run.Reason != job.WaitsForParents {
		delete(h.kin.waits, r.Run.ID)
	} else if h.parentInFuture(r.Run) {
		h.kin.unclear[r.Run.ID] = true
	}
}

// parentInFuture reports whether the newest ended occurrence of a parent is due in the future,
// because the clock was set back behind it. No event follows when the clock reaches it again.
func (h *history) parentInFuture(r *job.Run) bool {
	slot, ok := h.find(r.Job)
	return ok && slices.ContainsFunc(h.w.engine.jobs.Options(slot).After, func(edge option.Edge) bool {
		id := job.ID(edge.Job)
		parent, ok := h.find(id)
		return ok && h.trials.summaries[job.Owned{Job: id, User: h.w.engine.jobs.Entry(parent).User()}].Due.After(h.w.now.Wall)
	})
}

// goesOn checks the other half of invariant 11, and invariant 29, once the engine sleeps:
// no run waits for something that has ended.
func (h *history) goesOn() {
	if !h.sleeps() {
		return
	}
	for id := range h.kin.ended {
		h.lineMoves(id)
	}
	for id := range h.kin.waits {
		h.parentsLack(h.kin.runs[id])
	}
	clear(h.kin.ended)
}

// lineMoves checks that a queued run has another run of its job to wait for.
func (h *history) lineMoves(id job.ID) {
	waits, goes := map[string]job.RunID{}, map[string]bool{} // by user
	for id := range h.kin.live[id] {
		if r := h.kin.runs[id]; r.State == job.RunQueued && r.Reason == job.WaitsForRun {
			waits[r.User] = r.ID
		} else {
			goes[r.User] = true
		}
	}
	for user, r := range waits {
		if !goes[user] {
			h.w.t.Errorf("invariant 29: run %d of %s waits for another one, and none lives", r, id)
		}
	}
}

// parentsLack checks that a run waits for parents only while their ends do not decide when=.
func (h *history) parentsLack(r job.Run) {
	slot, ok := h.find(r.Job)
	if !ok || h.kin.unclear[r.ID] {
		return
	}
	e := h.w.engine.jobs.Entry(slot)
	o, since := e.Options(), timetable.Previous(e.Schedule, r.Due)
	moved := slices.ContainsFunc(o.After, func(edge option.Edge) bool { return h.kin.ended[job.ID(edge.Job)] })
	if since.IsZero() || !moved || o.Period != nil {
		return
	}
	verdicts, holding, over := make([]job.Verdict, len(o.After)), 0, true
	for i, edge := range o.After {
		parent, ok := h.find(job.ID(edge.Job))
		if !ok {
			return
		}
		verdict, ended := h.parentEnd(parent, since, r.Due)
		if verdicts[i], over = verdict, over && ended; ends(verdict)&edge.Outcomes != 0 {
			holding++
		}
	}
	if over || !isOpen(o.When, verdicts, holding) {
		h.w.t.Errorf("invariant 11: run %d of %s waits for %v, when=%d, which ended %q", r.ID, r.Job, o.After, o.When, verdicts)
	}
}

// parentEnd returns the verdict on a parent for a run that is due, or "" if it is not known.
func (h *history) parentEnd(parent int, since, due time.Time) (verdict job.Verdict, ended bool) {
	id := h.ids[parent]
	l := h.trials.summaries[job.Owned{Job: id, User: h.jobs.Entry(parent).User()}]
	if !l.Verdict.Final() || !l.Due.After(since) || l.Due.After(h.w.now.Wall) {
		return "", false
	}
	for id := range h.kin.live[id] {
		if x := h.kin.runs[id]; x.Backfill == 0 && x.Due.After(since) && !x.Due.After(due) {
			return "", false
		}
	}
	next, known := h.undecided(parent)
	switch waits := !known || h.w.engine.delayOf(parent) > 0 || !next.IsZero() && !next.After(due); {
	case waits && h.countsPause(parent): // a newer occurrence waits for the end of the pause, or might
		return "", false
	case l.Due.After(due): // an older occurrence might have ended otherwise
		return "", true
	}
	return l.Verdict, true
}

// isOpen reports whether when= still depends on the parents with the verdict "".
func isOpen(join option.Join, verdicts []job.Verdict, holding int) bool {
	return !joined(join, verdicts, holding) && slices.ContainsFunc([]job.Verdict{job.VerdictOK, job.VerdictFail, job.VerdictSkip}, func(v job.Verdict) bool {
		all, n := slices.Clone(verdicts), holding
		for i := range all {
			if all[i] == "" {
				all[i] = v
				n++
			}
		}
		return joined(join, all, n)
	})
}

func (h *history) startsOn(child job.ID) []option.Edge {
	slot, ok := h.find(child)
	if !ok || h.w.engine.jobs.Options(slot).Held != "" {
		return nil
	}
	return h.w.engine.jobs.Options(slot).On
}

// ends records which children the end of a run must start.
func (h *history) ends(r job.Run, want map[job.ID]int) {
	if !r.Verdict.Final() || r.Backfill != 0 { // the runs of a backfill start no other job
		return
	}
	if _, ok := h.find(r.Job); !ok {
		return
	}
	for _, id := range h.ids {
		for _, edge := range h.startsOn(id) {
			if job.ID(edge.Job) == r.Job && edge.Outcomes&ends(r.Verdict) != 0 {
				want[id]++
			}
		}
	}
}

// ends returns the outcomes of a verdict, as defined in the manual.
func ends(v job.Verdict) option.Outcomes {
	return map[job.Verdict]option.Outcomes{
		job.VerdictOK:       option.OutcomeOK,
		job.VerdictFail:     option.OutcomeFail,
		job.VerdictDead:     option.OutcomeFail | option.OutcomeDead,
		job.VerdictLost:     option.OutcomeFail | option.OutcomeLost,
		job.VerdictLeft:     option.OutcomeLost,
		job.VerdictUpstream: option.OutcomeFail,
		job.VerdictSkip:     option.OutcomeSkip,
	}[v]
}

// join checks invariants 11 and 14.
func (h *history) join(s effect.Start) {
	w, r := h.w, s.Run
	slot, ok := h.find(r.Job)
	if !ok {
		return
	}
	o := w.engine.jobs.Options(slot)
	if strings.Contains(o.Held, "circle") && r.Trigger != job.TriggerManual {
		w.t.Errorf("invariant 14: run %d of %s started, which is in a circle", r.ID, r.Job)
	}
	parents := r.Parents
	if r.Trigger == job.TriggerDependency {
		h.met12(r, parents)
		parents = parents[min(1, len(parents)):]
	}
	switch {
	case r.Trigger == job.TriggerManual, r.Trigger == job.TriggerRetry, r.Backfill != 0, len(o.After) == 0:
		return
	case r.Reason == job.RanAfterSlot: // they were checked before it waited for a slot
		return
	case len(parents) != len(o.After):
		w.t.Errorf("invariant 11: run %d of %s started with parents %v", r.ID, r.Job, parents)
		return
	}
	var verdicts []job.Verdict
	var holding int
	for i, p := range parents {
		edge := o.After[i]
		h.parent(r, edge, p)
		verdicts = append(verdicts, p.Verdict)
		if ends(p.Verdict)&edge.Outcomes != 0 {
			holding++
		}
	}
	if !joined(o.When, verdicts, holding) {
		w.t.Errorf("invariant 11: run %d of %s started, when=%d, with parents %v", r.ID, r.Job, o.When, parents)
	}
}

func (h *history) met12(r job.Run, parents []job.Parent) {
	if len(parents) == 0 {
		h.w.t.Errorf("invariant 12: run %d of %s has no parent", r.ID, r.Job)
		return
	}
	key := fmt.Sprintf("run %d -> %s", parents[0].Run, r.Job)
	if h.kin.met[key] {
		h.w.t.Errorf("invariant 12: %s twice", key)
	}
	h.kin.met[key] = true
	if got := h.kin.runs[parents[0].Run]; got.State.Live() || got.Verdict != parents[0].Verdict {
		h.w.t.Errorf("invariant 12: %s on %v, which is %s, %s", key, parents[0], got.State, got.Verdict)
	}
}

// parent compares one edge with all runs until now.
func (h *history) parent(r job.Run, edge option.Edge, p job.Parent) {
	t := h.w.t
	if string(p.Job) != edge.Job {
		t.Errorf("invariant 11: run %d waited for %s, not %s", r.ID, p.Job, edge.Job)
	}
	if p.Verdict == "" {
		return
	}
	slot, _ := h.find(r.Job)
	since := timetable.Previous(h.w.engine.jobs.Entry(slot).Schedule, r.Due) // zero for those without a schedule
	was, known := h.kin.runs[p.Run]
	if !known || was.Verdict != p.Verdict || was.State.Live() || !was.Due.After(since) {
		t.Errorf("invariant 11: run %d of %s, due %s, takes %v for its parent since %s, which is %+v", r.ID, r.Job, r.Due, p, since, was)
	}
	switch {
	case r.Trigger == job.TriggerBoot: // all that lives counts, and what ended since the boot
		if was.State == job.RunEnded && was.Due.Before(r.Due) && !was.Ended.After(r.Due) {
			t.Errorf("invariant 11: run %d of %s, at the boot of %s, takes %v for its parent, which ended before: %+v", r.ID, r.Job, r.Due, p, was)
		}
	case since.IsZero():
		since = h.previousDue(r)
	}
	for id := range h.kin.live[p.Job] {
		x := h.kin.runs[id]
		if _, lives := h.w.engine.live[id]; lives && x.Backfill == 0 && x.Due.After(since) && !x.Due.After(r.Due) && x.ID < r.ID { // the clock may have been set back between the two
			t.Errorf("invariant 11: run %d of %s started beside run %d of %s, which lives", r.ID, r.Job, x.ID, p.Job)
		}
	}
}

// previousDue returns when the newest run of the same job before a run came due: an entry
// with on= waits only for what its parents have run since then.
func (h *history) previousDue(r job.Run) (due time.Time) {
	for _, x := range h.kin.runs {
		if x.Job == r.Job && x.Due.Before(r.Due) && x.Due.After(due) {
			due = x.Due
		}
	}
	return due
}

// joined reports whether the ends of parents allow a run to start, as defined in the
// manual.
func joined(join option.Join, verdicts []job.Verdict, holding int) bool {
	var ended, ok, failed, ran, skipped int
	for _, v := range verdicts {
		switch v {
		case "":
			continue
		case job.VerdictOK:
			ok++
			ran++
		case job.VerdictSkip:
			skipped++
		case job.VerdictUpstream:
			failed++
		case job.VerdictFail, job.VerdictDead, job.VerdictLost:
			failed++
			ran++
		}
		ended++
	}
	n := len(verdicts)
	switch join {
	case option.JoinAll:
		return holding == n
	case option.JoinAny:
		return holding > 0
	case option.JoinNoneFailed:
		return ended == n && failed == 0
	case option.JoinAllSuccess:
		return ok == n
	case option.JoinAllFailed:
		return failed == n
	case option.JoinAllDone:
		return ended == n
	case option.JoinAllDoneMinOneSuccess:
		return ended == n && skipped == 0 && ok > 0
	case option.JoinAllSkipped:
		return skipped == n
	case option.JoinOneFailed:
		return failed > 0
	case option.JoinOneSuccess:
		return ok > 0
	case option.JoinOneDone:
		return ran > 0
	case option.JoinNoneFailedMinOneSuccess:
		return ended == n && failed == 0 && ok > 0
	case option.JoinNoneSkipped:
		return ended == n && skipped == 0
	}
	return true
}
