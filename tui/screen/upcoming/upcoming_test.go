package upcoming

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell/shelltest"
)

func open(t *testing.T, w *screen.World, d screen.Daemon) *Upcoming {
	t.Helper()
	s := New()
	screentest.Settle(t, s, w, d, s.Open(w))
	return s
}

func TestUpcomingScreens(t *testing.T) {
	screentest.CheckLayouts(t, "next-hour", func(v canvas.View, w *screen.World) {
		shelltest.Draw(open(t, w, screentest.NewDaemon()), v, w)
	})
	screentest.Check(t, "next-hour-filter", func(v canvas.View, w *screen.World) {
		s := open(t, w, screentest.NewDaemon())
		for _, k := range []string{"e", "t", "l"} {
			s.Act(w, keys.Filter)
			s.Type(w, screen.Key{Name: k, Text: k})
		}
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "next-hour-hostile", func(v canvas.View, w *screen.World) {
		rows := screentest.HostileRows(w)
		w.Board.Apply(api.BoardUpdate{Rows: rows})
		shelltest.Draw(open(t, w, &screentest.Daemon{OnComing: func(api.ComingQuery) (c api.Coming, err error) {
			for _, r := range rows {
				c.Runs = append(c.Runs, api.ComingRun{At: screentest.Now.Add(time.Minute), Job: r.Job, Node: r.User})
			}
			return c, nil
		}}), v, w)
	})
	screentest.Check(t, "next-hour-none", func(v canvas.View, w *screen.World) {
		shelltest.Draw(open(t, w, screentest.Serve(t, screentest.NewHost("2026-11-20T17:00:00Z"))), v, w)
	})
	screentest.Check(t, "next-hour-error", func(v canvas.View, w *screen.World) {
		shelltest.Draw(open(t, w, screentest.Ended()), v, w)
	})
}

// threeRuns are two runs that start together, and one of the first job later.
func threeRuns() *screentest.Daemon {
	at := screentest.Now.Add(10 * time.Minute)
	return &screentest.Daemon{OnComing: func(q api.ComingQuery) (api.Coming, error) {
		if !q.Until.Equal(screentest.Now.Add(time.Hour)) {
			return api.Coming{}, fmt.Errorf("asked for runs until %s", q.Until)
		}
		return api.Coming{Runs: []api.ComingRun{{At: at, Job: "etl-orders"}, {At: at, Job: "sitemap"}, {At: at.Add(time.Minute), Job: "etl-orders"}}}, nil
	}}
}

func TestUpcomingCountsClashes(t *testing.T) {
	w, d := screentest.NewWorld(t), threeRuns()
	s := open(t, w, d)
	if got, want := s.Heading(w), "Next hour: 3 runs of 2 jobs, 1 minute with clashes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if a, b := s.rows.Row(1).together, s.rows.Row(2).together; a != 2 || b != 1 {
		t.Errorf("%d and %d start together, want 2 and 1", a, b)
	}
}

func TestUpcomingIsAboutARun(t *testing.T) {
	w, d := screentest.NewWorld(t), threeRuns()
	s := open(t, w, d)
	screentest.Act(t, s, w, d, keys.Last)
	at := screentest.Now.Add(11 * time.Minute)
	if got := s.Subject(w); !slices.Equal(got.Jobs, []job.ID{"etl-orders"}) || !got.At.Equal(at) {
		t.Errorf("got %+v, want etl-orders at %s", got, at)
	}
	screentest.Act(t, s, w, d, keys.MarkAll)
	if got := s.Subject(w); !slices.Equal(got.Jobs, []job.ID{"etl-orders", "sitemap"}) || !got.Marked {
		t.Errorf("all are marked: got %+v, want each job once", got)
	}
}

// Marked runs stay marked after their time has passed, also when the list is requested again.
func TestUpcomingKeepsMarkedRuns(t *testing.T) {
	w, d := screentest.NewWorld(t), threeRuns()
	s := open(t, w, d)
	screentest.Act(t, s, w, d, keys.Down, keys.Mark)
	w.Now = w.Now.Add(10 * time.Minute)
	s.Refresh(w)
	for _, what := range []string{"after its time", "after an answer"} {
		if got := s.Subject(w); !got.Marked || !slices.Equal(got.Jobs, []job.ID{"sitemap"}) || s.rows.Len() != 2 {
			t.Errorf("%s: got %+v in %d rows, want the marked job in 2", what, got, s.rows.Len())
		}
		s.Take(w, screen.Answer{Slot: slotComing, Value: api.Coming{Runs: []api.ComingRun{{At: w.Now.Add(time.Minute), Job: "etl-orders"}}}})
	}
	screentest.Act(t, s, w, d, keys.Back)
	if s.Refresh(w); s.rows.Len() != 1 {
		t.Errorf("without marks: %d rows, want the one to come", s.rows.Len())
	}
}

func TestUpcomingDropsWhatHasPassed(t *testing.T) {
	w, d := screentest.NewWorld(t), threeRuns()
	s := open(t, w, d)
	w.Now = w.Now.Add(10 * time.Minute)
	if effects := s.Refresh(w); len(effects) != 0 || s.rows.Len() != 1 {
		t.Errorf("%d runs are left, and %d requests are sent, want 1 and none: the board is as it was", s.rows.Len(), len(effects))
	}
	w.Board.Apply(api.BoardUpdate{})
	if effects := s.Refresh(w); len(effects) != 1 {
		t.Errorf("the board has changed: %d requests, want 1", len(effects))
	}
}
