package editor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// form shows an entry as fields with a hint for each.
type form struct {
	title  string
	line   int // of the entry, from 1; 0: it is a new one
	fields []formField
	at     int
	marked bool // the text at at is marked: what is typed next replaces it
	err    string
	find   *edit.Line     // text to find a field by; nil: none is being typed
	config crontab.Config // of the crontab
}

// formField is one part of the entry.
type formField struct {
	name, hint string
	option     string // the option that it is; "": a column
	group      string // title above it, or ""
	was        string
	line       edit.Line
}

// timeFields are the five columns of a schedule.
var timeFields = []formField{
	{name: "minute", hint: "0-59  *  */5  0,30"},
	{name: "hour", hint: "0-23  *  */2  9-17"},
	{name: "day", hint: "1-31  *  1,15"},
	{name: "month", hint: "1-12  *  jan"},
	{name: "weekday", hint: "0-7  *  mon-fri"},
}

// newForm is the form of an entry, or of a new one.
func (e *Editor) newForm(entry *crontab.Entry) *form {
	f := &form{title: "New entry", config: e.checker.Config()}
	spec, user, command := "0 5 * * *", "root", ""
	message := map[string]string{}
	if entry != nil {
		f.line = entry.Line()
		f.title = fmt.Sprintf("Line %d", f.line+e.crontab.Above())
		spec, user, command = entry.Spec(), entry.User(), commandText(entry)
		for _, it := range entry.Options().Items {
			if it.Origin == option.FromDirective {
				message[it.Key] = it.Value
			}
		}
	}
	if words := strings.Fields(spec); len(words) == len(timeFields) {
		for i, field := range timeFields {
			f.add(field, words[i])
		}
	} else {
		f.add(formField{name: "when", hint: "@hourly @daily @weekly @monthly @reboot"}, spec)
	}
	if e.checker.Format() == crontab.System {
		f.add(formField{name: "user", hint: "who runs it"}, user)
	}
	f.add(formField{name: "command", hint: "for the shell; % is written \\%"}, command)
	group := ""
	for _, spec := range option.Vocabulary() {
		group = cmp.Or(spec.Group(), group)
		f.add(formField{name: spec.Key + "=", hint: spec.Form + "  " + spec.Meaning, option: spec.Key, group: group}, message[spec.Key])
		group = ""
	}
	f.goTo(0)
	return f
}

// goTo moves to a field. It marks the text of a time or user, which have defaults. Other texts are
// often changed only in part.
func (f *form) goTo(i int) {
	f.at = i
	field := &f.fields[i]
	f.marked = field.option == "" && field.line.Text() != "" && &field.line != f.commandLine()
}

// commandText is the command as it is written, with what follows a %.
func commandText(e *crontab.Entry) string {
	rest := strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(e.Raw(), " \t"), "-"), " \t")
	for range strings.Fields(e.Spec()) {
		end := max(strings.IndexAny(rest, " \t"), 0)
		rest = strings.TrimLeft(rest[end:], " \t")
	}
	if e.File().Format == crontab.System {
		rest = strings.TrimLeft(strings.TrimPrefix(rest, e.User()), " \t")
	}
	return rest
}

func (f *form) add(field formField, value string) {
	field.was = value
	field.line = edit.NewLine(value)
	f.fields = append(f.fields, field)
}

// columns is the line that the fields make.
func (f *form) columns() string {
	var words []string
	for i := range f.fields {
		if f.fields[i].option == "" {
			words = append(words, strings.TrimSpace(f.fields[i].line.Text()))
		}
	}
	return strings.Join(words, " ")
}

// changedColumns reports whether a column has changed. Otherwise the line keeps its
// exact text.
func (f *form) changedColumns() bool {
	for i := range f.fields {
		if f.fields[i].option == "" && f.fields[i].line.Text() != f.fields[i].was {
			return true
		}
	}
	return f.line == 0
}

// typeForm answers to a key of the form.
func (e *Editor) typeForm(w *screen.World, k screen.Key) []screen.Effect {
	f := e.form
	if f.find != nil {
		f.typeFind(k)
		return nil
	}
	switch k.Name {
	case "esc":
		e.form = nil
	case "ctrl+f":
		line := edit.NewLine("")
		f.find = &line
	case "pgdown":
		f.goToGroup(1)
	case "pgup":
		f.goToGroup(-1)
	case "tab", "down":
		f.goTo((f.at + 1) % len(f.fields))
	case "shift+tab", "up":
		f.goTo((f.at + len(f.fields) - 1) % len(f.fields))
	case "enter":
		if f.at < len(f.fields)-1 && f.line == 0 && strings.TrimSpace(f.commandLine().Text()) == "" {
			f.goTo(f.at + 1)
			return nil
		}
		return e.takeForm(w)
	default:
		line := &f.fields[f.at].line
		if k.Text == " " && f.fields[f.at].option == "" && line != f.commandLine() {
			f.goTo(f.at + 1) // so that a whole line of a crontab can be typed
			break
		}
		if replaces := k.Text != "" || k.Name == "backspace" || k.Name == "delete"; f.marked && replaces {
			line.Set("")
		}
		page.TypeInto(line, k)
		f.marked = false
	}
	f.err = ""
	return nil
}

// commandLine is the field of the command: the last column.
func (f *form) commandLine() *edit.Line {
	for i := len(f.fields) - 1; i >= 0; i-- {
		if f.fields[i].option == "" {
			return &f.fields[i].line
		}
	}
	return &f.fields[0].line
}

// takeForm writes the fields into the text, as one change.
func (e *Editor) takeForm(w *screen.World) []screen.Effect {
	f := e.form
	d := draft.New(e.buffer.Text(), e.checker.Format())
	line, err := f.line, error(nil)
	switch {
	case strings.TrimSpace(f.commandLine().Text()) == "":
		err = errors.New("the command is empty")
	case line == 0:
		line, err = d.Append(f.columns())
	case f.changedColumns():
		err = d.Replace(line, f.columns())
	}
	for i := range f.fields {
		field := &f.fields[i]
		if value := strings.TrimSpace(field.line.Text()); err == nil && field.option != "" && value != field.was {
			line, err = d.Set(line, field.option, value)
		}
	}
	if err != nil {
		f.err = err.Error()
		return nil
	}
	e.form = nil
	e.buffer.Replace(d.Text())
	e.buffer.Go(line-1, 0)
	e.upToDate()
	return e.consider(w)
}

// draw draws the fields, and what the schedule means as it is now.
func (f *form) draw(v canvas.View, w *screen.World) {
	page.DrawRule(v.Row(0), f.title, w.Glyphs)
	rows := v.Height() - 2
	lines, at := f.lines()
	top := max(min(at-rows+1, len(lines)-rows), 0)
	for y := 0; y < rows && top+y < len(lines); y++ {
		if i := lines[top+y]; i < 0 {
			v.Put(1, y+1, f.fields[^i].group, canvas.Style{Role: canvas.Title})
		} else {
			f.drawField(v.Row(y+1), i, w)
		}
	}
	if f.find != nil {
		foot := v.Row(v.Height() - 1)
		page.DrawInput(foot, 1+foot.Put(1, 0, "find option:", canvas.Style{})+1, 0, foot.Width()-16, f.find, w)
		return
	}
	text, style := f.meaning(), canvas.Style{}
	if f.err != "" {
		text, style = w.Glyphs.Failed+" "+f.err, canvas.Style{Role: canvas.Bad}
	}
	foot := v.In(1, v.Height()-1, v.Width()-2, 1)
	foot.PutCut(0, 0, foot.Width(), text, w.Glyphs.Ellipsis, style)
	page.DrawHints(foot, page.Width(text)+3, 0, w, canvas.Style{}, "enter", "take", "ctrl+f", "find", "esc", "cancel")
}

// lines returns the fields, with ^i for the title above field i, and the position of the
// current field.
func (f *form) lines() (lines []int, at int) {
	for i := range f.fields {
		if f.fields[i].group != "" {
			lines = append(lines, ^i)
		}
		if i == f.at {
			at = len(lines)
		}
		lines = append(lines, i)
	}
	return lines, at
}

// goToGroup moves to the first field of the next group, or of the one before.
func (f *form) goToGroup(step int) {
	for i := f.at + step; i >= 0 && i < len(f.fields); i += step {
		if f.fields[i].group != "" || i == 0 {
			f.goTo(i)
			return
		}
	}
}

// typeFind takes a key of the text that is looked for: it moves to the first field that has it in
// its name, else in its description; down moves to the next one.
func (f *form) typeFind(k screen.Key) {
	from := 0
	switch k.Name {
	case "esc", "enter", "tab":
		f.find = nil
		return
	case "down", "ctrl+f":
		from = f.at + 1
	default:
		page.TypeInto(f.find, k)
	}
	text := strings.ToLower(f.find.Text())
	for _, has := range []func(*formField) bool{
		func(x *formField) bool { return strings.HasPrefix(x.name, text) },
		func(x *formField) bool { return strings.Contains(strings.ToLower(x.name+" "+x.hint), text) },
	} {
		for i := range f.fields {
			if at := (from + i) % len(f.fields); has(&f.fields[at]) {
				f.goTo(at)
				return
			}
		}
	}
}

// The least widths of the columns of values and hints. A long value moves the hint beside it to the
// right.
const (
	leastValue = 22
	leastHint  = 34
)

func (f *form) drawField(row canvas.View, i int, w *screen.World) {
	field := &f.fields[i]
	style := canvas.Style{}
	f.clickable(row, i, w)
	if i == f.at {
		row.Put(0, 0, w.Glyphs.Cursor, canvas.Style{Bold: true})
		style.Bold = true
	}
	row.Put(1, 0, field.name, style)
	from, value := 10, max(leastValue, page.Width(field.line.Text())+1)
	for i := range f.fields {
		from = max(from, len(f.fields[i].name)+2)
	}
	hint := 0
	if row.Width() >= screen.FullWidth {
		hint = max(row.Width()-from-1-value, leastHint)
		row.PutCut(row.Width()-hint, 0, hint-1, field.hint, w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Off})
	}
	room := row.Width() - from - hint - 1
	if i == f.at {
		end := page.DrawInput(row, from, 0, room, &field.line, w)
		f.clickableValue(row.In(from, 0, room, 1), w)
		if f.marked {
			row.In(from, 0, end-from-1, 1).Restyle(func(s canvas.Style) canvas.Style {
				s.Reverse = true
				return s
			})
		}
		return
	}
	row.PutCut(from, 0, room, field.line.Text(), w.Glyphs.Ellipsis, canvas.Style{})
}

// meaning describes the schedule of the fields and options, or its error.
func (f *form) meaning() string {
	var words []string
	for i := range f.fields {
		switch name := f.fields[i].name; {
		case name == "user" || name == "command" || f.fields[i].option != "":
		default:
			words = append(words, f.fields[i].line.Text())
		}
	}
	d := draft.New(strings.Join(words, " ")+" x\n", crontab.User)
	line, err := 1, error(nil)
	for i := range f.fields {
		field := &f.fields[i]
		if value := strings.TrimSpace(field.line.Text()); err == nil && value != "" && (field.option == "delay" || slices.Contains(slices.Concat(option.TimeKeys, option.HoursKeys), field.option)) {
			line, err = d.Set(line, field.option, value)
		}
	}
	if err != nil {
		return err.Error()
	}
	file, diagnostics := crontab.Parse("", d.Text(), crontab.Config{Zone: f.config.Zone, Calendars: f.config.Calendars})
	for _, d := range diagnostics {
		if d.Severity == crontab.Error {
			return d.Message
		}
	}
	if len(file.Entries) == 0 {
		return "names no time"
	}
	return file.Entries[0].Meaning()
}
