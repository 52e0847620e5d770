package actions

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
)

// Run starts jobs.
func (s *Actor) Run(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.RunRequest](c)
	if err != nil {
		return err
	}
	if err := job.CheckEnv(r.Env); err != nil {
		return call.BadRequest("cannot run with such an environment", err.Error())
	}
	jobs, err := s.targets(ctx, c, "run", r.Refs)
	if err != nil {
		return err
	}
	for _, id := range jobs {
		if i, ok := c.View.Find(id); ok && len(r.Env) > 0 {
			if err := c.Owns("set variables for a run of", id, c.View.Entry(i).User()); err != nil {
				return err
			}
		}
	}
	runs, err := s.begin(ctx, c, r.Wait, func() ([]job.Run, error) {
		return s.each(ctx, c, "run", jobs, func(id job.ID) event.Event {
			return event.RunNow{Job: id, By: c.Peer.String(), Force: r.Force, Env: r.Env}
		})
	})
	if err != nil {
		return err
	}
	return c.Answer(api.Runs{V: api.Version, Runs: runs})
}

// Stop ends runs.
func (s *Actor) Stop(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.StopRequest](c)
	if err != nil {
		return err
	}
	how, err := stopOf(c, r)
	if err != nil {
		return err
	}
	var jobs []string
	stopped := []job.Run{}
	for _, text := range r.Refs {
		ref, err := lookup.ParseRunRef(text)
		if err != nil {
			return err
		}
		if ref.ID == 0 && ref.Job == text {
			jobs = append(jobs, text)
			continue
		}
		runs, err := s.stopOne(ctx, c, text, how)
		if err != nil {
			return err
		}
		stopped = append(stopped, runs...)
	}
	if len(jobs) > 0 || len(r.Refs) == 0 {
		runs, err := s.stopJobs(ctx, c, jobs, how)
		if err != nil {
			return err
		}
		stopped = append(stopped, runs...)
	}
	return c.Answer(api.Runs{V: api.Version, Runs: stopped})
}

// longestStop is the maximum time from the stop of a run to its KILL.
const longestStop = 24 * time.Hour

// stopOf returns how to end runs.
func stopOf(c *call.Call, r api.StopRequest) (how event.Stop, err error) {
	how = event.Stop{By: c.Peer.String(), Grace: r.KillAfter}
	if r.KillAfter < 0 || r.KillAfter > longestStop {
		return how, call.BadRequest("cannot stop with KILL after "+r.KillAfter.String(), "expected more than 0s, at most 24h")
	}
	if r.Signal != "" {
		if how.Signal, err = option.ParseSignal(r.Signal); err != nil {
			return how, call.BadRequest("cannot stop with the signal "+display.Quote(r.Signal), "expected one of "+strings.Join(option.SignalNames(), ", "))
		}
	}
	return how, nil
}

func (s *Actor) stopOne(ctx context.Context, c *call.Call, text string, how event.Stop) ([]job.Run, error) {
	r, err := s.find.OneRun(ctx, c, "stop", text)
	if err != nil {
		return nil, err
	}
	how.Run = r.ID
	a, err := s.ask(ctx, c, how)
	if err != nil {
		return nil, err
	}
	if a.Err != nil {
		return nil, refused("stop", r.ID.String(), a.Err)
	}
	return a.Runs, nil
}

func (s *Actor) stopJobs(ctx context.Context, c *call.Call, refs []string, how event.Stop) ([]job.Run, error) {
	jobs, err := s.targets(ctx, c, "stop", refs)
	if err != nil {
		return nil, err
	}
	return s.each(ctx, c, "stop", jobs, func(id job.ID) event.Event {
		how.Job = id
		return how
	})
}

// Pause pauses jobs.
func (s *Actor) Pause(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.PauseRequest](c)
	if err != nil {
		return err
	}
	if r.Next != 0 && (r.Next < 0 || r.Next > api.MostSkipped || !r.From.IsZero() || !r.Until.IsZero()) {
		return call.BadRequest("invalid next: expected 1 to "+strconv.Itoa(api.MostSkipped)+", without from and until", "")
	}
	if !r.Until.IsZero() && (!r.Until.After(c.Now) || !r.Until.After(r.From)) {
		return call.BadRequest("cannot pause: the pause would end before it begins", "now is "+c.Now.Format("2006-01-02T15:04:05Z07:00"))
	}
	if !r.Until.IsZero() && !timetable.InRange(r.Until) {
		return call.BadRequest("cannot pause: the pause would end after the year "+strconv.Itoa(timetable.LastYear), "leave the end out to pause until it is resumed")
	}
	if !r.From.IsZero() && !timetable.InRange(r.From) {
		return call.BadRequest("cannot pause: the pause would begin after the year "+strconv.Itoa(timetable.LastYear), "leave the beginning out to pause now")
	}
	hold := job.Hold{From: r.From.UTC(), Until: r.Until.UTC(), By: c.Peer.String(), Reason: job.Text(r.Reason), Skips: r.Next > 0}
	verb := "pause"
	if hold.Skips {
		verb = "skip"
	}
	return s.change(ctx, c, verb, r.Refs, func(id job.ID) event.Event {
		h := hold
		if h.Skips {
			h.Until = afterNext(c, id, r.Next)
		}
		return event.Pause{Job: id, Hold: h}
	})
}

// afterNext returns an instant just after the next n occurrences of a job, or after all that
// are planned. It is zero if none is.
func afterNext(c *call.Call, id job.ID, n int) (end time.Time) {
	i, ok := c.View.Find(id)
	for at := c.Now; ok && n > 0; n-- {
		if at = c.View.Next(i, at); at.IsZero() {
			break
		}
		end = at.Add(1)
		if delay := timetable.DelayOf(c.View.Entry(i).Schedule); delay > 0 { // it has one planned, and each other one follows the skip of the one before
			for ; n > 1 && timetable.InRange(at.Add(delay)); n-- {
				at = at.Add(delay)
			}
			return at.Add(delay / 2)
		}
	}
	return end
}

// Resume ends the pauses of jobs.
func (s *Actor) Resume(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.ResumeRequest](c)
	if err != nil {
		return err
	}
	return s.change(ctx, c, "resume", r.Refs, func(id job.ID) event.Event {
		return event.Resume{Job: id, By: c.Peer.String()}
	})
}

func (s *Actor) change(ctx context.Context, c *call.Call, verb string, refs []string, event func(job.ID) event.Event) error {
	jobs, err := s.targets(ctx, c, verb, refs)
	if err != nil {
		return err
	}
	if _, err := s.each(ctx, c, verb, jobs, event); err != nil {
		return err
	}
	return c.Answer(api.Changed{V: api.Version, Jobs: jobs})
}

// targets returns the jobs to act on: at least one.
func (s *Actor) targets(ctx context.Context, c *call.Call, verb string, refs []string) ([]job.ID, error) {
	if len(refs) == 0 {
		return nil, call.BadRequest("cannot "+verb+": no job is named", "a name, a glob, FILE:LINE or a set like @failed is wanted")
	}
	numbers, err := s.find.Resolve(ctx, c, verb, refs)
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		return nil, &api.Error{
			Kind: api.NotFound,
			What: fmt.Sprintf("cannot %s %s: there is no such job now", lookup.Doing(verb), job.CutText(strings.Join(refs, " "))),
			Why:  lookup.LoadedWords(c, c.Visible()) + ", none is in that state",
			Fix:  "cronring list",
		}
	}
	return c.IDs(numbers), nil
}

// each sends an event to the engine for each job. A refusal for one job does not affect the others;
// the first refusal is the error.
func (s *Actor) each(ctx context.Context, c *call.Call, verb string, jobs []job.ID, eventOf func(job.ID) event.Event) ([]job.Run, error) {
	events := make([]event.Event, len(jobs))
	for k, id := range jobs {
		events[k] = eventOf(id)
	}
	var done []string
	var first *api.Error
	runs := []job.Run{}
	answers, err := s.askAll(ctx, c, events)
	for k, a := range answers {
		switch id := jobs[k]; {
		case a.Err == nil:
			done = append(done, string(id))
			runs = append(runs, a.Runs...)
		case first == nil:
			first = refused(verb, string(id), a.Err)
		}
	}
	if err != nil {
		return nil, err
	}
	if first != nil && len(done) > 0 {
		first.Why += "; done for " + job.CutText(strings.Join(done, ", "))
	}
	if first != nil {
		return nil, first
	}
	return runs, nil
}

// askAll sends events to the engine and returns its answers, after an error those before it. Other users
// may compute from the first event to the last answer: if the caller waited for its turn after each, they
// could delay it as often as there are events.
func (s *Actor) askAll(ctx context.Context, c *call.Call, events []event.Event) (answers []effect.Answer, err error) {
	err = c.Await(ctx, func() error {
		for _, ev := range events {
			a, err := s.ask(ctx, c, ev)
			if err != nil {
				return err
			}
			answers = append(answers, a)
		}
		return nil
	})
	return answers, err
}

// refused returns the error for what the engine refused to do to a job or run.
func refused(verb, name string, r *effect.Refusal) *api.Error {
	e := &api.Error{Kind: api.Conflict, What: "cannot " + lookup.Doing(verb) + " " + strconv.Quote(name), Why: display.Clause(r.Reason)}
	switch {
	case r.Kind == effect.NotFound:
		e.Kind, e.Fix = api.NotFound, "cronring list"
	case r.Kind == effect.Draining:
		e.Fix = "wait until the daemon is up again: cronring status"
	case verb == "run" && r.Final:
		e.Fix = "cronring why " + display.Quote(name)
	case verb == "run":
		e.Fix = "cronring run --force " + display.Quote(name)
	case verb == "pause":
		e.Fix = "cronring resume " + display.Quote(name)
	case verb == "skip":
		e.Fix = "cronring show " + display.Quote(name)
	default:
		e.Fix = "cronring list"
	}
	return e
}
