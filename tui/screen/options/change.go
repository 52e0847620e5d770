package options

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/settings"
)

// change is a setting whose value the user changes: by choosing or typing a value, or by pressing keys.
// The screen shows the value before it is saved.
type change struct {
	row     row
	choices []string
	at      int // in the choices
	line    edit.Line
	keys    []string
	why     string // why the value cannot be used
}

func newChange(w *screen.World, r *row) *change {
	c := &change{row: *r}
	switch {
	case r.option == nil:
	case r.option.Choices == nil:
		c.line = edit.NewLine(r.value(w))
	default:
		c.choices = r.option.Choices(&w.Settings.Settings)
		c.at = max(slices.Index(c.choices, r.value(w)), 0)
	}
	return c
}

// edit returns the change of the file.
func (c *change) edit() settings.Edit {
	switch {
	case c.row.option == nil:
		return settings.KeysTo(string(c.row.action), c.keys)
	case c.choices != nil:
		return c.row.option.To(c.choices[c.at])
	}
	return c.row.option.To(c.line.Text())
}

// key answers to a key. Enter saves the value, and esc takes the change back.
func (c *change) key(w *screen.World, k screen.Key) (effects []screen.Effect, ended bool) {
	switch {
	case k.Name == "esc":
		return []screen.Effect{screen.Preview{}}, true
	case k.Name == "enter":
		return c.save(w)
	case c.row.option == nil:
		return nil, c.press(k)
	case c.choices != nil:
		return c.choose(w, k), false
	}
	if page.TypeInto(&c.line, k) {
		return c.preview(w), false
	}
	return nil, false
}

// save saves the value, unless it is invalid.
func (c *change) save(w *screen.World) (effects []screen.Effect, ended bool) {
	if effects = c.preview(w); c.why != "" {
		return effects, false
	}
	return []screen.Effect{screen.Set{Edit: c.edit()}}, true
}

// preview shows the value.
func (c *change) preview(w *screen.World) []screen.Effect {
	c.why = ""
	next, err := w.Settings.With(c.edit())
	if err != nil {
		c.why = err.Error()
	}
	return []screen.Effect{screen.Preview{File: next}}
}

// maxKeys bounds the keys of an action.
const maxKeys = 4

// press adds a key to those of the action, or takes the last one away.
func (c *change) press(k screen.Key) (ended bool) {
	c.why = ""
	switch {
	case k.Name == "backspace":
		c.keys = c.keys[:max(len(c.keys)-1, 0)]
	case k.Name == "paste" || len(c.keys) == maxKeys || slices.Contains(c.keys, k.Name):
	default:
		c.keys = append(c.keys, k.Name)
	}
	return false
}

// choose moves to another value.
func (c *change) choose(w *screen.World, k screen.Key) []screen.Effect {
	by := 0
	switch k.Name {
	case "right", "down", "l", "j", "tab", "space":
		by = 1
	case "left", "up", "h", "k", "shift+tab":
		by = len(c.choices) - 1
	}
	c.at = (c.at + by) % len(c.choices)
	return c.preview(w)
}

// scroll moves to another value of several.
func (c *change) scroll(w *screen.World, lines int) []screen.Effect {
	if c.choices == nil {
		return nil
	}
	c.at = min(max(c.at+cmp.Compare(lines, 0), 0), len(c.choices)-1)
	return c.preview(w)
}

// height is the number of lines of draw.
const height = 4

// drawChange draws the value and what to do.
func (s *Options) drawChange(v canvas.View, w *screen.World) {
	c := s.change
	page.DrawRule(v.Row(0), c.row.name(), w.Glyphs)
	var hints []string
	hint := ""
	switch {
	case c.row.option == nil:
		hints = []string{"enter", "save", "backspace", "take the last one away", "esc", "leave them as they are"}
		hint = "press the new keys; none at all is possible"
		x := v.Put(1, 1, "keys: ", canvas.Style{})
		v.Put(v.Put(x, 1, strings.Join(c.keys, " "), canvas.Style{Bold: true}), 1, " "+w.Glyphs.Caret, canvas.Style{})
	case c.choices != nil:
		hints = []string{"left", "", "right", "change it", "enter", "save", "esc", "leave it as it is"}
		s.drawChoices(v.Row(1), w)
	default:
		hints = []string{"enter", "save", "esc", "leave it as it is"}
		hint = c.row.option.Hint
		page.DrawInput(v, 1, 1, v.Width()-2, &c.line, w)
	}
	if c.why != "" {
		page.DrawWrapped(v.In(1, 2, v.Width()-2, height-2), w.Glyphs.Failed+" "+c.why, canvas.Style{Role: canvas.Bad, Bold: true}, w)
		return
	}
	page.DrawHints(v, 1, 2, w, canvas.Style{}, hints...)
	v.PutCut(1, 3, v.Width()-2, hint, w.Glyphs.Ellipsis, canvas.Style{})
}

// drawChoices draws the values, and moves them so that the current one is in view. A click on a value
// saves it.
func (s *Options) drawChoices(row canvas.View, w *screen.World) {
	c := s.change
	first, width := c.at, len(c.choices[c.at])+4
	for first > 0 && width+len(c.choices[first-1])+3 <= row.Width() {
		first--
		width += len(c.choices[first]) + 3
	}
	x := 1
	for i := first; i < len(c.choices) && x+len(c.choices[i])+2 <= row.Width(); i++ {
		style := canvas.Style{}
		text := " " + c.choices[i] + " "
		if i == c.at {
			text, style = "["+c.choices[i]+"]", page.Selected(canvas.Style{Bold: true})
		}
		end := row.Put(x, 0, text, style)
		w.OnClick(row.In(x, 0, end-x, 1), func(int, int) []screen.Effect {
			c.at = i
			return s.end(c.save(w))
		})
		x = end + 1
	}
}
