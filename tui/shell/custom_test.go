package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// customShell is a shell with custom commands, and the job etl-orders selected.
func customShell(t *testing.T) (*Shell, *plainScreen) {
	t.Helper()
	s, front := newTestShell(t)
	s.custom = []custom.Command{
		{Name: "its journal", Key: "L", Run: "journalctl -g {job}", Output: custom.Pane, Line: 1},
		{Name: "open a ticket", Key: "B", Run: "echo {job}: ticket on {host}", Output: custom.Message, Confirm: true, Line: 2},
		{Name: "edit it with vi", Key: "U", On: keys.Jobs, Run: "vi +{line} {file}", Output: custom.Terminal, Line: 3},
		{Name: "only on runs", Key: "Q", On: keys.Runs, Run: "true", Output: custom.Pane, Line: 4},
		{Name: "not to be reached", Key: "r", Run: "false", Output: custom.Pane, Line: 5},
		{Name: "without a key", Run: "exit 3", Output: custom.Message, Line: 6},
	}
	return s, front
}

func TestCustomCommandsOnKeys(t *testing.T) {
	s, front := customShell(t)
	typeKeys(s, "L")
	if got := s.front().(*plainScreen).name; got != "journalctl -g etl-orders" {
		t.Errorf("L shows %q", got)
	}
	typeKeys(s, "esc", "B")
	if got := shown(s, 120, 30); !strings.Contains(got, "Run this command?  echo etl-orders: ticket on db-01") || !strings.Contains(got, "y yes") {
		t.Errorf("B does not ask:\n%s", got)
	}
	d := &screentest.Daemon{}
	carry(t, s, d, typeKeys(s, "y"))
	if got := shown(s, 120, 30); !strings.Contains(got, "etl-orders: ticket on db-01   echo etl-orders: ticket on db-01") {
		t.Errorf("B does not show its last line:\n%s", got)
	}
	orders := typeKeys(s, "U")
	e, ok := orders[len(orders)-1].Effect.(screen.Execute)
	if !ok || !slices.Equal(e.Program().Args[:2], []string{"/bin/sh", "-c"}) {
		t.Fatalf("U orders %v", orders)
	}
	s.Take(s.now, nil, screen.Answer{Slot: e.Slot, Done: true})
	if got := shown(s, 120, 30); !strings.Contains(got, "edit it with vi   vi +14 /etc/cron.d/etl") {
		t.Errorf("U does not show that it has ended:\n%s", got)
	}
	typeKeys(s, "Q")
	if got := shown(s, 120, 30); !strings.Contains(got, "Q does nothing here") {
		t.Errorf("Q works on another screen:\n%s", got)
	}
	typeKeys(s, "r")
	if got := shown(s, 120, 30); !strings.Contains(got, "Run etl-orders now") {
		t.Errorf("r is no longer run:\n%s", got)
	}
	typeKeys(s, "esc", "@")
	if got := shown(s, 120, 30); !strings.Contains(got, "journalctl -g etl-orders") || !strings.Contains(got, "vi +14 /etc/cron.d/etl") {
		t.Errorf("the log lacks commands:\n%s", got)
	}
	typeKeys(s, "esc")
	front.about = screen.Subject{}
	typeKeys(s, "L")
	if got := shown(s, 120, 30); !strings.Contains(got, "its journal: no job is selected") {
		t.Errorf("L runs without a job:\n%s", got)
	}
	s.w.ReadOnly = "nothing is changed: --read-only"
	typeKeys(s, "B")
	if got := shown(s, 120, 30); !strings.Contains(got, "open a ticket: nothing is changed: --read-only") {
		t.Errorf("B runs although nothing may be changed:\n%s", got)
	}
}

// A command gets the names of jobs as data, and the host as the user named it.
func TestCustomCommandsQuote(t *testing.T) {
	s, front := customShell(t)
	s.w.Remote = "ops@db-01"
	front.about = screen.Subject{Jobs: []job.ID{"a; reboot", "$(reboot)"}, Marked: true}
	typeKeys(s, "B")
	if got := shown(s, 120, 30); !strings.Contains(got, "open a ticket: one job at a time") {
		t.Errorf("B runs with several jobs:\n%s", got)
	}
	typeKeys(s, "L")
	if got, want := s.front().(*plainScreen).name, `journalctl -g 'a; reboot' '$(reboot)'`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	typeKeys(s, "esc")
	front.about = screen.Subject{Jobs: []job.ID{"a; reboot"}}
	typeKeys(s, "B")
	if got, want := s.over.(*question).do.Shell, `echo 'a; reboot': ticket on ops@db-01`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCustomCommandsInTheFinder(t *testing.T) {
	for _, tc := range []struct{ typed, want, front string }{
		{"journal", "its journal", "journalctl -g etl-orders"},
		{"its", "its journal", "journalctl -g etl-orders"},
		{"not to be", "not to be reached", "false"},
	} {
		s, _ := customShell(t)
		typeText(s, ":"+tc.typed)
		p := s.over.(*palette)
		if len(p.found) == 0 || p.found[0].Text() != tc.want {
			t.Errorf("%q: got %v, want %q first", tc.typed, p.found, tc.want)
			continue
		}
		clip := typeKeys(s, "ctrl+y")
		if got := clip[len(clip)-1].Effect.(screen.Clip).Text; got != tc.front {
			t.Errorf("%q: copied %q, want %q", tc.typed, got, tc.front)
		}
		typeText(s, ":"+tc.typed)
		typeKeys(s, "enter")
		if got := s.front().(*plainScreen).name; got != tc.front {
			t.Errorf("%q: opened %q, want %q", tc.typed, got, tc.front)
		}
	}
	s, _ := customShell(t)
	typeText(s, ":without a")
	carry(t, s, &screentest.Daemon{}, typeKeys(s, "enter"))
	if got := shown(s, 120, 30); !strings.Contains(got, "exit status 3") {
		t.Errorf("the failure is not shown:\n%s", got)
	}
}

func TestCustomCommandsInHelp(t *testing.T) {
	s, _ := customShell(t)
	typeKeys(s, "?")
	got := shown(s, 160, 120)
	for _, want := range []string{"custom commands", "its journal", "journalctl -g {job}", "open a ticket", "not to be reached (the key is run already)"} {
		if !strings.Contains(got, want) {
			t.Errorf("help lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "only on runs") {
		t.Errorf("help has a command of another screen:\n%s", got)
	}
	typeText(s, "ticket")
	if got := shown(s, 120, 30); !strings.Contains(got, "open a ticket") || strings.Contains(got, "its journal") {
		t.Errorf("the search does not look at commands:\n%s", got)
	}
}
