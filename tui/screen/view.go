package screen

import (
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
)

// View is a saved filter, order and width of a list.
type View struct {
	Name    string      `json:"name"`
	Text    string      `json:"text,omitempty"` // filter
	States  []job.State `json:"states,omitempty"`
	Order   board.Order `json:"order,omitempty"`
	Reverse bool        `json:"reverse,omitempty"`
	Wide    bool        `json:"wide,omitempty"`
}

// Viewer is a screen that can be looked at in several ways.
type Viewer interface {
	View() View
	SetView(w *World, v View) []Effect
}

// Keep has the views kept for the next time.
type Keep struct{ Views []View }

func (Keep) effect() {}
