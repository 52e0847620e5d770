package runs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
)

// Limits of requests and of the list.
const (
	runPage    = 200
	olderPage  = 1000
	mostPages  = 10     // of new runs since the last question
	mostRuns   = 20_000 // in the list
	missedSpan = 7 * 24 * time.Hour
	mostMissed = 2000
)

// Slots of requests.
const (
	slotNewest = "runs"
	slotOlder  = "runs-older"
)

// query returns the filter of a request.
func (s *Runs) query(w *screen.World) api.Filter {
	f := api.Filter{Limit: runPage}
	if s.only != "" {
		f.Refs = []string{string(s.only)}
	}
	switch s.preset {
	case failedRuns:
		f.Failed = true
	case runningRuns:
		f.Live, f.Limit = true, mostRuns
	case missedRuns:
		f.Skipped, f.Since, f.Limit = true, w.Now.Add(-missedSpan), mostMissed
	case todayRuns:
		f.Since = screen.Midnight(w.Now, w.In(""))
	}
	return f
}

// fresh has the newest runs, and the current state of listed runs that were live.
type fresh struct {
	preset preset
	runs   api.Runs
	joined bool // the runs are contiguous with the known ones
	older  bool // there may be older ones
}

func (s *Runs) ask(w *screen.World) []screen.Effect {
	s.seen, s.asked = s.state(w), w.Now
	query, which, newest, live := s.query(w), s.preset, s.newest(), s.live()
	return []screen.Effect{screen.Ask{Slot: slotNewest, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		got := fresh{preset: which, joined: newest == 0}
		for range mostPages {
			page, err := d.History(ctx, query)
			if err != nil {
				return nil, err
			}
			got.runs.Runs = append(got.runs.Runs, page.Runs...)
			got.runs.Skipped = append(got.runs.Skipped, page.Skipped...)
			got.older = len(page.Runs) == query.Limit
			if got.older {
				query.Before = page.Runs[len(page.Runs)-1].ID
			}
			if got.joined = got.joined || !got.older || query.Before <= newest; got.joined {
				break
			}
		}
		return got, got.update(ctx, d, live)
	}}}
}

// update requests live runs that are older than the page.
func (f *fresh) update(ctx context.Context, d screen.Daemon, live []job.RunID) error {
	for _, id := range live {
		if slices.ContainsFunc(f.runs.Runs, func(r job.Run) bool { return r.ID == id }) {
			continue
		}
		r, err := d.OneRun(ctx, id.String())
		if err != nil && api.KindOf(err) != api.NotFound {
			return err
		}
		if err == nil {
			f.runs.Runs = append(f.runs.Runs, r)
		}
	}
	return nil
}

// newest is the newest run that is known; 0: none.
func (s *Runs) newest() (id job.RunID) {
	for _, row := range s.rows.All() {
		id = max(id, row.run.ID)
	}
	return id
}

// oldest is the oldest run that is known; 0: none.
func (s *Runs) oldest() (id job.RunID) {
	for _, row := range s.rows.All() {
		if row.missed == nil && (id == 0 || row.run.ID < id) {
			id = row.run.ID
		}
	}
	return id
}

// live returns listed runs that had not ended, at most 50.
func (s *Runs) live() []job.RunID {
	const most = 50
	var ids []job.RunID
	if s.preset == runningRuns {
		return nil // they are all in the answer
	}
	for _, row := range s.rows.All() {
		if row.missed == nil && row.run.State.Live() && len(ids) < most {
			ids = append(ids, row.run.ID)
		}
	}
	return ids
}

// more requests the next older page when the cursor is near the end of the list.
func (s *Runs) more(w *screen.World) []screen.Effect {
	near, all := s.Index()+runPage/4 >= s.rows.Len(), s.rows.All()
	if !s.older || s.asking || !near || len(all) >= mostRuns || len(all) == 0 {
		return nil
	}
	s.asking = true
	query, which := s.query(w), s.preset
	query.Before, query.Limit = s.oldest(), olderPage
	return []screen.Effect{screen.Ask{Slot: slotOlder, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		runs, err := d.History(ctx, query)
		return fresh{preset: which, runs: runs, joined: true, older: len(runs.Runs) == query.Limit}, err
	}}}
}

// merged adds runs to others, and sorts all by their start, the newest first. Runs that wait to
// start are before them.
func merged(rows []runRow, got api.Runs) []runRow {
	at := make(map[job.RunID]int, len(rows))
	for i := range rows {
		at[rows[i].run.ID] = i
	}
	for _, r := range got.Runs {
		if i, ok := at[r.ID]; ok {
			rows[i].run = r
		} else {
			rows = append(rows, runRow{run: r})
		}
	}
	for i := range got.Skipped {
		r := &got.Skipped[i]
		rows = append(rows, runRow{run: job.Run{Job: r.Job, Due: r.Due, Decided: r.Due}, missed: r})
	}
	slices.SortStableFunc(rows, func(a, b runRow) int {
		switch {
		case a.waits() && !b.waits():
			return -1
		case b.waits() && !a.waits():
			return 1
		}
		return compareStarts(&a.run, &b.run)
	})
	return rows[:min(len(rows), mostRuns)]
}

// compareStarts orders runs by their start, the newest first. A run that did not start has the time
// at which it was decided.
func compareStarts(a, b *job.Run) int {
	start := func(r *job.Run) time.Time {
		if r.Started.IsZero() {
			return r.Decided
		}
		return r.Started
	}
	return cmp.Or(start(b).Compare(start(a)), cmp.Compare(b.ID, a.ID))
}
