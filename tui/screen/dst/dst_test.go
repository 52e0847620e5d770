package dst

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// nightDaemon is a host with the entry etl-nightly.
func nightDaemon(t *testing.T, schedule, options string) *screentest.Daemon {
	t.Helper()
	h := screentest.NewHost("2026-11-20T17:00:00Z")
	h.LoadCrontabs(nil, screentest.Crontab("/etc/cron.d/etl", "", "#@ name=etl-nightly "+options+"\n"+schedule+" etl /opt/etl/run nightly\n"))
	h.Play(screentest.Now.Format(time.RFC3339), func(effect.Start) simulated.Played { return simulated.Played{} })
	return &screentest.Daemon{Real: screentest.Serve(t, h)}
}

func openDST(t *testing.T, w *screen.World, d screen.Daemon) screen.Screen {
	t.Helper()
	s := New(screen.Subject{Jobs: []job.ID{"etl-nightly"}})
	screentest.Settle(t, s, w, d, s.Open(w))
	return s
}

func TestDSTScreens(t *testing.T) {
	for _, tc := range []struct{ name, schedule, options string }{
		{"dst", "30 2 * * *", ""},
		{"dst-often", "*/5 * * * *", ""},
		{"dst-second", "0,30 2,3 * * *", "dst=second"},
		{"dst-every", "* * * * *", "every=5m"},
		{"dst-utc", "30 2 * * *", "tz=UTC"},
	} {
		d, check := nightDaemon(t, tc.schedule, tc.options), screentest.Check
		if tc.name == "dst" {
			check = screentest.CheckLayouts
		}
		check(t, tc.name, func(v canvas.View, w *screen.World) { screentest.Draw(openDST(t, w, d), v, w) })
	}
	d := nightDaemon(t, "30 2 * * *", "")
	d.OnShow = func(ref string) (api.Job, error) {
		j, err := d.Real.Show(t.Context(), ref)
		j.Job.Options, j.Job.Zone = map[string]string{"dst": "\x1b[2J\u202e"}, "../../etc/passwd\x1b[31m"
		return j, err
	}
	screentest.Check(t, "dst-hostile", func(v canvas.View, w *screen.World) { screentest.Draw(openDST(t, w, d), v, w) })
	screentest.Check(t, "dst-error", func(v canvas.View, w *screen.World) { screentest.Draw(openDST(t, w, screentest.Ended()), v, w) })
}

// The screen and the command line report the same.
func TestDSTAgreesWithExplain(t *testing.T) {
	w := screentest.NewWorld(t)
	for _, tc := range []struct {
		schedule string
		options  string
		want     []string
	}{
		{"30 2 * * *", "", []string{"clocks jump 02:00 -> 03:00", "02:30 does not exist: it runs once at 03:00 +02:00", "02:30 comes twice: it runs the first time only"}},
		{"30 2 * * *", "dst=second", []string{"02:30 comes twice: it runs the second time only"}},
		{"30 2 * * *", "dst=literal", []string{"02:30 does not exist: 1 run fewer that day", "it runs both times, 1 run more that day"}},
		{"0 5 * * *", "", []string{"no effect: it names no time in the gap"}},
		{"* * * * *", "every=5m", []string{"every=5m does not depend on local time"}},
		{"30 2 * * *", "jitter=5m", []string{"it runs once at 03:00 +02:00", "each start comes later than that"}},
	} {
		c := canvas.New(120, 40)
		screentest.Draw(openDST(t, w, nightDaemon(t, tc.schedule, tc.options)), c.View(), w)
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
		s := openAffected(t, w, nightDaemon(t, "30 2 * * *", ""))
		w.Board = board.New()
		w.Board.Apply(api.BoardUpdate{Complete: true})
		screentest.Settle(t, s, w, &screentest.Daemon{}, s.Open(w))
		screentest.Draw(s, v, w)
	})
}

func TestAffectedListsWhatAChangeTouches(t *testing.T) {
	w := screentest.NewWorld(t)
	j, err := nightDaemon(t, "30 2 * * *", "dst=second").Real.Show(t.Context(), "etl-nightly")
	if err != nil {
		t.Fatal(err)
	}
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
		newAffected().find(w)
	}
}
