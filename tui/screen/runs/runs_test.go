package runs

import (
	"fmt"
	"slices"
	"strings"
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

// pastRuns are runs of every outcome, newest first.
func pastRuns() []job.Run {
	ago := func(d time.Duration) time.Time { return screentest.Now.Add(-d) }
	run := func(id job.RunID, name job.ID, began, took time.Duration, trigger job.Trigger, o job.Outcome) job.Run {
		r := job.Run{ID: id, Job: name, Due: ago(began), Decided: ago(began), Started: ago(began), Trigger: trigger, State: job.RunEnded, User: "root", Outcome: o, Reason: job.OnTime}
		r.Ended = r.Started.Add(took)
		r.Usage = job.Usage{CPU: took / 3, Memory: int64(took/time.Millisecond) << 14}
		return r
	}
	ok, exit1 := job.Outcome{Kind: job.Exited}, job.Outcome{Kind: job.Exited, Code: 1}
	runs := []job.Run{
		run(4217, "cache-warm", 11*time.Second, 0, job.TriggerClock, job.Outcome{}),
		run(4216, "mail-flush", 11*time.Second, 200*time.Millisecond, job.TriggerClock, ok),
		run(4215, "pg-backup", 70*time.Second, 0, job.TriggerManual, job.Outcome{}),
		run(4213, "etl-orders", 131*time.Second, 12400*time.Millisecond, job.TriggerRetry, exit1),
		run(4212, "geoip-update", 62*time.Minute, 30*time.Second, job.TriggerClock, job.Outcome{Kind: job.TimedOut, Signal: 15}),
		run(4211, "tmp-clean", 63*time.Minute, 0, job.TriggerClock, job.Outcome{Kind: job.NotStarted, Error: "no such user: billing"}),
		run(4210, "etl-orders", 24*time.Hour, 9*time.Second, job.TriggerBackfill, ok),
		run(4209, "zfs-scrub", 7*24*time.Hour, 13*time.Hour, job.TriggerCatchup, job.Outcome{Kind: job.Signalled, Signal: 9}),
	}
	runs[0].State, runs[0].Ended, runs[0].Usage = job.RunRunning, time.Time{}, job.Usage{}
	runs[2].State, runs[2].Started, runs[2].Ended, runs[2].By = job.RunQueued, time.Time{}, time.Time{}, "ann"
	runs[5].Started = time.Time{}
	return runs
}

// runsDaemon answers as a daemon with these runs does.
func runsDaemon(runs *[]job.Run) *screentest.Daemon {
	return &screentest.Daemon{
		OnHistory: func(f api.Filter) (api.Runs, error) {
			if f.Skipped {
				return api.Runs{Skipped: []job.Record{
					{Kind: job.Decided, Job: "etl-nightly", Due: screentest.Now.Add(-15 * time.Hour), Decision: job.DecideSkip, Reason: job.Overlapping, Detail: "run 4187 had been running for 30m0s"},
					{Kind: job.Decided, Job: "metrics-push", Due: screentest.Now.Add(-20 * time.Hour), Count: 31, Decision: job.DecideSkip, Reason: job.Late},
				}}, nil
			}
			var got api.Runs
			for _, r := range *runs {
				if f.Failed && !r.Failed() || f.Live && !r.State.Live() || f.Before != 0 && r.ID >= f.Before || r.Decided.Before(f.Since) {
					continue
				}
				if len(f.Refs) > 0 && f.Refs[0] != string(r.Job) {
					continue
				}
				if len(got.Runs) < f.Limit {
					got.Runs = append(got.Runs, r)
				}
			}
			return got, nil
		},
		OnOneRun: func(ref string) (job.Run, error) {
			for _, r := range *runs {
				if r.ID.String() == ref {
					return r, nil
				}
			}
			return job.Run{}, &api.Error{Kind: api.NotFound}
		},
	}
}

func openRuns(t *testing.T, w *screen.World, d screen.Daemon) *Runs {
	t.Helper()
	s := New()
	screentest.Settle(t, s, w, d, s.Open(w))
	return s
}

func TestRunsScreens(t *testing.T) {
	d := screentest.NewDaemon()
	screentest.CheckLayouts(t, "runs", func(v canvas.View, w *screen.World) { shelltest.Draw(openRuns(t, w, d), v, w) })
	screentest.Check(t, "runs-absolute", func(v canvas.View, w *screen.World) {
		w.Absolute = true
		s := openRuns(t, w, d)
		screentest.Act(t, s, w, d, keys.Down, keys.Mark, keys.Mark)
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "runs-missed", func(v canvas.View, w *screen.World) {
		s := openRuns(t, w, d)
		screentest.Act(t, s, w, d, keys.States, keys.States, keys.States)
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "runs-filter", func(v canvas.View, w *screen.World) {
		s := openRuns(t, w, d)
		screentest.Act(t, s, w, d, keys.Filter)
		for _, r := range "etl" {
			s.Type(w, screen.Key{Name: string(r), Text: string(r)})
		}
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "runs-none", func(v canvas.View, w *screen.World) {
		shelltest.Draw(openRuns(t, w, screentest.Serve(t, screentest.NewHost("2026-11-20T17:00:00Z"))), v, w)
	})
	screentest.Check(t, "runs-offline", func(v canvas.View, w *screen.World) {
		s := openRuns(t, w, d)
		screentest.GoOffline(w)
		if effects := s.Refresh(w); len(effects) != 0 {
			t.Errorf("offline it asks %v", effects)
		}
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "runs-error", func(v canvas.View, w *screen.World) {
		shelltest.Draw(openRuns(t, w, screentest.Ended()), v, w)
	})
	screentest.Check(t, "runs-hostile", func(v canvas.View, w *screen.World) {
		real, err := d.History(t.Context(), api.Filter{Limit: 20})
		if err != nil {
			t.Fatal(err)
		}
		hostile := real.Runs
		hostile[1].Job = job.ID("\x1b[2J\u202egnp" + strings.Repeat("x", 300))
		hostile[5].Outcome = job.Outcome{Kind: job.NotStarted}
		hostile[5].Outcome.Error = "\x1b]0;t\x07" + strings.Repeat("y", 300)
		hostile[2].By = "ann\x1b[31m"
		if w.Glyphs.Tier == canvas.Full {
			hostile[3].Job = job.ID(strings.Repeat("日本", 80))
		}
		shelltest.Draw(openRuns(t, w, runsDaemon(&hostile)), v, w)
	})
}

// shownRuns are the runs that the list shows.
func shownRuns(s *Runs) []job.RunID {
	var ids []job.RunID
	for i := range s.rows.Len() {
		k := s.rows.At(i)
		ids = append(ids, k.run)
	}
	return ids
}

func TestRunsPresets(t *testing.T) {
	runs := pastRuns()
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := openRuns(t, w, d)
	for i, want := range [][]job.RunID{
		{4215, 4217, 4216, 4213, 4212, 4211, 4210, 4209},
		{4213, 4212, 4211, 4209},
		{4215, 4217},
		{0, 0},
		{4215, 4217, 4216, 4213, 4212, 4211},
	} {
		if got := shownRuns(s); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", presetNames[i], got, want)
		}
		screentest.Act(t, s, w, d, keys.States)
	}
	if s.preset != allRuns {
		t.Errorf("after the last preset comes %d, want all", s.preset)
	}
}

func TestRunsAreSortedByStart(t *testing.T) {
	at := func(minute int) time.Time { return screentest.Now.Add(time.Duration(minute) * time.Minute) }
	rows := merged([]runRow{{run: job.Run{ID: 3, State: job.RunEnded, Decided: at(3), Started: at(3)}}}, api.Runs{
		Runs: []job.Run{
			{ID: 1, State: job.RunEnded, Decided: at(1), Started: at(5)}, // waited
			{ID: 2, State: job.RunWaiting, Decided: at(2)},
			{ID: 4, State: job.RunDropped, Decided: at(4)},
		},
		Skipped: []job.Record{{Job: "a", Due: at(2)}},
	})
	var got []job.RunID
	for i := range rows {
		got = append(got, rows[i].run.ID)
	}
	if want := []job.RunID{2, 1, 4, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: the waiting one, then by start, and the skipped one last", got, want)
	}
}

func TestRunsComeInAboveTheCursor(t *testing.T) {
	runs := pastRuns()
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := openRuns(t, w, d)
	screentest.Act(t, s, w, d, keys.Down, keys.Down, keys.Down)
	at := s.Current().run.ID
	runs[0].State, runs[0].Outcome = job.RunEnded, job.Outcome{Kind: job.Exited}
	runs = append([]job.Run{{ID: 4300, Job: "new", State: job.RunRunning, Decided: screentest.Now, Started: screentest.Now}}, runs...)
	if effects := s.Refresh(w); len(effects) != 0 {
		t.Errorf("nothing changed, and it asks %v", effects)
	}
	w.Board.Apply(api.BoardUpdate{})
	if effects := s.Refresh(w); len(effects) != 0 {
		t.Errorf("it asked this second, and asks again")
	}
	w.Now = w.Now.Add(time.Second)
	screentest.Settle(t, s, w, d, s.Refresh(w))
	if got := shownRuns(s)[:2]; !slices.Equal(got, []job.RunID{4215, 4300}) {
		t.Errorf("the first runs are %d, want 4215, which is queued, and 4300", got)
	}
	if got := s.Current().run.ID; got != at || s.Index() != 4 {
		t.Errorf("the cursor is on run %d at %d, want %d at 4", got, s.Index(), at)
	}
	if r := s.rows.Row(s.rows.Place(runKey{run: 4217})); r.run.State.Live() {
		t.Error("run 4217 has ended, and still runs on the list")
	}
}

// shortRuns returns n short runs, newest first.
func shortRuns(n int) []job.Run {
	runs := make([]job.Run, n)
	for i := range runs {
		runs[i] = job.Run{ID: job.RunID(n - i), Job: job.ID(fmt.Sprintf("job-%d", i%7)), State: job.RunEnded, Outcome: job.Outcome{Kind: job.Exited}, Decided: screentest.Now, Started: screentest.Now, Ended: screentest.Now}
	}
	return runs
}

func TestRunsReadsOlderPagesOnDemand(t *testing.T) {
	runs := shortRuns(5000)
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := openRuns(t, w, d)
	if got := s.rows.Len(); got != runPage {
		t.Fatalf("%d runs are read at first, want %d", got, runPage)
	}
	screentest.Act(t, s, w, d, keys.Last)
	if got := s.rows.Len(); got != runPage+olderPage {
		t.Errorf("%d runs are read at the end of the first page, want %d", got, runPage+olderPage)
	}
	for range 10 {
		screentest.Act(t, s, w, d, keys.Last)
	}
	if got := s.rows.Len(); got != len(runs) || s.older {
		t.Errorf("%d runs are read at the end, and older ones are thought of: %v; want %d, false", got, s.older, len(runs))
	}
}

func TestRunsFilterReadsOn(t *testing.T) {
	runs := shortRuns(3000)
	runs[2990].Job = "needle"
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := openRuns(t, w, d)
	screentest.Act(t, s, w, d, keys.Filter)
	for _, r := range "needle" {
		effects, _ := s.Type(w, screen.Key{Name: string(r), Text: string(r)})
		screentest.Settle(t, s, w, d, effects)
	}
	if got := shownRuns(s); !slices.Equal(got, []job.RunID{10}) {
		t.Errorf("the filter shows %v, want run 10", got)
	}
	s.Type(w, screen.Key{Name: "enter"})
	for _, want := range []bool{true, false} { // the filter goes first, and then the screen
		if _, ok := s.Act(w, keys.Back); ok != want {
			t.Errorf("back means something: %v, want %v", ok, want)
		}
	}
}

// If more runs ended than the pages of one request hold, the list is loaded again instead of
// having a gap.
func TestRunsAfterALongWhileHaveNoHole(t *testing.T) {
	runs := shortRuns(100)
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := openRuns(t, w, d)
	runs = shortRuns(100 + runPage*mostPages*2)
	w.Board.Apply(api.BoardUpdate{})
	w.Now = w.Now.Add(time.Second)
	screentest.Settle(t, s, w, d, s.Refresh(w))
	rows := s.rows.All()
	for i := range len(rows) - 1 {
		if rows[i].run.ID != rows[i+1].run.ID+1 {
			t.Fatalf("after run %d comes %d", rows[i].run.ID, rows[i+1].run.ID)
		}
	}
	if !s.older {
		t.Error("older runs are there, and the list does not know")
	}
}

func TestRunsOpen(t *testing.T) {
	runs := pastRuns()
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := openRuns(t, w, d)
	for _, want := range []keys.Action{keys.Explain, keys.ShowOutput, keys.ShowOutput, keys.ShowOutput} {
		effects, _ := s.Act(w, keys.Open)
		if got := effects[0].(screen.Show).Action; got != want {
			t.Errorf("run %d opens %s, want %s", s.Current().run.ID, got, want)
		}
		screentest.Act(t, s, w, d, keys.Down)
	}
	screentest.Act(t, s, w, d, keys.States, keys.States, keys.States)
	if s.Refuses(w, keys.ShowOutput) == "" {
		t.Error("what was missed has no output, and o is not refused")
	}
	if about := s.Subject(w); about.Jobs[0] != "etl-nightly" || about.At.IsZero() || about.Run != 0 {
		t.Errorf("the subject is %+v, want the missed occurrence of etl-nightly", about)
	}
}

// A run that waits for its time shows when that is, also if the text is longer than usual.
func TestRunsShowWhenTheyWillStart(t *testing.T) {
	runs := pastRuns()
	runs[2].State, runs[2].NotBefore = job.RunWaiting, screentest.Now.Add(10*time.Minute+52*time.Second)
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	for _, s := range []*Runs{New(), Of("pg-backup")} {
		screentest.Settle(t, s, w, d, s.Open(w))
		for _, want := range []string{"in 10m52s ", "18:13:03 "} {
			c := canvas.New(40, 15)
			s.Draw(c.View(), w)
			if !strings.Contains(c.Text(), want) {
				t.Errorf("want %q in\n%s", want, c.Text())
			}
			w.Absolute = !w.Absolute
		}
	}
}

// A run whose occurrence also ran on another member of the ring is shown with that member.
func TestRunsShowDoubles(t *testing.T) {
	runs := pastRuns()
	runs[1].Doubled = "ran on elm.example.org too, as run 9"
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := openRuns(t, w, d)
	var shown []job.RunID
	for range runs {
		c := canvas.New(80, 24)
		s.Draw(c.View(), w)
		if strings.Contains(c.Text(), ", "+runs[1].Doubled) {
			shown = append(shown, s.Current().run.ID)
		}
		screentest.Act(t, s, w, d, keys.Down)
	}
	if !slices.Equal(shown, []job.RunID{runs[1].ID}) {
		t.Errorf("the other member is shown for %v, want for %s alone", shown, runs[1].ID)
	}
}

func TestRunsOfOneJob(t *testing.T) {
	runs := pastRuns()
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := Of("etl-orders")
	screentest.Settle(t, s, w, d, s.Open(w))
	if got := shownRuns(s); !slices.Equal(got, []job.RunID{4213, 4210}) {
		t.Errorf("got runs %v of etl-orders, want 4213 and 4210", got)
	}
	screentest.Act(t, s, w, d, keys.MarkAll)
	if about := s.Subject(w); !about.Marked || !slices.Equal(about.Jobs, []job.ID{"etl-orders"}) || about.Run != 0 || !slices.Equal(about.Runs, []job.RunID{4213, 4210}) {
		t.Errorf("with two marked runs the subject is %+v, want the runs and their one job", about)
	}
	if effects, _ := s.Act(w, keys.DiffRuns); s.Refuses(w, keys.DiffRuns) != "" || effects[0].(screen.Show).Subject.Run != 4213 || effects[0].(screen.Show).Subject.Against != 4210 {
		t.Errorf("compare two marked runs: got %+v, want 4213 against 4210", effects)
	}
	screentest.Act(t, s, w, d, keys.Mark)
	if s.Refuses(w, keys.DiffRuns) == "" {
		t.Error("compare one marked run: it is not refused")
	}
	if about := s.Subject(w); about.Run != 4210 || !slices.Equal(about.Runs, []job.RunID{4210}) {
		t.Errorf("with one marked run the subject is %+v, want run 4210", about)
	}
}

// A run that begins meanwhile does not enlarge a range that begins at the newest run.
func TestRunsKeepARange(t *testing.T) {
	runs := pastRuns()
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := Of("etl-orders")
	screentest.Settle(t, s, w, d, s.Open(w))
	screentest.Act(t, s, w, d, keys.Range)
	begun := runs[3]
	begun.ID, begun.Started, begun.State = 4218, screentest.Now, job.RunRunning
	runs = append([]job.Run{begun}, runs...)
	screentest.Settle(t, s, w, d, s.Open(w))
	if got := s.Subject(w).Runs; s.rows.Len() != 3 || !slices.Equal(got, []job.RunID{4213}) {
		t.Errorf("got runs %v in a range of run 4213", got)
	}
}

// Only a run that has not ended can be stopped. Marks come before the cursor.
func TestRunsRefuseToStopWhatHasEnded(t *testing.T) {
	runs := pastRuns()
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := openRuns(t, w, d)
	for _, want := range []string{"", "", "it is not running"} { // queued, running, ended
		if got := s.Refuses(w, keys.Stop); got != want {
			t.Errorf("stop run %d: got %q, want %q", s.Current().run.ID, got, want)
		}
		screentest.Act(t, s, w, d, keys.Down)
	}
	screentest.Act(t, s, w, d, keys.First, keys.Mark, keys.Mark)
	if got := s.Refuses(w, keys.Stop); got != "" {
		t.Errorf("stop two marked runs: got %q, want no refusal", got)
	}
	screentest.Act(t, s, w, d, keys.Mark, keys.First)
	if got, want := s.Refuses(w, keys.Stop), "a marked row is not running"; got != want {
		t.Errorf("stop marked runs of which one has ended: got %q, want %q", got, want)
	}
}

// A skip changes no run, but the list of missed runs of one job has it at the next refresh.
func TestMissedRunsOfOneJobAreRefreshed(t *testing.T) {
	var runs []job.Run
	w, d := screentest.NewWorld(t), runsDaemon(&runs)
	s := Of("etl-nightly")
	screentest.Settle(t, s, w, d, s.Open(w))
	screentest.Act(t, s, w, d, keys.States, keys.States, keys.States)
	w.Now = w.Now.Add(time.Second)
	if effects := s.Refresh(w); len(effects) != 0 {
		t.Errorf("nothing changed, and it asks %v", effects)
	}
	w.Board.Apply(api.BoardUpdate{})
	if len(s.Refresh(w)) == 0 {
		t.Error("the board changed, and nothing is requested")
	}
}
