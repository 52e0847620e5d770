package change

import (
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// A paused job that fails or runs counts as paused, too.
func TestPausedInAnyState(t *testing.T) {
	w := screentest.NewWorld(t)
	row := screentest.Rows()[0]
	about := screen.Subject{Jobs: []job.ID{row.Job}}
	if Paused(w, about) {
		t.Error("a job that is not paused is taken for one that is")
	}
	row.Paused = true
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	if !Paused(w, about) {
		t.Error("a paused job that fails is not taken for paused")
	}
}

// The undo of a resume keeps the end of the pause. Jobs whose pauses have different ends stay paused until
// they are resumed.
func TestUndoOfResumeKeepsTheEnd(t *testing.T) {
	w := screentest.NewWorld(t)
	end := screentest.Now.Add(time.Hour)
	rows := screentest.Rows()[:2]
	about := screen.Subject{Jobs: []job.ID{rows[0].Job, rows[1].Job}, Marked: true}
	undo := func(first, second time.Time) []string {
		for i, until := range []time.Time{first, second} {
			rows[i].Paused, rows[i].HeldUntil = true, until
		}
		w.Board.Apply(api.BoardUpdate{Rows: rows})
		return Resume(w, about).Undo.Command
	}
	if got, want := undo(end, end), Command("pause", about, "--until", end.UTC().Format(time.RFC3339)); !slices.Equal(got, want) {
		t.Errorf("of pauses with one end: got %q, want %q", got, want)
	}
	if got, want := undo(end, end.Add(time.Hour)), Command("pause", about); !slices.Equal(got, want) {
		t.Errorf("of pauses with different ends: got %q, want %q", got, want)
	}
}
