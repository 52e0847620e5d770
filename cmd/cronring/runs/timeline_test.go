package runs

import (
	"bufio"
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

var timelineNow = time.Date(2026, 11, 20, 18, 2, 11, 0, time.UTC)

// line is the answer of a daemon to the query of a terminal with the given columns.
func line(a *cli.App) api.Timeline {
	q := timelineQuery(a, nil, 6*time.Hour, 6*time.Hour, time.UTC)
	cell := func(n int, kind api.CellKind) api.TimelineCell {
		return api.TimelineCell{Cell: n, Kind: kind, Count: 1}
	}
	l := api.Timeline{
		V: 1, Now: timelineNow, From: q.From, To: q.To, Cells: q.Cells, Load: make([]int, q.Cells),
		Peak: 21, PeakAt: timelineNow.Truncate(time.Hour).Add(6 * time.Hour), Quiet: timelineNow.Truncate(time.Hour).Add(6*time.Hour - 23*time.Minute),
		Jobs: []api.TimelineJob{
			{Job: "etl-orders-with-a-long-name", Next: timelineNow.Add(169 * time.Second), Cells: []api.TimelineCell{
				cell(0, api.CellOK), cell(1, api.CellFailed), cell(24, api.CellLate), cell(25, api.CellPlanned), cell(26, api.CellExpected),
			}},
			{Job: "zfs-scrub", Next: timelineNow.Add(150 * time.Hour), Cells: []api.TimelineCell{
				cell(20, api.CellRunning), cell(21, api.CellSpan), cell(22, api.CellSpan), cell(23, api.CellSkipped),
			}},
			{Job: "report\x1b[31m", State: job.StatePaused, Cells: []api.TimelineCell{cell(30, api.CellPaused)}},
		},
	}
	l.Load[0], l.Load[3], l.Load[30] = 1, 2, 8
	return l
}

func TestTimelineDrawing(t *testing.T) {
	for _, test := range []struct{ locale, want string }{
		{"C", `Fri 12:00 .. Sat 00:15 UTC  1 cell = 15 min
                   12:00       15:00        |           21:00         NEXT
starts             .  :                     |     @                   peak 21
etl-orders-with-a… oX                      !|.~                       2m49s
zfs-scrub                              >--s |                         6d06h
report\x1b[31m                              |     =                   = paused
busiest minute Sat 00:00 with 21 starts   quietest near by 23:37
o ran  - continued  > runs  X failed  ! late  ? started  s skipped  . planned  ~ expected  = paused
`},
		{"C.UTF-8", `Fri 12:00 .. Sat 00:15 UTC  1 cell = 15 min
                   12:00       15:00        │           21:00         NEXT
starts             ▁  ▂                     │     █                   peak 21
etl-orders-with-a… ■✗                      !│∙┄                       2m49s
zfs-scrub                              ►━━· │                         6d06h
report\x1b[31m                              │     ‖                   ‖ paused
busiest minute Sat 00:00 with 21 starts   quietest near by 23:37
■ ran  ━ continued  ► runs  ✗ failed  ! late  ○ started  · skipped  ∙ planned  ┄ expected  ‖ paused
`},
	} {
		t.Setenv("LC_ALL", test.locale)
		var out bytes.Buffer
		a := &cli.App{Printer: cli.Printer{Out: bufio.NewWriter(&out), Color: cli.OneOf("never"), Width: 80}, Now: func() time.Time { return timelineNow }}
		newAxis(a, line(a), time.UTC).print()
		a.Out.Flush()
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("LC_ALL=%s (-want +got):\n%s", test.locale, diff)
		}
	}
}

// Cells are of round length, begin at round times, and fit the terminal.
func TestTimelineFitsTheTerminal(t *testing.T) {
	for _, width := range []int{0, 40, 80, 120, 200} {
		for _, reach := range []time.Duration{time.Hour, 12 * time.Hour, 14 * 24 * time.Hour} {
			a := &cli.App{Printer: cli.Printer{Width: width}, Now: func() time.Time { return timelineNow }}
			q := timelineQuery(a, nil, reach, reach, time.UTC)
			room := max(10, max(width, 40)-timelineName-timelineNext-4)
			if width == 0 {
				room = timelineWidth - timelineName - timelineNext - 4
			}
			cell := q.To.Sub(q.From) / time.Duration(q.Cells)
			if q.Cells > room+1 || cell%time.Minute != 0 || !q.From.Truncate(cell).Equal(q.From) || q.From.After(timelineNow.Add(-reach)) || q.To.Before(timelineNow.Add(reach)) {
				t.Errorf("width %d, reach %s: %d cells of %s from %s to %s, room for %d", width, reach, q.Cells, cell, q.From, q.To, room)
			}
		}
	}
}
