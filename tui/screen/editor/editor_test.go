package editor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell/shelltest"
)

func openEditor(t *testing.T, w *screen.World, d screen.Daemon, s screen.Subject) *Editor {
	t.Helper()
	e := New(w, s)
	screentest.Settle(t, e, w, d, e.Open(w))
	return e
}

// typed types keys by their names; a single letter is its own name.
func typed(t *testing.T, e *Editor, w *screen.World, d screen.Daemon, names ...string) {
	t.Helper()
	for _, name := range names {
		k := screen.Key{Name: name}
		if len([]rune(name)) == 1 {
			k.Text = name
		}
		effects, ok := e.Type(w, k)
		if !ok {
			t.Fatalf("%s means nothing to the editor", name)
		}
		screentest.Settle(t, e, w, d, effects)
	}
}

func TestEditorScreens(t *testing.T) {
	screentest.CheckLayouts(t, "editor", func(v canvas.View, w *screen.World) {
		d := screentest.FilesDaemon()
		e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 5})
		typed(t, e, w, d, "home", "right", "right", "delete", "1", "0")
		typed(t, e, w, d, "down", "down", "down", "home")
		screentest.Draw(e, v, w)
	})
	screentest.Check(t, "editor-error", func(v canvas.View, w *screen.World) {
		d := screentest.FilesDaemon()
		e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 7})
		typed(t, e, w, d, "home", "delete", "6", "1")
		screentest.Draw(e, v, w)
	})
	screentest.Check(t, "editor-new", func(v canvas.View, w *screen.World) {
		d := screentest.FilesDaemon()
		d.OnCrontabText = func(string, string) (api.CrontabText, error) {
			return api.CrontabText{CrontabFile: api.CrontabFile{File: "/var/spool/cron/crontabs/ann", User: "ann", Missing: true}, Sum: "none", Format: api.FormatUser, Account: "ann", Zone: "Europe/Berlin"}, nil
		}
		screentest.Draw(openEditor(t, w, d, screen.Subject{}), v, w)
	})
	screentest.Check(t, "editor-discard", func(v canvas.View, w *screen.World) {
		d := screentest.FilesDaemon()
		e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 8})
		typed(t, e, w, d, "ctrl+k")
		e.Act(w, keys.Back)
		screentest.Draw(e, v, w)
	})
	screentest.CheckLayouts(t, "editor-form", func(v canvas.View, w *screen.World) {
		d := screentest.FilesDaemon()
		e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 7})
		screentest.Act(t, e, w, d, keys.Form)
		typed(t, e, w, d, "tab", "backspace", "4")
		screentest.Draw(e, v, w)
	})
	screentest.Check(t, "editor-hostile", func(v canvas.View, w *screen.World) {
		d := screentest.FilesDaemon()
		file, accent := screentest.ETLCrontab(), "\u0301"
		if w.Glyphs.Tier == canvas.ASCII {
			accent = "" // a person's text is shown as it is
		}
		file.Text = []byte("# \x1b]0;x\x07\u202e evil\n*/5 * * * * root echo \xff\xfe\x1b[2J" + strings.Repeat("y", 400) + "\n\t\t0 5 * * * root e" + accent + "\n" + strings.Repeat("x", 5000))
		file.File, file.Owner = "/etc/cron.d/\x1b[2J", "\u202e"
		d.OnCrontabText = func(string, string) (api.CrontabText, error) { return file, nil }
		e := openEditor(t, w, d, screen.Subject{File: file.File})
		typed(t, e, w, d, "down", "end")
		screentest.Draw(e, v, w)
	})
	screentest.Check(t, "editor-trouble", func(v canvas.View, w *screen.World) {
		screentest.Draw(openEditor(t, w, screentest.NewDaemon(), screen.Subject{File: "/etc/cron.d/etl"}), v, w)
	})
}

func TestEditorSavesOverWhatItRead(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	var got api.CrontabFileRequest
	d.OnInstall = func(r api.CrontabFileRequest) (api.Installed, error) {
		got = r
		return api.Installed{File: r.File, Before: 31, Entries: 4}, nil
	}
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 8})
	if why := e.Refuses(w, keys.Save); why != "nothing is changed" {
		t.Errorf("save of what is not changed: got %q", why)
	}
	typed(t, e, w, d, "end", "enter")
	for _, r := range "@daily etl x" {
		typed(t, e, w, d, string(r))
	}
	rest := screentest.Act(t, e, w, d, keys.Save)
	do, ok := rest[len(rest)-1].(screen.Do)
	if !ok || do.Class != screen.Undoable || strings.Join(do.Command, " ") != "cronring edit /etc/cron.d/etl" {
		t.Fatalf("save: got %+v", rest)
	}
	message, err := do.Call(context.Background(), d)
	if err != nil || message != "saved /etc/cron.d/etl, 4 entries" || got.Base != "sum 1" || string(got.Text) != screentest.ETLText+"@daily etl x\n" {
		t.Errorf("saved: %q, %v, %+v", message, err, got)
	}
	if strings.Join(do.Undo.Command, " ") != "cronring undo 31" {
		t.Errorf("undo: got %v", do.Undo.Command)
	}
	d.OnCrontabText = func(string, string) (api.CrontabText, error) {
		t := screentest.ETLCrontab()
		t.Text, t.Sum, t.Revision = got.Text, "sum 2", 32
		return t, nil
	}
	screentest.Settle(t, e, w, d, e.Take(w, screen.Answer{Slot: slotSaved, Done: true}))
	if e.buffer.Changed() || e.crontab.Sum != "sum 2" || len(e.checked.Changes) != 0 {
		t.Errorf("after the save: changed %t, sum %q, %d changes", e.buffer.Changed(), e.crontab.Sum, len(e.checked.Changes))
	}
}

func TestEditorBlocksNewErrorsOnly(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	d.OnCrontabText = func(string, string) (api.CrontabText, error) {
		t := screentest.ETLCrontab()
		t.Text = []byte("61 * * * * root old\n" + screentest.ETLText)
		return t, nil
	}
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl"})
	typed(t, e, w, d, "ctrl+end", "#")
	if why := e.Refuses(w, keys.Save); why != "" {
		t.Errorf("with an old error: %q, want that it can be saved", why)
	}
	typed(t, e, w, d, "enter", "x")
	if why := e.Refuses(w, keys.Save); !strings.Contains(why, "blocked by 1 new error") {
		t.Errorf("with a new error: %q", why)
	}
	screentest.Act(t, e, w, d, keys.UndoText)
	if why := e.Refuses(w, keys.Save); why != "" {
		t.Errorf("without it: %q", why)
	}
}

func TestEditorAsksBeforeItDiscards(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl"})
	if _, ok := e.Act(w, keys.Back); ok {
		t.Error("esc asks though nothing is changed")
	}
	typed(t, e, w, d, "x")
	if _, ok := e.Act(w, keys.Back); !ok || e.asks == nil {
		t.Fatal("esc does not ask")
	}
	typed(t, e, w, d, "x", "enter", "n")
	if e.asks != nil || strings.HasPrefix(e.buffer.Text(), "xx") {
		t.Errorf("an answer was typed into the text: %q", e.buffer.Line(0))
	}
	e.Act(w, keys.Back)
	effects, _ := e.Type(w, screen.Key{Name: "y", Text: "y"})
	if len(effects) != 1 || effects[0] != (screen.Back{}) {
		t.Errorf("y: got %v, want to go back", effects)
	}
	if _, ok := e.Act(w, keys.Back); ok {
		t.Error("what was discarded is asked about again")
	}
}

func TestEditorTellsOfConflicts(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl"})
	typed(t, e, w, d, "#")
	screentest.Act(t, e, w, d, keys.Save)
	effects := e.Take(w, screen.Answer{Slot: slotSaved, Err: &api.Error{Kind: api.Conflict, What: "changed meanwhile"}, Done: true})
	if e.asks == nil || !slices.Contains(effects, screen.Effect(screen.Toast{})) {
		t.Fatalf("a conflict: got %v, want a question that no message covers", effects)
	}
	effects, _ = e.Type(w, screen.Key{Name: "o", Text: "o"})
	do, ok := effects[0].(screen.Do)
	if !ok {
		t.Fatalf("o: got %v, want to save", effects)
	}
	var got api.CrontabFileRequest
	d.OnInstall = func(r api.CrontabFileRequest) (api.Installed, error) { got = r; return api.Installed{}, nil }
	if _, err := do.Call(context.Background(), d); err != nil || got.Base != "" {
		t.Errorf("over it: %v, base %q, want none", err, got.Base)
	}
	e.Take(w, screen.Answer{Slot: slotSaved, Err: &api.Error{Kind: api.Conflict}, Done: true})
	effects, _ = e.Type(w, screen.Key{Name: "t", Text: "t"})
	screentest.Settle(t, e, w, d, effects)
	if e.buffer.Text() != screentest.ETLText {
		t.Errorf("theirs: got %q", e.buffer.Text())
	}
}

// What runs is an entry of the file: what else is edited does not matter, but the
// line itself must be there, to do the same.
func TestEditorTriesSavedLine(t *testing.T) {
	orders := screentest.Rows()[0]
	orders.Job, orders.Line, orders.Command = "orders", 5, "/opt/etl/run orders --since auto"
	const differs = "save first: its command here and in the file differ"
	for _, tc := range []struct {
		name string
		line int
		keys []string
		want string // why it is refused; empty: it runs
	}{
		{"options above it", 4, nil, ""},
		{"the line", 5, nil, ""},
		{"another line is changed", 7, []string{"end", "x", "up", "up"}, ""},
		{"lines come before it", 1, []string{"enter", "enter", "down", "down", "down", "down"}, ""},
		{"its schedule is changed", 5, []string{"home", "right", "right", "delete", "7"}, ""},
		{"its command is changed", 5, []string{"end", "x"}, differs},
		{"its environment is changed", 2, []string{"end", "x", "down", "down", "down"}, "save first: its environment here"},
		{"its options are changed", 4, []string{"end", " ", "t", "i", "m", "e", "o", "u", "t", "=", "9", "s", "down"}, "save first: its options here"},
		{"it is new", 8, []string{"end", "enter", "@", "d", "a", "i", "l", "y", " ", "r", "o", "o", "t", " ", "x"}, "save first: the file has no such entry"},
		{"a comment", 1, nil, "the line is not an entry"},
		{"the daemon has another there", 7, nil, "the daemon has not loaded this version of the line"},
	} {
		w, d := screentest.NewWorld(t), screentest.FilesDaemon()
		w.Board.Apply(api.BoardUpdate{Rows: []api.Row{orders}})
		e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: tc.line})
		typed(t, e, w, d, tc.keys...)
		if why := e.Refuses(w, keys.Try); tc.want == "" && why != "" || !strings.HasPrefix(why, tc.want) {
			t.Errorf("%s: refused with %q, want %q", tc.name, why, tc.want)
		}
		if tc.want != "" || t.Failed() {
			continue
		}
		rest := screentest.Act(t, e, w, d, keys.Try)
		if p, ok := rest[0].(screen.Press); !ok || p.Action != keys.Run || p.Subject.Jobs[0] != "orders" {
			t.Errorf("%s: got %+v, want orders to be run", tc.name, rest)
		}
	}
}

func TestEditorGoesToNextProblem(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl"})
	screentest.Act(t, e, w, d, keys.Problem)
	if c := e.buffer.Cursor(); c.Line != 7 || c.At != 9 {
		t.Errorf("got %+v, want line 7, byte 9: the weekday of the odd line", c)
	}
}

func TestFormWritesTheLine(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 7})
	screentest.Act(t, e, w, d, keys.Form)
	fill := func(name, value string) {
		e.form.at = slices.IndexFunc(e.form.fields, func(f formField) bool { return f.name == name })
		typed(t, e, w, d, append([]string{"ctrl+u"}, strings.Split(value, "")...)...)
	}
	fill("minute", "15")
	fill("overlap=", "queue")
	fill("day=", "last")
	fill("year=", "2027")
	fill("weeks=", "2")
	fill("from=", "2026-01-05")
	if got := e.form.meaning(); !strings.HasPrefix(got, "at 02:15 on the last day of the month in 2027 in every 2nd week from that of 2026-01-05, from 2026-01-05") {
		t.Errorf("got the meaning %q", got)
	}
	typed(t, e, w, d, "enter")
	want := strings.Replace(screentest.ETLText, "overlap=skip\n0,30 2", "overlap=queue day=last year=2027 weeks=2 from=2026-01-05\n15 2", 1)
	if e.form != nil || e.buffer.Text() != want {
		t.Errorf("got %q, want %q", e.buffer.Text(), want)
	}
	screentest.Act(t, e, w, d, keys.UndoText)
	if e.buffer.Text() != screentest.ETLText {
		t.Errorf("undone: got %q", e.buffer.Text())
	}
}

// TestFormReplacesATimeThatIsTypedOver: text that is typed into a time replaces it, and other keys
// change it where the cursor is.
func TestFormReplacesATimeThatIsTypedOver(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 7})
	screentest.Act(t, e, w, d, keys.Form)
	typed(t, e, w, d, "*", "/", "7", "tab", "left", "1", "tab", "down", "backspace", "3", "enter")
	if want := "\n*/7 12 * 3 * etl /opt/etl/run nightly\n"; !strings.Contains(e.buffer.Text(), want) {
		t.Errorf("got %q, want %q in it", e.buffer.Text(), want)
	}
}

// TestFormHasEachOption: each option of the vocabulary has a field below the title of its group, and
// is found by its name or by what it does.
func TestFormHasEachOption(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 7})
	screentest.Act(t, e, w, d, keys.Form)
	for _, spec := range option.Vocabulary() {
		typed(t, e, w, d, append([]string{"ctrl+f"}, append(strings.Split(spec.Key+"=", ""), "enter")...)...)
		if got := e.form.fields[e.form.at].option; got != spec.Key {
			t.Errorf("find %s=: got the field of %q", spec.Key, got)
		}
	}
	typed(t, e, w, d, append([]string{"ctrl+f"}, append(strings.Split("niceness of", ""), "esc")...)...)
	typed(t, e, w, d, append([]string{"ctrl+f"}, append(strings.Split("file mode", ""), "enter")...)...)
	if got := e.form.fields[e.form.at].option; got != "umask" {
		t.Errorf("find by the description: got %q, want umask", got)
	}
	typed(t, e, w, d, "pgup")
	if got := e.form.fields[e.form.at]; got.group != "Running and failing" {
		t.Errorf("page up: got %+v, want the first field of the group", got)
	}
	typed(t, e, w, d, append([]string{"ctrl+f"}, append(strings.Split("cwd=", ""), "enter")...)...)
	typed(t, e, w, d, append(strings.Split("/srv/x", ""), "enter")...)
	if !strings.Contains(e.buffer.Text(), "overlap=skip cwd=/srv/x\n") {
		t.Fatalf("got %q, want cwd=/srv/x in it", e.buffer.Text())
	}
}

func TestFormAddsAnEntry(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := NewEntry(w, screen.Subject{File: "/etc/cron.d/etl"})
	screentest.Settle(t, e, w, d, e.Open(w))
	typed(t, e, w, d, "enter", "enter", "enter", "enter", "enter", "enter", "t", "r", "u", "e", "down", "x", "enter")
	if want := screentest.ETLText + "#@ name=x\n0 5 * * * root true\n"; e.buffer.Text() != want {
		t.Errorf("got %q, want %q", e.buffer.Text(), want)
	}
	if e.about == nil || e.about.Command() != "true" {
		t.Error("the cursor is not on the new entry")
	}
}

// Wide characters are user text, in every tier.
func TestEditorLinesOfWideTextFit(t *testing.T) {
	for _, width := range []int{40, 41, 80} {
		w, d := screentest.NewWorld(t), screentest.FilesDaemon()
		file := screentest.ETLCrontab()
		file.Text = []byte("# " + strings.Repeat("日本", 100) + "\n* * * * * etl " + strings.Repeat("語\t", 50) + "\n")
		d.OnCrontabText = func(string, string) (api.CrontabText, error) { return file, nil }
		e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl"})
		for range 60 {
			typed(t, e, w, d, "right")
			c := canvas.New(width, 20)
			screentest.Draw(e, c.View(), w)
			screentest.CheckWidths(t, "editor", c.Text(), width)
		}
	}
}

func TestEditorReadOnlyTypesNothing(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	w.ReadOnly = "nothing is changed: --read-only"
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl"})
	for _, key := range []screen.Key{{Name: "x", Text: "x"}, {Name: "enter"}, {Name: "backspace"}, {Name: "delete"}, {Name: "ctrl+k"}, {Name: "ctrl+w"}} {
		effects, ok := e.Type(w, key)
		if want := []screen.Effect{screen.Toast{Text: w.ReadOnly, Bad: true}}; !ok || !reflect.DeepEqual(effects, want) || e.buffer.Changed() {
			t.Errorf("%s: got %v, %t, changed %t, want %v", key.Name, effects, ok, e.buffer.Changed(), want)
		}
	}
	typed(t, e, w, d, "down")
	if c := e.buffer.Cursor(); c.Line != 1 {
		t.Errorf("down goes to line %d, want 1", c.Line)
	}
	if e.Refuses(w, keys.Form) == "" {
		t.Error("it offers the form")
	}
}

func TestEditorAddsWhereTheUserMay(t *testing.T) {
	w := screentest.NewWorld(t)
	fixed := screentest.Rows()[0]
	fixed.Fixed = true
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{fixed}})
	for id, want := range map[job.ID]string{"etl-orders": "", "logrotate": "/etc/cron.d/logrotate"} {
		if e := NewEntry(w, screen.Subject{Jobs: []job.ID{id}}); e.file != want || !e.adds {
			t.Errorf("an entry beside %s is added to %q, want %q", id, e.file, want)
		}
	}
}

// BenchmarkEditorKey measures the cost of a key before its picture is there, in a
// crontab of 2,000 lines; the check of the text comes aside.
func BenchmarkEditorKey(b *testing.B) {
	file := screentest.ETLCrontab()
	file.Text = []byte(strings.Repeat("#@ overlap=skip\n30 2 * * * root /usr/bin/run --all\n", 1000))
	w := &screen.World{Now: screentest.Now, Local: time.UTC, Board: board.New(), Keys: keys.Default(), Glyphs: canvas.GlyphsOf(canvas.Full)}
	e := New(w, screen.Subject{File: file.File, Line: 1000})
	e.Take(w, screen.Answer{Slot: slotCrontab, Value: file})
	c := canvas.New(160, 48)
	for b.Loop() {
		e.Type(w, screen.Key{Name: "x", Text: "x"})
		e.Draw(c.View(), w)
	}
}

// TestEditorStandsAnyKeys presses keys faster than the text is checked, at any
// size, and holds that every line fits and nothing is lost by an undo of all.
func TestEditorStandsAnyKeys(t *testing.T) {
	names := []string{
		"enter", "tab", "backspace", "delete", "ctrl+w", "ctrl+u", "ctrl+k", "left", "right", "up", "down", "pgup", "pgdown", "home", "end",
		"ctrl+left", "ctrl+right", "ctrl+home", "ctrl+end", "*", "5", " ", "#", "@", "日", "\u0301", "\u202e", "esc", "y", "n", "o",
	}
	actions := []keys.Action{keys.Problem, keys.Form, keys.UndoText, keys.RedoText, keys.Back, keys.Try, keys.Save}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		w, d := screentest.NewWorld(t), screentest.FilesDaemon()
		e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl"})
		for range 300 {
			if r.IntN(10) == 0 {
				a := actions[r.IntN(len(actions))]
				if e.Refuses(w, a) == "" {
					e.Act(w, a)
					e.saves = false
				}
			} else {
				name := names[r.IntN(len(names))]
				k := screen.Key{Name: name}
				if len([]rune(name)) == 1 {
					k.Text = name
				}
				effects, _ := e.Type(w, k)
				if r.IntN(3) == 0 {
					screentest.Settle(t, e, w, d, effects)
				}
			}
			width, height := 40+r.IntN(120), 6+r.IntN(40)
			c := canvas.New(width, height)
			screentest.Draw(e, c.View(), w)
			screentest.CheckWidths(t, fmt.Sprintf("seed %d", seed), c.Text(), width)
			if t.Failed() {
				return
			}
		}
		for e.buffer.Undo() {
		}
		if e.buffer.Text() != screentest.ETLText {
			t.Errorf("seed %d: all undone, the text is %q", seed, e.buffer.Text())
		}
	}
}

// At the end of a long line the others still show their beginnings.
func TestEditorScrollsTheCursorsLineAlone(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 5})
	typed(t, e, w, d, "end", "X")
	c := canvas.New(40, 15)
	e.Draw(c.View(), w)
	lines := strings.Split(c.Text(), "\n")
	if want := "…pt/etl/run orders --since autoX▏"; !strings.Contains(lines[4], want) {
		t.Errorf("the line of the cursor: got %q, want %q in it", lines[4], want)
	}
	if want := "0,30 2 * * * etl /opt/etl/run nig…"; !strings.Contains(lines[6], want) {
		t.Errorf("another line: got %q, want %q in it", lines[6], want)
	}
}

// On a narrow screen the first line shows the name of the file, and whether it was changed.
func TestEditorIsNamedOnNarrowScreens(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	e := openEditor(t, w, d, screen.Subject{File: "/etc/cron.d/etl", Line: 5})
	typed(t, e, w, d, "x")
	c := canvas.New(40, 15)
	shelltest.Draw(e, c.View(), w)
	if line, _, _ := strings.Cut(c.Text(), "\n"); !strings.HasPrefix(line, " Edit /etc/cron.d/etl *") || !strings.HasSuffix(line, " 18:02:11 CET ") {
		t.Errorf("got %q, want the file and the time", line)
	}
}
