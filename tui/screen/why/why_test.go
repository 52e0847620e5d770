package why

import (
	"fmt"
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

// nightly is a host where a run of etl-nightly takes so long that the next one is skipped.
func nightly(t *testing.T) *api.Client {
	t.Helper()
	h := screentest.NewHost("2026-11-18T08:12:40Z")
	h.LoadCrontabs(nil, screentest.Crontab("/etc/cron.d/etl", "", "SHELL=/bin/bash\n#@ name=etl-nightly overlap=skip\n0,30 2 * * * etl /opt/etl/run nightly\n"))
	h.Play(screentest.Now.Format(time.RFC3339), func(s effect.Start) simulated.Played {
		if s.Run.Due.Day() == 20 {
			return simulated.Played{Took: 41*time.Minute + 7*time.Second, Outcome: job.Outcome{Kind: job.Exited}}
		}
		return simulated.Played{Took: 12 * time.Minute, Outcome: job.Outcome{Kind: job.Exited}}
	})
	return screentest.Serve(t, h)
}

// overlapped is the occurrence that was skipped.
var overlapped = time.Date(2026, 11, 20, 1, 30, 0, 0, time.UTC)

func openWhy(t *testing.T, w *screen.World, d screen.Daemon, s screen.Subject) *Why {
	t.Helper()
	why := New(s)
	screentest.Settle(t, why, w, d, why.Open(w))
	return why
}

func TestWhyScreens(t *testing.T) {
	client := nightly(t)
	nights := &screentest.Daemon{Real: client}
	subject := screen.Subject{Jobs: []job.ID{"etl-nightly"}, At: overlapped}
	screentest.CheckLayouts(t, "why", func(v canvas.View, w *screen.World) {
		screentest.Visit(t, w, client)
		shelltest.Draw(openWhy(t, w, nights, subject), v, w)
	})
	for name, id := range map[string]job.ID{
		"why-failed": "etl-orders", "why-late": "invoice-export", "why-paused": "report-daily", "why-new": "tmp-clean",
	} {
		screentest.Check(t, name, func(v canvas.View, w *screen.World) {
			shelltest.Draw(openWhy(t, w, screentest.NewDaemon(), screen.Subject{Jobs: []job.ID{id}}), v, w)
		})
	}
	screentest.Check(t, "why-hostile", func(v canvas.View, w *screen.World) {
		d := *nights
		d.OnWhy = func(ref string, at time.Time) (api.Why, error) {
			a, err := nights.Why(t.Context(), ref, at)
			a.Job = job.ID("\u202egnp.exe\x1b[2J" + strings.Repeat("x", 200))
			a.Verdict = "It ran. \x1b]0;owned\x07 " + strings.Repeat("nothing ", 30)
			if w.Glyphs.Tier == canvas.Full {
				a.Verdict += strings.Repeat("日本語", 60)
			}
			a.Steps[0].Fact = strings.Repeat("longword", 40)
			a.Facts = append(a.Facts, "\xff\xfe")
			a.Remedies = append(a.Remedies, api.Remedy{What: "\x1b[31mred", Command: strings.Repeat("rm ", 99)})
			return a, err
		}
		shelltest.Draw(openWhy(t, w, &d, subject), v, w)
	})
	screentest.Check(t, "why-offline", func(v canvas.View, w *screen.World) {
		screentest.Visit(t, w, client)
		s := openWhy(t, w, nights, subject)
		screentest.GoOffline(w)
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "why-error", func(v canvas.View, w *screen.World) {
		shelltest.Draw(openWhy(t, w, screentest.NewDaemon(), screen.Subject{Jobs: []job.ID{"etl-nightly"}}), v, w)
	})
}

func TestWhyOfAFailingJobIsOfItsFailure(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.NewDaemon()
	row, _ := w.Row(screen.Subject{Jobs: []job.ID{"etl-orders"}})
	why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"etl-orders"}})
	if why.answer.Run == nil || why.answer.Run.ID != row.LastRun {
		t.Errorf("explained %v of run %v, want run %d", why.answer.At, why.answer.Run, row.LastRun)
	}
}

func TestWhyKeepsToItsOccurrence(t *testing.T) {
	w, d := screentest.NewWorld(t), &screentest.Daemon{}
	newest := overlapped
	d.OnWhy = func(ref string, at time.Time) (api.Why, error) {
		if at.IsZero() {
			at = newest
		}
		return api.Why{Job: job.ID(ref), At: at}, nil
	}
	d.OnPast = func([]job.ID, int) ([]api.JobPast, error) {
		return []api.JobPast{{Cells: []api.Cell{{Due: overlapped}, {Due: newest}}}}, nil
	}
	d.OnShow = func(string) (api.Job, error) {
		return api.Job{Upcoming: []time.Time{overlapped.Add(24 * time.Hour)}}, nil
	}
	why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"ntp-check"}})
	if got := why.Heading(w); strings.Contains(got, "newer") {
		t.Errorf("the newest occurrence has the heading %q", got)
	}
	first := why.answer.At
	newest = newest.Add(time.Hour)
	row, _ := w.Row(screen.Subject{Jobs: []job.ID{"ntp-check"}})
	row.Next, row.Last = newest.Add(time.Hour), newest
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	screentest.Settle(t, why, w, d, why.Refresh(w))
	if !why.answer.At.Equal(first) || !strings.HasSuffix(why.Heading(w), "newer: ]") {
		t.Errorf("after another occurrence it explains %v under %q, want %v and newer: ]", why.answer.At, why.Heading(w), first)
	}
	effects, _ := why.Act(w, keys.NextRun)
	screentest.Settle(t, why, w, d, effects)
	if !why.answer.At.Equal(newest) || strings.Contains(why.Heading(w), "newer") {
		t.Errorf("] explains %v under %q, want %v", why.answer.At, why.Heading(w), newest)
	}
}

func TestWhyGoesThroughOccurrences(t *testing.T) {
	w, d := screentest.NewWorld(t), &screentest.Daemon{Real: nightly(t)}
	at := overlapped
	why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"etl-nightly"}, At: at})
	for _, tt := range []struct {
		key  keys.Action
		want time.Time
	}{
		{keys.NextRun, at.Add(23*time.Hour + 30*time.Minute)},
		{keys.NextRun, at.Add(24 * time.Hour)},
		{keys.PreviousRun, at.Add(23*time.Hour + 30*time.Minute)},
		{keys.PreviousRun, at},
		{keys.PreviousRun, at.Add(-30 * time.Minute)},
	} {
		screentest.Act(t, why, w, d, tt.key)
		if !why.answer.At.Equal(tt.want) {
			t.Errorf("after %s it explains %v, want %v", tt.key, why.answer.At, tt.want)
		}
	}
	for key, end := range map[keys.Action]time.Time{keys.PreviousRun: at.Add(-24*time.Hour - 30*time.Minute), keys.NextRun: why.around[len(why.around)-1]} {
		for range 20 {
			if why.Refuses(w, key) == "" {
				screentest.Act(t, why, w, d, key)
			}
		}
		if why.Refuses(w, key) == "" || !why.answer.At.Equal(end) {
			t.Errorf("%s ends at %v, want %v", key, why.answer.At, end)
		}
	}
}

func TestWhyDoesWhatIsProposed(t *testing.T) {
	run := &job.Run{ID: 77, Job: "j"}
	for _, tt := range []struct{ command, want string }{
		{"cronring run j", "press run j 0"},
		{"cronring resume j", "press pause j 0"},
		{"cronring stop j", "press stop j 0"},
		{"cronring logs -f 77", "press output j 77"},
		{"cronring logs j@failed", "press output j 0"},
		{"cronring logs other@failed", "clip cronring logs other@failed"},
		{"cronring retry 78", "press retry j 78"},
		{"cronring retry j --wait", "clip cronring retry j --wait"},
		{"cronring run --force j", "do [cronring run --force j]"},
		{"${EDITOR:-vi} +15 /etc/cron.d/etl", "press edit j 77"},
		{"cronring history j", "show runs j"},
		{"cronring set j overlap=queue", "do [cronring set j overlap=queue]"},
		{"cronring set other overlap=queue", "clip cronring set other overlap=queue"},
		{"cronring set j overlap=queue; reboot", "clip cronring set j overlap=queue; reboot"},
		{"cronring backfill j --at 2026-11-20T02:30:00+01:00", "press backfill j 0"},
		{"cronring run other", "clip cronring run other"},
		{"cronring lint /etc/cron.d/etl", "clip cronring lint /etc/cron.d/etl"},
		{"getent passwd ann", "clip getent passwd ann"},
		{"rm -rf /", "clip rm -rf /"},
		{"", "clip "},
	} {
		w := screentest.NewWorld(t)
		d := &screentest.Daemon{}
		d.OnWhy = func(string, time.Time) (api.Why, error) {
			return api.Why{Job: "j", Run: run, Remedies: []api.Remedy{{What: "x", Command: tt.command}}}, nil
		}
		why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"j"}})
		effects, ok := why.Act(w, keys.Remedy1)
		if !ok || len(effects) != 1 {
			t.Fatalf("%q: got effects %v, %v", tt.command, effects, ok)
		}
		got := ""
		switch e := effects[0].(type) {
		case screen.Press:
			got = fmt.Sprintf("press %s %s %d", e.Action, e.Subject.Jobs[0], e.Subject.Run)
		case screen.Do:
			got = fmt.Sprint("do ", e.Command)
		case screen.Show:
			got = fmt.Sprintf("show %s %s", e.Action, e.Subject.Jobs[0])
		case screen.Clip:
			got = "clip " + e.Text
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.command, got, tt.want)
		}
		if why.Refuses(w, keys.Remedy2) == "" {
			t.Errorf("%q: 2 is not refused, though only one thing is proposed", tt.command)
		}
		w.Status.Denied.Crontab = "it is in cron.deny"
		changes := strings.HasPrefix(tt.command, "cronring set") || strings.HasPrefix(tt.command, "${EDITOR")
		if refused := why.Refuses(w, keys.Remedy1) != ""; refused != changes {
			t.Errorf("%q: without a crontab of one's own it is refused: %t, want %t", tt.command, refused, changes)
		}
	}
}

func TestWhyAsksAgainWhenItsJobChanges(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.NewDaemon()
	why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"pg-backup"}})
	if effects := why.Refresh(w); len(effects) != 0 {
		t.Fatalf("nothing changed, and it asks %v", effects)
	}
	row, _ := w.Board.Job("pg-backup")
	row.LastRun++
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	if effects := why.Refresh(w); len(effects) == 0 {
		t.Error("the job ran, and it does not ask again")
	}
}

func TestWhyKeepsWhatItKnowsOffline(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.NewDaemon()
	why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"etl-orders"}})
	why.Take(w, screen.Answer{Slot: slotWhy, Err: &api.Error{Kind: api.Unreachable, What: "no daemon"}})
	w.Link.Live = false
	if effects := why.Refresh(w); len(effects) != 0 || !why.known {
		t.Errorf("offline: asks %v, known %v; want nothing and true", effects, why.known)
	}
	w.Link.Live = true
	if effects := why.Refresh(w); len(effects) == 0 {
		t.Error("the daemon is back, and it does not ask")
	}
}

func TestShellTime(t *testing.T) {
	w := screentest.NewWorld(t)
	for at, want := range map[string]string{
		"2026-11-20T01:30:00Z":   "02:30",
		"2026-11-19T01:30:00Z":   "'2026-11-19 02:30'",
		"2026-11-20T01:30:07.5Z": "2026-11-20T02:30:07.5+01:00",
	} {
		moment, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := shellTime(moment, w.Now, w.Local); got != want {
			t.Errorf("%s: got %s, want %s", at, got, want)
		}
	}
}

// At the end of summer time the clock shows 02:30 twice: one of both needs its
// offset.
func TestShellTimeThatTheClockShowsTwice(t *testing.T) {
	w := screentest.NewWorld(t)
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)
	a, b := shellTime(first, w.Now, w.Local), shellTime(first.Add(time.Hour), w.Now, w.Local)
	if a == b {
		t.Errorf("both are %s", a)
	}
}
