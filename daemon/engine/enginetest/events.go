package enginetest

import (
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// Simulate starts the daemon and simulates a number of random events.
func (h *Host) Simulate(events int) {
	h.start()
	for range events {
		h.randomEvent()
	}
	h.note("the end")
	h.run(time.Minute)
}

func (h *Host) upTo(d time.Duration) time.Duration { return time.Duration(h.rng.Int64N(int64(d))) }

// randomEvent simulates one random event.
func (h *Host) randomEvent() {
	switch n := h.rng.IntN(100); {
	case n < 40:
		d := h.upTo(3 * time.Hour)
		h.note("awake for %s", d)
		h.run(d)
	case n < 44:
		h.note("awake for a day")
		h.run(24 * time.Hour)
	case n < 50:
		d := h.upTo(8 * time.Hour)
		h.note("asleep for %s", d)
		h.pass(d)
		h.run(time.Second)
	case n < 56:
		d := h.upTo(10*time.Hour) - 5*time.Hour
		if h.rng.IntN(3) == 0 {
			d = h.upTo(4*time.Minute) - 2*time.Minute
		}
		h.note("the clock is set by %s", d)
		h.Now.Wall = h.Now.Wall.Add(d)
		h.step(event.Tick{})
	case n < 61:
		h.restart()
	case n < 64:
		h.replace()
	case n < 67:
		h.barUsers()
	case n < 75:
		h.randomEdit()
	default:
		h.randomCommand()
	}
}

// restart kills the daemon at some point of a step, and starts it again: at once,
// later, or after a boot; the processes are found again, or not.
func (h *Host) restart() {
	f := []crashPoint{noCrash, beforeCommit, afterCommit}[h.rng.IntN(3)]
	h.ends()
	h.note("crash %d", f)
	h.pass(h.upTo(2 * time.Minute))
	h.stepTo(f, event.Tick{})
	if h.rng.IntN(2) == 0 {
		h.stopping = h.Engine.Stopping()
	}
	h.adopts = h.rng.IntN(2) == 0
	away := []time.Duration{time.Minute, 5 * time.Hour, 6 * 24 * time.Hour}[h.rng.IntN(3)]
	h.pass(h.upTo(away))
	switch h.rng.IntN(4) {
	case 0:
		h.note("the host boots")
		h.adopts, h.booted, h.Now.Up = false, true, time.Minute
	case 1:
		d := h.upTo(10*time.Hour) - 5*time.Hour
		h.note("the clock is set by %s meanwhile", d)
		h.Now.Wall = h.Now.Wall.Add(d)
	}
	h.Engine = nil
	h.start()
}

// replace drains the daemon, and then replaces it.
func (h *Host) replace() {
	h.note("drain")
	h.step(event.Drain{})
	h.run(h.upTo(time.Hour))
	if h.rng.IntN(2) == 0 {
		h.note("abandon")
		h.step(event.Abandon{})
		h.run(time.Minute)
	}
	h.stopping, h.adopts = h.Engine.Stopping(), true
	h.Engine = nil
	h.start()
}

func (h *Host) barUsers() {
	users := map[string]event.Barred{}
	if h.rng.IntN(2) == 0 {
		users["ann"] = event.Barred{Reason: job.AccountRefused, Detail: "account expired"}
	}
	h.note("bar %v", users)
	h.step(event.BarUsers{Users: users})
}

// randomEdit changes what is installed, or nothing of it.
func (h *Host) randomEdit() {
	f := h.files[h.rng.IntN(len(h.files))]
	switch h.rng.IntN(6) {
	case 0:
		h.note("nothing is edited")
	case 1:
		h.move()
		h.note("move to %s", h.zone)
		for _, f := range h.files {
			h.parse(f)
		}
	case 2:
		h.drawSidecar()
		h.note("other configuration")
		for _, f := range h.files {
			h.parse(f)
		}
	case 3:
		h.drawLimits()
		h.note("other limits %+v", h.limits)
	default:
		h.draw(f)
		h.parse(f)
		h.note("edit %s\n%s", f.name, f.text)
	}
	h.step(h.load())
}

// randomCommand simulates a random command of a user.
func (h *Host) randomCommand() {
	v := h.Engine.View()
	if v.Len() == 0 {
		return
	}
	i := h.rng.IntN(v.Len())
	id := v.ID(i)
	var ev event.Event
	switch h.rng.IntN(10) {
	case 0, 1:
		ev = event.Asked{Question: event.RunNow{Job: id, By: "ann", Force: h.rng.IntN(2) == 0}, Token: 1}
	case 2:
		ev = event.Asked{Question: event.Stop{Job: id, By: "ann"}, Token: 1}
	case 3:
		if runs := v.Runs(); len(runs) > 0 {
			ev = event.Asked{Question: event.Stop{Run: runs[h.rng.IntN(len(runs))].ID, By: "ann"}, Token: 1}
			if h.rng.IntN(2) == 0 {
				ev = event.Asked{Question: event.Beat{Run: runs[h.rng.IntN(len(runs))].ID}, Token: 1}
			}
		}
	case 4:
		hold := job.Hold{By: "ann", Reason: "simulated"}
		if h.rng.IntN(2) == 0 {
			hold.Until = h.Now.Wall.Add(h.upTo(6 * time.Hour))
		}
		if h.rng.IntN(4) == 0 {
			hold.From = h.Now.Wall.Add(h.upTo(3 * time.Hour))
		}
		ev = event.Asked{Question: event.Pause{Job: id, Hold: hold}, Token: 1}
	case 5:
		ev = event.Asked{Question: event.Resume{Job: id, By: "ann"}, Token: 1}
	case 6:
		b := job.Backfill{
			Job: id, By: "ann", From: h.Now.Wall.Add(-h.upTo(20 * time.Hour)), To: h.Now.Wall,
			Overlap: "allow", Reprocess: job.ReprocessNone, MaxActive: 1 + h.rng.IntN(5),
		}
		b.Overlap = []string{"allow", "queue-all"}[h.rng.IntN(2)]
		b.Reprocess = []job.Reprocess{job.ReprocessNone, job.ReprocessFailed, job.ReprocessAll}[h.rng.IntN(3)]
		ev = event.Asked{Question: event.Backfill{Request: b, Ran: h.store.RanIn(b.Job, b.From, b.To)}, Token: 1}
	case 7:
		if going := v.Backfills(); len(going) > 0 {
			ev = event.Asked{Question: event.StopBackfill{ID: going[0].ID, By: "ann"}, Token: 1}
		}
	case 8:
		h.store.Stamps = map[string]timetable.Day{"cron.daily": timetable.DayOf(h.Now.Wall, nil) - 1}
		ev = event.Stamps{Days: maps.Clone(h.store.Stamps)}
	default:
		if dead := slices.Sorted(maps.Keys(h.store.Dead)); len(dead) > 0 {
			r := h.store.Dead[dead[h.rng.IntN(len(dead))]]
			if h.rng.IntN(3) == 0 {
				ev = event.Asked{Question: event.Bury{Dead: r, By: "ann"}, Token: 1}
			} else {
				ev = event.Asked{Question: event.Redrive{Dead: r, By: "ann"}, Token: 1}
			}
		}
	}
	if ev != nil {
		h.note("command %T %s", ev, id)
		h.step(ev)
	}
}
