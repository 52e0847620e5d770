package screen

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// Files lists the crontabs, with the versions of the one under the cursor.
type Files struct {
	all    map[string]*api.Table // by path
	paths  []string              // in the order in which the daemon reads them
	shown  Slice[string]         // as filtered
	list   Listing[string]
	filter string // that shown was made with
	known  bool
	err    error
	asked  time.Time // when, by the daemon's clock
	jobs   int       // of the daemon then
	tables int

	peeked    string // whose versions are asked for
	revisions []api.Revision
	of        string // whose they are; "": none have come
}

// NewFiles lists the crontabs.
func NewFiles() *Files { return &Files{} }

// Scope is that of files.
func (*Files) Scope() keys.Scope { return keys.Files }

// Foot names the keys of the last line.
func (*Files) Foot(*World) []keys.Action {
	return []keys.Action{keys.Open, keys.External, keys.Revisions, keys.Add, keys.Filter, keys.Palette, keys.Help, keys.Leave}
}

// The slots of its questions.
const (
	slotTables    = "tables"
	slotRevisions = "revisions"
	slotExternal  = "external"
)

// Open asks anew: files change.
func (f *Files) Open(w *World) []Effect {
	f.asked, f.jobs, f.tables, f.peeked = w.Now, w.Status.Jobs, w.Status.Tables, ""
	return []Effect{Ask{slotTables, func(ctx context.Context, d Daemon) (any, error) { return d.Tables(ctx) }}}
}

// stale is how old the list may be where nothing tells of a change.
const stale = 15 * time.Second

// Refresh asks anew when files have changed, as far as jobs tell of it, when the
// daemon has come back, and now and then.
func (f *Files) Refresh(w *World) []Effect {
	moved := w.Status.Jobs != f.jobs || w.Status.Tables != f.tables
	if w.Link.Live && (f.err != nil || moved || w.Now.Sub(f.asked) > stale) {
		return f.Open(w)
	}
	return nil
}

// Take receives the list, or versions.
func (f *Files) Take(w *World, a Answer) []Effect {
	switch a.Slot {
	case slotTables:
		if f.err = a.Err; a.Err == nil {
			f.set(a.Value.([]api.Table))
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

func (f *Files) set(tables []api.Table) {
	f.all, f.paths, f.known = make(map[string]*api.Table, len(tables)), f.paths[:0], true
	for i := range tables {
		f.all[tables[i].File] = &tables[i]
		f.paths = append(f.paths, tables[i].File)
	}
	f.narrow()
}

// narrow applies the filter.
func (f *Files) narrow() {
	f.filter = f.list.Filter()
	f.shown = f.shown[:0]
	for _, path := range f.paths {
		if t := f.all[path]; strings.Contains(strings.ToLower(path+" "+shortFile(t)), strings.ToLower(f.filter)) {
			f.shown = append(f.shown, path)
		}
	}
	f.list.Settle(f.shown)
}

// peek asks for the versions of the file under the cursor, if it is another one.
func (f *Files) peek() []Effect {
	path, ok := f.list.Cursor()
	if !ok || path == f.peeked {
		return nil
	}
	f.peeked = path
	return []Effect{askRevisions(path)}
}

func askRevisions(path string) Effect {
	const some = 100
	return Ask{slotRevisions, func(ctx context.Context, d Daemon) (any, error) {
		return d.Revisions(ctx, api.RevisionQuery{File: path, Limit: some})
	}}
}

// Act answers to keys of the list and of files.
func (f *Files) Act(w *World, a keys.Action) ([]Effect, bool) {
	switch a {
	case keys.Open:
		return f.edit(), true
	case keys.External:
		return f.external(w), true
	case keys.Revisions:
		if t := f.under(); t != nil {
			return []Effect{Goto{NewVersions(*t)}}, true
		}
		return nil, true
	case keys.Restore:
		return nil, false
	}
	if !f.list.Act(f.shown, a) {
		return nil, false
	}
	f.list.Unmark() // there is nothing to do to several files
	if f.list.Filter() != f.filter {
		f.narrow()
	}
	return f.peek(), true
}

// under is the file under the cursor.
func (f *Files) under() *api.Table {
	path, ok := f.list.Cursor()
	if !ok {
		return nil
	}
	return f.all[path]
}

func (f *Files) edit() []Effect {
	t := f.under()
	if t == nil {
		return nil
	}
	return []Effect{Goto{NewEditor(Subject{File: t.File})}}
}

// external gives the terminal to the command that edits with the person's own
// editor, and checks what it leaves.
func (f *Files) external(w *World) []Effect {
	t := f.under()
	if t == nil {
		return nil
	}
	args := editArgs(w, t.File)
	return []Effect{Execute{slotExternal, func() *exec.Cmd { return thisProgram(args) }}}
}

// editArgs is this program's own edit, by the daemon that is shown here.
func editArgs(w *World, path string) []string {
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

// Typing tells that the filter is being typed.
func (f *Files) Typing() bool { return f.list.Typing() }

// Type answers to a key of the filter.
func (f *Files) Type(_ *World, k Key) ([]Effect, bool) {
	ok := f.list.Type(f.shown, k)
	if f.list.Filter() != f.filter {
		f.narrow()
	}
	return f.peek(), ok
}

// Subject is the file under the cursor.
func (f *Files) Subject(*World) Subject {
	path, _ := f.list.Cursor()
	return Subject{File: path}
}

// Refuses says what cannot be done to the file under the cursor.
func (f *Files) Refuses(w *World, a keys.Action) string {
	switch t := f.under(); {
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

// shortFile is what a crontab is called in a list: the path, or whose it is.
func shortFile(t *api.Table) string {
	if t.User != "" {
		return "crontab " + t.User
	}
	return t.File
}

// fileColumns are those of the list, with the width from which on they are shown.
var fileColumns = []struct {
	name  string
	width int
	from  int
	right bool
	text  func(w *World, t *api.Table) (string, canvas.Style)
}{
	{"ENTRIES", 7, 0, true, func(_ *World, t *api.Table) (string, canvas.Style) {
		switch {
		case t.Missing:
			return "none", canvas.Style{Role: canvas.Off}
		case t.Refused != "" && t.Entries == 0:
			return "-", canvas.Style{Role: canvas.Off}
		}
		return fmt.Sprint(t.Entries), canvas.Style{}
	}},
	{"LINT", 14, 60, false, lintCell},
	{"OWNER", 8, 80, false, func(_ *World, t *api.Table) (string, canvas.Style) { return t.Owner, canvas.Style{} }},
	{"MODE", 4, 110, false, func(_ *World, t *api.Table) (string, canvas.Style) {
		if t.Missing {
			return "", canvas.Style{}
		}
		return fmt.Sprintf("%04o", t.Mode), canvas.Style{}
	}},
	{"REV", 5, 60, true, func(_ *World, t *api.Table) (string, canvas.Style) {
		if t.Revision == 0 {
			return "-", canvas.Style{Role: canvas.Off}
		}
		return fmt.Sprint(t.Revision), canvas.Style{}
	}},
	{"CHANGED", when.PointWidth, 80, false, func(w *World, t *api.Table) (string, canvas.Style) {
		if t.Changed.IsZero() {
			return "", canvas.Style{}
		}
		return w.Past(t.Changed, ""), canvas.Style{}
	}},
	{"BY", 10, 110, false, func(_ *World, t *api.Table) (string, canvas.Style) { return t.By, canvas.Style{} }},
}

// lintCell says how a file reads.
func lintCell(w *World, t *api.Table) (string, canvas.Style) {
	g := w.Glyphs
	switch {
	case t.Refused != "":
		return g.Failed + " refused", canvas.Style{Role: canvas.Bad, Bold: true}
	case t.Missing:
		return "", canvas.Style{}
	case t.Errors > 0 && t.Warnings > 0:
		return fmt.Sprintf("%s %d  %s %d", g.Failed, t.Errors, g.Late, t.Warnings), canvas.Style{Role: canvas.Bad, Bold: true}
	case t.Errors > 0:
		return g.Failed + " " + counted(t.Errors, "error"), canvas.Style{Role: canvas.Bad, Bold: true}
	case t.Warnings > 0:
		return g.Late + " " + counted(t.Warnings, "warning"), canvas.Style{Role: canvas.Doubt}
	}
	return g.OK + " ok", canvas.Style{Role: canvas.Good}
}

// sign is the worst of a file in one cell, for where there is no column for it.
func fileSign(w *World, t *api.Table) (string, canvas.Style) {
	text, style := lintCell(w, t)
	if text == "" {
		return w.Glyphs.New, canvas.Style{Role: canvas.Fresh}
	}
	return strings.Fields(text)[0], style
}

// Draw draws the counts, the list, and below it what is known of the file under
// the cursor.
func (f *Files) Draw(v canvas.View, w *World) {
	switch {
	case f.err != nil:
		drawTrouble(v, f.err, w)
		return
	case !f.known:
		v.Put(1, 0, "asking for the crontabs", canvas.Style{Role: canvas.Off})
		return
	}
	f.drawSums(v.Row(0), w)
	if len(f.shown) == 0 {
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
	f.drawList(v.In(0, 1, v.Width(), v.Height()-1-peek), w)
	if peek > 0 {
		f.drawPeek(v.Below(v.Height()-peek), w)
	}
}

func (f *Files) drawSums(row canvas.View, w *World) {
	entries, errors, warnings, refused := 0, 0, 0, 0
	for _, path := range f.paths {
		t := f.all[path]
		entries += t.Entries
		errors += t.Errors
		warnings += t.Warnings
		if t.Refused != "" {
			refused++
		}
	}
	x := row.Put(1, 0, counted(len(f.paths), "crontab")+"  "+counted(entries, "entry"), canvas.Style{}) + 2
	if errors > 0 {
		x = row.Put(x, 0, w.Glyphs.Failed+" "+counted(errors, "error"), canvas.Style{Role: canvas.Bad, Bold: true}) + 2
	}
	if warnings > 0 {
		x = row.Put(x, 0, w.Glyphs.Late+" "+counted(warnings, "warning"), canvas.Style{Role: canvas.Doubt}) + 2
	}
	if refused > 0 {
		x = row.Put(x, 0, fmt.Sprintf("%d refused", refused), canvas.Style{Role: canvas.Bad, Bold: true}) + 2
	}
	place := ""
	if len(f.shown) > 0 {
		place = fmt.Sprintf("%d/%d ", f.list.Index()+1, len(f.shown))
	}
	end := row.Width() - safe.Width(place) - 1
	if x < end-3 {
		f.list.DrawFilter(row, x, 0, end-x, w)
		row.PutRight(0, place, canvas.Style{})
	}
}

func (f *Files) drawEmpty(v canvas.View, w *World) {
	if f.filter != "" {
		v.PutCut(1, 1, v.Width()-2, fmt.Sprintf("0 of %d match /%s. esc clears", len(f.paths), f.filter), w.Glyphs.Ellipsis, canvas.Style{})
		return
	}
	v.PutCut(1, 1, v.Width()-2, "No crontab is found here that you may change.", w.Glyphs.Ellipsis, canvas.Style{})
	v.PutCut(1, 2, v.Width()-2, "A adds an entry, or: cronring import cron", w.Glyphs.Ellipsis, canvas.Style{})
}

func (f *Files) drawList(v canvas.View, w *World) {
	room := v.Width() - 4
	for _, c := range fileColumns {
		if v.Width() >= c.from {
			room -= c.width + 1
		}
	}
	name := min(room, f.longest())
	f.drawHeader(v.Row(0), name)
	body := v.Below(1)
	first, last := f.list.Window(f.shown, body.Height())
	for i := first; i < last; i++ {
		f.drawRow(body.Row(i-first), i, name, w)
	}
}

// longest is how wide the widest name is, so that columns stand near.
func (f *Files) longest() int {
	longest := len("FILE")
	for _, path := range f.shown {
		longest = max(longest, safe.Width(safe.Text(shortFile(f.all[path]))))
	}
	return longest
}

func (f *Files) drawHeader(row canvas.View, name int) {
	row.Put(3, 0, "FILE", canvas.Style{Role: canvas.Title})
	x := 4 + name
	for _, c := range fileColumns {
		if row.Width() >= c.from {
			putColumn(row, x, c.width, c.right, c.name, canvas.Style{Role: canvas.Title}, "")
			x += c.width + 1
		}
	}
}

// putColumn draws a cell of a column, at its right or left border.
func putColumn(row canvas.View, x, width int, right bool, text string, s canvas.Style, ellipsis string) {
	if right {
		x, width = x+max(width-safe.Width(safe.Text(text)), 0), min(width, safe.Width(safe.Text(text)))
	}
	row.PutCut(x, 0, width, text, ellipsis, s)
}

func (f *Files) drawRow(row canvas.View, i, name int, w *World) {
	t := f.all[f.shown[i]]
	if i == f.list.Index() {
		row.Put(0, 0, w.Glyphs.Cursor, canvas.Style{Bold: true})
	}
	sign, style := fileSign(w, t)
	row.Put(1, 0, sign, style)
	row.PutCut(3, 0, name, shortFile(t), w.Glyphs.Ellipsis, canvas.Style{})
	x := 4 + name
	for _, c := range fileColumns {
		if row.Width() >= c.from {
			text, style := c.text(w, t)
			putColumn(row, x, c.width, c.right, text, style, w.Glyphs.Ellipsis)
			x += c.width + 1
		}
	}
	if i == f.list.Index() {
		row.Restyle(func(s canvas.Style) canvas.Style {
			s.Reverse = true
			return s
		})
	}
}

func (f *Files) drawPeek(v canvas.View, w *World) {
	t := f.under()
	drawRule(v.Row(0), t.File, w.Glyphs)
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
		put("There is none yet. enter begins one, or: cronring add", canvas.Style{})
	case f.of != t.File:
		put("asking for its versions", canvas.Style{Role: canvas.Off})
	case len(f.revisions) == 0:
		put("No version of it is kept yet: the first change keeps what it says now.", canvas.Style{})
	}
	for _, r := range f.revisions {
		if y >= v.Height() || f.of != t.File {
			return
		}
		put(revisionText(w, r), canvas.Style{})
	}
}

// revisionText is a version in one line.
func revisionText(w *World, r api.Revision) string {
	size := fmt.Sprintf("%d bytes", r.Size)
	if r.Gone {
		size = "no file"
	}
	text := fmt.Sprintf("%4d  %-*s  %-8s %s", r.ID, when.PointWidth, w.Past(r.At, ""), r.How, size)
	if r.By != "" {
		text += "  by " + r.By
	}
	return text
}
