package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// strip writes the kinds of cells, a letter each: the first, S for a skip and
// for a span -.
func strip(cells []api.Cell) string {
	var b strings.Builder
	for _, c := range cells {
		switch c.Kind {
		case api.CellSkipped:
			b.WriteByte('S')
		default:
			b.WriteByte(c.Kind[0])
		}
	}
	return b.String()
}

// live runs the clock of a minutely job: each code is the end of a run; a space lets the run
// continue through the next minutes until a later code ends it.
func live(w *world, codes string) {
	for _, code := range codes {
		w.To(w.Now().Add(time.Minute).Format(time.RFC3339))
		runs := w.View().Runs()
		if len(runs) == 0 {
			continue
		}
		if runs[0].State == job.RunDecided {
			w.Start(runs[0].ID)
		}
		if code != ' ' {
			w.Pass(time.Duration(code-'0'+1) * time.Second)
			w.End(runs[0].ID, int(code-'0'))
			w.Set(w.Now().Truncate(time.Minute), 0)
		}
	}
}

func TestPastOfVisibleRows(t *testing.T) {
	w := newWorld(t, "#@ name=a overlap=skip\n* * * * * ann true\n#@ name=b\n0 0 1 1 * bob true\n")
	live(w, "001   0000200")
	c := w.client()
	past, err := c.Past(context.Background(), []job.ID{"b", "a", "gone", "a"}, 8)
	if err != nil || len(past) != 2 || past[0].Job != "b" || len(past[0].Cells) != 0 || past[0].Runs != 0 {
		t.Fatalf("past %+v, %v, want b without a past, then a", past, err)
	}
	a := past[1]
	// The long run lasted three minutes, so three occurrences were skipped.
	if got, want := strip(a.Cells), "SSooofoo"; got != want {
		t.Errorf("cells %q, want the end of %q", got, "oofoS"+want)
	}
	if a.Runs != 10 || a.OK != 8 || a.Failed != 2 || a.P50 != time.Second || a.Max < 3*time.Minute {
		t.Errorf("%+v, want 8 of 10 runs ok, p50 1s and a maximum above 3m", a)
	}
	if last := a.Cells[len(a.Cells)-1]; last.Run == 0 || last.Took != time.Second || last.Ending != "" {
		t.Errorf("newest cell %+v, want a run of one second", last)
	}
	if i := slices.IndexFunc(a.Cells, func(c api.Cell) bool { return c.Kind == api.CellFailed }); i < 0 || a.Cells[i].Ending != "exit 2" {
		t.Errorf("cells %+v, want one that failed with exit 2", a.Cells)
	}
	w.To(w.Now().Add(time.Minute).Format(time.RFC3339))
	w.Start(w.View().Runs()[0].ID)
	if past, err := c.Past(context.Background(), []job.ID{"a"}, 1); err != nil || len(past) != 1 || strip(past[0].Cells) != "r" {
		t.Errorf("while it runs: %+v, %v, want a cell that runs", past, err)
	}
	if _, err := c.Past(context.Background(), make([]job.ID, api.MaxPast+1), 1); api.KindOf(err) != api.Usage {
		t.Errorf("past of too many: %v, want a usage error", err)
	}
}

// An attempt that failed is shown and counted, though another follows it.
func TestPastCountsAttempts(t *testing.T) {
	w := newWorld(t, "#@ name=a retry=2 backoff=10s\n0 0 1 1 * ann true\n")
	w.Step(event.RunNow{Job: "a", By: "ann"})
	for _, code := range []int{3, 0} {
		w.To(w.Now().Add(time.Minute).Format(time.RFC3339))
		r := w.View().Runs()[0]
		w.Start(r.ID)
		w.End(r.ID, code)
	}
	past, err := w.client().Past(context.Background(), []job.ID{"a"}, 8)
	if err != nil || len(past) != 1 || strip(past[0].Cells) != "fo" || past[0].Runs != 2 || past[0].OK != 1 || past[0].Failed != 1 {
		t.Errorf("%+v, %v, want a cell that failed and one that did not, each counted", past, err)
	}
}

// drawn writes the cells of a line.
func drawn(j api.TimelineJob, n int) string {
	text := []byte(strings.Repeat(" ", n))
	for _, c := range j.Cells {
		text[c.Cell] = map[api.CellKind]byte{
			api.CellFailed: 'x', api.CellLate: '!', api.CellRunning: '>', api.CellOK: 'o', api.CellSpan: '-',
			api.CellSkipped: 's', api.CellPlanned: '.', api.CellExpected: '~', api.CellPaused: 'h',
		}[c.Kind]
	}
	return string(text)
}

func TestTimelineDrawsPastAndFuture(t *testing.T) {
	w := newWorld(t, `#@ name=a overlap=skip
*/10 * * * * ann true
#@ name=b
5,15,25,35,45 * * * * ann true
#@ name=long overlap=skip
7 * * * * ann true
`)
	w.To("2026-11-20T00:05:00Z")
	end := func(id job.ID, code int) {
		for _, r := range w.View().Runs() {
			if r.Job == id {
				if r.State == job.RunDecided {
					w.Start(r.ID)
				}
				w.End(r.ID, code)
			}
		}
	}
	end("b", 0) // 00:05
	w.To("2026-11-20T00:07:00Z")
	w.Start(w.View().Runs()[0].ID) // long continues
	w.To("2026-11-20T00:10:00Z")
	end("a", 1)
	w.To("2026-11-20T00:15:00Z")
	end("b", 0)
	w.To("2026-11-20T00:20:00Z")
	w.Start(w.View().Runs()[1].ID)                           // a continues past 00:30
	w.Step(event.Pause{Job: "b", Hold: job.Hold{By: "ann"}}) // from 00:25 it is skipped
	w.To("2026-11-20T00:31:00Z")
	end("a", 0)
	c := w.client()
	line, err := c.Timeline(context.Background(), api.TimelineQuery{
		Refs: []string{"a", "b", "long"}, From: instant(t, "2026-11-20T00:00:00Z"), To: instant(t, "2026-11-20T01:00:00Z"), Cells: 12,
	})
	if err != nil || len(line.Jobs) != 3 || line.Cells != 12 {
		t.Fatalf("%+v, %v, want three jobs in 12 cells", line, err)
	}
	for k, want := range []string{
		"  x o-s .~.~", // each cell is five minutes, now is the seventh
		" o o s h h  ",
		" >-----     ",
	} {
		if got := drawn(line.Jobs[k], 12); got != want {
			t.Errorf("%s: %q, want %q", line.Jobs[k].Job, got, want)
		}
	}
	if got, want := fmt.Sprint(line.Load), "[0 2 1 1 1 0 0 0 1 0 1 0]"; got != want {
		t.Errorf("load %s, want %s: what began, and then what a has planned, as b is paused", got, want)
	}
	if line.Peak != 1 || !line.PeakAt.Equal(instant(t, "2026-11-20T00:40:00Z")) {
		t.Errorf("peak %d at %s, want 1 at 00:40", line.Peak, line.PeakAt)
	}
	if _, text := w.walk(bobUID, "GET", "/v1/timeline", walked{query: "cells=2"}); !strings.Contains(text, `"load":[0,0]`) {
		t.Errorf("bob is told %s, want no load: all runs are ann's", text)
	}
	for _, q := range []api.TimelineQuery{
		{Cells: api.MaxCells + 1}, {From: w.Now(), To: w.Now().Add(-time.Hour)}, {From: w.Now().Add(-100 * 24 * time.Hour)},
	} {
		if _, err := c.Timeline(context.Background(), q); api.KindOf(err) != api.Usage {
			t.Errorf("Timeline(%+v): %v, want a usage error", q, err)
		}
	}
}

const clashCrontab = `
#@ name=a
0 * * * * ann true
#@ name=b
0 2 * * * ann true
#@ name=c
0 2 * * * bob true
#@ name=off enabled=no
0 2 * * * bob true
#@ name=paused
0 2 * * * bob true
#@ name=often
*/5 * * * * bob true
`

func TestClashesAndQuietSlots(t *testing.T) {
	w := newWorld(t, clashCrontab)
	w.Step(event.Pause{Job: "paused", Hold: job.Hold{By: "bob"}})
	c := w.client()
	found, err := c.Clashes(context.Background(), api.ClashQuery{Suggest: "hourly"})
	if err != nil || len(found.Clashes) != 20 || found.Minutes != 24 || found.Starts != 24+2+288 {
		t.Fatalf("%+v, %v, want 24 minutes of %d starts", found, err, 24+2+288)
	}
	first := found.Clashes[0]
	if want := []job.ID{"a", "b", "c", "often"}; first.Starts != 4 || !slices.Equal(first.Jobs, want) || first.At.Hour() != 2 {
		t.Errorf("largest clash %+v, want %v at 02:00", first, want)
	}
	if d := first.Quiet.Sub(first.At); d != time.Minute {
		t.Errorf("quiet near by is %s later, want a minute", d)
	}
	if s := found.Suggest; s == nil || s.Schedule != "32 * * * *" && s.Starts != 0 || s.Busiest != 4 {
		t.Errorf("suggestion %+v, want a minute without starts, and that the worst has 4", s)
	}
	daily, err := c.Clashes(context.Background(), api.ClashQuery{Suggest: "daily", Least: 4, Refs: []string{"b", "c"}})
	if err != nil || len(daily.Clashes) != 0 || daily.Starts != 2 || daily.Suggest == nil || daily.Suggest.Busiest != 2 {
		t.Errorf("%+v, %v, want no clash of four, and a suggestion", daily, err)
	}
	for _, q := range []api.ClashQuery{{Suggest: "weekly"}, {To: w.Now().Add(-time.Hour)}, {To: w.Now().Add(8 * 24 * time.Hour)}} {
		if _, err := c.Clashes(context.Background(), q); api.KindOf(err) != api.Usage {
			t.Errorf("Clashes(%+v): %v, want a usage error", q, err)
		}
	}
}

func TestTimelineOfEachSecondEnds(t *testing.T) {
	w := newWorld(t, "#@ name=a sec=*\n* * * * * ann true\n")
	from := w.Now().Add(time.Hour).Truncate(time.Second)
	tl, err := w.client().Timeline(context.Background(), api.TimelineQuery{Refs: []string{"a"}, From: from, To: from.Add(263 * time.Hour), Cells: 150})
	if err != nil || len(tl.Jobs) != 1 || len(tl.Jobs[0].Cells) != 150 {
		t.Errorf("%+v, %v, want 150 cells of a", tl, err)
	}
}
