package editor

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/review"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// How much of the body goes to what is below the text.
const (
	tallEditor  = 18 // from here on all of it is shown
	shortEditor = 9  // below, nothing but the text
	tallPane    = 8
	shortPane   = 3
)

// Draw draws the text, what the line under the cursor does, and what a save would
// do.
func (e *Editor) Draw(v canvas.View, w *screen.World) {
	switch {
	case e.err != nil:
		page.DrawUnknown(v, e.err, w)
		return
	case !e.known:
		v.Put(1, 0, "reading "+e.name(), canvas.Style{Role: canvas.Off})
		return
	}
	pane := 0
	switch {
	case v.Height() >= tallEditor:
		pane = tallPane
	case v.Height() >= shortEditor:
		pane = shortPane
	}
	behind := w
	if e.asks != nil {
		behind = w.Inert()
	}
	behind.OnWheel(v, func(lines int) []screen.Effect { return e.wheel(w, lines) })
	text := v.Above(v.Height() - pane)
	if e.form != nil {
		e.form.draw(text, behind)
	} else {
		e.drawText(text, behind)
	}
	below := v.Below(v.Height() - pane)
	switch {
	case e.asks != nil:
		e.drawAsking(v, w)
	case pane == tallPane:
		e.drawAbout(below.Above(tallPane-2), w)
		e.drawSave(below.Below(tallPane-2), w)
	case pane == shortPane:
		e.drawAbout(below.Above(shortPane-1), w)
		below.Row(shortPane-1).PutCut(1, 0, v.Width()-2, e.saveText(), w.Glyphs.Ellipsis, e.saveStyle())
	}
}

// drawAsking draws the question on the last lines, as many as it takes, and the keys that answer it.
func (e *Editor) drawAsking(v canvas.View, w *screen.World) {
	width := v.Width() - 2
	lines := len(page.Wrap(display.Text(e.asks.text), width, width))
	v = v.Below(max(v.Height()-lines-2, 0))
	v.Fill(" ", canvas.Style{})
	page.DrawRule(v.Row(0), "", w.Glyphs)
	page.DrawWrapped(v.In(1, 1, width, lines), e.asks.text, canvas.Style{Bold: true}, w)
	page.DrawHints(v, 1, v.Height()-1, w, canvas.Style{Bold: true}, e.asks.hints...)
}

// gutter returns the width of the line number and the sign before the text.
func (e *Editor) gutter() int { return max(len(fmt.Sprint(e.buffer.Len()+e.crontab.Above())), 2) + 4 }

// drawText draws the lines in view, each with its diagnostic below it.
func (e *Editor) drawText(v canvas.View, w *screen.World) {
	e.height = v.Height()
	gutter := e.gutter()
	room := max(v.Width()-gutter-1, 1)
	e.scroll(v.Height(), room)
	for y, i := 0, e.top; y < v.Height() && i < e.buffer.Len(); i++ {
		e.drawLine(v.Row(y), i, gutter, room, w)
		e.clickable(v.Row(y), i, gutter, e.leftOf(i), w)
		if y++; y < v.Height() && e.explains(i) {
			e.drawDiagnostic(v.Row(y), i, gutter, w)
			e.clickable(v.Row(y), i, gutter, e.leftOf(i), w)
			y++
		}
	}
}

// explains reports whether the diagnostic of a line is drawn below it. On a low
// screen only the cursor's line has one.
func (e *Editor) explains(i int) bool {
	const little = 8
	return len(e.checked.Diagnostics(i+1)) > 0 && (e.height > little || i == e.buffer.Cursor().Line)
}

// scroll brings the cursor into view, and what is wrong with its line.
func (e *Editor) scroll(height, room int) {
	cursor := e.buffer.Cursor().Line
	e.top = max(min(e.top, cursor), cursor-height, 0)
	for e.top < cursor && e.rows(e.top, cursor) > height {
		e.top++
	}
	column := e.buffer.Column()
	if e.left = max(min(e.left, column-1), column-room+1); e.left < 0 || column < room {
		e.left = 0
	}
}

// rows returns the number of rows that lines take, as far as they could be in view.
func (e *Editor) rows(first, last int) (rows int) {
	for i := first; i <= last && rows <= e.height; i++ {
		rows++
		if e.explains(i) {
			rows++
		}
	}
	return rows
}

// leftOf is the first column in view of a line: others than the cursor's show
// their beginnings.
func (e *Editor) leftOf(i int) int {
	if i == e.buffer.Cursor().Line {
		return e.left
	}
	return 0
}

func (e *Editor) drawLine(row canvas.View, i, gutter, room int, w *screen.World) {
	number := fmt.Sprintf("%*d", gutter-4, i+1+e.crontab.Above())
	if i == e.buffer.Len()-1 && e.buffer.Line(i) == "" {
		number = strings.Repeat(" ", gutter-4)
	}
	row.Put(1, 0, number, canvas.Style{Role: canvas.Off})
	sign, style := e.sign(i+1, w)
	row.Put(gutter-2, 0, sign, style)
	line, left := e.buffer.Line(i), e.leftOf(i)
	row.In(gutter, 0, room+1, 1).Put(0, 0, edit.Shown(line, left, room), lineStyle(line))
	more := canvas.Style{Role: canvas.Off}
	if left > 0 {
		row.Put(gutter, 0, w.Glyphs.Ellipsis, more)
	}
	if edit.Shown(line, left+room, 1) != "" {
		row.Put(gutter+room, 0, w.Glyphs.Ellipsis, more)
	}
	if i != e.buffer.Cursor().Line || e.form != nil {
		return
	}
	at := gutter + e.buffer.Column() - left
	if e.buffer.Cursor().At == len(line) {
		row.Put(at, 0, w.Glyphs.Caret, canvas.Style{Reverse: w.Glyphs.Tier == canvas.ASCII})
		return
	}
	row.In(at, 0, 1, 1).Restyle(func(s canvas.Style) canvas.Style {
		s.Reverse = true
		return s
	})
}

// sign returns the sign before a line.
func (e *Editor) sign(line int, w *screen.World) (string, canvas.Style) {
	switch {
	case e.checked.Worst(line) == crontab.Error:
		return w.Glyphs.Failed, canvas.Style{Role: canvas.Bad, Bold: true}
	case e.checked.Worst(line) == crontab.Warning:
		return w.Glyphs.Late, canvas.Style{Role: canvas.Doubt, Bold: true}
	case e.checked.Entry(line) != nil:
		return w.Glyphs.OK, canvas.Style{Role: canvas.Good}
	}
	return " ", canvas.Style{}
}

// lineStyle returns the style of a line: comments and options differ from entries.
func lineStyle(line string) canvas.Style {
	switch text := strings.TrimLeft(line, " \t"); {
	case strings.HasPrefix(text, "#@ "):
		return canvas.Style{Role: canvas.Title}
	case strings.HasPrefix(text, "#"):
		return canvas.Style{Role: canvas.Off}
	}
	return canvas.Style{}
}

// drawDiagnostic underlines the part of the line that the worst diagnostic is about, and
// shows its message.
func (e *Editor) drawDiagnostic(row canvas.View, i, gutter int, w *screen.World) {
	diagnostics := e.checked.Diagnostics(i + 1)
	worst := diagnostics[0]
	for _, d := range diagnostics {
		if d.Severity > worst.Severity {
			worst = d
		}
	}
	style := canvas.Style{Role: canvas.Doubt}
	if worst.Severity == crontab.Error {
		style = canvas.Style{Role: canvas.Bad}
	}
	text := worst.Message
	if worst.Fix != "" {
		text += ": " + worst.Fix
	}
	line, x := e.buffer.Line(i), gutter
	if worst.Column > 0 {
		left := e.leftOf(i)
		from := edit.CellOf(line, worst.Column-1) - left
		to := max(edit.CellOf(line, worst.Column-1+max(worst.Length, 1))-left, from+1)
		from, to = max(from, 0), min(to, row.Width()-gutter)
		if to > from {
			row.Put(gutter+from, 0, strings.Repeat("^", to-from), style)
			x = gutter + to + 1
		}
	}
	const readable = 24
	if room := row.Width() - x - 1; room < readable && room < display.Width(text) { // before the carets, or over them
		x = gutter
	}
	row.PutCut(x, 0, row.Width()-x-1, text, w.Glyphs.Ellipsis, style)
}

// fact is a line of the pane: a name and a value.
type fact struct{ name, text string }

// drawAbout draws what is known of the line under the cursor.
func (e *Editor) drawAbout(v canvas.View, w *screen.World) {
	line := e.buffer.Cursor().Line + 1
	title := fmt.Sprintf("Line %d: %s", line+e.crontab.Above(), e.lineWords(line))
	page.DrawRule(v.Row(0), title, w.Glyphs)
	for y, f := range e.fields(v.Width()-9, w) {
		if y+1 >= v.Height() {
			return
		}
		v.Put(1, y+1, f.name, canvas.Style{Role: canvas.Title})
		v.PutCut(8, y+1, v.Width()-9, f.text, w.Glyphs.Ellipsis, canvas.Style{})
	}
}

// lineWords describes a line.
func (e *Editor) lineWords(line int) string {
	if e.about != nil {
		text := timetable.Describe(e.about.Schedule) + ", as " + e.about.User()
		if zone := e.about.Zone().String(); zone != "Local" {
			text += ", " + zone
		}
		return text
	}
	text := strings.TrimLeft(e.buffer.Line(line-1), " \t")
	switch {
	case e.checked.Worst(line) == crontab.Error:
		return "not read, as it has an error"
	case text == "":
		return "blank"
	case text[0] == '#':
		return "a comment"
	}
	return "an assignment, for the entries below"
}

// problems returns what is wrong with the line under the cursor. The text below the line has less room.
func (e *Editor) problems() (fields []fact) {
	for _, d := range e.checked.Diagnostics(e.buffer.Cursor().Line + 1) {
		fields = append(fields, fact{string(d.Code), d.Message})
		if d.Fix != "" {
			fields = append(fields, fact{"fix", d.Fix})
		}
	}
	return fields
}

func (e *Editor) fields(room int, w *screen.World) []fact {
	if e.about == nil {
		fields := e.problems()
		if e.buffer.Text() == "" {
			fields = append(fields, fact{"new", "type a line: when, and what, as: 0 5 * * 1 /usr/bin/backup"}, fact{"", "or let a form ask for it: " + w.KeyOf(keys.Form)})
		}
		return fields
	}
	next, blackout := e.nextText(room, w)
	fields := append([]fact{{"next", next}}, e.problems()...)
	if blackout != "" {
		fields = append(fields, fact{"host", "the first occurrence is in " + blackout})
	}
	if held := e.about.Options().Held; held != "" {
		fields = append(fields, fact{"held", held})
	}
	if e.outlook == nil {
		return append(fields, fact{"year", "counting"}, fact{"DST", "looking"}, fact{"clash", e.clashText()}, fact{"env", e.envText()})
	}
	year := "it has no scheduled times"
	if e.outlook.Year != 0 {
		year = fmt.Sprintf("%s in %d", display.Count(e.outlook.Runs, "run"), e.outlook.Year)
	}
	return append(fields, fact{"year", year},
		fact{"DST", e.outlook.Clocks}, fact{"clash", e.clashText()}, fact{"env", e.envText()})
}

// nextText is as many of the next starts as there is room for, and the blackout of the host in
// which the first occurrence is.
func (e *Editor) nextText(room int, w *screen.World) (text, blackout string) {
	const most = 12
	list, blackout := edit.Next(e.about, e.blackouts, w.Now, most)
	for i, t := range list {
		one := nextStamp(w, t, e.about.Zone().Location())
		if i > 0 {
			one = "   " + one
		}
		if display.Width(text)+display.Width(one) > room && i > 0 {
			break
		}
		text += one
	}
	switch {
	case text != "":
		return text, blackout
	case e.about.Reboot():
		return "when the machine boots", ""
	}
	return "never by the clock", blackout
}

// nextStamp returns an occurrence in the zone of its entry, because the user edits it
// there.
func nextStamp(w *screen.World, t time.Time, zone *time.Location) string {
	t = t.In(zone)
	layout := "Mon 2 Jan 15:04"
	if t.Second() != 0 {
		layout = "Mon 2 Jan 15:04:05"
	}
	if t.Year() != w.Now.In(zone).Year() {
		layout = strings.Replace(layout, "Jan", "Jan 2006", 1)
	}
	return t.Format(w.Clock.Layout(layout))
}

func (e *Editor) clashText() string {
	switch {
	case !e.clashed && e.outlook != nil && e.outlook.Others > 0:
		return display.Count(e.outlook.Others, "other line") + " of this file start in the minute of the next one"
	case !e.clashed && e.outlook != nil:
		return "no other line of this file starts in the minute of the next one"
	case !e.clashed:
		return "looking"
	case e.clash == nil:
		return "no job starts in the minute of the next one now"
	}
	zone := e.about.Zone().Location()
	text := fmt.Sprintf("%s has %s now", e.clash.At.In(zone).Format("15:04"), display.Count(e.clash.Starts, "start"))
	if e.clash.Starts > 1 && !e.clash.Quiet.IsZero() && !e.clash.Quiet.Equal(e.clash.At) {
		text += "; quietest minute near by is " + e.clash.Quiet.In(zone).Format("15:04")
	}
	return text
}

// envText returns the environment that the file sets. The rest comes from the host.
func (e *Editor) envText() string {
	env := e.about.Env()
	if len(env) == 0 {
		return "cron's own: PATH=/usr/bin:/bin SHELL=/bin/sh, no terminal"
	}
	return strings.Join(env, "  ") + "  no terminal"
}

// drawSave draws what a save would do.
func (e *Editor) drawSave(v canvas.View, w *screen.World) {
	page.DrawRule(v.Row(0), "Save would", w.Glyphs)
	v.PutCut(1, 1, v.Width()-2, e.saveText(), w.Glyphs.Ellipsis, e.saveStyle())
}

func (e *Editor) saveStyle() canvas.Style {
	if len(e.checked.Blocking) > 0 {
		return canvas.Style{Role: canvas.Bad}
	}
	return canvas.Style{}
}

func (e *Editor) saveText() string {
	if n := len(e.checked.Blocking); n > 0 {
		return fmt.Sprintf("blocked: %s, first in line %d", display.Count(n, "new error"), e.checked.Blocking[0].Line+e.crontab.Above())
	}
	if !e.buffer.Changed() {
		return "nothing is changed"
	}
	added, changed, removed := e.checked.Count()
	text := fmt.Sprintf("+%d added%s  ~%d changed%s  -%d removed%s", added, e.named(review.Added), changed, e.named(review.Changed), removed, e.named(review.Removed))
	if e.crontab.Revision != 0 {
		text += fmt.Sprintf("   revision %d is kept", e.crontab.Revision)
	}
	return text
}

// named names a few of the jobs that become something.
func (e *Editor) named(kind string) string {
	const few = 3
	var words []string
	for _, d := range e.checked.Changes {
		if d.Kind != kind {
			continue
		}
		if len(words) == few {
			words = append(words, "...")
			break
		}
		word := string(d.Job)
		if len(d.Changed) > 0 {
			word += ": " + strings.Join(d.Changed, ", ")
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, "; ") + ")"
}
