package timeline

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/jobs"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// manyJobs is a host with 500 jobs, which ran for an hour.
func manyJobs(t *testing.T) *api.Client {
	t.Helper()
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "#@ name=tenant-sync-%03d\n%d * * * * sync /opt/tenant-sync/run %d\n", i, i%60, i)
	}
	h := screentest.NewHost("2026-11-20T16:00:00Z")
	h.LoadCrontabs(nil, screentest.Crontab("/etc/cron.d/tenants", "", text.String()))
	h.Play(screentest.Now.Format(time.RFC3339), func(effect.Start) simulated.Played {
		return simulated.Played{Took: 8 * time.Second, Outcome: job.Outcome{Kind: job.Exited}}
	})
	return screentest.Serve(t, h)
}

func TestTimelineScreens(t *testing.T) {
	many, cron, empty := manyJobs(t), screentest.CronHost(t), screentest.EmptyHost(t)
	for name, prepare := range map[string]func(w *screen.World, d *screentest.Daemon, s *Timeline) []keys.Action{
		"timeline": func(*screen.World, *screentest.Daemon, *Timeline) []keys.Action { return nil },
		"timeline-cell": func(*screen.World, *screentest.Daemon, *Timeline) []keys.Action {
			return []keys.Action{keys.Down, keys.Down, keys.PreviousSlot}
		},
		"timeline-planned": func(*screen.World, *screentest.Daemon, *Timeline) []keys.Action {
			return []keys.Action{keys.NextSlot, keys.NextSlot}
		},
		"timeline-earlier": func(*screen.World, *screentest.Daemon, *Timeline) []keys.Action {
			return []keys.Action{keys.Earlier, keys.Earlier, keys.Earlier}
		},
		"timeline-days": func(*screen.World, *screentest.Daemon, *Timeline) []keys.Action {
			return []keys.Action{keys.ZoomOut, keys.ZoomOut, keys.ZoomOut}
		},
		"timeline-hour": func(*screen.World, *screentest.Daemon, *Timeline) []keys.Action {
			return []keys.Action{keys.ZoomIn, keys.ZoomIn, keys.ZoomIn, keys.ZoomIn}
		},
		"timeline-empty": func(w *screen.World, d *screentest.Daemon, _ *Timeline) []keys.Action {
			screentest.Visit(t, w, empty)
			d.Real = empty
			return nil
		},
		"timeline-filter": func(w *screen.World, _ *screentest.Daemon, _ *Timeline) []keys.Action {
			w.Query.Text, w.Query.States = "cert", []job.State{job.StateFailing}
			return nil
		},
		"timeline-nothing": func(w *screen.World, _ *screentest.Daemon, _ *Timeline) []keys.Action {
			w.Query.Text = "nosuchjob"
			return nil
		},
		"timeline-denied": func(_ *screen.World, d *screentest.Daemon, _ *Timeline) []keys.Action {
			d.Real = screentest.NoServer(fs.ErrPermission)
			return nil
		},
		"timeline-absolute": func(w *screen.World, _ *screentest.Daemon, _ *Timeline) []keys.Action {
			w.Absolute = true
			return nil
		},
		"timeline-hostile": func(w *screen.World, d *screentest.Daemon, _ *Timeline) []keys.Action {
			rows := screentest.Rows()[:3]
			hostile := map[job.ID]job.ID{"etl-orders": job.ID("\u202egnp.exe\x1b[2J" + strings.Repeat("x", 300)), "certbot-renew": "\xff\xfe\x00nul"}
			if w.Glyphs.Tier == canvas.Full {
				hostile["geoip-update"] = job.ID(strings.Repeat("日本語", 60))
			}
			d.OnLine = func(q api.TimelineQuery) (api.Timeline, error) {
				q.Refs = []string{"etl-orders", "certbot-renew", "geoip-update"}
				line, err := d.Real.Timeline(t.Context(), q)
				for i := range line.Jobs {
					line.Jobs[i].Job = cmp.Or(hostile[line.Jobs[i].Job], line.Jobs[i].Job)
				}
				return line, err
			}
			for i := range rows {
				rows[i].Job = cmp.Or(hostile[rows[i].Job], rows[i].Job)
			}
			w.Board = board.New()
			w.Board.Apply(api.BoardUpdate{Complete: true, Rows: rows})
			return nil
		},
		"timeline-of-cron": func(w *screen.World, d *screentest.Daemon, _ *Timeline) []keys.Action {
			screentest.Visit(t, w, cron)
			d.Real = cron
			return []keys.Action{keys.PreviousSlot}
		},
		"timeline-many": func(w *screen.World, d *screentest.Daemon, _ *Timeline) []keys.Action {
			screentest.Visit(t, w, many)
			d.Real = many
			return []keys.Action{keys.Last}
		},
	} {
		check := screentest.Check
		if name == "timeline" {
			check = screentest.CheckLayouts
		}
		check(t, name, func(v canvas.View, w *screen.World) {
			w.Width = v.Width()
			s, d := New(), screentest.NewDaemon()
			actions := prepare(w, d, s)
			screentest.Show(t, s, screentest.Inside(v), w, d, actions...)
		})
	}
}

// openLine opens a time line of a size, and answers its requests.
func openLine(t *testing.T, w *screen.World, d screen.Daemon, width, height int) (*Timeline, canvas.View) {
	t.Helper()
	s, v := New(), canvas.New(width, height).View()
	w.Width = width
	screentest.Show(t, s, screentest.Inside(v), w, d)
	return s, v
}

func TestTimelineMovesInTime(t *testing.T) {
	for _, tc := range []struct {
		name    string
		actions []keys.Action
		want    string // the first line
	}{
		{"at first", nil, "06:00 Fri .. 06:00 Sat  1 cell = 30 min"},
		{"earlier", []keys.Action{keys.Earlier}, "00:00 Fri .. 00:00 Sat  1 cell = 30 min"},
		{"later", []keys.Action{keys.Later, keys.Later}, "18:00 Fri .. 18:00 Sat  1 cell = 30 min"},
		{"back to now", []keys.Action{keys.Later, keys.Later, keys.Now}, "06:00 Fri .. 06:00 Sat  1 cell = 30 min"},
		{"zoomed in", []keys.Action{keys.ZoomIn}, "12:00 Fri .. 00:00 Sat  1 cell = 15 min"},
		{"zoomed in at another time", []keys.Action{keys.Earlier, keys.ZoomIn}, "06:00 Fri .. 18:00 Fri  1 cell = 15 min"},
		{"zoomed in at the cursor", []keys.Action{keys.PreviousSlot, keys.PreviousSlot, keys.ZoomIn}, "11:30 Fri .. 23:30 Fri  1 cell = 15 min"},
		{"as far out as it goes", []keys.Action{keys.ZoomOut, keys.ZoomOut, keys.ZoomOut, keys.ZoomOut, keys.ZoomOut, keys.ZoomOut}, "Fri 13 Nov .. Fri 27 Nov  1 cell = 8 h"},
		{"as far in", []keys.Action{keys.ZoomIn, keys.ZoomIn, keys.ZoomIn, keys.ZoomIn}, "17:14 Fri .. 18:50 Fri  1 cell = 2 min"},
	} {
		w := screentest.NewWorld(t)
		d := screentest.NewDaemon()
		s, _ := openLine(t, w, d, 80, 24)
		screentest.Act(t, s, w, d, tc.actions...)
		a := s.axis(w)
		got := a.rangeText(w.Local, w.Clock) + "  1 cell = " + display.RoundLength(a.step)
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
		if s.asked.axis != a || s.line.axis != a {
			t.Errorf("%s: got asked about %v and told of %v, want %v", tc.name, s.asked.axis, s.line.axis, a)
		}
	}
}

func TestTimelineWithAClockOf12Hours(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Clock = display.Clock12
	d := screentest.NewDaemon()
	s, _ := openLine(t, w, d, 80, 24)
	a := s.axis(w)
	if got := a.rangeText(w.Local, w.Clock); got != "6:00am Fri .. 6:00am Sat" {
		t.Errorf("got %q", got)
	}
	end := -1
	for _, l := range a.labels(w.Local, w.Clock) {
		if !strings.HasSuffix(l.text, "m") || l.cell <= end {
			t.Errorf("label %+v behind column %d", l, end)
		}
		end = l.cell + len(l.text)
	}
}

// A sign of the legend is shown with its whole word, or not at all.
func TestTimelineLegendIsNotCut(t *testing.T) {
	for width := 60; width < 100; width++ {
		w, c := screentest.NewWorld(t), canvas.New(width, 24)
		screentest.Show(t, New(), c.View(), w, screentest.NewDaemon())
		lines := strings.Split(strings.TrimSpace(c.Text()), "\n")
		shown := strings.Fields(lines[len(lines)-1])
		if last := shown[len(shown)-1]; !slices.ContainsFunc(legend, func(k cellWord) bool { return k.word == last }) {
			t.Errorf("%d columns: the legend ends in %q", width, last)
		}
	}
}

func TestTimelineOpensWhatIsUnderTheCursor(t *testing.T) {
	for _, tc := range []struct {
		name    string
		actions []keys.Action
		opens   keys.Action
		subject string
	}{
		{"the job", nil, keys.Open, "[etl-orders] 0 0"},
		{"a failure", []keys.Action{keys.PreviousSlot}, keys.ShowOutput, "[etl-orders] 1685 18:00"},
		{"what is planned", []keys.Action{keys.NextSlot, keys.NextSlot}, keys.Explain, "[etl-orders] 0 18:30"},
		{"back on the job", []keys.Action{keys.NextSlot, keys.Back}, keys.Open, "[etl-orders] 0 0"},
		{"what is late", []keys.Action{keys.Down, keys.Down, keys.Down, keys.NextSlot}, keys.Explain, "[invoice-export] 1683 18:00"},
	} {
		w := screentest.NewWorld(t)
		d := screentest.NewDaemon()
		s, _ := openLine(t, w, d, 80, 24)
		screentest.Act(t, s, w, d, tc.actions...)
		subject := s.Subject(w)
		at := "0"
		if !subject.At.IsZero() {
			at = subject.At.In(w.Local).Format("15:04")
		}
		if got := fmt.Sprintf("%v %d %s", subject.Jobs, subject.Run, at); got != tc.subject {
			t.Errorf("%s: got the subject %s, want %s", tc.name, got, tc.subject)
		}
		effects := screentest.Act(t, s, w, d, keys.Open)
		if len(effects) != 1 {
			t.Errorf("%s: got %v, want a screen", tc.name, effects)
			continue
		}
		if got := effects[0].(screen.Show).Action; got != tc.opens {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.opens)
		}
	}
}

// asks counts the requests for the time line.
func asks(d *screentest.Daemon) *int {
	n := 0
	d.OnLine = func(q api.TimelineQuery) (api.Timeline, error) {
		n++
		return d.Real.Timeline(context.Background(), q)
	}
	return &n
}

func TestTimelineAsksWhenSomethingHasChanged(t *testing.T) {
	w := screentest.NewWorld(t)
	d := screentest.NewDaemon()
	n := asks(d)
	s, _ := openLine(t, w, d, 80, 24)
	refresh := func() { screentest.Settle(t, s, w, d, s.Refresh(w)) }
	expect := func(what string, want int) {
		t.Helper()
		refresh()
		if *n != want {
			t.Errorf("%s: got %d questions, want %d", what, *n, want)
		}
		*n = 0
	}
	expect("opened", 1)
	w.Now = w.Now.Add(5 * time.Second)
	expect("nothing has changed", 0)
	rows := screentest.Rows()
	rows[0].LastRun++
	w.Board.Apply(api.BoardUpdate{Rows: rows[:1]})
	expect("a run has ended", 1)
	rows[0].LastRun++
	w.Board.Apply(api.BoardUpdate{Rows: rows[:1]})
	expect("another at once", 0)
	w.Now = w.Now.Add(2 * time.Second)
	expect("a little later", 1)
	w.Now = w.Now.Add(28 * time.Minute)
	expect("a cell has passed", 1)
	w.Link.Live = false
	w.Now = w.Now.Add(time.Hour)
	expect("the daemon is gone", 0)
	w.Link.Live = true
	expect("it is back", 1)
}

// While another time is asked about, what is known of it is shown in its place.
func TestTimelineKeepsWhatItKnowsWhileItScrolls(t *testing.T) {
	w := screentest.NewWorld(t)
	d := screentest.NewDaemon()
	s, _ := openLine(t, w, d, 80, 24)
	effects, _ := s.Act(w, keys.Earlier)
	if len(effects) == 0 {
		t.Fatal("scrolling asks nothing")
	}
	c := canvas.New(80, 24)
	s.Draw(screentest.Inside(c.View()), w)
	line := strings.Split(c.Text(), "\n")[15]
	if want := " ntp-check                     ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ │■ ∙ ∙ ∙ ∙ ∙  57m49s"; !strings.HasPrefix(line, want) {
		t.Errorf("got %q, want %q", line, want)
	}
	screentest.Settle(t, s, w, d, effects)
	c.Clear()
	s.Draw(screentest.Inside(c.View()), w)
	line = strings.Split(c.Text(), "\n")[15]
	if want := " ntp-check         ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ ■ │■ ∙ ∙ ∙ ∙ ∙  57m49s"; !strings.HasPrefix(line, want) {
		t.Errorf("got %q, want %q", line, want)
	}
}

// listed returns the jobs of a list, which has no marks.
func listed(s screen.Screen, w *screen.World) []job.ID {
	s.Act(w, keys.MarkAll)
	defer s.Act(w, keys.MarkAll)
	return s.Subject(w).Jobs
}

func TestTimelineIsTheListOfTheJobs(t *testing.T) {
	w := screentest.NewWorld(t)
	d := screentest.NewDaemon()
	list := jobs.New()
	screentest.Show(t, list, canvas.New(80, 22).View(), w, d, keys.Sort, keys.Down, keys.Down, keys.Down)
	s, _ := openLine(t, w, d, 80, 24)
	for i := range s.rows.Len() {
		if got, want := s.rows.At(i), listed(list, w)[i]; got != want {
			t.Fatalf("row %d: got %s, want %s as on the screen of the jobs", i, got, want)
		}
	}
	if got, want := s.Subject(w).Jobs, list.Subject(w).Jobs; !slices.Equal(got, want) {
		t.Errorf("got the cursor on %v, want %v as on the screen of the jobs", got, want)
	}
	screentest.Act(t, s, w, d, keys.Filter)
	for _, k := range "etl" {
		effects, _ := s.Type(w, screen.Key{Name: string(k), Text: string(k)})
		screentest.Settle(t, s, w, d, effects)
	}
	if s.rows.Len() != 1 || w.Query.Text != "etl" {
		t.Errorf("got %d rows and the filter %q, want the one that matches", s.rows.Len(), w.Query.Text)
	}
	screentest.Settle(t, list, w, d, list.Open(w))
	if len(listed(list, w)) != 1 || list.View().Text != "etl" {
		t.Errorf("the jobs: got %d rows and the filter %q, want those of the time line", len(listed(list, w)), list.View().Text)
	}
	s.Type(w, screen.Key{Name: "enter"})
	screentest.Act(t, s, w, d, keys.Back, keys.Last)
	screentest.Settle(t, list, w, d, list.Open(w))
	if got, want := list.Subject(w).Jobs, s.Subject(w).Jobs; !slices.Equal(got, want) {
		t.Errorf("the jobs: got the cursor on %v, want %v as on the time line", got, want)
	}
	if len(listed(list, w)) != 16 || w.Query.Text != "" {
		t.Errorf("got %d jobs and the filter %q after esc, want all", len(listed(list, w)), w.Query.Text)
	}
}

// The dashboard may begin with the time line.
func TestTimelineNarrowsJobsThatWereNotShownYet(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Query.Text = "etl"
	d := screentest.NewDaemon()
	list := jobs.New()
	screentest.Settle(t, list, w, d, list.Open(w))
	if len(listed(list, w)) != 1 || w.Query.Text != "etl" {
		t.Errorf("got %d rows and the filter %q, want the one that matches etl", len(listed(list, w)), w.Query.Text)
	}
}

// Among many jobs a regular expression is searched outside the answer to a key.
func TestTimelineSearchAmongMany(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Query.Text = "/-[0-9]{3}7$/"
	w.Board = board.New()
	var rows []api.Row
	for i := range 3000 {
		rows = append(rows, api.Row{Job: job.ID(fmt.Sprintf("job-%04d", i)), State: job.StateOK})
	}
	w.Board.Apply(api.BoardUpdate{Complete: true, Rows: rows})
	s, d := New(), screentest.NewDaemon()
	effects := s.Open(w)
	c := canvas.New(80, 24)
	if screentest.Draw(s, c.View(), w); !strings.Contains(c.Text(), "searching") {
		t.Errorf("before the search:\n%s", c.Text())
	}
	screentest.Settle(t, s, w, d, effects)
	if s.rows.Len() != 300 {
		t.Errorf("after the search: %d rows, want 300", s.rows.Len())
	}
}

func TestAxisStandsOnFullHoursOfTheZone(t *testing.T) {
	kolkata := time.FixedZone("IST", 5*3600+1800)
	a := newAxis(screentest.Now, usualSpan, 48, kolkata)
	if got := a.from.In(kolkata).Format("15:04"); got != "10:30" {
		t.Errorf("got an axis from %s, want 10:30", got)
	}
	a = newAxis(screentest.Now, 48*time.Hour, 48, kolkata)
	if got := a.from.In(kolkata).Format("15:04"); got != "22:00" {
		t.Errorf("hours: got an axis from %s, want 22:00", got)
	}
	for _, tc := range []struct {
		at   time.Time
		want int
	}{{a.from, 0}, {a.from.Add(-1), -1}, {a.from.Add(-a.step), -1}, {a.from.Add(-a.step - 1), -2}, {a.from.Add(a.step - 1), 0}, {a.to(), 48}} {
		if got := a.index(tc.at); got != tc.want {
			t.Errorf("%s after the beginning: got cell %d, want %d", tc.at.Sub(a.from), got, tc.want)
		}
	}
}

func TestBarsTellSmallDifferencesFromLargeOnes(t *testing.T) {
	for _, tc := range []struct {
		counts []int
		want   string
	}{
		{[]int{0, 1, 7}, "017"}, {[]int{30, 31}, "01"}, {[]int{300, 310}, "00"}, {[]int{30, 36}, "04"}, {[]int{5, 5}, "00"}, {[]int{0, 0}, "00"}, {[]int{1000, 500, 10}, "730"},
	} {
		level, got := barsOf(tc.counts, 8), ""
		for _, n := range tc.counts {
			got += fmt.Sprint(level(n))
		}
		if got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.counts, got, tc.want)
		}
	}
}

func TestClashesScreens(t *testing.T) {
	for name, change := range map[string]func(d *screentest.Daemon){
		"clashes":       func(*screentest.Daemon) {},
		"clashes-none":  func(d *screentest.Daemon) { d.Real = screentest.Serve(t, screentest.NewHost("2026-11-20T17:00:00Z")) },
		"clashes-error": func(d *screentest.Daemon) { d.Real = screentest.Ended() },
		"clashes-hostile": func(d *screentest.Daemon) {
			d.OnClashes = func(q api.ClashQuery) (api.Clashes, error) {
				c, err := d.Real.Clashes(t.Context(), q)
				for i := range c.Clashes {
					c.Clashes[i].Starts, c.Clashes[i].Jobs = 12345, []job.ID{"\x1b[2J\u202ex", job.ID(strings.Repeat("long", 90))}
				}
				return c, err
			}
		},
	} {
		check := screentest.Check
		if name == "clashes" {
			check = screentest.CheckLayouts
		}
		check(t, name, func(v canvas.View, w *screen.World) {
			d := screentest.NewDaemon()
			line, _ := openLine(t, w, d, v.Width(), v.Height())
			change(d)
			s := newClashes(line)
			screentest.Settle(t, s, w, d, s.Open(w))
			screentest.Draw(s, v, w)
		})
	}
}

func TestClashIsShownOnTheTimeline(t *testing.T) {
	w := screentest.NewWorld(t)
	d := screentest.NewDaemon()
	line, _ := openLine(t, w, d, 80, 24)
	effects := screentest.Act(t, line, w, d, keys.Clashes)
	s := effects[0].(screen.Goto).Screen
	screentest.Settle(t, s, w, d, s.Open(w))
	if effects = screentest.Act(t, s, w, d, keys.Down, keys.Open); len(effects) != 1 || effects[0] != (screen.Back{}) {
		t.Fatalf("got %v, want to go back", effects)
	}
	screentest.Show(t, line, canvas.New(80, 22).View(), w, d)
	a := line.axis(w)
	if got := a.at(a.cells / 2).In(w.Local).Format("15:04"); got != "19:00" {
		t.Errorf("got %s in the middle, want the minute 19:00", got)
	}
	if got, want := line.cursorText(a, w), "19:00 Fri  5 jobs start together: cache-warm, etl-orders, mail-flush, metrics-push, ntp-check"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
