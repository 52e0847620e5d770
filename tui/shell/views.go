package shell

import (
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Kept reports the result of a Keep or a Remember.
func (s *Shell) Kept(now time.Time, err error) {
	s.at(now)
	if err != nil {
		s.warn(err.Error())
	}
}

// maxViews is the highest number of saved views.
const maxViews = 50

// viewMenu offers the saved views.
type viewMenu struct {
	viewer screen.Viewer
	cursor int
}

// openViews opens the menu of saved views, if the front screen has views.
func (s *Shell) openViews() {
	viewer, ok := s.front().(screen.Viewer)
	if !ok {
		s.warn("views: this screen has only one")
		return
	}
	s.over = &viewMenu{viewer: viewer}
}

func (m *viewMenu) key(s *Shell, k screen.Key) {
	last := max(len(s.views)-1, 0)
	switch k.Name {
	case "esc", "q":
		s.over = nil
	case "j", "down":
		m.cursor = min(m.cursor+1, last)
	case "k", "up":
		m.cursor = max(m.cursor-1, 0)
	case "enter":
		if m.cursor < len(s.views) {
			s.over = nil
			s.perform(s.front(), m.viewer.SetView(s.w, s.views[m.cursor]))
		}
	case "D":
		if m.cursor < len(s.views) {
			s.views = slices.Delete(slices.Clone(s.views), m.cursor, m.cursor+1)
			m.cursor = min(m.cursor, max(len(s.views)-1, 0))
			s.order(nil, screen.Keep{Views: s.views})
		}
	case "s":
		s.over = &prompt{title: "Save this view as:", hint: "a name; one of that name is replaced", done: func(s *Shell, name string) {
			s.saveView(m.viewer.View(), name)
		}}
	}
}

func (s *Shell) saveView(v screen.View, name string) {
	v.Name = strings.TrimSpace(name)
	views := slices.DeleteFunc(slices.Clone(s.views), func(old screen.View) bool { return old.Name == v.Name })
	if v.Name == "" || len(views) >= maxViews {
		s.warn("views: there are many already; delete one first")
		return
	}
	s.views = append(views, v)
	slices.SortFunc(s.views, func(a, b screen.View) int { return strings.Compare(a.Name, b.Name) })
	s.order(nil, screen.Keep{Views: s.views})
	s.showMessage("saved the view " + v.Name)
}

func (m *viewMenu) height(s *Shell, _, room int) int { return min(max(len(s.views), 1)+2, room, 14) }

func (m *viewMenu) draw(v canvas.View, s *Shell) {
	ellipsis := s.w.Glyphs.Ellipsis
	v.PutCut(1, 0, v.Width()-2, "Views", ellipsis, canvas.Style{Role: canvas.Title, Bold: true})
	rows := max(v.Height()-2, 0)
	top := max(m.cursor-rows+1, 0)
	for y := range min(rows, len(s.views)-top) {
		view, style := s.views[top+y], canvas.Style{}
		if top+y == m.cursor {
			v.Put(1, y+1, s.w.Glyphs.Cursor, style)
			style.Bold = true
		}
		s.onClick(v.Row(y+1), func() {
			m.cursor = top + y
			m.key(s, screen.Key{Name: "enter"})
		})
		v.PutCut(3, y+1, 24, view.Name, ellipsis, style)
		v.PutCut(28, y+1, v.Width()-29, viewText(view), ellipsis, canvas.Style{})
	}
	if len(s.views) == 0 {
		v.PutCut(1, 1, v.Width()-2, "No view is saved yet. s saves the current filter, states, order and columns.", ellipsis, canvas.Style{})
	}
	page.DrawHints(v, 1, v.Height()-1, s.w, canvas.Style{}, "enter", "open", "s", "save this view", "D", "delete", "esc", "close")
}

// viewText describes a view.
func viewText(v screen.View) string {
	var words []string
	if v.Text != "" {
		words = append(words, "/"+v.Text)
	}
	for _, state := range v.States {
		words = append(words, string(state))
	}
	if v.Order != "" {
		words = append(words, "sort "+string(v.Order))
	}
	if v.Reverse {
		words = append(words, "reversed")
	}
	if v.Wide {
		words = append(words, "wide")
	}
	if n := len(v.Columns); n > 0 {
		words = append(words, display.Count(n, "column"))
	}
	return strings.Join(words, "  ")
}
