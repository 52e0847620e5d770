package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// flooding returns an engine with ann's crontab, and a plain job of root's.
func flooding(anns string) *Engine {
	e := New(State{NextRun: 1, Holds: job.Holds{}})
	root, _ := crontab.Parse("root", "* * * * * root\n", crontab.Config{Owner: "root", Privileged: true, Local: time.UTC, Zone: time.LoadLocation})
	e.Step(job.Moment{Wall: noon.Add(-time.Second), Up: time.Hour}, event.Load{Crontabs: []*crontab.File{root, crontabOf("ann", anns)}})
	return e
}

// settled simulates some seconds. All runs end immediately with outcome, and the results
// are events of the next step.
func settled(t *testing.T, e *Engine, seconds int, outcome job.Outcome) (starts map[string]int) {
	t.Helper()
	starts = map[string]int{}
	now := job.Moment{Wall: noon, Up: time.Hour + time.Second}
	for range seconds {
		var events []event.Event
		for range 500 { // steps of one instant
			var next []event.Event
			for _, x := range e.Step(now, events...) {
				if s, ok := x.(effect.Start); ok {
					starts[s.Job.User]++
					next = append(next, event.Ended{Run: s.Run.ID, Outcome: outcome})
				}
			}
			if events = next; len(events) == 0 && e.Wake().After(now.Wall) {
				break
			}
		}
		now.Wall, now.Up = now.Wall.Add(time.Second), now.Up+time.Second
	}
	return starts
}

// A user cannot make the daemon store an unlimited number of waiting runs of any kind.
func TestRunsThatWaitAreBounded(t *testing.T) {
	for name, anns := range map[string]string{
		"for a retry":    "#@ default every=1s retry=5 backoff=100d\n" + strings.Repeat("* * * * * fail\n", 250),
		"for parents":    "#@ name=never trigger=manual\n0 0 1 1 * x\n#@ default every=1s after=never wait=100d\n" + strings.Repeat("* * * * * child\n", 250),
		"for each other": "#@ default every=1s overlap=queue-all retry=5 backoff=100d\n" + strings.Repeat("* * * * * fail\n", 250),
	} {
		t.Run(name, func(t *testing.T) {
			e := flooding(anns)
			starts := settled(t, e, 61, job.Outcome{Kind: job.Exited, Code: 1})
			if got := len(e.live); got > live.MostUnstarted+500 {
				t.Errorf("%d runs are live after a minute, want %d or a little more", got, live.MostUnstarted)
			}
			if starts["root"] != 2 {
				t.Errorf("root's job started %d times at two minutes", starts["root"])
			}
		})
	}
}

// If two jobs both start after each of two other jobs, each end starts two runs, and the number of
// runs grows at each stage, although there is no cycle.
func TestRunsStartedByOthersAreBounded(t *testing.T) {
	var anns strings.Builder
	anns.WriteString("#@ name=a0\n0 12 * * * x\n#@ name=b0\n0 12 * * * x\n")
	for stage := 1; stage <= 14; stage++ {
		for _, letter := range "ab" {
			fmt.Fprintf(&anns, "#@ name=%c%d on=job:a%d:done,job:b%d:done\n0 0 31 2 * x\n", letter, stage, stage-1, stage-1)
		}
	}
	e := flooding(anns.String())
	settled(t, e, 1, job.Outcome{Kind: job.Exited})
	if got := len(e.live); got > live.MostUnstarted+500 {
		t.Errorf("%d runs are live, want %d or a little more", got, live.MostUnstarted)
	}
}

// A run stores the outcome of each parent.
func TestParentsOfRunsThatWaitAreBounded(t *testing.T) {
	var anns strings.Builder
	var names []string
	for i := range 500 {
		fmt.Fprintf(&anns, "#@ name=p%d trigger=manual\n0 0 1 1 * x\n", i)
		names = append(names, fmt.Sprint("p", i))
	}
	anns.WriteString("#@ default every=1s wait=100d after=" + strings.Join(names, ",") + "\n" + strings.Repeat("* * * * * child\n", 10))
	e := flooding(anns.String())
	settled(t, e, 61, job.Outcome{})
	known := 0
	for _, r := range e.live {
		known += len(r.Parents)
	}
	if least, most := 10*500, live.MostUnstarted+20*500; known < least || known > most {
		t.Errorf("runs that wait know of %d parents, want %d to %d", known, least, most)
	}
}

// Any number of a user's jobs may fail at one instant: the holds of the host are not
// copied for each of them, but once between two views.
func TestManyPausesCopyHoldsOnce(t *testing.T) {
	e := flooding("#@ default on-exhausted=pause\n" + strings.Repeat("* * * * * fail\n", 50))
	before := e.View()
	now := job.Moment{Wall: noon, Up: time.Hour + time.Second}
	var ends []event.Event
	for _, x := range e.Step(now) {
		if s, ok := x.(effect.Start); ok && s.Job.User == "ann" {
			ends = append(ends, event.Ended{Run: s.Run.ID, Outcome: job.Outcome{Kind: job.Exited, Code: 1}})
		}
	}
	e.Step(now, ends[0])
	holds := e.holds
	e.Step(now, ends[1:]...)
	if len(e.holds) != len(ends) || len(holds) != len(ends) || len(before.Marked()) != 0 {
		t.Errorf("%d jobs are held, %d in the map of the first, %d in the view before; want %d, the same and none", len(e.holds), len(holds), len(before.Marked()), len(ends))
	}
	seen := e.View()
	e.setHold("another", "ann", &job.Hold{User: "ann"})
	if len(seen.Marked()) != len(ends) {
		t.Error("a view changed")
	}
}
