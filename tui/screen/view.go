package screen

import (
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/settings"
)

// Layout is the place and size of the details of the job under the cursor.
type Layout struct {
	Side Side `json:"side,omitempty"`
	More int  `json:"more,omitempty"` // columns or lines in addition to the usual size
}

// Side is the place of the details.
type Side string

// The sides. A screen that is too small for Beside has them Below.
const (
	Auto   Side = "" // beside the list on a large screen
	Beside Side = "beside"
	Below  Side = "below"
)

// View is a saved filter, order, width, layout and choice of columns of a list.
type View struct {
	Name    string            `json:"name"`
	Text    string            `json:"text,omitempty"` // filter
	States  []job.State       `json:"states,omitempty"`
	Order   board.Order       `json:"order,omitempty"`
	Reverse bool              `json:"reverse,omitempty"`
	Wide    bool              `json:"wide,omitempty"`
	Layout  Layout            `json:"layout,omitzero"`
	Columns []settings.Column `json:"columns,omitempty"` // none: the usual ones
}

// Viewer is a screen that can be looked at in several ways.
type Viewer interface {
	View() View
	SetView(w *World, v View) []Effect
}

// Keep has the views kept for the next time.
type Keep struct{ Views []View }

func (Keep) effect() {}
