// Package shelltest owns the drawing of a screen inside the dashboard's frame (package shell), for
// tests.
package shelltest

import (
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell"
)

// Draw draws a screen as the only one of a shell.
func Draw(s screen.Screen, v canvas.View, w *screen.World) {
	root := shell.Root{Action: keys.ShowRuns, Name: "Runs", Make: func() screen.Screen { return s }}
	around := shell.New(shell.Start{World: *w}, shell.Screens{Roots: []shell.Root{root}})
	around.Kept(screentest.Now, nil)
	around.Draw(v)
}
