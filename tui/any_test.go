package tui

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell"
)

// Any keys and any updates from the daemon leave the jobs screen, and screens that open from it,
// with lines as wide as the screen, and cause no panic.
func TestJobsWithstandAnyKeys(t *testing.T) {
	var names []string
	for _, b := range keys.Default().Of(keys.List, keys.Subject, keys.Everywhere, keys.Jobs, keys.Detail, keys.Why, keys.Runs, keys.Output) {
		for _, key := range b.Keys {
			if key != "ctrl+c" {
				names = append(names, key)
			}
		}
	}
	names = append(names, "enter", "tab", "tab", "j", "k", "esc", "space", "f", "/", "x", "1")
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := screentest.NewWorld(t)
		s := newShell(Options{Start: shell.Start{World: *w}})
		w, at := s.World(), screentest.Now
		d := screentest.NewDaemon()
		carryAll(t, s, d, s.Init(at))
		width, height := 80, 24
		for step := range 400 {
			switch r.IntN(10) {
			case 0:
				width, height = 30+r.IntN(170), 5+r.IntN(50)
			case 1:
				carryAll(t, s, d, s.Update(at, anyUpdate(r, w)))
			case 2:
				at = at.Add(time.Duration(r.IntN(4000)) * time.Millisecond)
				carryAll(t, s, d, s.Tick(at))
			case 3:
				carryAll(t, s, d, s.Click(at, r.IntN(width), r.IntN(height)))
				carryAll(t, s, d, s.Drag(at, r.IntN(width), r.IntN(height)))
				carryAll(t, s, d, s.Wheel(at, r.IntN(2) == 0, r.IntN(width), r.IntN(height)))
			default:
				k := screen.Key{Name: names[r.IntN(len(names))]}
				if len(k.Name) == 1 {
					k.Text = k.Name
				}
				carryAll(t, s, d, s.Key(at, k))
			}
			c := canvas.New(width, height)
			s.Draw(c.View())
			screentest.CheckWidths(t, "any keys", c.Text(), width)
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

// anyUpdate changes some jobs, makes some, and takes some away.
func anyUpdate(r *rand.Rand, w *screen.World) api.BoardUpdate {
	u := api.BoardUpdate{Now: w.Now}
	rows := append(screentest.Rows(), screentest.HostileRows(w)...)
	for range r.IntN(5) {
		row := rows[r.IntN(len(rows))]
		row.State = []job.State{job.StateFailing, job.StateRunning, job.StateOK, job.StateNew, job.StatePaused}[r.IntN(5)]
		row.LastRun += job.RunID(r.IntN(3))
		u.Rows = append(u.Rows, row)
	}
	for range r.IntN(3) {
		u.Gone = append(u.Gone, rows[r.IntN(len(rows))].Job)
	}
	return u
}

// carryAll carries out what screens asked and follow, too. The output of a run that goes on has no
// end, so it is followed for a moment only.
func carryAll(t *testing.T, s *shell.Shell, d screen.Daemon, orders []shell.Order) {
	t.Helper()
	for n := 0; len(orders) > 0; n++ {
		if n > 10_000 {
			t.Fatal("the shell asks without end")
		}
		o := orders[0]
		orders = orders[1:]
		switch e := o.Effect.(type) {
		case screen.Ask:
			value, err := e.Call(t.Context(), d)
			orders = append(orders, s.Take(screentest.Now, o.Owner, screen.Answer{Slot: e.Slot, Value: value, Err: err, Done: true})...)
		case screen.Follow:
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			for value, err := range e.Call(ctx, d) {
				orders = append(orders, s.Take(screentest.Now, o.Owner, screen.Answer{Slot: e.Slot, Value: value, Err: err})...)
			}
			cancel()
			orders = append(orders, s.Take(screentest.Now, o.Owner, screen.Answer{Slot: e.Slot, Done: true})...)
		}
	}
}
