package jobs

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/settings"
	"github.com/cronring/cronring/tui/table"
)

// name returns the name of a column that can be chosen, as settings and views have it.
func (c jobColumn) name() string { return settings.ColumnNames[c-fixedColumns] }

// choice is a column that can be shown.
type choice struct {
	column jobColumn
	width  int // 0: as wide as its texts need
	shown  bool
}

// usualChoices returns the columns that are shown without a choice, in their order: the columns of the
// settings, or all. The column of hosts is the first one.
func (s *Jobs) usualChoices(w *screen.World) []choice {
	usual := slices.Clone(choicesOf(w.Columns))
	if usual == nil {
		usual = allChoices()
	}
	if s.age != nil {
		usual = slices.DeleteFunc(usual, func(c choice) bool { return c.column == columnNode })
		usual = slices.Insert(usual, 0, choice{column: columnNode, shown: true})
	}
	return usual
}

func allChoices() []choice {
	var all []choice
	for column := jobColumn(fixedColumns); column <= columnCommand; column++ {
		all = append(all, choice{column: column, shown: true})
	}
	return all
}

// chooser lets the user choose the columns, their order and widths.
type chooser struct {
	choices []choice
	usual   []choice
	cursor  int
}

func (s *Jobs) openChooser(w *screen.World) {
	usual := withHidden(s.usualChoices(w))
	s.menu, s.chooser = true, &chooser{choices: slices.Clone(usual), usual: usual}
	if s.chosen != nil {
		s.chooser.choices = withHidden(s.chosen)
	}
}

// withHidden returns a choice and, behind it, the columns that it hides.
func withHidden(chosen []choice) []choice {
	all := slices.Clone(chosen)
	for column := jobColumn(fixedColumns); column <= columnCommand; column++ {
		if !slices.ContainsFunc(chosen, func(x choice) bool { return x.column == column }) {
			all = append(all, choice{column: column})
		}
	}
	return all
}

// shown returns the columns that are not hidden.
func (c *chooser) shown() []choice {
	return slices.DeleteFunc(slices.Clone(c.choices), func(c choice) bool { return !c.shown })
}

// widthStep is the change of a column's width by one key.
const widthStep = 2

// key handles a key of the chooser, and reports whether the columns have changed and whether it
// stays open.
func (c *chooser) key(k screen.Key) (changed, open bool) {
	here := &c.choices[c.cursor]
	switch k.Name {
	case "down", "right", "j", "l":
		c.cursor = min(c.cursor+1, len(c.choices)-1)
		return false, true
	case "up", "left", "k", "h":
		c.cursor = max(c.cursor-1, 0)
		return false, true
	case "space":
		here.shown = !here.shown
	case "J", "shift+down", "shift+right":
		c.move(1)
	case "K", "shift+up", "shift+left":
		c.move(-1)
	case "+":
		here.widen(widthStep)
	case "-", "_":
		here.widen(-widthStep)
	case "0":
		here.width = 0
	case "a":
		*c = chooser{choices: slices.Clone(c.usual), usual: c.usual}
	default:
		return false, false
	}
	return true, true
}

func (c *choice) widen(by int) {
	c.width = min(max(cmp.Or(c.width, usualWidth)+by, settings.LeastColumn), longestWide)
}

// usualWidth is the first width when the user changes a column that has no width.
const usualWidth = 12

// move moves the column under the cursor.
func (c *chooser) move(by int) {
	if to := c.cursor + by; to >= 0 && to < len(c.choices) {
		c.choices[c.cursor], c.choices[to] = c.choices[to], c.choices[c.cursor]
		c.cursor = to
	}
}

// chooseColumns answers to a key of the chooser.
func (s *Jobs) chooseColumns(k screen.Key) []screen.Effect {
	if k.Name == "s" {
		return s.saveColumns()
	}
	changed, open := s.chooser.key(k)
	if changed {
		s.chosen, s.shift = s.chooser.shown(), 0
		if slices.Equal(s.chooser.choices, s.chooser.usual) {
			s.chosen = nil
		}
	}
	if !open {
		s.menu, s.chooser = false, nil
	}
	return nil
}

// saveColumns saves the choice as the setting, so that it also applies after the next start.
func (s *Jobs) saveColumns() []screen.Effect {
	columns := columnsOf(s.chooser.shown())
	if slices.Equal(s.chooser.choices, allChoices()) {
		columns = nil
	}
	s.menu, s.chooser, s.chosen = false, nil, nil
	return []screen.Effect{screen.Set{Edit: settings.ColumnsTo(columns)}}
}

// chosenColumns returns the columns in their order, with the user's choice applied.
func (s *Jobs) chosenColumns(w *screen.World) []choice {
	all := []choice{{column: columnState}, {column: columnJob}}
	if s.chosen == nil {
		return append(all, s.usualChoices(w)...)
	}
	return append(all, s.chosen...)
}

// applyChoice applies the user's choice to a column: it is shown if there is space, with the chosen
// width.
func (s *Jobs) applyChoice(w *screen.World, column *table.Column[api.Row], c choice) {
	if s.chosen == nil && len(w.Columns) == 0 || c.column < fixedColumns {
		return
	}
	column.From = 0
	if c.width > 0 {
		column.Width, column.Fit, column.Fill = c.width+1, table.Never, false
	}
}

// columnsOf returns a choice as views and settings store it.
func columnsOf(chosen []choice) []settings.Column {
	var columns []settings.Column
	for _, c := range chosen {
		columns = append(columns, settings.Column{Name: c.column.name(), Width: c.width})
	}
	return columns
}

// choicesOf returns the choice of a view. It ignores unknown and repeated names, because the view
// comes from a file.
func choicesOf(columns []settings.Column) []choice {
	var chosen []choice
	for _, c := range columns {
		column := fixedColumns + jobColumn(slices.Index(settings.ColumnNames, c.Name))
		known := slices.ContainsFunc(chosen, func(x choice) bool { return x.column == column })
		if column >= fixedColumns && !known {
			chosen = append(chosen, choice{column, min(max(c.Width, 0), longestWide), true})
		}
	}
	return chosen
}

// drawChooser draws the columns that can be chosen, as many across as fit, and the line of the cursor in any case.
func (s *Jobs) drawChooser(v canvas.View, w *screen.World) {
	c := s.chooser
	w.OnWheel(v, func(lines int) []screen.Effect {
		c.cursor = min(max(c.cursor+lines, 0), len(c.choices)-1)
		return nil
	})
	page.DrawRule(v.Row(0), "Columns", w.Glyphs)
	across, lines := menuColumns(v.Width()), v.In(0, 1, v.Width(), v.Height()-2)
	top := max(c.cursor/across-lines.Height()+1, 0)
	for i, choice := range c.choices {
		y := i/across - top
		if y < 0 || y >= lines.Height() {
			continue
		}
		cell := lines.In(i%across*menuCell, y, menuCell, 1)
		w.OnClick(cell, func(int, int) []screen.Effect {
			c.cursor = i
			return append(s.chooseColumns(screen.KeyNamed("space")), s.ask(w)...)
		})
		box := "[ ] "
		if choice.shown {
			box = "[" + w.Glyphs.Mark + "] "
		}
		style := canvas.Style{}
		if i == c.cursor {
			cell.Put(0, 0, w.Glyphs.Cursor, canvas.Style{Bold: true})
			style.Bold = true
		}
		x := cell.Put(1, 0, box+choice.column.name(), style)
		if choice.width > 0 {
			cell.Put(x+1, 0, strconv.Itoa(choice.width), canvas.Style{Role: canvas.Off})
		}
	}
	page.DrawHints(v, 1, v.Height()-1, w, canvas.Style{Role: canvas.Off},
		"space", "show", "J", "", "K", "move", "+", "", "-", "width", "0", "own width", "a", "as usual", "s", "save", "enter", "done")
}
