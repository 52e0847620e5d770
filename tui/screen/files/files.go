// Package files owns the screens that list crontabs and their versions.
package files

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// Files lists the crontabs, with the versions of the selected one.
type Files struct {
	table.Table[string, api.CrontabFile]
	crontabs table.Rows[string, api.CrontabFile] // in the daemon's order
	known    bool
	err      error
	asked    time.Time // when, by the daemon's clock
	jobs     int       // of the daemon then
	files    int

	peeked    string // whose versions are asked for
	revisions []api.Revision
	of        string // whose they are; "": none have come
}

// New lists the crontabs.
func New() *Files {
	f := &Files{crontabs: table.Rows[string, api.CrontabFile]{
		Key:   func(t *api.CrontabFile) string { return t.File },
		Words: func(t *api.CrontabFile) string { return t.File + " " + change.FileName(t) },
	}}
	f.Table = table.Table[string, api.CrontabFile]{
		Source: &f.crontabs, Columns: fileColumns(), Left: 1, Titles: canvas.Style{Role: canvas.Title}, In: keys.Files,
		Keys: []keys.Action{keys.Open, keys.External, keys.Revisions, keys.Add, keys.Filter, keys.Palette, keys.Help, keys.Leave},
	}
	f.OnRow = func(*screen.World) []screen.Effect { return f.peek() }
	return f
}

// The slots of its questions.
const (
	slotCrontabs  = "crontabs"
	slotRevisions = "revisions"
	slotExternal  = "external"
)

// Open requests the crontabs, because files change.
func (f *Files) Open(w *screen.World) []screen.Effect {
	f.asked, f.jobs, f.files, f.peeked = w.Now, w.Status.Jobs, w.Status.Crontabs, ""
	return []screen.Effect{screen.Ask{Slot: slotCrontabs, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return d.CrontabFiles(ctx) }}}
}

// stale is the age at which the list is requested again if nothing reports a change.
const stale = 15 * time.Second

// Refresh requests the crontabs again when jobs or files have changed, when the
// daemon is back, and from time to time.
func (f *Files) Refresh(w *screen.World) []screen.Effect {
	moved := w.Status.Jobs != f.jobs || w.Status.Crontabs != f.files
	if w.Link.Live && (f.err != nil || moved || w.Now.Sub(f.asked) > stale) {
		return f.Open(w)
	}
	return nil
}

// Take receives the list, or versions.
func (f *Files) Take(w *screen.World, a screen.Answer) []screen.Effect {
	switch a.Slot {
	case slotCrontabs:
		if f.err = a.Err; a.Err == nil {
			f.known = true
			f.SetRows(a.Value.([]api.CrontabFile))
			return f.peek()
		}
	case slotRevisions:
		if found, ok := a.Value.([]api.Revision); ok && a.Err == nil {
			f.revisions, f.of = found, f.peeked
		}
	case slotExternal:
		return f.Open(w)
	}
	return nil
}

// peek requests the versions of the selected file.
func (f *Files) peek() []screen.Effect {
	path, ok := f.Cursor()
	if !ok || path == f.peeked {
		return nil
	}
	f.peeked = path
	return []screen.Effect{askRevisions(path)}
}

func askRevisions(path string) screen.Effect {
	const some = 100
	return screen.Ask{Slot: slotRevisions, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		return d.Revisions(ctx, api.RevisionQuery{File: path, Limit: some})
	}}
}

// Act answers to keys of the list and of files.
func (f *Files) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.Open:
		return []screen.Effect{screen.Show{Action: keys.Edit, Subject: f.Subject(w)}}, true
	case keys.External:
		return f.external(w), true
	case keys.Revisions:
		return []screen.Effect{screen.Goto{Screen: newVersions(*f.Current())}}, true
	case keys.Restore:
		return nil, false
	}
	if !f.Move(a) {
		return nil, false
	}
	f.Unmark() // there is nothing to do to several files
	return f.peek(), true
}

// external runs the command that edits the file with the user's own editor, and then
// checks it.
func (f *Files) external(w *screen.World) []screen.Effect {
	args := editArgs(w, f.Current().File)
	return []screen.Effect{screen.Execute{Slot: slotExternal, Program: func() *exec.Cmd { return thisProgram(args) }}}
}

// editArgs is this program's own edit, by the daemon that is shown here.
func editArgs(w *screen.World, path string) []string {
	reach := w.Reach
	if len(reach) == 0 {
		reach = []string{"--socket", w.Link.Socket}
	}
	return append(append([]string{"edit"}, reach...), "--", path)
}

func thisProgram(args []string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = "cronring"
	}
	return exec.Command(self, args...)
}

// Type answers to a key of the filter.
func (f *Files) Type(w *screen.World, k screen.Key) ([]screen.Effect, bool) {
	_, ok := f.Table.Type(w, k)
	return f.peek(), ok
}

// Subject returns the file under the cursor.
func (f *Files) Subject(*screen.World) screen.Subject {
	path, _ := f.Cursor()
	return screen.Subject{File: path}
}

// Refuses returns why a key does nothing with the selected file.
func (f *Files) Refuses(w *screen.World, a keys.Action) string {
	switch t := f.Current(); {
	case t == nil && (a == keys.Open || a == keys.External || a == keys.Revisions):
		return "no file is selected"
	case a == keys.External && w.ReadOnly != "":
		return w.ReadOnly
	case a == keys.Open && w.Status.Denied.Crontab != "":
		return w.Status.Denied.Crontab
	case a == keys.Revisions && t.Revision == 0:
		return "no version of it is kept"
	case a == keys.Restore:
		return "choose a version first: v"
	}
	return ""
}

// fileColumns are the columns of the list.
func fileColumns() []table.Column[api.CrontabFile] {
	gap := table.Column[api.CrontabFile]{Width: 1, From: 60, Text: table.Plain(func(*api.CrontabFile) string { return "" })} // numbers end at the right
	return []table.Column[api.CrontabFile]{
		{Width: 2, Text: fileSign},
		{Title: "FILE", Fill: true, Fit: table.IfRoom, Least: 5, Text: table.Plain(change.FileName)},
		{Title: "ENTRIES", Width: 8, Right: true, Text: entriesCell},
		gap,
		{Title: "LINT", Width: 14, From: 60, Text: lintCell},
		{Title: "OWNER", Width: 9, From: 80, Text: table.Plain(func(t *api.CrontabFile) string { return t.Owner })},
		{Title: "MODE", Width: 5, From: 110, Text: table.Plain(func(t *api.CrontabFile) string {
			if t.Missing {
				return ""
			}
			return fmt.Sprintf("%04o", t.Mode)
		})},
		{Title: "REV", Width: 6, From: 60, Right: true, Text: revisionCell},
		gap,
		{Title: "CHANGED", Width: display.Clock12.PointWidth() + 1, From: 80, Text: func(w *screen.World, t *api.CrontabFile) (string, canvas.Style) {
			if t.Changed.IsZero() {
				return "", canvas.Style{}
			}
			return w.Past(t.Changed, ""), canvas.Style{}
		}},
		{Title: "BY", Width: 11, From: 110, Text: table.Plain(func(t *api.CrontabFile) string { return t.By })},
	}
}

// entriesCell returns how many entries a file has, revisionCell its newest revision.
func entriesCell(_ *screen.World, t *api.CrontabFile) (string, canvas.Style) {
	switch {
	case t.Missing:
		return "none", canvas.Style{Role: canvas.Off}
	case t.Refused != "" && t.Entries == 0:
		return "-", canvas.Style{Role: canvas.Off}
	}
	return fmt.Sprint(t.Entries), canvas.Style{}
}

func revisionCell(_ *screen.World, t *api.CrontabFile) (string, canvas.Style) {
	if t.Revision == 0 {
		return "-", canvas.Style{Role: canvas.Off}
	}
	return fmt.Sprint(t.Revision), canvas.Style{}
}

// lintCell returns the worst diagnostics of a file.
func lintCell(w *screen.World, t *api.CrontabFile) (string, canvas.Style) {
	g := w.Glyphs
	switch {
	case t.Refused != "":
		return g.Failed + " refused", canvas.Style{Role: canvas.Bad, Bold: true}
	case t.Missing:
		return "", canvas.Style{}
	case t.Errors > 0 && t.Warnings > 0:
		return fmt.Sprintf("%s %d  %s %d", g.Failed, t.Errors, g.Late, t.Warnings), canvas.Style{Role: canvas.Bad, Bold: true}
	case t.Errors > 0:
		return g.Failed + " " + display.Count(t.Errors, "error"), canvas.Style{Role: canvas.Bad, Bold: true}
	case t.Warnings > 0:
		return g.Late + " " + display.Count(t.Warnings, "warning"), canvas.Style{Role: canvas.Doubt}
	}
	return g.OK + " ok", canvas.Style{Role: canvas.Good}
}

// fileSign returns the sign of lintCell, for screens without that column.
func fileSign(w *screen.World, t *api.CrontabFile) (string, canvas.Style) {
	text, style := lintCell(w, t)
	if text == "" {
		return w.Glyphs.New, canvas.Style{Role: canvas.Fresh}
	}
	return strings.Fields(text)[0], style
}

// Draw draws the counts, the list, and below it what is known of the file under
// the cursor.
func (f *Files) Draw(v canvas.View, w *screen.World) {
	switch {
	case f.err != nil:
		page.DrawUnknown(v, f.err, w)
		return
	case !f.known:
		v.Put(1, 0, "asking for the crontabs", canvas.Style{Role: canvas.Off})
		return
	}
	f.drawSums(v.Row(0), w)
	if f.crontabs.Len() == 0 {
		f.drawEmpty(v.Below(1), w)
		return
	}
	peek := 0
	switch {
	case v.Height() >= 30:
		peek = 10
	case v.Height() >= 18:
		peek = 6
	case v.Height() >= 12:
		peek = 3
	}
	f.Table.Draw(v.In(0, 1, v.Width(), v.Height()-1-peek), w)
	if peek > 0 {
		f.drawPeek(v.Below(v.Height()-peek), w)
	}
}

func (f *Files) drawSums(row canvas.View, w *screen.World) {
	entries, errors, warnings, refused := 0, 0, 0, 0
	for _, t := range f.crontabs.All() {
		entries += t.Entries
		errors += t.Errors
		warnings += t.Warnings
		if t.Refused != "" {
			refused++
		}
	}
	x := row.Put(1, 0, display.Count(len(f.crontabs.All()), "crontab")+"  "+display.Count(entries, "entry"), canvas.Style{}) + 2
	if errors > 0 {
		x = row.Put(x, 0, w.Glyphs.Failed+" "+display.Count(errors, "error"), canvas.Style{Role: canvas.Bad, Bold: true}) + 2
	}
	if warnings > 0 {
		x = row.Put(x, 0, w.Glyphs.Late+" "+display.Count(warnings, "warning"), canvas.Style{Role: canvas.Doubt}) + 2
	}
	if refused > 0 {
		x = row.Put(x, 0, fmt.Sprintf("%d refused", refused), canvas.Style{Role: canvas.Bad, Bold: true}) + 2
	}
	place := ""
	if f.crontabs.Len() > 0 {
		place = fmt.Sprintf("%d/%d ", f.Index()+1, f.crontabs.Len())
	}
	end := row.Width() - display.Width(place) - 1
	if x < end-3 {
		f.DrawFilter(row, x, 0, end-x, w)
		row.PutRight(0, place, canvas.Style{})
	}
}

func (f *Files) drawEmpty(v canvas.View, w *screen.World) {
	if f.Filter() != "" {
		v.PutCut(1, 1, v.Width()-2, fmt.Sprintf("0 of %d match /%s. esc clears", len(f.crontabs.All()), f.Filter()), w.Glyphs.Ellipsis, canvas.Style{})
		return
	}
	v.PutCut(1, 1, v.Width()-2, "No crontab is found here that you may change.", w.Glyphs.Ellipsis, canvas.Style{})
	v.PutCut(1, 2, v.Width()-2, w.KeyOf(keys.Add)+" adds an entry, or: cronring import cron", w.Glyphs.Ellipsis, canvas.Style{})
}

func (f *Files) drawPeek(v canvas.View, w *screen.World) {
	t := f.Current()
	page.DrawRule(v.Row(0), t.File, w.Glyphs)
	y := 1
	put := func(text string, s canvas.Style) {
		v.PutCut(1, y, v.Width()-2, text, w.Glyphs.Ellipsis, s)
		y++
	}
	if t.Refused != "" {
		put("refused: "+t.Refused, canvas.Style{Role: canvas.Bad, Bold: true})
		if t.Fix != "" {
			put("fix  "+t.Fix, canvas.Style{})
		}
	}
	switch {
	case t.Missing:
		put("No crontab yet. Create one with enter or cronring add", canvas.Style{})
	case f.of != t.File:
		put("loading versions", canvas.Style{Role: canvas.Off})
	case len(f.revisions) == 0:
		put(noVersions(w), canvas.Style{})
	}
	for _, r := range f.revisions {
		if y >= v.Height() || f.of != t.File {
			return
		}
		put(revisionText(w, r), canvas.Style{})
	}
}

// revisionText is a version in one line.
func revisionText(w *screen.World, r api.Revision) string {
	size := fmt.Sprintf("%d bytes", r.Size)
	if r.Gone {
		size = "no file"
	}
	text := fmt.Sprintf("%4d  %-*s  %-8s %s", r.ID, w.Clock.PointWidth(), w.Past(r.At, ""), r.How, size)
	if r.By != "" {
		text += "  by " + r.By
	}
	return text
}
