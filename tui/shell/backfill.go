package shell

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/screen"
)

// askFrom is the number of occurrences above which the user types it to confirm a
// backfill.
const askFrom = 10

// planSlot is the slot of a backfill's plan.
const planSlot = "plan"

// backfill runs the selected occurrence, or asks for a range.
func (s *Shell) backfill(about screen.Subject) {
	ref := string(about.Jobs[0])
	if !about.At.IsZero() {
		at := about.At.UTC().Format(time.RFC3339)
		s.confirm(s.front(), change.Guard(s.w, about, screen.Do{
			Class: screen.Effects, Question: fmt.Sprintf("Run %s for its occurrence of %s?", ref, s.w.Clock.Stamp(about.At.In(s.w.OneZone()), s.w.Now)),
			Command: []string{"cronring", "backfill", ref, "--at", at, "--reprocess=all"},
			Call:    change.Backfill(api.BackfillRequest{Ref: ref, From: at, To: at, Reprocess: job.ReprocessAll}),
		}))
		return
	}
	p := &prompt{title: "Backfill " + ref + ":", hint: "FROM..TO, dates or times: 2026-03-01..2026-03-31, 2026-03-01T02:30"}
	p.done = func(s *Shell, text string) {
		from, to, ok := strings.Cut(strings.TrimSpace(text), "..")
		if !ok {
			to = from
		}
		p.waits = "asking the daemon what that would run"
		s.order(nil, screen.Ask{Slot: planSlot, Call: planOf(p, api.BackfillRequest{Ref: ref, From: from, To: to})})
	}
	p.line.Set(s.w.Now.In(s.w.OneZone()).Format(time.DateOnly))
	s.over = p
}

// planOf requests what a backfill would run, before the user confirms it.
func planOf(p *prompt, r api.BackfillRequest) func(context.Context, screen.Daemon) (any, error) {
	return func(ctx context.Context, d screen.Daemon) (any, error) {
		dry := r
		dry.DryRun = true
		b, err := d.Backfill(ctx, dry)
		return plan{p, r, b.Plan}, err
	}
}

// plan lists the runs of a backfill before it begins.
type plan struct {
	asked   *prompt
	request api.BackfillRequest
	answer  *api.BackfillPlan
}

// tookPlan asks the user to confirm, unless the prompt was closed: a late question
// must not catch keys that were meant for something else.
func (s *Shell) tookPlan(a screen.Answer) {
	p, ok := a.Value.(plan)
	if !ok || s.over != p.asked {
		return
	}
	s.over = nil
	if a.Err != nil {
		s.warn(plainError(a.Err))
		return
	}
	runs := p.answer.Count - p.answer.LeftOut
	if runs == 0 {
		s.warn(fmt.Sprintf("backfill: nothing to run: all %d occurrences ran before", p.answer.Count))
		return
	}
	r := p.request
	d := screen.Do{
		Class: screen.Effects, Question: fmt.Sprintf("Run %s for %d past occurrences?", r.Ref, runs),
		Command: []string{"cronring", "backfill", r.Ref, r.From + ".." + r.To},
		Detail:  []string{s.firsts(p.answer.First, runs)}, Call: change.Backfill(r),
	}
	if n := p.answer.LeftOut; n > 0 {
		d.Detail = append(d.Detail, fmt.Sprintf("%d more ran before and are left out; --reprocess= of the command runs them, too", n))
	}
	if runs > askFrom {
		d.Class, d.Count = screen.Removes, runs
	}
	s.confirm(nil, change.Guard(s.w, screen.Subject{Jobs: []job.ID{job.ID(r.Ref)}}, d))
}

// firsts lists the first of many occurrences.
func (s *Shell) firsts(times []time.Time, n int) string {
	const shown = 4
	var words []string
	for _, t := range times[:min(len(times), shown)] {
		t, layout := t.In(s.w.OneZone()), "2 Jan 15:04"
		if t.Year() != s.w.Now.In(s.w.OneZone()).Year() {
			layout = "2 Jan 2006 15:04"
		}
		words = append(words, t.Format(s.w.Clock.Layout(layout)))
	}
	if more := n - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, "   ")
}
