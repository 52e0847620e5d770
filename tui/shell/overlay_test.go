package shell

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// checkShell compares what a shell on the fixture's world shows after something
// was done to it.
func checkShell(t *testing.T, name string, do func(s *Shell, front *plainScreen)) {
	t.Helper()
	check := screentest.Check
	if name == "confirm_run" || name == "help" {
		check = screentest.CheckLayouts
	}
	check(t, "shell_"+name, func(v canvas.View, w *screen.World) {
		s, front := shellOn(w)
		do(s, front)
		s.Draw(v)
	})
}

func TestShellGolden(t *testing.T) {
	d := &screentest.Daemon{Planned: 12}
	for _, tc := range []struct {
		name string
		do   func(s *Shell, front *plainScreen)
	}{
		{"confirm_run", func(s *Shell, _ *plainScreen) { typeKeys(s, "r") }},
		{"confirm_bulk", func(s *Shell, front *plainScreen) {
			front.about = screen.Subject{Jobs: []job.ID{"etl-orders", "certbot-renew", "geoip-update"}, Marked: true}
			typeKeys(s, "r", "2")
		}},
		{"confirm_protected", func(s *Shell, front *plainScreen) {
			front.about = screen.Subject{Jobs: []job.ID{"pg-backup"}}
			typeKeys(s, "r", "p", "g")
		}},
		{"confirm_stop", func(s *Shell, front *plainScreen) {
			front.about = screen.Subject{Jobs: []job.ID{"zfs-scrub"}}
			typeKeys(s, "x")
		}},
		{"backfill", func(s *Shell, _ *plainScreen) { carry(t, s, d, typeKeys(s, "b", "enter")) }},
		{"palette", func(s *Shell, _ *plainScreen) {
			typeKeys(s, ":", "r", "u", "n")
			s.Key(s.now, screen.Key{Name: "space", Text: " "})
			typeKeys(s, "p", "g")
		}},
		{"help", func(s *Shell, _ *plainScreen) { typeKeys(s, "?") }},
		{"help_search", func(s *Shell, _ *plainScreen) { typeKeys(s, "?", "o", "u", "t", "p") }},
		{"copy", func(s *Shell, _ *plainScreen) { typeKeys(s, "y") }},
		{"log_empty", func(s *Shell, _ *plainScreen) { typeKeys(s, "@") }},
		{"log", func(s *Shell, front *plainScreen) {
			carry(t, s, d, typeKeys(s, "p", "enter", "enter"))
			carry(t, s, d, typeKeys(s, "z"))
			front.about = screen.Subject{Jobs: []job.ID{"it's; rm -rf /"}}
			s.carryOut(nil, screen.Do{Command: []string{"cronring", "run", "it's; rm -rf /"}, Call: nothing})
			typeKeys(s, "@")
		}},
		{"pause", func(s *Shell, _ *plainScreen) { typeKeys(s, "p") }},
		{"pause_reason", func(s *Shell, _ *plainScreen) { typeKeys(s, "p", "2") }},
		{"toast", func(s *Shell, _ *plainScreen) { carry(t, s, d, typeKeys(s, "p", "enter", "enter")) }},
		{"refused", func(s *Shell, front *plainScreen) {
			front.about = screen.Subject{Jobs: []job.ID{"certbot-renew"}}
			typeKeys(s, "x")
		}},
		{"read_only", func(s *Shell, _ *plainScreen) {
			s.w.ReadOnly = "nothing is changed: --read-only"
			typeKeys(s, "r")
		}},
		{"offline", func(s *Shell, _ *plainScreen) {
			for _, err := range screentest.Ended().Board(t.Context()) {
				s.Lost(screentest.Now, err, 4*time.Second)
			}
			s.Tick(screentest.Now.Add(2 * time.Second))
		}},
		{"connecting", func(s *Shell, _ *plainScreen) { s.w.Link = screen.Link{Socket: "/run/cronring/cronring.sock"} }},
		{"views", func(s *Shell, front *plainScreen) {
			s.views = []screen.View{{Name: "broken", States: []job.State{job.StateFailing, job.StateLate}}, {Name: "backups", Text: "backup", Reverse: true, Order: "took", Wide: true}}
			s.over = &viewMenu{}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) { checkShell(t, tc.name, tc.do) })
	}
}

// Reasons that are longer than a line continue on the next one.
func TestHelpWrapsReasons(t *testing.T) {
	s, _ := newTestShell(t)
	s.w.Status.NoDaemon = "no daemon"
	typeKeys(s, "?", "r", "e", "t", "r", "y")
	got := shown(s, 80, 24)
	if text := strings.Join(strings.Fields(got), " "); !strings.Contains(text, "("+screen.NeedsDaemon+")") {
		t.Errorf("the reason is cut:\n%s", got)
	}
}

func TestHostileWordsOnEveryOverlay(t *testing.T) {
	const evil = "x\x1b[2J\u202e\x07\n\x9b31m" + "\u200b👨‍👩‍👧‍👦" + "中文"
	evilError := errors.New(evil)
	w := screentest.NewWorld(t)
	w.Status.Host = evil
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{{Job: evil, User: evil, Crontab: evil, Command: evil, Why: evil, State: job.StateFailing, Live: 1, LastRun: 1, Protected: true}}})
	for _, overlay := range []string{"r", "x", "p", "y", ":", "?", "@", "V", "b"} {
		s, front := shellOn(w)
		front.about = screen.Subject{Jobs: []job.ID{evil}}
		s.views = []screen.View{{Name: evil, Text: evil}}
		s.carryOut(nil, screen.Do{Question: evil, Command: []string{evil}, Call: nothing})
		s.Take(s.now, nil, screen.Answer{Slot: "do 1", Value: evil, Err: evilError})
		s.Lost(s.now, evilError, time.Second)
		s.w.Link.Live = true
		typeKeys(s, overlay)
		for width := 40; width < 100; width += 7 {
			got := shown(s, width, 20)
			screentest.CheckWidths(t, overlay, got, width)
			if strings.ContainsAny(strings.ReplaceAll(got, "\n", ""), "\x1b\x07\u202e\u009b\u200b") {
				t.Errorf("%s at %d cells: got what can steer a terminal: %q", overlay, width, got)
			}
		}
	}
}

func TestEveryKeyOfEverywhereDoesSomething(t *testing.T) {
	s, _ := newTestShell(t)
	for _, b := range s.w.Keys.Of(keys.Everywhere) {
		switch b.Action {
		case keys.Back, keys.Leave, keys.Quit, keys.Previous:
			continue
		}
		s, front := newTestShell(t)
		front.on = map[keys.Action][]screen.Effect{}
		s.previous = []screen.Screen{front}
		s.act(b.Action)
		if strings.Contains(s.toast.text, "nothing here to do that with") {
			t.Errorf("%s (%v) does nothing", b.Action, b.Keys)
		}
	}
}

// The menu of a pause shows all its choices, also on a narrow screen.
func TestPauseMenuShowsEveryChoice(t *testing.T) {
	w := screentest.NewWorld(t)
	s, _ := shellOn(w)
	typeKeys(s, "p")
	for _, width := range []int{40, 60, 80} {
		c := canvas.New(width, 12)
		s.Draw(c.View())
		for _, want := range []string{"enter until resumed", "8 8h", "t tomorrow 08:00", "o other", "esc cancel"} {
			if !strings.Contains(c.Text(), want) {
				t.Errorf("%d columns: got\n%s\nwant %q", width, c.Text(), want)
			}
		}
	}
}

// What is typed to confirm does not cover the text before it, also on a narrow screen.
func TestConfirmationShowsWhatToType(t *testing.T) {
	w := screentest.NewWorld(t)
	s, front := shellOn(w)
	front.about = screen.Subject{Jobs: []job.ID{"etl-orders", "certbot-renew"}, Marked: true}
	typeKeys(s, "r")
	for _, width := range []int{40, 41, 60, 80} {
		c := canvas.New(width, 12)
		s.Draw(c.View())
		if want := "Type 2 to confirm: " + w.Glyphs.Caret; !strings.Contains(c.Text(), want) {
			t.Errorf("%d columns: got\n%s\nwant %q", width, c.Text(), want)
		}
	}
}
