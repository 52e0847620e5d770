package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/shell"
)

// What a user saves is not lost if the dashboard ends before Bubble Tea carries out another command.
func TestSavesAreCompleteAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	m := &model{requests: &requests{send: func(tea.Msg) {}}, state: dir}
	m.one(shell.Order{Effect: screen.Welcomed{}})
	m.saves.Wait()
	if !Welcomed(dir) {
		t.Error("it is not recorded that the hints were shown")
	}
}
