package options

import (
	"strings"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Limits of the parts of the screen.
const (
	previewFrom  = 17 // height of a screen with an example
	leastPreview = 7
	maxProblems  = 6 // lines
)

// Draw draws what is wrong in the file, the list of settings, details of the setting under the cursor,
// and the jobs as the settings show them.
func (s *Options) Draw(v canvas.View, w *screen.World) {
	v = v.Below(drawProblems(v, w))
	if s.Table.Typing() || s.Filter() != "" {
		s.DrawFilter(v, 1, 0, v.Width()-2, w)
		v = v.Below(1)
	}
	preview := 0
	if v.Height() >= previewFrom {
		preview = max(v.Height()*2/5, leastPreview)
	}
	list := v.Above(max(v.Height()-preview-height, 0))
	if s.change == nil {
		s.Table.Draw(list, w)
	} else {
		s.Table.Draw(list, w.Inert())
		w.OnWheel(v, func(lines int) []screen.Effect { return s.change.scroll(w, lines) })
	}
	s.drawCurrent(v.Below(list.Height()), w)
	if preview > 0 {
		v = v.Below(v.Height() - preview)
		page.DrawRule(v.Row(0), "Preview", w.Glyphs)
		s.jobs.Draw(v.Below(1), w.Inert())
	}
}

// drawCurrent draws the change, or what the setting under the cursor is.
func (s *Options) drawCurrent(v canvas.View, w *screen.World) {
	r := s.Current()
	switch {
	case s.change != nil:
		s.drawChange(v, w)
	case r != nil:
		page.DrawRule(v.Row(0), r.name(), w.Glyphs)
		v.PutCut(1, 1, v.Width()-2, r.value(w), w.Glyphs.Ellipsis, canvas.Style{Bold: true})
		page.DrawWrapped(v.In(1, 2, v.Width()-2, height-2), r.help, canvas.Style{}, w)
	}
}

// drawProblems draws what is wrong in the file, and returns the number of lines.
func drawProblems(v canvas.View, w *screen.World) int {
	y := 0
	for _, text := range w.Settings.Problems {
		room := min(maxProblems-y, v.Height()/3-y)
		if room <= 0 {
			break
		}
		text = w.Glyphs.Failed + " " + strings.TrimPrefix(text, w.Settings.Path+": ")
		y += page.DrawWrapped(v.In(1, y, v.Width()-2, min(room, 2)), text, canvas.Style{Role: canvas.Bad, Bold: true}, w)
	}
	return y
}
