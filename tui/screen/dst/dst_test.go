package dst

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// nightJob is a job as the daemon shows it, whose next occurrences are those of
// its time fields and dst=.
func nightJob(w *screen.World, schedule string, options map[string]string) api.Job {
	j := api.Job{V: api.Version, Status: job.Status{Job: job.Job{
		ID: "etl-nightly", Crontab: "/etc/cron.d/etl", Line: 15, User: "etl", Schedule: schedule, Zone: "Europe/Berlin", Options: options,
	}}}
	_, s := jobinfo.ReadSchedule(&j, timetable.NewZone(w.Local))
	for t := w.Now; s != nil && len(j.Upcoming) < 5; {
		if t = s.Next(t); t.IsZero() {
			break
		}
		j.Upcoming = append(j.Upcoming, t)
	}
	return j
}

func dstDaemon(j api.Job) *screentest.Daemon {
	return &screentest.Daemon{OnShow: func(ref string) (api.Job, error) {
		j.Job.ID = job.ID(ref)
		return j, nil
	}}
}

func openDST(t *testing.T, w *screen.World, d screen.Daemon) screen.Screen {
	t.Helper()
	s := New(screen.Subject{Jobs: []job.ID{"etl-nightly"}})
	screentest.Settle(t, s, w, d, s.Open(w))
	return s
}

func TestDSTScreens(t *testing.T) {
	for name, j := range map[string]func(w *screen.World) api.Job{
		"dst":       func(w *screen.World) api.Job { return nightJob(w, "30 2 * * *", nil) },
		"dst-often": func(w *screen.World) api.Job { return nightJob(w, "*/5 * * * *", nil) },
		"dst-second": func(w *screen.World) api.Job {
			return nightJob(w, "0,30 2,3 * * *", map[string]string{"dst": "second"})
		},
		"dst-every": func(w *screen.World) api.Job { return nightJob(w, "* * * * *", map[string]string{"every": "5m"}) },
		"dst-utc": func(w *screen.World) api.Job {
			j := nightJob(w, "30 2 * * *", nil)
			j.Job.Zone = "UTC"
			return j
		},
		"dst-hostile": func(w *screen.World) api.Job {
			j := nightJob(w, "30 2 * * *", map[string]string{"dst": "\x1b[2J\u202e"})
			j.Job.Zone = "../../etc/passwd\x1b[31m"
			return j
		},
	} {
		check := screentest.Check
		if name == "dst" {
			check = screentest.CheckLayouts
		}
		check(t, name, func(v canvas.View, w *screen.World) { screentest.Draw(openDST(t, w, dstDaemon(j(w))), v, w) })
	}
	screentest.Check(t, "dst-error", func(v canvas.View, w *screen.World) { screentest.Draw(openDST(t, w, &screentest.Daemon{}), v, w) })
}

// The screen and the command line report the same.
func TestDSTAgreesWithExplain(t *testing.T) {
	w := screentest.NewWorld(t)
	for _, tc := range []struct {
		schedule string
		options  map[string]string
		want     []string
	}{
		{"30 2 * * *", nil, []string{"clocks jump 02:00 -> 03:00", "02:30 does not exist: it runs once at 03:00 +02:00", "02:30 comes twice: it runs the first time only"}},
		{"30 2 * * *", map[string]string{"dst": "second"}, []string{"02:30 comes twice: it runs the second time only"}},
		{"30 2 * * *", map[string]string{"dst": "literal"}, []string{"02:30 does not exist: 1 run fewer that day", "it runs both times, 1 run more that day"}},
		{"0 5 * * *", nil, []string{"no effect: it names no time in the gap"}},
		{"* * * * *", map[string]string{"every": "5m"}, []string{"every=5m does not depend on local time"}},
		{"30 2 * * *", map[string]string{"jitter": "5m"}, []string{"it runs once at 03:00 +02:00", "each start comes later than that"}},
	} {
		j := nightJob(w, tc.schedule, tc.options)
		c := canvas.New(120, 40)
		screentest.Draw(openDST(t, w, dstDaemon(j)), c.View(), w)
		for _, want := range tc.want {
			if !strings.Contains(c.Text(), want) {
				t.Errorf("%s %v: got no %q:\n%s", tc.schedule, tc.options, want, c.Text())
			}
		}
	}
}

// nightRows are jobs in several zones; changes of the clocks affect some of them.
func nightRows() []api.Row {
	rows := screentest.Rows()
	rows[0].Job, rows[0].Schedule = "etl-nightly", "30 2 * * *"
	rows[1].Zone = "America/New_York" // 03:17 is after the gap there
	rows[2].Schedule, rows[2].Zone = "0 1 * * 0", "America/New_York"
	rows[3].Schedule = "every=5m"
	rows[4].Schedule, rows[4].Zone = "30 2 * * *", "UTC"
	return rows
}

func openAffected(t *testing.T, w *screen.World, d screen.Daemon) *affected {
	t.Helper()
	w.Board = board.New()
	w.Board.Apply(api.BoardUpdate{Rows: nightRows(), Complete: true})
	s := New(screen.Subject{}).(*affected)
	screentest.Settle(t, s, w, d, s.Open(w))
	return s
}

func TestAffectedScreens(t *testing.T) {
	screentest.CheckLayouts(t, "dst-all", func(v canvas.View, w *screen.World) {
		screentest.Draw(openAffected(t, w, &screentest.Daemon{}), v, w)
	})
	screentest.Check(t, "dst-none", func(v canvas.View, w *screen.World) {
		s := openAffected(t, w, dstDaemon(nightJob(w, "30 2 * * *", nil)))
		w.Board = board.New()
		w.Board.Apply(api.BoardUpdate{Complete: true})
		screentest.Settle(t, s, w, &screentest.Daemon{}, s.Open(w))
		screentest.Draw(s, v, w)
	})
}

func TestAffectedListsWhatAChangeTouches(t *testing.T) {
	w := screentest.NewWorld(t)
	j := nightJob(w, "30 2 * * *", map[string]string{"dst": "second"})
	shown := 0
	s := openAffected(t, w, &screentest.Daemon{OnShow: func(ref string) (api.Job, error) {
		shown++
		if ref == "etl-nightly" {
			return j, nil
		}
		return api.Job{}, &api.Error{Kind: api.NotFound, What: "gone"}
	}})
	var got []string
	effects := map[string]string{}
	for i := range s.rows.All() {
		r := &s.rows.All()[i]
		line := r.change.At.Format("2006-01-02 ") + string(r.key.job)
		got = append(got, line)
		effects[line] = s.effect(w, r)
	}
	for _, want := range []string{"2027-03-28 etl-nightly", "2027-03-28 pg-backup", "2027-10-31 etl-nightly", "2027-10-31 pg-backup", "2027-11-07 geoip-update"} {
		if effects[want] == "" {
			t.Errorf("got %v, want %s among them", got, want)
		}
	}
	for _, not := range []string{"certbot-renew", "invoice-export", "cache-warm", "apt-daily"} {
		if strings.Contains(fmt.Sprint(got), not) {
			t.Errorf("got %v, want no %s", got, not)
		}
	}
	if got, want := effects["2027-10-31 etl-nightly"], "02:30 comes twice: it runs the second time only"; got != want {
		t.Errorf("with dst=second: got %q, want %q", got, want)
	}
	if got, want := effects["2027-10-31 pg-backup"], "02:30 comes twice: it runs the first time only"; got != want {
		t.Errorf("as for an entry without options: got %q, want %q", got, want)
	}
	before := shown
	screentest.Settle(t, s, w, &screentest.Daemon{}, s.Refresh(w))
	if shown != before {
		t.Errorf("got %d more questions, want none about what is known", shown-before)
	}
	effectsOf, _ := s.Act(w, keys.Open)
	if len(effectsOf) != 1 || effectsOf[0].(screen.Goto).Screen.(*DST).id != s.rows.Row(0).key.job {
		t.Errorf("got %v, want the job under the cursor", effectsOf)
	}
	s.Act(w, keys.Filter)
	for _, k := range "geoip" {
		s.Type(w, screen.Key{Name: string(k), Text: string(k)})
	}
	if s.rows.Len() != 1 {
		t.Errorf("got %d rows that match geoip, want 1", s.rows.Len())
	}
}

// BenchmarkAffected looks through a hundred thousand jobs of many times.
func BenchmarkAffected(b *testing.B) {
	w := &screen.World{Now: screentest.Now, Board: board.New(), Keys: keys.Default(), Glyphs: canvas.GlyphsOf(canvas.Full), Local: time.UTC}
	rows := make([]api.Row, 100_000)
	for i := range rows {
		rows[i] = api.Row{Job: job.ID(fmt.Sprintf("tenant-%05d", i)), Schedule: fmt.Sprintf("%d %d * * *", i%60, i/60%24), Zone: "Europe/Berlin"}
	}
	w.Board.Apply(api.BoardUpdate{Rows: rows, Complete: true})
	for b.Loop() {
		new(affected).find(w)
	}
}
