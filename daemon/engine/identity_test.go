package engine

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// TestIdentityStaysUnderEdits pauses a job and edits its crontab and the configuration
// for it. The state of a job, such as its pause, is kept exactly as long as the job has
// the same name or, without a name, the same file, user and command.
func TestIdentityStaysUnderEdits(t *testing.T) {
	const entry = "0 3 * * * root /backup --all\n"
	option := []sidecar.Setting{{Key: "retry", Value: "2"}}
	named := []sidecar.Setting{{Key: "name", Value: "nightly"}}
	for _, c := range []struct {
		what    string
		before  string
		after   string
		sidecar *sidecar.Sidecar
		stays   bool
	}{
		{"another time", entry, "45 4 * * 1 root /backup --all\n", nil, true},
		{"a nickname", entry, "@daily root /backup --all\n", nil, true},
		{"another line", entry, "SHELL=/bin/sh\n# of the night\n\n0 1 * * * root other\n" + entry, nil, true},
		{"options above it", entry, "#@ retry=3 tz=Asia/Tokyo\n" + entry, nil, true},
		{"options of the host", entry, entry, &sidecar.Sidecar{Default: option}, true},
		{"options of a match", entry, entry, &sidecar.Sidecar{Matches: []sidecar.Match{{User: "root", Set: option}}}, true},
		{"another command", entry, "0 3 * * * root /backup --some\n", nil, false},
		{"another account", entry, "0 3 * * * bob /backup --all\n", nil, false},
		{"a name", entry, "#@ name=nightly\n" + entry, nil, false},
		{"a name of a match", entry, entry, &sidecar.Sidecar{Matches: []sidecar.Match{{User: "root", Set: named}}}, false},
		{"a name: all else", "#@ name=nightly\n" + entry, "#@ name=nightly\n@hourly root other\n", nil, true},
		{"a name that a match gives too", "#@ name=nightly\n" + entry, "0 1 * * * root x\n", &sidecar.Sidecar{Matches: []sidecar.Match{{User: "root", Set: named}}}, true},
		{"a name: options of the job", "#@ name=nightly\n" + entry, "#@ name=nightly\n" + entry, &sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"nightly": {Set: option}}}, true},
	} {
		e := New(State{})
		now := job.Moment{Wall: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Up: time.Hour}
		load := func(text string, s *sidecar.Sidecar) *view.View {
			file, diagnostics := crontab.Parse("/etc/cron.d/backup", text, crontab.Config{Format: crontab.System, Zone: time.LoadLocation, Sidecar: s})
			if len(diagnostics) > 0 {
				t.Fatalf("%s: %v", c.what, diagnostics)
			}
			now.Wall, now.Up = now.Wall.Add(time.Second), now.Up+time.Second
			e.Step(now, event.Load{Crontabs: []*crontab.File{file}})
			return e.View()
		}
		id := load(c.before, nil).ID(0)
		e.Step(now, event.Pause{Job: id, Hold: job.Hold{By: "ann"}})
		after := load(c.after, c.sidecar)
		i, found := after.Find(id)
		if stays := found && after.Hold(i) != nil; stays != c.stays {
			t.Errorf("%s: the job that was %s is paused: %t, want %t", c.what, id, stays, c.stays)
		}
	}
}
