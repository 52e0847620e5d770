package tui

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

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

// slowToSave is a value whose encoding takes until it is closed.
type slowToSave chan struct{}

func (s slowToSave) MarshalJSON() ([]byte, error) {
	<-s
	return json.Marshal([]string{"first"})
}

// If the first of two saves is slow, the file must have the second in the end.
func TestSavesKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, slow := t.TempDir(), make(slowToSave)
		m := &model{requests: &requests{send: func(tea.Msg) {}}, state: dir}
		m.save(recentFile, slow)
		m.save(recentFile, []string{"second"})
		synctest.Wait()
		close(slow)
		m.saves.Wait()
		if got, err := ReadRecent(dir); err != nil || !slices.Equal(got, []string{"second"}) {
			t.Errorf("got %q, error %v, want the second save", got, err)
		}
	})
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
