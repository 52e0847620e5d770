package screen

import (
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
)

// StateLook returns a sign, a word and a style for a state. Each of them is enough to
// tell the states apart. The words are those of the command line.
func StateLook(w *World, s job.State) (sign, word string, style canvas.Style) {
	g := w.Glyphs
	switch s {
	case job.StateFailing:
		return g.Failed, "FAIL", canvas.Style{Role: canvas.Bad, Bold: true}
	case job.StateLate:
		return g.Late, "LATE", canvas.Style{Role: canvas.Doubt, Bold: true}
	case job.StateRunning:
		return g.Running, "run", canvas.Style{Role: canvas.Busy}
	case job.StatePaused:
		return g.Held, "paused", canvas.Style{Role: canvas.Off}
	case job.StateHeld:
		return g.Held, "held", canvas.Style{Role: canvas.Off}
	case job.StateDisabled:
		return g.Held, "off", canvas.Style{Role: canvas.Off}
	case job.StateOK:
		return g.OK, "ok", canvas.Style{Role: canvas.Good}
	}
	return g.New, "new", canvas.Style{Role: canvas.Fresh}
}

// JobLook is StateLook for a job. A failure that was acknowledged does not look like a success.
func JobLook(w *World, r *api.Row) (sign, word string, style canvas.Style) {
	if r.Acked && r.State == job.StateOK {
		return w.Glyphs.Failed, "ack", canvas.Style{Role: canvas.Off}
	}
	if r.State == job.StateNew && w.IsOfCron(r) {
		return w.Glyphs.New, "cron", canvas.Style{}
	}
	return StateLook(w, r.State)
}

// OutcomeLook returns a sign and a style for one cell of a history.
func OutcomeLook(w *World, k api.CellKind) (sign string, style canvas.Style) {
	g := w.Glyphs
	switch k {
	case api.CellFailed:
		return g.Failed, canvas.Style{Role: canvas.Bad, Bold: true}
	case api.CellLate:
		return g.Late, canvas.Style{Role: canvas.Doubt, Bold: true}
	case api.CellRunning:
		return g.Running, canvas.Style{Role: canvas.Busy, Bold: w.pulse()}
	case api.CellOK:
		return g.Ran, canvas.Style{Role: canvas.Good}
	case api.CellSpan:
		return g.Long, canvas.Style{Role: canvas.Good}
	case api.CellStarted:
		return g.Started, canvas.Style{}
	case api.CellSkipped:
		return g.Skipped, canvas.Style{Role: canvas.Off}
	case api.CellPaused:
		return g.Held, canvas.Style{Role: canvas.Off}
	case api.CellPlanned:
		return g.Planned, canvas.Style{}
	case api.CellExpected:
		return g.Expected, canvas.Style{}
	}
	return " ", canvas.Style{}
}

// pulse is true in every other second: what runs shows that it lives, unless
// nothing may move.
func (w *World) pulse() bool { return !w.Still && w.Now.Unix()%2 == 0 }

var Dim = canvas.Style{Role: canvas.Off}

// RunSign is a run's state as a sign and its colour.
func RunSign(w *World, r *job.Run) (string, canvas.Style) {
	g := w.Glyphs
	switch {
	case r.State == job.RunRunning:
		return g.Running, canvas.Style{Role: canvas.Busy}
	case r.State.Live():
		return g.Late, canvas.Style{Role: canvas.Doubt}
	case r.OnlyStarted():
		return g.Started, canvas.Style{}
	case r.State == job.RunDropped:
		return g.Skipped, Dim
	case r.OK():
		return g.OK, canvas.Style{Role: canvas.Good}
	case r.Failed():
		return g.Failed, canvas.Style{Role: canvas.Bad}
	}
	return g.Skipped, Dim
}

// TriggerText returns what started a run.
func TriggerText(r *job.Run) string {
	switch r.Trigger {
	case job.TriggerClock:
		return "schedule"
	case job.TriggerCatchup:
		return "catch-up"
	case job.TriggerManual:
		if r.By != "" {
			return r.By
		}
	}
	return string(r.Trigger)
}

// The smallest terminal that something can be seen on.
const (
	LeastWidth  = 40
	LeastHeight = 10
	FullWidth   = 60 // from here on the first line names the screens
)

// WordFrom is the narrowest screen that shows states as words.
const WordFrom = 60
