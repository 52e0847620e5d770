package gate

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestGatesExceptions checks for each gate which occurrences it stops.
func TestGatesExceptions(t *testing.T) {
	sources := map[string]func(*Occurrence){
		"clock":    func(o *Occurrence) {},
		"manual":   func(o *Occurrence) { o.Trigger, o.By = job.TriggerManual, "ann" },
		"forced":   func(o *Occurrence) { o.Trigger, o.By, o.Forced = job.TriggerManual, "ann", true },
		"backfill": func(o *Occurrence) { o.Trigger, o.By, o.Backfill = job.TriggerBackfill, "ann", 1 },
		"rerun":    func(o *Occurrence) { o.Trigger = job.TriggerRetry },
		"handed over": func(o *Occurrence) {
			o.Trigger, o.Permit = job.TriggerRetry, &exchange.Permit{Orphan: &exchange.Orphan{Left: true, Begun: true}}
		},
		"waits":        func(o *Occurrence) { o.Run = &live.Run{} },
		"manual waits": func(o *Occurrence) { o.Trigger, o.By, o.Run = job.TriggerManual, "ann", &live.Run{} },
		"retry waits":  func(o *Occurrence) { o.Trigger, o.Run = job.TriggerRetry, &live.Run{} },
		"next attempt": func(o *Occurrence) { o.Trigger, o.Before = job.TriggerRetry, &live.Run{} },
	}
	for _, tc := range []struct {
		options string
		host    func(*Host)
		stops   string // by source, in the order below; R: runs, S: skipped, H: held
	}{
		{"", func(*Host) {}, "RRRRRHRRRH"},
		{"", func(h *Host) { h.Barred = map[string]event.Barred{"ann": {Reason: job.NoUser}} }, "SSSSSSSSSH"},
		{"enabled=no", func(*Host) {}, "SSRSSSSSSH"},
		{"overlap=sometimes", func(*Host) {}, "SSSSSSSSSH"}, // the entry is held
		{"", func(h *Host) { h.Holds = job.Holds{"ann/x": {{By: "bob"}}} }, "SSRSSSSSSH"},
		{"breaker=1/1h", func(h *Host) { h.summary(job.Summary{Open: noon.Add(time.Minute)}) }, "SRRSRHSRRH"},
		{"once-per=day", func(h *Host) { h.summary(job.Summary{SuccessDue: noon}) }, "SRRRSSSRSH"},
		{"deadline=1m", func(h *Host) { h.Now = noon.Add(time.Hour) }, "SRRRSSSRSH"},
		{"window=14:00-15:00", func(*Host) {}, "SSRHSHSRSH"},
		{"window=14:00-15:00 outside=wait", func(*Host) {}, "HSRHHHHRHH"},
		{"overlap=allow max-instances=1", func(h *Host) { h.running() }, "SSRSSHRRRH"},
		{"overlap=allow", func(h *Host) { h.running(); h.Unstarted = live.Unstarted{"ann": live.MostUnstarted} }, "SSRSSSRRRH"},
		{"overlap=skip", func(h *Host) { h.running() }, "SSRSSHHHHH"},
		{"overlap=queue", func(h *Host) { h.running() }, "HHRHHHHHHH"},
		{"window=14:00-15:00 outside=wait overlap=skip", func(h *Host) { h.running() }, "SSRSSHHHHH"}, // a hold hides no skip
	} {
		file, diagnostics := crontab.Parse("x", "#@ name=x "+tc.options+"\n* * * * * true\n", crontab.Config{Owner: "ann"})
		if held := file.Entries[0].Options().Held != ""; len(diagnostics) > 0 && !held {
			t.Fatalf("%s: %v", tc.options, diagnostics[0])
		}
		h := &Host{Now: noon, Jobs: catalog.New([]*crontab.File{file}, nil, nil), Stamps: map[string]timetable.Day{}}
		tc.host(h)
		got := ""
		for _, source := range []string{"clock", "manual", "forced", "backfill", "rerun", "handed over", "waits", "manual waits", "retry waits", "next attempt"} {
			o := &Occurrence{Job: JobAt(h.Jobs, 0), Due: noon, Trigger: job.TriggerClock}
			sources[source](o)
			got += map[job.Decision]string{job.DecideRun: "R", job.DecideSkip: "S", job.DecideHold: "H"}[Decide(h, o).Do]
		}
		if got != tc.stops {
			t.Errorf("%q: got %s, want %s", tc.options, got, tc.stops)
		}
	}
}

func (h *Host) summary(l job.Summary) {
	h.Summaries = map[job.Owned]job.Summary{{Job: "ann/x", User: "ann"}: l}
}

// running lets a run of the job have a process.
func (h *Host) running() {
	h.ByJob = map[job.ID][]*live.Run{"ann/x": {{Run: job.Run{ID: 1, User: "ann", State: job.RunRunning, Started: noon}}}}
}
