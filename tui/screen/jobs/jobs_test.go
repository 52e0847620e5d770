package jobs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/settings"
)

func TestJobsScreens(t *testing.T) {
	empty := screentest.EmptyHost(t)
	for name, prepare := range map[string]func(w *screen.World, d *screentest.Daemon, s *Jobs){
		"jobs":       func(*screen.World, *screentest.Daemon, *Jobs) {},
		"jobs-empty": func(w *screen.World, _ *screentest.Daemon, _ *Jobs) { screentest.Visit(t, w, empty) },
		"jobs-denied": func(w *screen.World, _ *screentest.Daemon, _ *Jobs) {
			w.Board = board.New()
			w.Board.Apply(api.BoardUpdate{Complete: true, Rows: screentest.Rows()[13:]})
			w.Status.Jobs, w.Status.Loaded, w.Status.Day = 3, 142, nil
		},
		"jobs-denied-all": func(w *screen.World, _ *screentest.Daemon, _ *Jobs) {
			w.Board = board.New()
			w.Board.Apply(api.BoardUpdate{Complete: true})
			w.Status.Jobs, w.Status.Loaded, w.Status.Day = 0, 142, nil
		},
		"jobs-no-match": func(w *screen.World, _ *screentest.Daemon, s *Jobs) { s.SetView(w, screen.View{Text: "foo"}) },
		"jobs-filter": func(w *screen.World, _ *screentest.Daemon, s *Jobs) {
			s.SetView(w, screen.View{Text: "a", States: []job.State{job.StateOK, job.StateLate}, Order: board.ByName, Reverse: true})
			s.table.Move(keys.Filter)
		},
		"jobs-menu": func(_ *screen.World, _ *screentest.Daemon, s *Jobs) {
			s.menu, s.query.States = true, []job.State{job.StateOK}
		},
		"jobs-columns": func(w *screen.World, _ *screentest.Daemon, s *Jobs) {
			s.Open(w)
			s.Act(w, keys.Columns)
			typeNames(s, w, "space", "j", "K", "j", "j", "+", "j")
		},
		"jobs-wide":     func(w *screen.World, _ *screentest.Daemon, s *Jobs) { s.SetView(w, screen.View{Wide: true}) },
		"jobs-absolute": func(w *screen.World, _ *screentest.Daemon, _ *Jobs) { w.Absolute = true },
		"jobs-offline": func(w *screen.World, d *screentest.Daemon, s *Jobs) {
			screentest.Show(t, s, canvas.New(160, 46).View(), w, d)
			w.Link.Live = false
			d.Real = screentest.Ended()
		},
		"jobs-error": func(_ *screen.World, d *screentest.Daemon, _ *Jobs) {
			d.Real = screentest.Ended()
		},
		"jobs-ring": func(w *screen.World, _ *screentest.Daemon, _ *Jobs) {
			rows := screentest.Rows()
			for i := range rows {
				if i%5 < 4 {
					rows[i].Node = []string{"db-01", "db-02.example.org", "db-03"}[i%3]
				}
			}
			rows[0].State, rows[0].Elsewhere = job.StateOK, "db-03" // it failed here, and ran there since
			w.Board.Apply(api.BoardUpdate{Rows: rows})
		},
		"jobs-hostile": func(w *screen.World, _ *screentest.Daemon, s *Jobs) {
			s.query.Order = board.ByName
			w.Board.Apply(api.BoardUpdate{Rows: screentest.HostileRows(w)})
		},
	} {
		check := screentest.Check
		if name == "jobs" {
			check = screentest.CheckLayouts
		}
		check(t, name, func(v canvas.View, w *screen.World) {
			s, d := New(), screentest.NewDaemon()
			prepare(w, d, s)
			screentest.Show(t, s, screentest.Inside(v), w, d)
		})
	}
}

// newJobs returns the screen after its requests are answered.
func newJobs(t *testing.T, width, height int) (*Jobs, *screen.World, *screentest.Daemon) {
	t.Helper()
	w := screentest.NewWorld(t)
	s, d := New(), screentest.NewDaemon()
	screentest.Show(t, s, canvas.New(width, height-2).View(), w, d)
	return s, w, d
}

func at(t *testing.T, s *Jobs) job.ID {
	t.Helper()
	id, ok := s.table.Cursor()
	if !ok {
		t.Fatal("no job is under the cursor, want one")
	}
	return id
}

func TestJobsOpenShowsTheJob(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	effects, ok := s.Act(w, keys.Open)
	if len(effects) != 1 || !ok {
		t.Fatalf("got %v, %v, want one effect", effects, ok)
	}
	if show := effects[0].(screen.Show); show.Action != keys.Open || !slices.Equal(show.Subject.Jobs, []job.ID{at(t, s)}) {
		t.Errorf("got %+v, want the job under the cursor", effects[0])
	}
}

func TestJobsSortGoesThroughTheOrders(t *testing.T) {
	s, w, d := newJobs(t, 80, 24)
	s.table.Select("pg-backup")
	for _, want := range append(board.Orders[1:], board.ByState) {
		effects, _ := s.Act(w, keys.Sort)
		screentest.Settle(t, s, w, d, effects)
		if got := s.View().Order; got != want {
			t.Errorf("order: got %s, want %s", got, want)
		}
		if got := at(t, s); got != "pg-backup" {
			t.Errorf("by %s: cursor on %s, want it on the same job", want, got)
		}
	}
	s.Act(w, keys.Sort)
	s.Act(w, keys.Reverse)
	if first, last := s.rows.At(0), s.rows.At(s.rows.Len()-1); first != "zfs-scrub" || last != "apt-daily" {
		t.Errorf("names the other way round: got %s to %s, want zfs-scrub to apt-daily", first, last)
	}
}

// If no job contains the text of the filter, the screen says that the jobs only have similar names.
func TestJobsFilterReportsSimilarNames(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	for filter, similar := range map[string]bool{"backup": false, "bakcup": true, "!bakcup": false, "job:backup": false} {
		s.SetView(w, screen.View{Text: filter})
		c := canvas.New(80, 22)
		s.Draw(c.View(), w)
		if got := c.Text(); !strings.Contains(got, "pg-backup") || strings.Contains(got, "similar names") != similar {
			t.Errorf("filter %s: got\n%s\nwant pg-backup, and a note of similar names: %v", filter, got, similar)
		}
	}
}

func TestJobsFilterNarrowsWhileItIsTyped(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	s.Act(w, keys.Filter)
	for _, step := range []struct {
		key  screen.Key
		want []job.ID
	}{
		{screen.Key{Name: "w", Text: "w"}, []job.ID{"certbot-renew", "cache-warm", "metrics-push", "sitemap"}},
		{screen.Key{Name: "a", Text: "a"}, []job.ID{"cache-warm"}},
		{screen.Key{Name: "z", Text: "z"}, nil},
		{screen.Key{Name: "backspace", Text: ""}, []job.ID{"cache-warm"}},
		{screen.Key{Name: "enter", Text: ""}, []job.ID{"cache-warm"}},
	} {
		s.Type(w, step.key)
		var got []job.ID
		for i := range s.rows.Len() {
			got = append(got, s.rows.At(i))
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("after %q: got %v, want %v", step.key.Name, got, step.want)
		}
	}
	if s.Typing() {
		t.Error("after enter: keys go to the filter, want them to be keys again")
	}
	if _, ok := s.Act(w, keys.Back); !ok || s.rows.Len() != w.Board.Len() {
		t.Errorf("back: %d jobs, want all %d", s.rows.Len(), w.Board.Len())
	}
	if _, ok := s.Act(w, keys.Back); ok {
		t.Error("back without a filter: got an answer, want none, so that the shell goes back")
	}
}

// Labels have a column where a job has some, and a filter finds them.
func TestJobsShowLabels(t *testing.T) {
	s, w, d := newJobs(t, 200, 40)
	c := canvas.New(200, 38)
	if screentest.Show(t, s, c.View(), w, d); strings.Contains(c.Text(), "LABELS") {
		t.Errorf("a column of labels, and no job has any:\n%s", c.Text())
	}
	row := screentest.Rows()[1]
	row.Labels = "team:web,x:1"
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	if screentest.Show(t, s, c.View(), w, d); !strings.Contains(c.Text(), "LABELS") || !strings.Contains(c.Text(), "team:web,x:1") {
		t.Errorf("labels are not shown:\n%s", c.Text())
	}
	if s.rows.Filter("team:WEB"); s.rows.Len() != 1 || s.rows.At(0) != row.Job {
		t.Errorf("a filter finds %d jobs, want %s alone", s.rows.Len(), row.Job)
	}
}

// TestJobsShowOwners: the same with the text of owner=.
func TestJobsShowOwners(t *testing.T) {
	s, w, d := newJobs(t, 200, 40)
	c := canvas.New(200, 38)
	if screentest.Show(t, s, c.View(), w, d); strings.Contains(c.Text(), "OWNER") {
		t.Errorf("a column of owners, and no job has any:\n%s", c.Text())
	}
	row := screentest.Rows()[1]
	row.Contact = "ops@example.org"
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	if screentest.Show(t, s, c.View(), w, d); !strings.Contains(c.Text(), "OWNER") || !strings.Contains(c.Text(), "ops@example.org") {
		t.Errorf("owners are not shown:\n%s", c.Text())
	}
}

// SOURCE is cut only where there is no room for it.
func TestJobsGrowSourceIntoFreeSpace(t *testing.T) {
	s, w, d := newJobs(t, 200, 24)
	row := screentest.Rows()[0]
	row.Crontab = "/etc/cron.d/warehouse-of-the-north"
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	c := canvas.New(200, 22)
	if screentest.Show(t, s, c.View(), w, d); !strings.Contains(c.Text(), " warehouse-of-the-north:14 ") {
		t.Errorf("the source is cut:\n%s", c.Text())
	}
	narrow := canvas.New(110, 22)
	if screentest.Show(t, s, narrow.View(), w, d); !strings.Contains(narrow.Text(), " warehouse") {
		t.Errorf("no source at 110 columns:\n%s", narrow.Text())
	}
}

// A failure that was acknowledged does not look like a success.
func TestJobsShowAcknowledgedFailures(t *testing.T) {
	s, w, d := newJobs(t, 160, 40)
	row := screentest.Rows()[0]
	row.State, row.Acked = job.StateOK, true
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	c := canvas.New(160, 38)
	if screentest.Show(t, s, c.View(), w, d); !strings.Contains(c.Text(), "✗ ack    "+string(row.Job)) {
		t.Errorf("it does not look acknowledged:\n%s", c.Text())
	}
}

// An absolute time further away has the time of the day if there is room.
func TestJobsShowTimesFurtherAway(t *testing.T) {
	for width, want := range map[int]string{80: " 27 Nov 26 ", 130: " 27 Nov 06:00 "} {
		s, w, d := newJobs(t, width, 24)
		w.Absolute = true
		c := canvas.New(width, 22)
		screentest.Show(t, s, c.View(), w, d)
		if row := regexp.MustCompile(`(?m)^.*zfs-scrub .*$`).FindString(c.Text()); !strings.Contains(row, want) {
			t.Errorf("%d columns: got %q, want %q", width, row, want)
		}
	}
}

// Short names of members leave room for the schedules. A job that another member ran has no start here.
func TestJobsOfARingWithShortNames(t *testing.T) {
	s, w, d := newJobs(t, 80, 24)
	rows := screentest.Rows()[:6]
	for i := range rows {
		rows[i].Node = "db-02"
	}
	rows[0].State, rows[0].Last, rows[0].LastRun, rows[0].Elsewhere = job.StateOK, time.Time{}, 0, "db-02"
	w.Board.Apply(api.BoardUpdate{Rows: rows})
	c := canvas.New(80, 22)
	screentest.Show(t, s, c.View(), w, d)
	if got := c.Text(); !strings.Contains(got, "SCHEDULE") || !strings.Contains(got, " NODE ") {
		t.Errorf("want the columns of schedules and nodes:\n%s", got)
	}
	row := regexp.MustCompile(`(?m)^.*etl-orders .*$`).FindString(c.Text())
	if !regexp.MustCompile(`db-02 +- `).MatchString(row) {
		t.Errorf("got %q, want that its last start is not known here", row)
	}
}

// A pause is shown beside any state, counted and filtered by.
func TestJobsShowPausesBesideStates(t *testing.T) {
	s, w, d := newJobs(t, 160, 40)
	failing := screentest.Rows()[0]
	failing.Paused = true
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{failing}})
	c := canvas.New(160, 38)
	screentest.Show(t, s, c.View(), w, d)
	for _, want := range []string{"✗ 3 failing", "‖ 2 paused", "✗‖FAIL   " + string(failing.Job), "‖ paused report-daily"} {
		if !strings.Contains(c.Text(), want) {
			t.Errorf("no %q on the screen:\n%s", want, c.Text())
		}
	}
	narrow := canvas.New(45, 38)
	if screentest.Show(t, New(), narrow.View(), w, d); !strings.Contains(narrow.Text(), "✗‖ "+string(failing.Job)) {
		t.Errorf("the mark is missing on a narrow screen:\n%s", narrow.Text())
	}
	if strings.Contains(c.Text(), "1 held") {
		t.Error("a paused job is counted as held, too")
	}
	screentest.Act(t, s, w, d, keys.States)
	for _, key := range []string{"p", "enter"} {
		s.Type(w, screen.Key{Name: key, Text: key})
	}
	if s.rows.Len() != 2 || s.rows.At(0) != failing.Job || s.rows.At(1) != "report-daily" {
		t.Errorf("only paused: %d jobs, want the failing and the held one", s.rows.Len())
	}
}

func TestJobsCursorGoesToTheFirstMatch(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	s.Act(w, keys.Last)
	s.Act(w, keys.Filter)
	s.Type(w, screen.Key{Name: "e", Text: "etl"})
	if got := at(t, s); got != "etl-orders" {
		t.Errorf("cursor: got %s, want etl-orders", got)
	}
}

func TestJobsStatesAreChosen(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	s.Act(w, keys.States)
	for _, k := range []string{"f", "l", "l", "r"} {
		s.Type(w, screen.Key{Name: k, Text: k})
	}
	if got := s.rows.Len(); got != 5 {
		t.Errorf("failing and running: got %d jobs, want 5", got)
	}
	s.Type(w, screen.Key{Name: "enter"})
	if s.Typing() {
		t.Error("enter: the menu is open, want it closed")
	}
	s.Act(w, keys.Back)
	if got := s.rows.Len(); got != w.Board.Len() {
		t.Errorf("back: got %d jobs, want all", got)
	}
}

func TestJobsMarksAreTheSubject(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	if got := s.Subject(w); got.Marked || len(got.Jobs) != 1 || got.Line == 0 || got.File == "" {
		t.Errorf("without marks: got %+v, want the job under the cursor with its line", got)
	}
	s.Act(w, keys.Mark)
	s.Act(w, keys.Mark)
	got := s.Subject(w)
	if want := []job.ID{s.rows.At(0), s.rows.At(1)}; !got.Marked || !slices.Equal(got.Jobs, want) || got.Line != 0 {
		t.Errorf("got %+v, want %v marked", got, want)
	}
}

// While a person moves, a job that fails does not push the others away.
func TestJobsDoNotReSortUnderTheCursor(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	row := screentest.Rows()[13]
	row.State, row.Ending = job.StateFailing, "exit 1"
	before := s.rows.At(0)
	w.Busy = true
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	s.Refresh(w)
	if got := s.rows.At(0); got != before || !s.rows.List.Stale() {
		t.Errorf("first while moving: got %s, stale %v, want %s and a pending sort", got, s.rows.List.Stale(), before)
	}
	c := canvas.New(80, 22)
	s.Draw(c.View(), w)
	if !strings.Contains(c.Text(), "re-sort pending") {
		t.Errorf("screen does not say that a sort is pending:\n%s", c.Text())
	}
	w.Busy = false
	s.Refresh(w)
	if place := s.rows.Place(row.Job); place > 3 || s.rows.List.Stale() {
		t.Errorf("afterwards: place %d, stale %v, want it among the failing", place, s.rows.List.Stale())
	}
}

// While a range is open, it keeps its jobs, however long that takes.
func TestJobsKeepTheJobsOfARange(t *testing.T) {
	s, w, d := newJobs(t, 80, 24)
	screentest.Act(t, s, w, d, keys.Range, keys.Down, keys.Down)
	want := slices.Clone(s.Subject(w).Jobs)
	row, _ := w.Board.Job(want[1])
	row.State, row.Ending = job.StateOK, ""
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	s.Refresh(w)
	if got := s.Subject(w).Jobs; len(want) != 3 || !slices.Equal(got, want) || !s.rows.List.Stale() {
		t.Errorf("with a range: got %v, stale %v, want %v and a pending sort", got, s.rows.List.Stale(), want)
	}
	screentest.Act(t, s, w, d, keys.Range)
	s.Refresh(w)
	if got := s.Subject(w).Jobs; len(got) != 3 || !slices.Contains(got, row.Job) || s.rows.List.Stale() {
		t.Errorf("afterwards: got %v, stale %v, want the same jobs marked", got, s.rows.List.Stale())
	}
}

// The daemon sends the worst jobs first, but not in the order of the screen.
func TestJobsBeginAtTheFirst(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Board = board.New()
	s := New()
	rows := screentest.Rows()
	for _, part := range [][]api.Row{rows[7:9], rows[3:7], rows[:3]} {
		w.Board.Apply(api.BoardUpdate{Rows: part})
		s.Refresh(w)
		if got := s.table.Index(); got != 0 {
			t.Errorf("while jobs come: cursor on %d, want the first", got)
		}
	}
	w.Board.Apply(api.BoardUpdate{Rows: rows[9:], Complete: true})
	s.Refresh(w)
	first := at(t, s)
	row := rows[13]
	row.State, row.Ending, row.Job, row.Last = job.StateFailing, "exit 1", "aaa", screentest.Now
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	s.Refresh(w)
	if got := at(t, s); got != first || s.table.Index() != 1 {
		t.Errorf("a job fails later: cursor on %s, want it still on %s", got, first)
	}
}

func TestJobsSeekBeforeAllHaveCome(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Board = board.New()
	w.Board.Apply(api.BoardUpdate{Rows: screentest.Rows()[:8]})
	s := New()
	s.Refresh(w)
	s.Seek(w, "pg-backup")
	if got := s.table.Index(); got != 0 {
		t.Errorf("a job that has not come: cursor on %d, want the first", got)
	}
	s.Seek(w, "cache-warm")
	w.Board.Apply(api.BoardUpdate{Rows: screentest.Rows()[8:], Complete: true})
	s.Refresh(w)
	if got := at(t, s); got != "cache-warm" {
		t.Errorf("cursor: got %s, want it on cache-warm still", got)
	}
}

func TestJobsAskThePastOnceAndAgainWhenItChanges(t *testing.T) {
	s, w, d := newJobs(t, 80, 24)
	var asked [][]job.ID
	d.OnPast = func(jobs []job.ID, n int) ([]api.JobPast, error) {
		asked = append(asked, jobs)
		return d.Real.Past(t.Context(), jobs, n)
	}
	screentest.Settle(t, s, w, d, s.Refresh(w))
	if len(asked) != 0 {
		t.Fatalf("nothing has changed: asked %v, want nothing", asked)
	}
	row := screentest.Rows()[10]
	row.LastRun++
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	screentest.Settle(t, s, w, d, s.Refresh(w))
	if len(asked) != 0 {
		t.Fatalf("in the same second: asked %v, want it folded", asked)
	}
	w.Now = w.Now.Add(jobinfo.Patience)
	screentest.Settle(t, s, w, d, s.Refresh(w))
	if len(asked) != 1 || !slices.Equal(asked[0], []job.ID{row.Job}) {
		t.Fatalf("a run has ended: asked %v, want %s alone", asked, row.Job)
	}
	w.Link.Live = false
	w.Now = w.Now.Add(time.Hour)
	row.LastRun++
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	if effects := s.Refresh(w); len(effects) != 0 {
		t.Errorf("offline: got %v, want nothing asked", effects)
	}
}

func TestJobsPastThatFailsIsNotAskedForAtOnce(t *testing.T) {
	w := screentest.NewWorld(t)
	s, d := New(), &screentest.Daemon{}
	asked := 0
	d.OnPast = func([]job.ID, int) ([]api.JobPast, error) {
		asked++
		return nil, errors.New("no store")
	}
	screentest.Settle(t, s, w, d, s.Open(w))
	for range 5 {
		screentest.Settle(t, s, w, d, s.Refresh(w))
	}
	if asked != 1 {
		t.Errorf("in one second: asked %d times, want once", asked)
	}
	w.Now = w.Now.Add(jobinfo.Patience)
	screentest.Settle(t, s, w, d, s.Refresh(w))
	if asked != 2 {
		t.Errorf("a second later: asked %d times, want twice", asked)
	}
}

func TestJobsPaneFollowsTheCursor(t *testing.T) {
	s, w, d := newJobs(t, 160, 48)
	for range 3 {
		effects, _ := s.Act(w, keys.Down)
		screentest.Settle(t, s, w, d, effects)
		if got, want := s.file.ID, at(t, s); got != want || s.file.Job == nil || s.file.Past == nil || s.file.Hours == nil {
			t.Errorf("pane: got %s, want all of %s", got, want)
		}
	}
}

func TestJobsClickSelectsThenOpens(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	c := canvas.New(80, 22)
	screentest.Click(s, w, c, 10, 4) // counts, names of columns, and two rows above it
	if got, want := at(t, s), s.rows.At(2); got != want {
		t.Errorf("cursor: got %s, want %s", got, want)
	}
	if effects := screentest.Click(s, w, c, 10, 4); len(effects) != 1 || effects[0] != (screen.Act{Action: keys.Open}) {
		t.Errorf("a click on the row of the cursor: got %v, want to open the job", effects)
	}
	for _, place := range [][2]int{{10, 0}, {10, 21}, {200, 4}} {
		screentest.Click(s, w, c, place[0], place[1])
		if got, want := at(t, s), s.rows.At(2); got != want {
			t.Errorf("a click on %v: got %s, want %s still", place, got, want)
		}
	}
}

func TestJobsClickOnATitleSorts(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	c := canvas.New(80, 22)
	for _, want := range []board.Query{{Order: board.ByName}, {Order: board.ByName, Reverse: true}} {
		screentest.Click(s, w, c, 10, 1)
		if s.query.Order != want.Order || s.query.Reverse != want.Reverse {
			t.Errorf("got %+v, want %+v", s.query, want)
		}
	}
	screentest.Click(s, w, c, 1, 1)
	if s.order() != board.ByState || s.query.Reverse {
		t.Errorf("a click on STATE: got %+v", s.query)
	}
}

// divider draws the screen, and returns the corner of the divider between list and details.
func divider(t *testing.T, s *Jobs, w *screen.World, c *canvas.Canvas) (x, y int) {
	t.Helper()
	areas := screentest.Areas(s, w, c)
	i := slices.IndexFunc(areas, func(a screen.Area) bool { return a.On == screen.Drag })
	if i < 0 {
		t.Fatalf("nothing can be dragged:\n%s", c.Text())
	}
	x, y, _ = areas[i].View.Locate(0, 0)
	return -x, -y
}

// The divider between list and details is dragged to a column or line, and no further than the list
// and the details need.
func TestJobsDragTheDivider(t *testing.T) {
	for _, tc := range []struct {
		width, height      int
		by, beyond         [2]int
		wantX, wantY, most int
	}{
		{160, 48, [2]int{-10, 0}, [2]int{-96, 0}, -10, 0, 99},
		{120, 40, [2]int{0, -5}, [2]int{0, -24}, 0, -5, 32},
	} {
		s, w, _ := newJobs(t, tc.width, tc.height)
		c := canvas.New(tc.width, tc.height-2)
		x, y := divider(t, s, w, c)
		if screentest.Drag(s, w, c, x-1, y-1, tc.by[0], tc.by[1]) {
			t.Errorf("%dx%d: what is beside the divider can be dragged", tc.width, tc.height)
		}
		screentest.Drag(s, w, c, x, y, tc.by[0], tc.by[1])
		if gotX, gotY := divider(t, s, w, c); gotX-x != tc.wantX || gotY-y != tc.wantY {
			t.Errorf("%dx%d: the divider moved by %d, %d, want %d, %d", tc.width, tc.height, gotX-x, gotY-y, tc.wantX, tc.wantY)
		}
		x, y = divider(t, s, w, c)
		screentest.Drag(s, w, c, x, y, tc.beyond[0], tc.beyond[1])
		size := tc.height - 2
		if x, y = divider(t, s, w, c); s.split {
			size, y = tc.width-1, x
		}
		if size-y != tc.most {
			t.Errorf("%dx%d: the details have %d, want at most %d", tc.width, tc.height, size-y, tc.most)
		}
	}
}

// A click on a state in the menu chooses it, and the wheel leaves the menu open.
func TestJobsMenusAnswerToTheMouse(t *testing.T) {
	s, w, d := newJobs(t, 80, 24)
	c := canvas.New(80, 22)
	screentest.Act(t, s, w, d, keys.States)
	if effects := screentest.ClickOn(t, s, w, c, "f failing"); len(effects) != 1 || effects[0] != (screen.Type{Key: screen.KeyNamed("f")}) {
		t.Errorf("failing: got %v, want the key f", effects)
	}
	if effects := screentest.ClickOn(t, s, w, c, "enter done"); len(effects) != 1 || effects[0] != (screen.Type{Key: screen.KeyNamed("enter")}) {
		t.Errorf("done: got %v, want the key enter", effects)
	}
	s.Type(w, screen.KeyNamed("enter"))
	screentest.Act(t, s, w, d, keys.Columns)
	screentest.ClickOn(t, s, w, c, "] took")
	screentest.Areas(s, w, c)
	if !strings.Contains(c.Text(), ">[ ] took") {
		t.Errorf("took: want it not shown any more, with the cursor on it:\n%s", c.Text())
	}
	before := s.chooser.cursor
	if !screentest.Wheel(s, w, c, 10, 20, 3) || s.chooser.cursor != before+3 {
		t.Errorf("the wheel: the cursor is on %d, want %d", s.chooser.cursor, before+3)
	}
}

// The details change sides and size with keys, and a view keeps both.
func TestJobsLayoutIsChosen(t *testing.T) {
	s, w, d := newJobs(t, 160, 48)
	c := canvas.New(160, 46)
	screentest.Act(t, s, w, d, keys.Side)
	if s.Draw(c.View(), w); s.split || !strings.Contains(c.Text(), "─ Output of run ") {
		t.Errorf("the details are not below the list, with the output:\n%s", c.Text())
	}
	_, before := divider(t, s, w, c)
	screentest.Act(t, s, w, d, keys.Enlarge)
	if _, after := divider(t, s, w, c); before-after != layoutStep {
		t.Errorf("larger: got %d lines more, want %d", before-after, layoutStep)
	}
	kept := s.View()
	screentest.Act(t, s, w, d, keys.Side)
	if s.Draw(c.View(), w); !s.split {
		t.Errorf("the details are not beside the list:\n%s", c.Text())
	}
	s.SetView(w, kept)
	if s.Draw(c.View(), w); s.split || s.layout.More != layoutStep {
		t.Errorf("the view brings back %+v, want the details below and larger", s.layout)
	}
}

// A very large screen has the output in a third pane.
func TestJobsHaveAThirdPane(t *testing.T) {
	s, w, d := newJobs(t, 200, 60)
	c := canvas.New(200, 58)
	screentest.Show(t, s, c.View(), w, d)
	lines := strings.Split(c.Text(), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "─ Output of run ") })
	if at < 30 || at > 40 || strings.Count(c.Text(), "─ Output of run ") != 1 {
		t.Errorf("the output is at line %d, want it once below list and details:\n%s", at, c.Text())
	}
}

// typeNames types keys into the filter or a menu.
func typeNames(s *Jobs, w *screen.World, names ...string) {
	for _, name := range names {
		s.Type(w, screen.Key{Name: name, Text: name})
	}
}

// While the filter has an error, the screen says so and shows the jobs of the filter before.
func TestJobsFilterErrorIsShown(t *testing.T) {
	for filter, want := range map[string]string{"etl": "etl-orders", "nothing-like-it": "0 of 16 match"} {
		s, w, d := newJobs(t, 80, 24)
		s.Act(w, keys.Filter)
		typeNames(s, w, strings.Split(filter+" took>", "")...)
		c := canvas.New(80, 24)
		screentest.Show(t, s, c.View(), w, d)
		if got := c.Text(); !strings.Contains(got, "✗ took>: expected a time such as 5m") || !strings.Contains(got, want) {
			t.Errorf("%q: got\n%s", filter, got)
		}
	}
}

// titles returns the titles of the columns on a screen of some width.
func titles(s *Jobs, w *screen.World, width int) string {
	c := canvas.New(width, 24)
	s.Draw(c.View(), w)
	for line := range strings.Lines(c.Text()) {
		if strings.Contains(line, "STATE▼") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

func TestJobsColumnsOfTheSettings(t *testing.T) {
	var names []string
	for _, c := range allChoices() {
		names = append(names, c.column.name())
	}
	if !slices.Equal(names, settings.ColumnNames) {
		t.Errorf("the columns are %q, and those of the settings %q", names, settings.ColumnNames)
	}
	s, w, _ := newJobs(t, 120, 24)
	w.Columns = []settings.Column{{Name: "user"}, {Name: "next", Width: 20}}
	if got := titles(s, w, 80); got != "STATE▼ JOB USER NEXT" {
		t.Errorf("got the columns %q", got)
	}
	s.Act(w, keys.Columns)
	typeNames(s, w, "space", "enter")
	if got := titles(s, w, 80); got != "STATE▼ JOB NEXT" {
		t.Errorf("without the first: got the columns %q", got)
	}
	s.Act(w, keys.Columns)
	typeNames(s, w, "a")
	if got := titles(s, w, 80); got != "STATE▼ JOB USER NEXT" || s.chosen != nil {
		t.Errorf("as usual: got the columns %q", got)
	}
	typeNames(s, w, "space")
	effects, _ := s.Type(w, screen.Key{Name: "s", Text: "s"})
	if len(effects) == 0 || !cmp.Equal(effects[0], screen.Effect(screen.Set{Edit: settings.ColumnsTo([]settings.Column{{Name: "next", Width: 20}})})) || s.Typing() {
		t.Errorf("saved: got %+v", effects)
	}
}

// On a small screen the chooser scrolls, and its last line has nothing but keys.
func TestJobsChooserFitsASmallScreen(t *testing.T) {
	s, w, _ := newJobs(t, 40, 8)
	s.Act(w, keys.Columns)
	for range columnCommand {
		c := canvas.New(40, 8)
		s.Draw(c.View(), w)
		lines := strings.Split(strings.TrimSuffix(c.Text(), "\n"), "\n")
		if last := lines[len(lines)-1]; strings.Contains(last, "[") || strings.Count(c.Text(), w.Glyphs.Cursor) == 0 {
			t.Fatalf("cursor on %d: got\n%s", s.chooser.cursor, c.Text())
		}
		typeNames(s, w, "l")
	}
}

// The columns are shown in the order and the widths that were chosen, and a view has them.
func TestJobsColumnsAreChosen(t *testing.T) {
	s, w, _ := newJobs(t, 120, 24)
	if got, want := titles(s, w, 120), "STATE▼ JOB SCHEDULE NEXT LAST TOOK P95 LAST 12 RUNS USER SOURCE"; !strings.HasPrefix(got, want) {
		t.Errorf("got the columns %q, want %q", got, want)
	}
	s.Act(w, keys.Columns)
	if !s.Typing() {
		t.Fatal("keys do not go to the chooser")
	}
	// without schedule, next before it, command first of all
	typeNames(s, w, "space", "down", "K", "h", "h", "l", "l", "l", "l", "l", "l", "l", "l", "l", "l", "l")
	typeNames(s, w, strings.Fields(strings.Repeat("K ", 12))...)
	typeNames(s, w, "+", "+", "enter")
	if s.Typing() || s.menu {
		t.Error("the chooser is still open")
	}
	if got, want := titles(s, w, 120), "STATE▼ JOB COMMAND NEXT LAST"; !strings.HasPrefix(got, want) || strings.Contains(got, "SCHEDULE") {
		t.Errorf("got the columns %q, want %q ...", got, want)
	}
	view := s.View()
	if view.Columns[0] != (settings.Column{Name: "command", Width: 16}) || len(view.Columns) != 11 {
		t.Errorf("got the view %+v, want command first, 16 cells wide, and eleven columns", view.Columns)
	}
	other, w, _ := newJobs(t, 120, 24)
	other.SetView(w, view)
	if got, want := titles(other, w, 120), titles(s, w, 120); got != want {
		t.Errorf("in the view: got the columns %q, want %q", got, want)
	}
	other.SetView(w, screen.View{Columns: []settings.Column{{Name: "user", Width: -3}, {Name: "user"}, {Name: "smell"}}})
	if got := titles(other, w, 120); got != "STATE▼ JOB USER" {
		t.Errorf("a view with unknown and repeated names: got the columns %q", got)
	}
	other.Act(w, keys.Columns)
	typeNames(other, w, "a", "esc")
	if got := other.View().Columns; got != nil {
		t.Errorf("as usual: got %v", got)
	}
	for _, press := range [][]string{{"-", "-", "-", "-", "-", "-"}, strings.Fields(strings.Repeat("+ ", 200))} {
		other.Act(w, keys.Columns)
		typeNames(other, w, append(press, "enter")...)
		if n := other.View().Columns[0].Width; n != settings.LeastColumn && n != longestWide {
			t.Errorf("got the width %d, want the least or the most", n)
		}
		titles(other, w, 120)
	}
}

func TestJobsViewComesBack(t *testing.T) {
	s, w, _ := newJobs(t, 80, 24)
	want := screen.View{Text: "a", States: []job.State{job.StateOK}, Order: board.ByNext, Reverse: true, Wide: true, Columns: []settings.Column{{Name: "took", Width: 9}}}
	s.SetView(w, want)
	if diff := cmp.Diff(want, s.View()); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
	s.SetView(w, screen.View{States: []job.State{"rotten"}, Order: "smell"})
	if got := s.View(); len(got.States) != 0 || got.Order != board.ByState {
		t.Errorf("unknown words: got %+v, want all jobs by state", got)
	}
}

func TestJobsOfEveryWidthStayInside(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Board.Apply(api.BoardUpdate{Rows: screentest.HostileRows(w)})
	d := screentest.NewDaemon()
	for width := 40; width <= 220; width += 7 {
		for _, height := range []int{8, 13, 22, 40} {
			s := New()
			c := canvas.New(width, height)
			screentest.Show(t, s, c.View(), w, d, keys.Down)
			screentest.CheckWidths(t, "jobs", c.Text(), width)
		}
	}
}

func manyJobs(tb testing.TB, n int) (*Jobs, *screen.World) {
	tb.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		tb.Fatal(err)
	}
	w := &screen.World{Now: screentest.Now, Board: board.New(), Keys: keys.Default(), Glyphs: canvas.GlyphsOf(canvas.Full), Local: berlin}
	rows, some := make([]api.Row, 0, n), screentest.Rows()
	for i := range n {
		row := some[i%len(some)]
		row.Job = job.ID(fmt.Sprintf("%s-%06d", row.Job, i))
		rows = append(rows, row)
	}
	w.Board.Apply(api.BoardUpdate{Rows: rows, Complete: true})
	s := New()
	s.Refresh(w)
	return s, w
}

func TestJobsDrawingAllocatesNothingPerRow(t *testing.T) {
	allocations := func(height int) float64 {
		s, w := manyJobs(t, 1000)
		c := canvas.New(100, height)
		return testing.AllocsPerRun(10, func() {
			s.Act(w, keys.Down)
			s.Draw(c.View(), w)
		})
	}
	if few, many := allocations(30), allocations(130); many > few+10 { // some buffers grow, and the race detector has its own
		t.Errorf("100 more rows: %v allocations, want about %v as with fewer", many, few)
	}
}

// With 100,000 jobs a screen must be drawn in 0.3 ms.
func BenchmarkJobsDraw(b *testing.B) {
	s, w := manyJobs(b, 100_000)
	c := canvas.New(160, 48)
	s.Draw(c.View(), w)
	d := screentest.NewDaemon()
	d.OnPast = func(jobs []job.ID, n int) ([]api.JobPast, error) {
		all := make([]api.JobPast, len(jobs))
		for i, id := range jobs {
			all[i] = screentest.Past(b, id[:len(id)-len("-000000")], n)
			all[i].Job = id
		}
		return all, nil
	}
	w.Link.Live = true
	screentest.Settle(b, s, w, d, s.Refresh(w))
	b.ReportAllocs()
	for b.Loop() {
		c.Clear()
		s.Draw(c.View(), w)
	}
}

func BenchmarkJobsMove(b *testing.B) {
	s, w := manyJobs(b, 100_000)
	c := canvas.New(160, 48)
	s.Draw(c.View(), w)
	s.Act(w, keys.Down)
	b.ReportAllocs()
	for b.Loop() {
		s.Act(w, keys.PageDown)
		s.Act(w, keys.Up)
	}
}

// If there is no space for all fields, a schedule of seconds shows only its seconds.
func TestScheduleOfSecondsIsNotCutOff(t *testing.T) {
	w := screentest.NewWorld(t)
	rows := screentest.Rows()[:2]
	rows[0].Schedule, rows[1].Schedule = "* * * * * sec=*/15", "30 2 * * * sec=15"
	w.Board.Apply(api.BoardUpdate{Rows: rows})
	s := New()
	s.Open(w)
	for _, tc := range []struct {
		width int
		wide  bool
		want  []string
	}{
		{80, false, []string{" sec=*/15     ", " 30 2 * * * s… "}},
		{160, true, []string{" * * * * * sec=*/15 ", " 30 2 * * * sec=15 "}},
	} {
		s.wide = tc.wide
		c := canvas.New(tc.width, 22)
		s.Draw(c.View(), w)
		for _, want := range tc.want {
			if !strings.Contains(c.Text(), want) {
				t.Errorf("%d cells: want %q in\n%s", tc.width, want, c.Text())
			}
		}
	}
}
