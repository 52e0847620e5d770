package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// layered returns a crontab of jobs in layers; each job waits for all jobs of the layer
// before.
func layered(layers, width int) string {
	var b strings.Builder
	for l := range layers {
		for w := range width {
			fmt.Fprintf(&b, "#@ name=n%d-%d", l, w)
			for i := range width {
				switch {
				case l > 0 && i == 0:
					fmt.Fprintf(&b, " after=n%d-%d", l-1, i)
				case l > 0:
					fmt.Fprintf(&b, ",n%d-%d", l-1, i)
				}
			}
			b.WriteString("\n0 3 * * * x\n")
		}
	}
	return b.String()
}

var dags = []struct{ layers, width int }{{1000, 1}, {100, 10}, {10, 100}}

// TestDAGOfAThousandRunsInOrder has a thousand jobs that are due at the same time and end one
// after the other: each starts in the step in which its last parent ends.
func TestDAGOfAThousandRunsInOrder(t *testing.T) {
	for _, dag := range dags {
		h := newSimHost(t, time.Date(2026, 11, 20, 2, 59, 0, 0, time.UTC), time.UTC)
		h.crontabs = []*crontab.File{h.crontab("dag", layered(dag.layers, dag.width))}
		h.start()
		h.advance(time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC))
		for l := range dag.layers {
			running := runningRuns(h)
			if len(running) != dag.width {
				t.Fatalf("%v: %d runs in layer %d, want %d", dag, len(running), l, dag.width)
			}
			for _, id := range running {
				if !strings.HasPrefix(string(h.running[id].job), fmt.Sprintf("n%d-", l)) {
					t.Fatalf("%v: %s runs in layer %d", dag, h.running[id].job, l)
				}
				h.end(id, job.Outcome{Kind: job.Exited})
				h.step()
			}
			h.settle()
		}
		if len(h.running) > 0 || len(h.engine.live) > 0 {
			t.Errorf("%v: %d runs are left", dag, len(h.engine.live))
		}
	}
}

// TestLongChainFailsWithoutDeepCalls makes the first job of a long chain fail: all
// waiting runs are dropped in one step.
func TestLongChainFailsWithoutDeepCalls(t *testing.T) {
	const n = 20_000
	h := newSimHost(t, time.Date(2026, 11, 20, 2, 59, 0, 0, time.UTC), time.UTC)
	h.crontabs = []*crontab.File{h.crontab("chain", layered(n, 1))}
	h.start()
	h.advance(time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC))
	h.end(1, job.Outcome{Kind: job.Exited, Code: 1})
	dropped := 0
	for _, e := range h.step() {
		if f, ok := e.(effect.Fact); ok && f.Record.Kind == job.Dropped && f.Record.Reason == job.ParentFailed {
			dropped++
		}
	}
	if dropped != n-1 {
		t.Errorf("%d runs were dropped, want %d", dropped, n-1)
	}
}

// BenchmarkDAG measures a night of a thousand jobs: load, due, and all ends.
func BenchmarkDAG(b *testing.B) {
	for _, dag := range dags {
		crontabs := []*crontab.File{newSimHost(b, time.Time{}, time.UTC).crontab("dag", layered(dag.layers, dag.width))}
		b.Run(fmt.Sprintf("load/%dx%d", dag.layers, dag.width), func(b *testing.B) {
			now := job.Moment{Wall: time.Date(2026, 11, 20, 8, 0, 30, 0, time.UTC), Up: time.Hour}
			for b.Loop() {
				New(State{}).Step(now, event.Load{Crontabs: crontabs})
			}
		})
		b.Run(fmt.Sprintf("night/%dx%d", dag.layers, dag.width), func(b *testing.B) {
			for b.Loop() {
				now := job.Moment{Wall: time.Date(2026, 11, 20, 2, 59, 59, 0, time.UTC), Up: time.Hour}
				e := New(State{})
				e.Step(now, event.Load{Crontabs: crontabs})
				now.Wall, now.Up = now.Wall.Add(time.Second), now.Up+time.Second
				var ends []event.Event
				for wake := now.Wall; len(ends) > 0 || !wake.IsZero() && !wake.After(now.Wall); wake = e.Wake() {
					effects := e.Step(now, ends...)
					ends = nil
					for _, eff := range effects {
						if s, ok := eff.(effect.Start); ok {
							ends = append(ends, event.Ended{Run: s.Run.ID, Outcome: job.Outcome{Kind: job.Exited}})
						}
					}
				}
				if len(e.live) > 0 {
					b.Fatalf("%d runs are left", len(e.live))
				}
			}
		})
	}
}

// The wait of 20 runs ends in the step that loads an edit, which checks only some of them.
func TestWaitForParentsEndsDuringALoad(t *testing.T) {
	h := newSimHost(t, noon, time.UTC)
	text := "#@ name=p\n0 11 * * * p\n"
	for i := range 20 {
		text += fmt.Sprintf("#@ name=c%d after=p wait=5m\n1 12 * * * c\n", i)
	}
	e := New(State{})
	dropped := 0
	for _, s := range []struct {
		after time.Duration
		load  string
	}{{0, text}, {time.Minute, ""}, {6 * time.Minute, text + "0 0 * * * z\n"}} {
		now := job.Moment{Wall: noon.Add(s.after), Up: time.Hour + s.after}
		var events []event.Event
		if s.load != "" {
			events = append(events, event.Load{Crontabs: []*crontab.File{h.crontab("a", s.load)}})
		}
		for range 30 {
			for _, x := range e.Step(now, events...) {
				if fact, ok := x.(effect.Fact); ok && fact.Record.Kind == job.Dropped && fact.Record.Reason == job.ParentMissed {
					dropped++
				}
			}
			events = nil
		}
	}
	if dropped != 20 || e.HasWaiting() {
		t.Errorf("%d of 20 runs were dropped at the end of wait=", dropped)
	}
}
