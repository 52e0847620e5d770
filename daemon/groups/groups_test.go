package groups

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/cgroup"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

func groupsWithoutSystemd(t *testing.T) *Groups {
	t.Helper()
	tree, err := cgroup.Open(cgroup.Options{Name: "cronring-runs-" + strings.ReplaceAll(t.TempDir(), "/", "-")})
	if err != nil {
		t.Fatal(err)
	}
	g := &Groups{tree: tree}
	t.Cleanup(g.Close)
	return g
}

func crontabOf(t *testing.T, text string) *crontab.File {
	t.Helper()
	file, diagnostics := crontab.Parse("test", text, crontab.Config{Format: crontab.System, Privileged: true})
	if len(file.Entries) == 0 {
		t.Fatal(diagnostics)
	}
	return file
}

// What the host cannot enforce is said when the crontabs are loaded, and the
// entry is held.
func TestEntriesThatTheHostCannotLimitAreHeld(t *testing.T) {
	g := groupsWithoutSystemd(t)
	file := crontabOf(t, "#@ name=a slice=jobs\n* * * * * root true\n#@ name=b nofile=7 idle\n* * * * * root true\n#@ name=c\n* * * * * root true\n")
	unfit := g.Unfit(t.Context(), []*crontab.File{file})
	if len(unfit) != 1 || !strings.Contains(unfit[file.Entries[0].Options()], "slice= needs systemd") {
		t.Errorf("got %v, want the first entry alone", unfit)
	}
	e := engine.New(engine.State{NextRun: 1})
	e.Step(job.Moment{Wall: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, event.Load{Crontabs: []*crontab.File{file}, Unfit: unfit})
	v := e.View()
	for i, want := range []bool{true, false, false} {
		if j := v.Job(i); (j.Held != "") != want {
			t.Errorf("%s: held %q, want held: %t", j.ID, j.Held, want)
		}
	}
}

func TestWhichRunsHaveAGroup(t *testing.T) {
	g := groupsWithoutSystemd(t)
	for directives, want := range map[string]bool{
		"": false, "#@ tasks=5\n": true, "#@ nofile=5\n": false, "#@ timeout=1h\n": true, "#@ overlap=replace\n": true, "#@ overlap=skip\n": false,
	} {
		entry := &crontabOf(t, directives+"* * * * * root true\n").Entries[0]
		if got := g.Needs(&effect.Start{Entry: entry}); got != want {
			t.Errorf("%q: a group: %t, want %t", directives, got, want)
		}
	}
}

// A run that only should have a group happens without one; a run with limits
// does not.
func TestRunWithoutLimitsNeedsNoGroup(t *testing.T) {
	g := groupsWithoutSystemd(t)
	start := func(directives string) *effect.Start {
		return &effect.Start{Entry: &crontabOf(t, directives+"* * * * * root true\n").Entries[0]}
	}
	if _, err := g.Make(t.Context(), "1", start("#@ slice=jobs timeout=1m\n")); err == nil {
		t.Error("a run got no slice, and happens")
	}
	made, err := g.Make(t.Context(), "2", start("#@ timeout=1m\n"))
	if err != nil {
		t.Error(err)
	}
	if made != nil && !made.Remove() {
		t.Error("the group is left")
	}
}
