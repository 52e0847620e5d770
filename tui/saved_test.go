package tui

import (
	"path/filepath"
	"strings"
	"syscall"
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

// A pipe in the place of the saved views must not block the dashboard.
func TestReadViewsRefusesAPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, viewsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadViews(dir); err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
		t.Errorf("got %v, want that it is not a regular file", err)
	}
}
