package shell

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// farScreen is a screen whose subject is jobs of the host far.
type farScreen struct {
	plainScreen
	world screen.World
	there screen.Daemon
}

func (f *farScreen) World(*screen.World) *screen.World { return &f.world }

func (f *farScreen) Reroute(w *screen.World, d screen.Do) screen.Do {
	call := d.Call
	d.Call = func(ctx context.Context, _ screen.Daemon) (string, error) { return call(ctx, f.there) }
	d.Shell = "far " + d.Command[1]
	if d.Undo != nil {
		undo := f.Reroute(w, *d.Undo)
		d.Undo = &undo
	}
	return d
}

// newFarShell returns a shell with a farScreen in front, and its daemon. The shell's own daemon is
// not reached.
func newFarShell(t *testing.T, state job.State) (*Shell, *screentest.Daemon) {
	t.Helper()
	there, far := screentest.NewDaemon(), board.NewMerged()
	far.ApplyHost("far", api.BoardUpdate{Rows: []api.Row{{Job: "backup", User: "root", State: state, Live: 1}}})
	s, _ := newTestShell(t)
	screentest.GoOffline(s.w)
	front := &farScreen{there: there, world: screen.World{Board: far, Link: screen.Link{Live: true}}}
	front.about = screen.Subject{Jobs: []job.ID{"backup@far"}, Elsewhere: true}
	s.stack = []screen.Screen{front}
	return s, there
}

// Keys about jobs of other hosts ask the daemons there, also while the own daemon is not reached, and
// also to undo what was done.
func TestKeysAboutJobsOfOtherHosts(t *testing.T) {
	for _, tc := range []struct {
		keys []string
		want []string
	}{
		{[]string{"r", "y"}, []string{"run backup@far"}},
		{[]string{"x", "y"}, []string{"stop backup@far"}},
		{[]string{"a", "z"}, []string{"ack backup@far", "unack backup@far"}},
		{[]string{"ctrl+r", "y"}, []string{"retry backup@far"}},
		{[]string{"p", "enter", "enter", "z"}, []string{"pause backup@far", "resume backup@far"}},
	} {
		s, there := newFarShell(t, job.StateFailing)
		for _, key := range tc.keys {
			carry(t, s, screentest.NewDaemon(), typeKeys(s, key))
		}
		if got := there.Asked; len(got) != len(tc.want) || got[0] != tc.want[0] || strings.Fields(got[len(got)-1])[1] != "backup@far" {
			t.Errorf("%q: the daemon there was asked %q, want %q", tc.keys, got, tc.want)
		}
		if len(s.log) == 0 || !strings.HasPrefix(s.log[0].command, "far ") {
			t.Errorf("%q: the log does not name the command there", tc.keys)
		}
	}
}

func TestStatesOfJobsOfOtherHostsDecide(t *testing.T) {
	s, there := newFarShell(t, job.StateOK)
	carry(t, s, screentest.NewDaemon(), typeKeys(s, "a"))
	if got := shown(s, 120, 30); len(there.Asked) > 0 || !strings.Contains(got, "no failure") {
		t.Errorf("a job that has not failed is acknowledged: %q\n%s", there.Asked, got)
	}
}

// The finder and custom commands are about the host that is shown.
func TestCommandsAreNotAboutJobsOfOtherHosts(t *testing.T) {
	s, _ := newFarShell(t, job.StateOK)
	s.custom = []custom.Command{{Key: "X", Name: "ticket", Run: "ticket {job}"}}
	typeKeys(s, "X")
	if got := shown(s, 120, 30); !strings.Contains(got, "on its host") {
		t.Errorf("a custom command runs about a job of another host:\n%s", got)
	}
	s.openPalette()
	if got := s.over.(*palette).finder.About; len(got.Jobs) > 0 {
		t.Errorf("the finder is about %q", got.Jobs)
	}
	if why := s.refusesFor(keys.Run, screen.Subject{Jobs: []job.ID{"etl-orders"}}); !slices.Contains([]string{"the daemon does not answer"}, why) {
		t.Errorf("a job of the host that is shown, whose daemon is not reached: %q", why)
	}
}
