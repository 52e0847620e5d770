package worlds

import (
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// Live starts the daemon and simulates a number of random events.
func (w *World) Live(things int) {
	w.start()
	for range things {
		w.happen()
	}
	w.say("the end")
	w.awake(time.Minute)
}

func (w *World) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }

// happen lets one thing happen.
func (w *World) happen() {
	switch n := w.rng.IntN(100); {
	case n < 40:
		d := w.upTo(3 * time.Hour)
		w.say("awake for %s", d)
		w.awake(d)
	case n < 44:
		w.say("awake for a day")
		w.awake(24 * time.Hour)
	case n < 50:
		d := w.upTo(8 * time.Hour)
		w.say("asleep for %s", d)
		w.pass(d)
		w.awake(time.Second)
	case n < 56:
		d := w.upTo(10*time.Hour) - 5*time.Hour
		if w.rng.IntN(3) == 0 {
			d = w.upTo(4*time.Minute) - 2*time.Minute
		}
		w.say("the clock is set by %s", d)
		w.Now.Wall = w.Now.Wall.Add(d)
		w.step(event.Tick{})
	case n < 61:
		w.crash()
	case n < 64:
		w.replace()
	case n < 67:
		w.bar()
	case n < 75:
		w.edit()
	default:
		w.ask()
	}
}

// crash kills the daemon at some point of a step, and starts it again: at once,
// later, or after a boot; the processes are found again, or not.
func (w *World) crash() {
	f := []fate{lives, diesBefore, diesAfter}[w.rng.IntN(3)]
	w.ends()
	w.say("crash %d", f)
	w.pass(w.upTo(2 * time.Minute))
	w.stepTo(f, event.Tick{})
	if w.rng.IntN(2) == 0 {
		w.stopping = w.Engine.Stopping()
	}
	w.adopts = w.rng.IntN(2) == 0
	away := []time.Duration{time.Minute, 5 * time.Hour, 6 * 24 * time.Hour}[w.rng.IntN(3)]
	w.pass(w.upTo(away))
	switch w.rng.IntN(4) {
	case 0:
		w.say("the host boots")
		w.adopts, w.booted, w.Now.Up = false, true, time.Minute
	case 1:
		d := w.upTo(10*time.Hour) - 5*time.Hour
		w.say("the clock is set by %s meanwhile", d)
		w.Now.Wall = w.Now.Wall.Add(d)
	}
	w.Engine = nil
	w.start()
}

// replace drains the daemon, and then replaces it, or lets it continue.
func (w *World) replace() {
	w.say("drain")
	w.step(event.Drain{})
	w.awake(w.upTo(time.Hour))
	switch w.rng.IntN(3) {
	case 0:
		w.say("in vain")
		w.step(event.Undrain{})
		return
	case 1:
		w.say("abandon")
		w.step(event.Abandon{})
		w.awake(time.Minute)
	}
	w.stopping, w.adopts = w.Engine.Stopping(), true
	w.Engine = nil
	w.start()
}

func (w *World) bar() {
	users := map[string]event.Barred{}
	if w.rng.IntN(2) == 0 {
		users["ann"] = event.Barred{Reason: job.AccountRefused, Detail: "account expired"}
	}
	w.say("bar %v", users)
	w.step(event.BarUsers{Users: users})
}

// edit changes what is installed, or nothing of it.
func (w *World) edit() {
	f := w.files[w.rng.IntN(len(w.files))]
	switch w.rng.IntN(6) {
	case 0:
		w.say("nothing is edited")
	case 1:
		w.move()
		w.say("move to %s", w.zone)
		for _, f := range w.files {
			w.parse(f)
		}
	case 2:
		w.drawSidecar()
		w.say("other configuration")
		for _, f := range w.files {
			w.parse(f)
		}
	case 3:
		w.drawLimits()
		w.say("other limits %+v", w.limits)
	default:
		w.draw(f)
		w.parse(f)
		w.say("edit %s\n%s", f.name, f.text)
	}
	w.step(w.load())
}

// ask simulates a random command of a user.
func (w *World) ask() {
	v := w.Engine.View()
	if v.Len() == 0 {
		return
	}
	i := w.rng.IntN(v.Len())
	id := v.ID(i)
	var ev event.Event
	switch w.rng.IntN(10) {
	case 0, 1:
		ev = event.RunNow{Job: id, By: "ann", Force: w.rng.IntN(2) == 0, Token: 1}
	case 2:
		ev = event.Stop{Job: id, By: "ann", Token: 1}
	case 3:
		if runs := v.Runs(); len(runs) > 0 {
			ev = event.Stop{Run: runs[w.rng.IntN(len(runs))].ID, By: "ann", Token: 1}
		}
	case 4:
		h := job.Hold{By: "ann", Reason: "simulated"}
		if w.rng.IntN(2) == 0 {
			h.Until = w.Now.Wall.Add(w.upTo(6 * time.Hour))
		}
		ev = event.Pause{Job: id, Hold: h, Token: 1}
	case 5:
		ev = event.Resume{Job: id, By: "ann", Token: 1}
	case 6:
		b := job.Backfill{
			Job: id, By: "ann", From: w.Now.Wall.Add(-w.upTo(20 * time.Hour)), To: w.Now.Wall,
			Overlap: "allow", Reprocess: job.ReprocessNone, MaxActive: 1 + w.rng.IntN(5),
		}
		b.Overlap = []string{"allow", "queue-all"}[w.rng.IntN(2)]
		b.Reprocess = []job.Reprocess{job.ReprocessNone, job.ReprocessFailed, job.ReprocessAll}[w.rng.IntN(3)]
		ev = event.Backfill{Request: b, Ran: w.ranIn(b.Job, b.From, b.To), Token: 1}
	case 7:
		if going := v.Backfills(); len(going) > 0 {
			ev = event.StopBackfill{ID: going[0].ID, By: "ann", Token: 1}
		}
	case 8:
		w.kept.state.Stamps = map[string]timetable.Day{"cron.daily": timetable.DayOf(w.Now.Wall, nil) - 1}
		ev = event.Stamps{Days: maps.Clone(w.kept.state.Stamps)}
	default:
		if dead := slices.Sorted(maps.Keys(w.kept.dead)); len(dead) > 0 {
			r := w.kept.dead[dead[w.rng.IntN(len(dead))]]
			if w.rng.IntN(3) == 0 {
				ev = event.Bury{Dead: r, By: "ann", Token: 1}
			} else {
				ev = event.Redrive{Dead: r, By: "ann", Token: 1}
			}
		}
	}
	if ev != nil {
		w.say("ask %T %s", ev, id)
		w.step(ev)
	}
}
