// Package simulated owns a daemon without processes, for the demo and for tests of what the server
// answers: a real engine behind the interfaces of the server. Its caller sets its clock, and reports
// when runs start and end.
package simulated

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/hub"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/prune"
	"github.com/cronring/cronring/gossip/claims"
	"github.com/cronring/cronring/gossip/holders"
)

// World is a real engine behind the server's Backend, except for the ring, and a Store in memory. Its
// clock advances only when its caller sets it. Only one goroutine may do that; servers may read at any time.
type World struct {
	*hub.Hub
	view atomic.Pointer[view.View]

	// Subscribed receives a value for each subscription.
	Subscribed chan struct{}

	// A test sets these before its first request, or while no request is active.
	Machine  api.Health // without the time of its start and the problems
	Refusals []spool.Refusal
	Problems []api.Problem
	Chunks   map[job.RunID][]job.Chunk           // what runs printed
	Broken   error                               // of the store
	Mute     bool                                // the loop answers nothing
	Claim    func(holders.Claim) holders.Claimed // decides claims for ring jobs; nil: they are not answered

	mu          sync.Mutex
	engine      *engine.Engine
	members     *claims.Ring
	now         time.Time
	up          time.Duration
	diagnostics []crontab.Diagnostic
	records     []job.Record
	actions     []job.Action
	runs        []job.Run // of AllRuns, when there were runsOf records
	runsOf      int
	summaries   map[string]job.Summary // by job and account
	tap         func([]job.Record, []job.Summary)
	lives       []store.Life
	states      map[string]kept // by job, user and key
	ends        []event.Ended   // of played runs, to come
	prints      []job.Chunk     // likewise
}

// keptOutput limits the output of live runs that is kept for their followers, in bytes.
const keptOutput = 1 << 20

// New returns a world without jobs, one hour after the boot of its host.
func New(now string) *World {
	w := &World{
		Hub: hub.New(budget.New(keptOutput, keptOutput)), engine: engine.New(engine.State{}), members: claims.New(), now: instant(now), up: time.Hour,
		Machine:   api.Health{V: api.Version, Version: "1.2.3", PID: 77, Host: "db-01", Zone: "UTC"},
		summaries: map[string]job.Summary{}, states: map[string]kept{}, Chunks: map[job.RunID][]job.Chunk{},
		Subscribed: make(chan struct{}, 1000),
	}
	w.lives = []store.Life{{Up: w.now}}
	w.view.Store(w.engine.View())
	return w
}

// instant panics on an invalid time: it is written in the test.
func instant(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at
}

// Load loads the entries of a system crontab.
func (w *World) Load(file string) {
	parsed, diagnostics := crontab.Parse("/etc/cron.d/etl", file, crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
	w.LoadCrontabs(diagnostics, parsed)
}

// LoadCrontabs replaces all crontabs.
func (w *World) LoadCrontabs(diagnostics []crontab.Diagnostic, all ...*crontab.File) {
	w.mu.Lock()
	w.diagnostics = diagnostics
	w.mu.Unlock()
	w.Step(event.Load{Crontabs: all})
}

// Now returns the time of the world's clock.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// To lets the time pass until an instant, with a step each minute.
func (w *World) To(text string) {
	for end := instant(text); w.now.Before(end); {
		w.Pass(min(time.Minute, end.Sub(w.now)))
		w.Step()
	}
}

// Pass lets time pass without a step.
func (w *World) Pass(d time.Duration) { w.Set(w.now.Add(d), d) }

// Set sets the clock while d of the time since boot passes, without a step.
func (w *World) Set(now time.Time, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now, w.up = now, w.up+d
}

// Jump sets the clock: the time since boot advances by only a second.
func (w *World) Jump(text string) {
	w.Set(instant(text), time.Second)
	w.Step()
}

// Down lets the daemon be away until an instant.
func (w *World) Down(text string) {
	back := instant(text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives[len(w.lives)-1].LastSeen = w.now
	w.now, w.up = back, w.up+back.Sub(w.now)
	w.lives = append(w.lives, store.Life{Up: back})
	w.stepLocked()
}

// Step gives events to the engine, and returns its effects.
func (w *World) Step(events ...event.Event) []effect.Effect {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stepLocked(events...)
}

// StepRing is a step with events of the other members of the ring.
func (w *World) StepRing(events ...holders.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.members.Receive(events...)
	w.stepLocked()
}

func (w *World) stepLocked(events ...event.Event) []effect.Effect {
	now := job.Moment{Wall: w.now, Up: w.up}
	effects := w.engine.StepIn(w.members, now, events...)
	w.view.Store(w.engine.View())
	for w.decideLocked() {
		effects = append(effects, w.engine.StepIn(w.members, now)...)
		w.view.Store(w.engine.View())
	}
	var facts []job.Record
	var summaries []job.Summary
	for _, e := range effects {
		switch e := e.(type) {
		case effect.Fact:
			facts = append(facts, e.Record)
			w.records = append(w.records, e.Record)
			w.Publish(api.Event{Record: &e.Record})
		case effect.Summary:
			summaries = append(summaries, e.Summary)
			w.summaries[string(e.Summary.Job)+"/"+e.Summary.User] = e.Summary
		}
	}
	if w.tap != nil {
		w.tap(facts, summaries)
	}
	return effects
}

// decideLocked gives the ring the results of its claims, and reports whether there are any.
func (w *World) decideLocked() bool {
	if w.Claim == nil {
		return false
	}
	var results []holders.Event
	for _, x := range w.members.Effects() {
		if c, ok := x.(holders.Claim); ok {
			results = append(results, w.Claim(c))
		}
	}
	w.members.Receive(results...)
	return len(results) > 0
}

// Start and End send the reports of a spawner about a run.
func (w *World) Start(id job.RunID) { w.Step(event.Started{Run: id, PID: 4000 + int(id)}) }

// End reports that a run exited with a code.
func (w *World) End(id job.RunID, code int) {
	w.Step(event.Ended{Run: id, Outcome: job.Outcome{Kind: job.Exited, Code: code}})
}

// Facts returns all facts so far, oldest first. The caller must not change them.
func (w *World) Facts() []job.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.records)
}

// AddFacts adds facts that the engine did not decide.
func (w *World) AddFacts(facts ...job.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, facts...)
}

// Summary returns the newest summary of a job and an account.
func (w *World) Summary(id job.ID, user string) job.Summary {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.summaries[string(id)+"/"+user]
}

// ---- Backend

// View returns the engine's newest view.
func (w *World) View() *view.View { return w.view.Load() }

// Ask gives an event to the engine and returns its answer.
func (w *World) Ask(ctx context.Context, e event.Event) (effect.Answer, error) {
	if w.Mute {
		<-ctx.Done()
		return effect.Answer{}, ctx.Err()
	}
	if q, ok := e.(event.Question); ok {
		e = event.Asked{Question: q, Token: 1}
	}
	for _, x := range w.Step(e) {
		if a, ok := x.(effect.Answer); ok {
			return a, nil
		}
	}
	return effect.Answer{}, errors.New("the engine gave no answer")
}

// FileFault returns "": no files are watched.
func (w *World) FileFault(job.Owned) string { return "" }

// Configuration returns a configuration of one setting.
func (w *World) Configuration() api.Config {
	return api.Config{Directory: "/etc/cronring", Settings: []api.Setting{{Key: "max-running", Value: "none", Origin: "built-in"}}}
}

// Reload reads nothing.
func (w *World) Reload(context.Context) ([]crontab.Diagnostic, error) { return w.Diagnostics(), nil }

// Diagnostics returns those of the newest load.
func (w *World) Diagnostics() []crontab.Diagnostic {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.diagnostics
}

// AddDiagnostic adds one to those of the newest load.
func (w *World) AddDiagnostic(d crontab.Diagnostic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.diagnostics = append(w.diagnostics, d)
}

// Refused returns Refusals.
func (w *World) Refused() []spool.Refusal { return w.Refusals }

// Health returns the state of the Machine.
func (w *World) Health() api.Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.Machine
	h.Started, h.Problems = w.lives[0].Up, w.Problems
	return h
}

// Waiting returns constants.
func (w *World) Waiting() (letters, notices int) { return 3, 2 }

// Subscribe returns a channel of events until ctx ends.
func (w *World) Subscribe(ctx context.Context) <-chan api.Event {
	events := w.Hub.Subscribe(ctx)
	w.Subscribed <- struct{}{}
	return events
}

// Tap sets the function that receives the facts and summaries of each step.
func (w *World) Tap(f func([]job.Record, []job.Summary)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tap = f
}

// TapFacts gives facts to the tap alone.
func (w *World) TapFacts(facts ...job.Record) { w.tap(facts, nil) }

// Follow returns what a live run has printed, and the events from now on.
func (w *World) Follow(ctx context.Context, id job.RunID) ([]job.Chunk, <-chan api.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.Subscribe(ctx)
	if _, live := w.View().Run(id); !live {
		return nil, events
	}
	return slices.Clip(w.Chunks[id]), events
}

// Plan returns the environment that the crontab sets.
func (w *World) Plan(_ context.Context, start effect.Start) (api.Environment, error) {
	return api.Environment{User: start.Job.User, Env: start.Job.Env}, nil
}

// Prune removes nothing.
func (w *World) Prune(context.Context) (prune.Pruned, error) { return prune.Pruned{Runs: 3}, nil }

// TryChannel has one channel that works and one that is broken.
func (w *World) TryChannel(_ context.Context, name string) error {
	switch name {
	case "ops":
		return nil
	case "broken":
		return errors.New("https://example.org answered 500")
	}
	return &api.Error{Kind: api.NotFound, What: "there is no channel"}
}
