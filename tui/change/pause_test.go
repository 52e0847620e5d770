package change

import (
	"testing"

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
