package editor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// A click in the text places the cursor on the character, also in a line that is scrolled sideways, in
// wide characters and behind the end of a line.
func TestEditorClickPlacesTheCursor(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	file := screentest.ETLCrontab()
	file.Text = []byte("# ab\n# 世界x\n# \tz\n# " + strings.Repeat("y", 90) + "END\n")
	d.OnCrontabText = func(string, string) (api.CrontabText, error) { return file, nil }
	e := openEditor(t, w, d, screen.Subject{File: file.File})
	c := canvas.New(80, 22)
	gutter := e.gutter()
	for _, tc := range []struct{ x, y, line, at int }{
		{gutter + 3, 0, 0, 3},            // b
		{gutter + 70, 0, 0, 4},           // behind the end
		{gutter + 4, 1, 1, 2 + len("世")}, // the left half of a wide character
		{gutter + 5, 1, 1, 2 + len("世")}, // the right half
		{gutter + 8, 2, 2, 3},            // behind a tab
		{0, 1, 1, 0},                     // the number of the line
		{gutter + 10, 3, 3, 10},          // a long line
		{gutter + 10, 15, 3, 10},         // below the text
		{gutter + 2, 2, 2, 2},            // a tab
		{gutter + 72, 0, 0, len("# ab")}, // again behind the end
		{gutter, 4, 4, 0},                // the line after the last one
	} {
		screentest.Settle(t, e, w, d, screentest.Click(e, w, c, tc.x, tc.y))
		if got := e.buffer.Cursor(); got.Line != tc.line || got.At != tc.at {
			t.Errorf("a click on %d, %d: the cursor is at %+v, want line %d, byte %d", tc.x, tc.y, got, tc.line, tc.at)
		}
	}
	screentest.Click(e, w, c, gutter, 3)
	typed(t, e, w, d, "end")
	screentest.ClickOn(t, e, w, c, "END")
	if got := e.buffer.Line(3)[e.buffer.Cursor().At:]; got != "END" {
		t.Errorf("a click on END in a scrolled line: the cursor is before %q", got)
	}
}

// The wheel scrolls the text to its ends, and the cursor stays in view.
func TestEditorWheelScrolls(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	file := screentest.ETLCrontab()
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "# line %d\n", i)
	}
	file.Text = []byte(text.String())
	d.OnCrontabText = func(string, string) (api.CrontabText, error) { return file, nil }
	e := openEditor(t, w, d, screen.Subject{File: file.File})
	c := canvas.New(80, 22)
	for _, step := range []struct {
		lines, times int
		first, last  string
	}{{3, 1, "# line 3", "# line 16"}, {-3, 1, "# line 0", "# line 13"}, {3, 40, "# line 47", "# line 59"}, {-3, 40, "# line 0", "# line 13"}} {
		for range step.times {
			if !screentest.Wheel(e, w, c, 20, 5, step.lines) {
				t.Fatal("the text does not answer to the wheel")
			}
		}
		screentest.Areas(e, w, c)
		lines := strings.Split(c.Text(), "\n")
		shown := strings.Join(lines[:14], "\n")
		if !strings.Contains(lines[0], step.first+" ") || !strings.Contains(shown, step.last+" ") {
			t.Errorf("%d times %d lines: want %q to %q:\n%s", step.times, step.lines, step.first, step.last, shown)
		}
		if at := e.buffer.Cursor().Line; at < e.top || at >= e.top+e.height {
			t.Errorf("%d times %d lines: the cursor is in line %d, which is not in view", step.times, step.lines, at)
		}
	}
}

// Fields of the form, its keys and those of a question answer to clicks, and the text behind a question
// does not.
func TestEditorFormAndQuestionAnswerToClicks(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 7})
	c := canvas.New(100, 30)
	screentest.Act(t, e, w, d, keys.Form)
	screentest.ClickOn(t, e, w, c, "command ")
	if e.form.fields[e.form.at].name != "command" {
		t.Errorf("a click on the command: the field is %s", e.form.fields[e.form.at].name)
	}
	screentest.ClickOn(t, e, w, c, "run nightly")
	typed(t, e, w, d, "x")
	if got := e.form.commandLine().Text(); got != "/opt/etl/xrun nightly" {
		t.Errorf("typed after a click into the command: got %q", got)
	}
	screentest.ClickOn(t, e, w, c, "hour ")
	if !e.form.marked || e.form.fields[e.form.at].name != "hour" {
		t.Error("a click on the hour does not mark its value")
	}
	before := e.form.at
	if !screentest.Wheel(e, w, c, 20, 5, 3) || e.form.at != before+3 {
		t.Errorf("the wheel: got field %d, want %d", e.form.at, before+3)
	}
	if effects := screentest.ClickOn(t, e, w, c, "enter take"); len(effects) != 1 || effects[0] != (screen.Type{Key: screen.KeyNamed("enter")}) {
		t.Errorf("take: got %v, want the key enter", effects)
	}
	typed(t, e, w, d, "esc", "x")
	e.Act(w, keys.Back)
	at := e.buffer.Cursor()
	screentest.Click(e, w, c, 20, 2)
	if e.buffer.Cursor() != at || screentest.Wheel(e, w, c, 20, 2, 3) {
		t.Error("the text behind a question answers to the mouse")
	}
	if effects := screentest.ClickOn(t, e, w, c, "y discard"); len(effects) != 1 || effects[0] != (screen.Type{Key: screen.KeyNamed("y")}) {
		t.Errorf("discard: got %v, want the key y", effects)
	}
}
