package screen

import (
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
)

// inShell is what a screen shows in its shell.
func inShell(s Screen, v canvas.View, w *World) {
	plain := Root{keys.ShowJobs, "", func() Screen { return &blank{} }}
	shell := NewShell(Start{World: *w, Over: s}, Screens{Roots: []Root{plain}})
	shell.Kept(now, nil)
	shell.Draw(v)
}

// blank is the screen below.
type blank struct{ Screen }

func (*blank) Scope() keys.Scope { return keys.Jobs }
