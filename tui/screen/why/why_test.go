package why

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

// whyDaemon explains every occurrence as skipped because of an overlap, and lists other
// occurrences.
func whyDaemon() *screentest.Daemon {
	w := screentest.Overlapped()
	return &screentest.Daemon{
		OnWhy: func(ref string, at time.Time) (api.Why, error) {
			if !at.IsZero() {
				w.At = at
			}
			w.Job = job.ID(ref)
			return w, nil
		},
		OnPast: func([]job.ID, int) ([]api.JobPast, error) {
			return []api.JobPast{{Cells: []api.Cell{{Due: w.At.Add(-24 * time.Hour)}, {Due: w.At}}}}, nil
		},
		OnShow: func(string) (api.Job, error) { return api.Job{Upcoming: []time.Time{w.At.Add(24 * time.Hour)}}, nil },
		OnOneRun: func(ref string) (job.Run, error) {
			return job.Run{ID: 4213, Job: "etl-nightly", Due: w.At, State: job.RunEnded}, nil
		},
	}
}

func openWhy(t *testing.T, w *screen.World, d screen.Daemon, s screen.Subject) *Why {
	t.Helper()
	why := New(s)
	screentest.Settle(t, why, w, d, why.Open(w))
	return why
}

func TestWhyScreens(t *testing.T) {
	screentest.CheckLayouts(t, "why", func(v canvas.View, w *screen.World) {
		shelltest.Draw(openWhy(t, w, whyDaemon(), screen.Subject{Jobs: []job.ID{"etl-nightly"}}), v, w)
	})
	screentest.Check(t, "why-hostile", func(v canvas.View, w *screen.World) {
		d := whyDaemon()
		d.OnWhy = func(string, time.Time) (api.Why, error) {
			a := screentest.Overlapped()
			a.Job = job.ID("\u202egnp.exe\x1b[2J" + strings.Repeat("x", 200))
			a.Verdict = "It ran. \x1b]0;owned\x07 " + strings.Repeat("nothing ", 30)
			if w.Glyphs.Tier == canvas.Full {
				a.Verdict += strings.Repeat("日本語", 60)
			}
			a.Steps[0].Fact = strings.Repeat("longword", 40)
			a.Facts = append(a.Facts, "\xff\xfe")
			a.Remedies = append(a.Remedies, api.Remedy{What: "\x1b[31mred", Command: strings.Repeat("rm ", 99)})
			return a, nil
		}
		shelltest.Draw(openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"etl-nightly"}}), v, w)
	})
	screentest.Check(t, "why-offline", func(v canvas.View, w *screen.World) {
		s := openWhy(t, w, whyDaemon(), screen.Subject{Jobs: []job.ID{"etl-nightly"}})
		screentest.GoOffline(w)
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "why-error", func(v canvas.View, w *screen.World) {
		d := &screentest.Daemon{OnWhy: func(string, time.Time) (api.Why, error) {
			return api.Why{}, &api.Error{Kind: api.NotFound, What: `cannot explain "etl-nightly": no such job`, Why: "142 jobs are loaded, none matches", Fix: "cronring list 'etl*'"}
		}}
		shelltest.Draw(openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"etl-nightly"}}), v, w)
	})
}

// What the page of the design shows is shown, where the data allow it.
func TestWhyKeepsItsPlaces(t *testing.T) {
	w := screentest.NewWorld(t)
	c := canvas.New(80, 24)
	shelltest.Draw(openWhy(t, w, whyDaemon(), screen.Subject{Jobs: []job.ID{"etl-nightly"}}), c.View(), w)
	for y, want := range map[int]string{
		0:  " Why: etl-nightly at Fri 20 Nov 02:30:00 CET                  live 18:02:11 CET",
		1:  ` ✗ It did not start. The run before it was still going, overlap is "skip".`,
		2:  "─ The chain, first cross wins ──────────────────────────────────────────────────",
		3:  " ✓ entry     /etc/cron.d/etl:15  0,30 2 * * *  loaded 3 Nov 09:12, revision 31",
		9:  " ✗ overlap   run 4187 began 02:00:00, was running at 02:30:00, ended 02:41:07",
		11: "─ Facts ────────────────────────────────────────────────────────────────────────",
		13: " next slot Sat 21 Nov 02:00:00 in 7h57m",
		14: "─ Do one of these ──────────────────────────────────────────────────────────────",
		15: " 1  queue instead of skip    cronring set etl-nightly overlap=queue",
		18: " same text in a shell:       cronring why etl-nightly --at 02:30",
	} {
		if got := strings.TrimRight(strings.Split(c.Text(), "\n")[y], " "); got != want {
			t.Errorf("line %d\n got %q\nwant %q", y+1, got, want)
		}
	}
}

func TestWhyOfAFailingJobIsOfItsFailure(t *testing.T) {
	w, d := screentest.NewWorld(t), whyDaemon()
	var asked []string
	d.OnOneRun = func(ref string) (job.Run, error) {
		asked = append(asked, ref)
		return job.Run{ID: 4213, Job: "etl-orders", Due: screentest.Now}, nil
	}
	why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"etl-orders"}})
	if !slices.Equal(asked, []string{"4213"}) || !why.answer.At.Equal(screentest.Now) {
		t.Errorf("asked for runs %v and explained %v, want run 4213 and %v", asked, why.answer.At, screentest.Now)
	}
}

func TestWhyKeepsToItsOccurrence(t *testing.T) {
	w, d := screentest.NewWorld(t), whyDaemon()
	newest := screentest.Overlapped().At
	explain := d.OnWhy
	d.OnWhy = func(ref string, at time.Time) (api.Why, error) {
		if at.IsZero() {
			at = newest
		}
		return explain(ref, at)
	}
	d.OnPast = func([]job.ID, int) ([]api.JobPast, error) {
		return []api.JobPast{{Cells: []api.Cell{{Due: screentest.Overlapped().At}, {Due: newest}}}}, nil
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
	w, d := screentest.NewWorld(t), whyDaemon()
	why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"etl-nightly"}})
	at := screentest.Overlapped().At
	for _, tt := range []struct {
		key    keys.Action
		want   time.Time
		refuse bool
	}{
		{keys.NextRun, at.Add(24 * time.Hour), false},
		{keys.NextRun, at.Add(24 * time.Hour), true},
		{keys.PreviousRun, at, false},
		{keys.PreviousRun, at.Add(-24 * time.Hour), false},
		{keys.PreviousRun, at.Add(-24 * time.Hour), true},
	} {
		if got := why.Refuses(w, tt.key) != ""; got != tt.refuse {
			t.Errorf("%s at %v is refused: %v, want %v", tt.key, why.answer.At, got, tt.refuse)
		}
		effects, _ := why.Act(w, tt.key)
		screentest.Settle(t, why, w, d, effects)
		if !why.answer.At.Equal(tt.want) {
			t.Errorf("after %s it explains %v, want %v", tt.key, why.answer.At, tt.want)
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
		d := whyDaemon()
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
	w, d := screentest.NewWorld(t), whyDaemon()
	why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"pg-backup"}})
	if effects := why.Refresh(w); len(effects) != 0 {
		t.Fatalf("nothing changed, and it asks %v", effects)
	}
	slot, _ := w.Board.Find("pg-backup")
	row := w.Board.Row(slot)
	row.LastRun++
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	if effects := why.Refresh(w); len(effects) == 0 {
		t.Error("the job ran, and it does not ask again")
	}
}

func TestWhyKeepsWhatItKnowsOffline(t *testing.T) {
	w, d := screentest.NewWorld(t), whyDaemon()
	why := openWhy(t, w, d, screen.Subject{Jobs: []job.ID{"etl-nightly"}})
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
