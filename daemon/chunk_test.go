package daemon

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/hub"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/runlog"
)

// What a run prints lies in memory that the next output overwrites. It is copied for
// those who keep it, and not for anybody else: a copy of each piece made the daemon
// take more of the processor than a job that prints much.
func TestOutputIsCopiedOnlyWhereItIsKept(t *testing.T) {
	var out strings.Builder
	d := &shared{hub: hub.New(budget.New(1<<20, 1<<20)), logWriter: runlog.New(journal.NewText(&out), true)}
	file, _ := crontab.Parse("x", "* * * * * root true\n", crontab.Config{Format: crontab.System})
	d.logWriter.Begin(&job.Run{ID: 1, PID: 7}, &job.Job{}, &file.Entries[0])
	ctx, leave := context.WithCancel(t.Context())
	events := d.hub.Subscribe(ctx)
	buffer := []byte(strings.Repeat("first\n", 64<<10/6))
	d.chunk(job.Chunk{Run: 1, Job: "j", User: "ann", Stream: job.Stdout, Data: buffer[:6]})
	d.chunk(job.Chunk{Run: 1, Job: "j", User: "ann", Stream: job.System, Data: buffer[:6]})
	clear(buffer)
	before, others := d.hub.Follow(ctx, 1)
	d.logWriter.WriteAll()
	if seen := string((<-events).Chunk.Data) + string((<-events).Chunk.Data); seen != "first\nfirst\n" || string(before[0].Data) != "first\n" || strings.Count(out.String(), "first\n") != 2 {
		t.Errorf("followed %q, kept %q, logged %q, want the first output in each", seen, before[0].Data, out.String())
	}
	leave()
	for _, c := range []<-chan api.Event{events, others} {
		for range c { // until it is closed
		}
	}
	const pieces, kept = 100, 16 << 10 // kept is the output of a run that the hub keeps
	var stats [2]runtime.MemStats
	for i := range pieces + 2 { // the first two exceed the limit of the log
		if i == 2 {
			runtime.ReadMemStats(&stats[0])
		}
		d.chunk(job.Chunk{Run: 1, Job: "j", User: "ann", Stream: job.Stdout, Data: buffer})
	}
	runtime.ReadMemStats(&stats[1])
	if per := (stats[1].TotalAlloc - stats[0].TotalAlloc) / pieces; per > 2*kept {
		t.Errorf("a piece of %d bytes that nobody reads takes %d bytes of memory", len(buffer), per)
	}
}
