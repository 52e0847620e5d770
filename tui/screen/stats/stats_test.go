package stats

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/simulated"
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

// quarter is a host that ran etl-orders each hour for 90 days, and pg-backup each day, except
// on each 9th. All runs of etl-orders on a 13th failed, and one on each 7th.
func quarter(t *testing.T) *api.Client {
	t.Helper()
	h, local := screentest.NewHost("2026-08-22T17:02:11Z"), screentest.NewWorld(t).Local
	h.LoadCrontabs(nil, screentest.Crontab("/etc/cron.d/etl", "", "#@ name=etl-orders\n0 * 1-8,10-31 * * etl /opt/etl/run orders\n#@ name=pg-backup\n30 2 1-8,10-31 * * postgres /opt/pg-backup/run\n"))
	h.Play(screentest.Now.Format(time.RFC3339), func(s effect.Start) simulated.Played {
		p := simulated.Played{Took: time.Duration(4+s.Run.ID%6) * time.Second, Outcome: job.Outcome{Kind: job.Exited}}
		if s.Job.ID == "pg-backup" {
			p.Took = time.Duration(60+s.Run.ID%30) * time.Second
		} else if at := s.Run.Due.In(local); at.Day() == 13 || at.Day() == 7 && at.Hour() == 4 {
			p.Took, p.Outcome.Code = 40*time.Second, 1
		}
		return p
	})
	return screentest.Serve(t, h)
}

func TestStatsScreens(t *testing.T) {
	d := quarter(t)
	screentest.CheckLayouts(t, "stats", func(v canvas.View, w *screen.World) {
		shelltest.Draw(open(t, w, screentest.NewDaemon()), v, w)
	})
	screentest.CheckLayouts(t, "stats-90-days", func(v canvas.View, w *screen.World) {
		s := open(t, w, d)
		screentest.Act(t, s, w, d, keys.Days90)
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "stats-job", func(v canvas.View, w *screen.World) {
		shelltest.Draw(open(t, w, screentest.NewDaemon(), "certbot-renew"), v, w)
	})
	screentest.Check(t, "stats-hostile", func(v canvas.View, w *screen.World) {
		s := open(t, w, &screentest.Daemon{OnStats: func(q api.StatsQuery) (api.Stats, error) {
			q.Refs = nil
			st, err := d.Stats(t.Context(), q)
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

func TestStatsAreSortedByEachColumn(t *testing.T) {
	w := screentest.NewWorld(t)
	d := &screentest.Daemon{OnStats: func(api.StatsQuery) (api.Stats, error) {
		return api.Stats{Groups: []api.StatsGroup{
			{Name: "d", Runs: 20, OK: 20, P50: 2, P95: 2, Max: 2, Waste: 2, Time: 2},
			{Name: "a", Runs: 10, OK: 10, P50: 9, P95: 2, Max: 2, Waste: 2, Time: 1},
			{Name: "b", Runs: 30, OK: 30, P50: 2, P95: 9, Max: 2, Waste: 9, Time: 2},
			{Name: "c", Runs: 20, OK: 10, P50: 2, P95: 2, Max: 9, Waste: 2, Time: 9},
		}}, nil
	}}
	s := open(t, w, d)
	for _, want := range []string{"TIME c", "JOB a", "RUNS b", "OK c", "P50 a", "P95 b", "SLOWEST c", "WASTED b", "TIME c"} {
		if got := s.Sorted + " " + s.rows.Row(0).Name; got != want {
			t.Errorf("got %s first, want %s", got, want)
		}
		screentest.Act(t, s, w, d, keys.Sort)
	}
	screentest.Act(t, s, w, d, keys.Reverse)
	if got := s.Sorted + " " + s.rows.Row(0).Name; got != "JOB d" {
		t.Errorf("in the other order, got %s first, want JOB d", got)
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
	w, d := screentest.NewWorld(t), quarter(t)
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
