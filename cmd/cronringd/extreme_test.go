package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
)

// extremeLines are options that each hung or stalled a whole daemon once, and
// whether their entry is held now.
var extremeLines = []struct {
	options string
	held    bool
}{
	{"at=2300-01-01", true},
	{"at=9999-12-31", true},
	{"from=2263-01-01", true},
	{"until=9999-12-31", true},
	{"at=2199-12-31", false},
	{"expect=106751d23h47m", false},
	{"expect=36525d", false},
	{"every=106751d", false},
	{"every=36525d phase=36524d", false},
	{"every=1s jitter=52w", false},
	{"every=1s jitter=8w", false},
	{"sec=* jitter=1d", false},
	{"jitter=106751d", false},
	{"spread=36525d", false},
	{"timeout=106751d stop-grace=106751d", false},
	{"retry=1000 backoff=36525d", false},
	{"from=1970-01-01 every=1s count=1000", false},
}

// A crontab with the most extreme valid values delays no other user's jobs, whether the daemon
// reads it at its start or while it runs.
func TestExtremeLinesDelayNobody(t *testing.T) {
	var text strings.Builder
	for i, line := range extremeLines {
		fmt.Fprintf(&text, "#@ name=x%d %s\n* * * * * true\n", i, line.options)
	}
	clock := crontabFile(t, "#@ name=clock every=1s\n* * * * * echo tick\n")
	extreme := filepath.Join(t.TempDir(), "extreme")
	ctx := context.Background()

	write := func(text string) {
		t.Helper()
		filetest.Write(t, extreme, text, 0o600)
	}
	delays := func(d *running, since time.Time) (late []time.Duration) {
		t.Helper()
		runs, err := d.client.History(ctx, api.Filter{Refs: []string{"clock"}, Since: since})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs.Runs {
			if !r.Started.IsZero() {
				late = append(late, r.Started.Sub(r.Due))
			}
		}
		return late
	}
	usual := launch(t, t.TempDir(), clock) // on a machine that may be busy
	onTime := func(d *running, when string) {
		t.Helper()
		since := time.Now()
		d.count() // what was printed until now
		for range 5 {
			d.await(" clock[", "out: tick")
		}
		best, worst := slices.Min(append(delays(d, since), time.Hour)), slices.Max(append(delays(usual, since), 0))
		if best > worst+time.Second {
			t.Errorf("%s: each start of another job is late, by %s at least, and of a daemon without extreme lines by %s at most", when, best, worst)
		}
	}

	write("0 0 1 1 * true\n")
	d := launch(t, t.TempDir(), extreme, clock)
	onTime(d, "before")
	write(text.String())
	if _, err := d.client.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	onTime(d, "after a reload")
	jobs, err := d.client.List(ctx, api.Query{})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[job.ID]job.Status{}
	for _, j := range jobs {
		byName[j.Job.ID] = j
	}
	for i, line := range extremeLines {
		j, ok := byName[job.ID(fmt.Sprintf("x%d", i))]
		if !ok || (j.Job.Held != "") != line.held {
			t.Errorf("%s: listed %t, held %q", line.options, ok, j.Job.Held)
		}
	}
	d.cmd.Process.Kill()
	d.wait()

	onTime(launch(t, t.TempDir(), extreme, clock), "after a start")
}
