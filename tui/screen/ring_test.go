package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
)

func TestRingScreens(t *testing.T) {
	for name, change := range map[string]func(w *World){
		"ring": func(*World) {},
		"ring-offline": func(w *World) {
			w.Link.Live = false
		},
		"ring-unknown": func(w *World) {
			w.Link, w.Status, w.Board = Link{}, api.Status{}, board.New()
		},
		"ring-hostile": func(w *World) {
			w.Status.Host, w.Status.Version = "\x1b[2J\u202e"+strings.Repeat("host", 90), "\x1b]0;v\x07"
			w.Status.Started = w.Now.Add(time.Hour)
		},
	} {
		checkScreens(t, name, func(v canvas.View, w *World) {
			change(w)
			show(t, NewRing(), inside(v), w, &fakeDaemon{})
		})
	}
}
