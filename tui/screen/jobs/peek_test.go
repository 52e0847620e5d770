package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func TestPeekTellsTheRetryAndTheReason(t *testing.T) {
	s, w, d := newJobs(t, 80, 24)
	s.table.Select("etl-orders")
	screentest.Settle(t, s, w, d, s.Refresh(w))
	c := canvas.New(80, 22)
	s.Draw(c.View(), w)
	for _, want := range []string{
		"─ etl-orders: exit 1 in 12.4s, last good 17:50:00 ─",
		` err psql: error: connection to server at "pg-2" (10.0.0.7) failed: timeout`,
		" retry 1/3 at 18:05:53 in 3m42s   /etc/cron.d/etl:14 as etl   TZ Europe/Berlin ",
		" run 1685 of etl-orders failed 1m59s ago                          a acknowledge ",
	} {
		if !strings.Contains(c.Text(), want) {
			t.Errorf("want %q in\n%s", want, c.Text())
		}
	}
}

// A run that has just ended did not fail "now ago".
func TestPeekTellsOfARunThatJustEnded(t *testing.T) {
	s, w, d := newJobs(t, 80, 24)
	row := screentest.Rows()[0]
	row.Last, row.Took = screentest.Now.Add(-time.Second), time.Second
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	c := canvas.New(80, 22)
	if screentest.Show(t, s, c.View(), w, d); !strings.Contains(c.Text(), " of etl-orders failed now ") {
		t.Errorf("want \"failed now\" in\n%s", c.Text())
	}
}

// What failing jobs have in common is asked for once a run, and for no more runs
// than are looked at.
func TestSumsAskEachRunOnce(t *testing.T) {
	w := screentest.NewWorld(t)
	rows := make([]api.Row, 80)
	for i := range rows {
		rows[i] = screentest.Rows()[0]
		rows[i].Job, rows[i].LastRun, rows[i].Last = job.ID(strings.Repeat("x", i+1)), job.RunID(i+1), screentest.Now.AddDate(-1, 0, 0)
	}
	w.Board.Apply(api.BoardUpdate{Rows: rows})
	asked := map[string]int{}
	d := &screentest.Daemon{OnOutput: func(run string) []api.Event {
		asked[run]++
		return []api.Event{{Chunk: &job.Chunk{Stream: job.Stderr, Data: []byte("fatal: no route to host")}}}
	}}
	var s sums
	for range 3 {
		for _, e := range s.ask(w, true) {
			value, err := e.(screen.Ask).Call(t.Context(), d)
			s.take(w, screen.Answer{Slot: slotSums, Value: value, Err: err, Done: true})
		}
	}
	if len(asked) != maxSums {
		t.Errorf("asked for %d runs, want %d", len(asked), maxSums)
	}
	for run, n := range asked {
		if n != 1 {
			t.Errorf("run %s: asked %d times, want once", run, n)
		}
	}
	if want := "the first of 83: 50 failing jobs, 2 causes: no route to host"; !strings.HasPrefix(s.text(w, 200), want) {
		t.Errorf("got %q, want %q", s.text(w, 200), want)
	}
	if got := s.ask(w, false); got != nil || s.causes != nil {
		t.Errorf("not shown: got %v and %v, want nothing asked and nothing said", got, s.causes)
	}
}

// While a run of a job with delay= is live, its next one counts from the end of that run.
func TestJobsShowWhatFollowsTheEndOfARun(t *testing.T) {
	s, w, d := newJobs(t, 80, 24)
	row := screentest.Rows()[0]
	row.Schedule, row.State, row.Live, row.Next = "delay=5m window=08:00-18:00", job.StateRunning, 1, time.Time{}
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	c := canvas.New(80, 22)
	screentest.Show(t, s, c.View(), w, d)
	for _, want := range []string{" end+5m ", " next 5m after the run ends "} {
		if !strings.Contains(c.Text(), want) {
			t.Errorf("want %q in\n%s", want, c.Text())
		}
	}
}
