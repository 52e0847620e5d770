package detail

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func TestDetailScreens(t *testing.T) {
	for tab, name := range tabNames {
		check := screentest.Check
		if name == "Why" || name == "History" {
			check = screentest.CheckLayouts
		}
		check(t, "job-"+strings.ToLower(name), func(v canvas.View, w *screen.World) {
			turns := slices.Repeat([]keys.Action{keys.NextPane}, tab)
			screentest.Show(t, New("etl-orders"), screentest.Inside(v), w, screentest.NewDaemon(), turns...)
		})
	}
}

func TestDetailTurnsItsTabs(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("etl-orders"), screentest.NewDaemon()
	screentest.Settle(t, s, w, d, s.Open(w))
	if got := s.Scope(); got != keys.Why {
		t.Errorf("scope of the first tab: got %s, want %s", got, keys.Why)
	}
	for i := range 2 * len(tabNames) {
		if s.tab != i%len(tabNames) {
			t.Fatalf("after %d: tab %s, want %s", i, tabNames[s.tab], tabNames[i%len(tabNames)])
		}
		effects, _ := s.Act(w, keys.NextPane)
		screentest.Settle(t, s, w, d, effects)
	}
	if effects, _ := s.Act(w, keys.PreviousPane); tabNames[s.tab] != "Config" || len(effects) == 0 {
		t.Errorf("before the first: tab %s with %v, want Config, asked anew", tabNames[s.tab], effects)
	}
	if _, ok := s.Act(w, keys.Back); ok {
		t.Error("back: got an answer, want none, so that the shell goes back")
	}
}

func TestDetailGoesThroughRuns(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("etl-orders"), screentest.NewDaemon()
	c := canvas.New(80, 22)
	screentest.Show(t, s, c.View(), w, d, keys.NextPane)
	ids := newestRuns(t, d)
	if got := w.Placed(s.Subject(w)); got.Run != ids[0] || got.Line != 14 {
		t.Errorf("subject: got %+v, want the newest run", got)
	}
	for range 3 { // two are waiting to be retried
		s.Act(w, keys.PreviousRun)
	}
	s.Act(w, keys.NextRun)
	about := s.Subject(w)
	if about.Run != ids[1] {
		t.Errorf("run: got %d, want %d", about.Run, ids[1])
	}
	effects, _ := s.Act(w, keys.Open)
	want := screen.Show{Action: keys.ShowOutput, Subject: about}
	if diff := cmp.Diff([]screen.Effect{want}, effects); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	s.Draw(c.View(), w)
	if out := strings.Split(c.Mask(), "\n")[3]; strings.Count(out, "2") != 1 {
		t.Errorf("strip: got %q, want one cell of the run marked", out)
	}
}

// newestRuns are the numbers of the newest runs of etl-orders.
func newestRuns(t *testing.T, d screen.Daemon) (ids []job.RunID) {
	t.Helper()
	runs, err := d.History(t.Context(), api.Filter{Refs: []string{"etl-orders"}, Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs.Runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// The keys of a job work in its history also if the list is empty, and are at the foot.
func TestDetailKeepsItsJobInAnEmptyHistory(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("tmp-clean"), screentest.NewDaemon()
	c := canvas.New(80, 22)
	screentest.Show(t, s, c.View(), w, d, keys.NextPane)
	if got := s.Subject(w); !slices.Equal(got.Jobs, []job.ID{"tmp-clean"}) {
		t.Errorf("subject: got %+v, want the job", got)
	}
	foot := s.Foot(w)
	for _, a := range []keys.Action{keys.Run, keys.Pause, keys.Edit, keys.Acknowledge, keys.Copy, keys.Back} {
		if !slices.Contains(foot, a) {
			t.Errorf("foot: got %v, want %s in it", foot, a)
		}
	}
	screentest.Show(t, s, c.View(), w, d, keys.States)
	if want := "runs of tmp-clean: failed"; !strings.Contains(c.Text(), want) {
		t.Errorf("after f: got\n%s\nwant %q", c.Text(), want)
	}
}

// The filter is visible while it is typed, and after that, also if the job never ran.
func TestDetailShowsTheFilterOfAnEmptyHistory(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("tmp-clean"), screentest.NewDaemon()
	c := canvas.New(80, 22)
	screentest.Show(t, s, c.View(), w, d, keys.NextPane, keys.Filter)
	for _, k := range []screen.Key{{Name: "q", Text: "q"}, {Name: "enter"}} {
		s.Type(w, k)
		c.Clear()
		s.Draw(c.View(), w)
		if want := "runs of tmp-clean: all  /q"; !strings.Contains(c.Text(), want) {
			t.Errorf("after %s: got\n%s\nwant %q", k.Name, c.Text(), want)
		}
	}
	s.Act(w, keys.Back)
	c.Clear()
	if s.Draw(c.View(), w); !strings.Contains(c.Text(), "never run") {
		t.Errorf("after esc: got\n%s\nwant the notice", c.Text())
	}
}

// If a run ends while the newest run is shown, the screen keeps showing the newest run.
func TestDetailStaysAtTheNewestRun(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("etl-orders"), screentest.NewDaemon()
	ended := func(f api.Filter) (api.Runs, error) {
		runs, err := d.Real.History(t.Context(), f)
		runs.Runs = slices.DeleteFunc(runs.Runs, func(r job.Run) bool { return r.State.Live() })
		return runs, err
	}
	d.OnHistory = ended
	screentest.Show(t, s, canvas.New(80, 22).View(), w, d, keys.NextPane)
	d.OnHistory = func(f api.Filter) (api.Runs, error) {
		runs, err := ended(f)
		runs.Runs = append([]job.Run{{ID: 9214, Job: "etl-orders", Started: screentest.Now, State: job.RunRunning}}, runs.Runs...)
		return runs, err
	}
	w.Now = w.Now.Add(time.Second)
	row := screentest.Rows()[0]
	row.Live, row.Began, row.State = 1, screentest.Now, job.StateRunning
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	screentest.Settle(t, s, w, d, s.Refresh(w))
	if got := s.Subject(w).Run; got != 9214 {
		t.Errorf("run: got %d, want the new one, 9214", got)
	}
}

func TestDetailOfAJobThatIsGone(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("etl-orders"), screentest.NewDaemon()
	c := canvas.New(80, 22)
	w.Board.Apply(api.BoardUpdate{Gone: []job.ID{"etl-orders"}})
	for range tabNames {
		screentest.Show(t, s, c.View(), w, d, keys.NextPane)
	}
	if !strings.Contains(c.Text(), "no longer exists") {
		t.Errorf("got %q, want it to say that the job no longer exists", c.Text())
	}
}

func TestDetailHasNoPastYet(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("tmp-clean"), screentest.NewDaemon()
	c := canvas.New(80, 22)
	screentest.Show(t, s, c.View(), w, d, keys.NextPane)
	if want := "tmp-clean: never run, first run Sat 05:00 in 10h57m, r runs it now"; !strings.Contains(c.Text(), want) {
		t.Errorf("got\n%s\nwant %q", c.Text(), want)
	}
	elsewhere, _ := w.Board.Job("tmp-clean")
	elsewhere.State, elsewhere.Elsewhere = job.StateOK, "db-02"
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{elsewhere}})
	screentest.Show(t, s, c.View(), w, d)
	if want := "tmp-clean: db-02 had it last, next Sat 05:00"; !strings.Contains(c.Text(), want) || strings.Contains(c.Text(), "never") {
		t.Errorf("of another member: got\n%s\nwant %q", c.Text(), want)
	}
	elsewhere.State, elsewhere.Elsewhere = job.StateNew, ""
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{elsewhere}})
	w.Status.NoDaemon = "no daemon"
	screentest.Show(t, s, c.View(), w, d)
	for _, want := range []string{"no start is in cron's log, next Sat 05:00", "it keeps no output, and no history of how jobs ended"} {
		if !strings.Contains(c.Text(), want) {
			t.Errorf("with cron only: got\n%s\nwant %q", c.Text(), want)
		}
	}
}

// Fields of a job that come from the daemon can be as hostile as the job's output.
func TestDetailOfHostileJobsStaysInside(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Board.Apply(api.BoardUpdate{Rows: screentest.HostileRows(w)})
	d := screentest.NewDaemon()
	evil := "\x1b]0;owned\x07\u202e" + strings.Repeat("日本", 200) + "\xff"
	d.OnOutput = func(string) []api.Event {
		return []api.Event{{Chunk: &job.Chunk{Stream: job.Stderr, Data: []byte("fatal error: " + evil + "\r\n\x1b[2J" + evil)}}}
	}
	d.OnConfig = func(string) (api.JobConfig, error) {
		return api.JobConfig{V: 1, Held: evil, Options: []api.Setting{{Key: evil, Value: evil, Origin: evil, File: evil}}}, nil
	}
	for _, r := range screentest.HostileRows(w) {
		for tab := range tabNames {
			for _, width := range []int{40, 80, 130, 160} {
				s := New(r.Job)
				c := canvas.New(width, 30)
				screentest.Show(t, s, c.View(), w, d, slices.Repeat([]keys.Action{keys.NextPane}, tab)...)
				screentest.CheckWidths(t, string(r.Job)+" "+tabNames[tab], c.Text(), width)
				if strings.ContainsFunc(strings.ReplaceAll(c.Text(), "\n", ""), unicode.IsControl) {
					t.Errorf("%q %s: control characters on the screen: %q", r.Job, tabNames[tab], c.Text())
				}
			}
		}
	}
}

func TestDetailShowsTheOutputOfTheChosenRun(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("etl-orders"), screentest.NewDaemon()
	c := canvas.New(80, 22)
	var asked []string
	d.OnOneRun = func(ref string) (job.Run, error) {
		asked = append(asked, ref)
		return d.Real.OneRun(t.Context(), ref)
	}
	screentest.Show(t, s, c.View(), w, d, keys.NextPane, keys.PreviousRun, keys.PreviousRun)
	asked = nil
	s.Act(w, keys.NextPane)
	effects, _ := s.Act(w, keys.NextPane)
	screentest.Settle(t, s, w, d, effects)
	if want := []string{newestRuns(t, d)[1].String()}; !slices.Equal(asked, want) || s.Scope() != keys.Output {
		t.Errorf("asked for %v with the keys of %s, want %v with those of output", asked, s.Scope(), want)
	}
	s.Act(w, keys.Search)
	if !s.Typing() {
		t.Error("search: keys do not go to it")
	}
	s.Type(w, screen.Key{Name: "esc"})
	effects, _ = s.Act(w, keys.NextPane)
	if !slices.ContainsFunc(effects, func(e screen.Effect) bool { _, ok := e.(screen.Forget); return ok }) {
		t.Errorf("another tab: got %v, want the output followed no longer", effects)
	}
}

// The screen shows the output of the failed attempt, because the next attempt has no output yet.
func TestDetailShowsTheOutputBeforeARetry(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("etl-orders"), screentest.NewDaemon()
	screentest.Show(t, s, canvas.New(80, 22).View(), w, d, keys.PreviousPane, keys.PreviousPane)
	if got, want := s.Subject(w).Run, screentest.Rows()[0].LastRun; got != want {
		t.Errorf("run: got %d, want the one that failed, %d", got, want)
	}
}

// A retry that waited long started after younger runs.
func TestDetailSortsRunsByStart(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New("etl-orders"), screentest.NewDaemon()
	d.OnHistory = func(api.Filter) (api.Runs, error) {
		ended := func(id job.RunID, minutes int) job.Run {
			at := screentest.Now.Add(time.Duration(minutes) * time.Minute)
			return job.Run{ID: id, Job: "etl-orders", State: job.RunEnded, Decided: at, Started: at}
		}
		return api.Runs{Runs: []job.Run{ended(9, -20), ended(8, -10), ended(7, -30)}}, nil
	}
	screentest.Show(t, s, canvas.New(80, 22).View(), w, d, keys.NextPane)
	for _, want := range []job.RunID{8, 9, 7} {
		if got := s.Subject(w).Run; got != want {
			t.Errorf("got run %d, want %d", got, want)
		}
		s.Act(w, keys.PreviousRun)
	}
}
