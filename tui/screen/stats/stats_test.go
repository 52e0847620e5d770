package stats

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

func open(t *testing.T, w *screen.World, d screen.Daemon, jobs ...job.ID) *Stats {
	t.Helper()
	s := New(screen.Subject{Jobs: jobs})
	screentest.Settle(t, s, w, d, s.Open(w))
	return s
}

// yearDaemon has a run each hour of each day. All runs of the 13th fail, and one of each 7th.
func yearDaemon() *screentest.Daemon {
	return &screentest.Daemon{OnStats: func(q api.StatsQuery) (api.Stats, error) {
		st := api.Stats{Since: q.Since, Until: q.Until, By: q.By, Zone: "Europe/Berlin"}
		for day := q.Since; q.By == "day" && day.Before(screentest.Now); day = day.AddDate(0, 0, 1) {
			g := api.StatsGroup{Name: day.In(time.FixedZone("", 3600)).Format(time.DateOnly), Runs: 24, OK: 24, Time: time.Minute}
			switch g.Name[8:] {
			case "13":
				g.OK = 0
			case "07":
				g.OK = 23
			case "09":
				continue
			}
			g.Failed = g.Runs - g.OK
			st.Groups = append(st.Groups, g)
		}
		if q.By != "day" {
			st.Groups = []api.StatsGroup{
				{Name: "etl-orders", Runs: 700, OK: 650, Failed: 50, P50: 4 * time.Second, P95: 9 * time.Second, Max: 40 * time.Second, Time: time.Hour, Waste: 8 * time.Minute},
				{Name: "pg-backup", Runs: 30, OK: 30, P50: time.Minute, P95: 2 * time.Minute, Max: 3 * time.Minute, Time: 30 * time.Minute},
			}
		}
		st.All = api.StatsGroup{Runs: 730, OK: 680, Failed: 50, P50: 5 * time.Second, P95: time.Minute, Max: 3 * time.Minute, Time: 90 * time.Minute, Waste: 8 * time.Minute}
		if !q.Until.IsZero() { // the first half
			st.All.OK, st.All.Failed, st.All.P95 = 720, 10, 70*time.Second
		}
		return st, nil
	}}
}

func TestStatsScreens(t *testing.T) {
	screentest.CheckLayouts(t, "stats", func(v canvas.View, w *screen.World) {
		shelltest.Draw(open(t, w, screentest.NewDaemon()), v, w)
	})
	screentest.CheckLayouts(t, "stats-90-days", func(v canvas.View, w *screen.World) {
		d := yearDaemon()
		s := open(t, w, d)
		screentest.Act(t, s, w, d, keys.Days90)
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "stats-job", func(v canvas.View, w *screen.World) {
		shelltest.Draw(open(t, w, screentest.NewDaemon(), "certbot-renew"), v, w)
	})
	screentest.Check(t, "stats-hostile", func(v canvas.View, w *screen.World) {
		d := yearDaemon()
		s := open(t, w, &screentest.Daemon{OnStats: func(q api.StatsQuery) (api.Stats, error) {
			st, err := d.OnStats(q)
			for i, r := range screentest.HostileRows(w) {
				st.Groups = append(st.Groups, api.StatsGroup{Name: string(r.Job), Runs: 1 << 60, OK: i, Max: 1 << 62, Time: 1})
			}
			return st, err
		}}, "\x1b[2Jred")
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "stats-none", func(v canvas.View, w *screen.World) {
		shelltest.Draw(open(t, w, screentest.Serve(t, screentest.NewHost("2026-11-20T17:00:00Z"))), v, w)
	})
	screentest.Check(t, "stats-error", func(v canvas.View, w *screen.World) {
		shelltest.Draw(open(t, w, screentest.Ended()), v, w)
	})
}

func TestStatsAreSortedBySlowestAndWasted(t *testing.T) {
	w, d := screentest.NewWorld(t), yearDaemon()
	s := open(t, w, d)
	first := func() string { return s.rows.Row(0).Name }
	for _, want := range []string{"etl-orders", "etl-orders", "pg-backup", "pg-backup", "etl-orders"} { // TIME, WASTED, P95, SLOWEST, OK
		if got := first(); got != want {
			t.Errorf("by %s the first is %s, want %s", orders[s.by].title, got, want)
		}
		screentest.Act(t, s, w, d, keys.Sort)
	}
	if screentest.Act(t, s, w, d, keys.Reverse); first() != "pg-backup" {
		t.Errorf("in the other order the first is %s, want pg-backup", first())
	}
}

func TestStatsCompareTheHalvesOfWhatIsCounted(t *testing.T) {
	w := screentest.NewWorld(t)
	counted := screentest.Now.Add(-10 * time.Hour)
	var asked []string
	d := &screentest.Daemon{OnStats: func(q api.StatsQuery) (api.Stats, error) {
		until := "now"
		if !q.Until.IsZero() {
			until = q.Until.Sub(screentest.Now).String()
		}
		asked = append(asked, fmt.Sprintf("%s %s to %s", q.By, q.Since.Sub(screentest.Now).Truncate(time.Hour), until))
		return api.Stats{Since: counted, Zone: "Europe/Berlin"}, nil
	}}
	c := canvas.New(120, 24)
	open(t, w, d).Draw(c.View(), w)
	want := []string{"day -715h0m0s to now", " -10h0m0s to now", " -10h0m0s to -5h0m0s", " -5h0m0s to now"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if !strings.Contains(c.Text(), "counted since Fri 20 Nov 08:02:11 CET") {
		t.Errorf("it does not show since when it counts:\n%s", c.Text())
	}
	w.Status.NoDaemon = "no daemon"
	c.Clear()
	open(t, w, d).Draw(c.View(), w)
	if got := c.Text(); strings.Contains(got, "Nothing ran") || !strings.Contains(got, "Nothing is known: cron logs starts") {
		t.Errorf("with cron only, it looks as if nothing had run:\n%s", got)
	}
}

func TestStatsOfAJob(t *testing.T) {
	w, d := screentest.NewWorld(t), yearDaemon()
	s := open(t, w, d)
	effects := screentest.Act(t, s, w, d, keys.Open)
	if show := effects[0].(screen.Show); show.Action != keys.ShowStats || !slices.Equal(show.Subject.Jobs, []job.ID{"etl-orders"}) {
		t.Errorf("of all jobs, enter opens %+v, want the statistics of etl-orders", effects[0])
	}
	s = open(t, w, d, "etl-orders")
	if show := screentest.Act(t, s, w, d, keys.Open)[0].(screen.Show); show.Action != keys.Open {
		t.Errorf("of one job, enter opens %q, want the job", show.Action)
	}
	if why := s.Refuses(w, keys.ShowStats); why == "" {
		t.Error("the statistics of the job open themselves again")
	}
}
