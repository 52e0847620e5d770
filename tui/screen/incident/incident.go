// Package incident owns the screen that groups recent failures by cause, and writes
// a report about them.
package incident

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/failure"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// Incident shows the failures of the last 24 hours by what they have in common,
// and writes them up.
type Incident struct {
	table.Table[string, failure.Cause]
	causes table.Rows[string, failure.Cause]
	total  int                  // failures
	read   int                  // of them, those whose output was read, or that of one like them
	lines  map[job.RunID]string // what runs said; never changed, as questions look into it
	known  bool
	err    error

	version uint64 // of the board when it was asked last
	asked   time.Time
}

// New makes the screen.
func New() *Incident {
	s := &Incident{causes: table.Rows[string, failure.Cause]{Key: func(c *failure.Cause) string { return c.Key }}}
	s.Table = table.Table[string, failure.Cause]{
		Source: &s.causes, Left: 1, In: keys.Incident,
		Keys: []keys.Action{keys.Open, keys.Write, keys.Acknowledge, keys.Retry, keys.Explain, keys.Copy, keys.Times, keys.Back, keys.Help},
		Refused: table.Refuse("always sorted by the number of jobs affected",
			keys.Filter, keys.Mark, keys.Range, keys.MarkAll, keys.States, keys.Sort, keys.Reverse, keys.Wide, keys.Views),
		Columns: []table.Column[failure.Cause]{
			{Width: 2, Text: func(w *screen.World, _ *failure.Cause) (string, canvas.Style) {
				return w.Glyphs.Failed, canvas.Style{Role: canvas.Bad}
			}},
			{Width: 5, Text: func(_ *screen.World, c *failure.Cause) (string, canvas.Style) {
				return fmt.Sprintf("%dx", len(c.Failures)), canvas.Style{}
			}},
			{Width: 9, From: screen.FullWidth, Text: func(_ *screen.World, c *failure.Cause) (string, canvas.Style) {
				return page.Count(len(c.Jobs()), "job"), canvas.Style{}
			}},
			{Width: 11, From: screen.FullWidth, Text: func(w *screen.World, c *failure.Cause) (string, canvas.Style) {
				return w.Past(c.Last(), ""), canvas.Style{}
			}},
			{Fill: true, Text: func(_ *screen.World, c *failure.Cause) (string, canvas.Style) { return c.Title, canvas.Style{} }},
		},
	}
	s.Refused[keys.ShowGroups] = "this is it"
	return s
}

// Bounds of an incident.
const (
	incidentSpan  = 24 * time.Hour
	mostFailures  = 1000
	mostOutputs   = 50
	incidentPause = 5 * time.Second // between two questions
)

// The slots of its questions.
const (
	slotFailures = "incident"
	slotWrite    = "incident-write"
)

// Heading counts.
func (s *Incident) Heading(*screen.World) string {
	if !s.known {
		return "Incident"
	}
	return fmt.Sprintf("Incident: %s in 24 hours", page.Count(s.total, "failure"))
}

// Open requests the failures.
func (s *Incident) Open(w *screen.World) []screen.Effect { return s.ask(w) }

// gathered is the failures, and what their runs said.
type gathered struct {
	failures []failure.Failure
	lines    map[job.RunID]string
	read     int
}

func (s *Incident) ask(w *screen.World) []screen.Effect {
	s.version, s.asked = w.Board.Version(), w.Now
	since, lines := w.Now.Add(-incidentSpan), s.lines
	return []screen.Effect{screen.Ask{Slot: slotFailures, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		runs, err := d.History(ctx, api.Filter{Failed: true, Since: since, Limit: mostFailures})
		if err != nil {
			return nil, err
		}
		return gather(ctx, d, runs.Runs, lines), nil
	}}}
}

// failureKey identifies failures of which only the newest output is read: the same job
// failing in the same way usually prints the same.
type failureKey struct {
	job    job.ID
	ending string
}

// gather reads the newest output of each kind of failure, and no more than some.
func gather(ctx context.Context, d screen.Daemon, runs []job.Run, lines map[job.RunID]string) gathered {
	first := map[failureKey]job.RunID{}
	var unknown []job.RunID
	for i := range runs {
		r := &runs[i]
		like := failureKey{r.Job, r.Result()}
		if _, ok := first[like]; ok || len(first) >= mostOutputs {
			continue
		}
		first[like] = r.ID
		if _, ok := lines[r.ID]; !ok {
			unknown = append(unknown, r.ID)
		}
	}
	g := gathered{lines: map[job.RunID]string{}}
	for _, id := range first {
		if line, ok := lines[id]; ok {
			g.lines[id] = line
		}
	}
	maps.Copy(g.lines, failure.ReadComplaints(ctx, d, unknown))
	for i := range runs {
		r := &runs[i]
		id, ok := first[failureKey{r.Job, r.Result()}]
		if ok {
			g.read++
		}
		at := r.Ended
		if at.IsZero() {
			at = r.Decided
		}
		g.failures = append(g.failures, failure.Failure{Job: r.Job, Run: r.ID, At: at, Ending: r.Result(), Line: g.lines[id]})
	}
	return g
}

// Take receives the failures, and what came of writing them up.
func (s *Incident) Take(w *screen.World, a screen.Answer) []screen.Effect {
	if a.Slot == slotWrite {
		return s.written(w, a)
	}
	if s.err = a.Err; a.Err != nil {
		return nil
	}
	g := a.Value.(gathered)
	s.lines, s.total, s.read, s.known = g.lines, len(g.failures), g.read, true
	s.causes.Set(failure.Group(g.failures))
	s.Settle()
	return nil
}

// Refresh requests the failures again after the board has changed.
func (s *Incident) Refresh(w *screen.World) []screen.Effect {
	changed := s.version != w.Board.Version() || s.err != nil && api.KindOf(s.err) == api.Unreachable
	if !w.Link.Live || !changed || w.Now.Sub(s.asked) < incidentPause {
		return nil
	}
	return s.ask(w)
}

// Act moves between causes, opens the newest failure of one, and writes it all
// up.
func (s *Incident) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.Open:
		if c := s.Current(); c != nil {
			f := c.Failures[0]
			return []screen.Effect{screen.Show{Action: keys.ShowOutput, Subject: screen.Subject{Jobs: []job.ID{f.Job}, Run: f.Run}}}, true
		}
		return nil, true
	case keys.Write:
		return s.write(w), true
	case keys.Filter, keys.Mark, keys.Range, keys.MarkAll:
		return nil, true // Refuses returns the reason
	}
	return nil, s.Move(a)
}

// Subject is the jobs of the cause under the cursor, and its newest failure.
func (s *Incident) Subject(*screen.World) screen.Subject {
	c := s.Current()
	if c == nil {
		return screen.Subject{}
	}
	jobs := c.Jobs()
	return screen.Subject{Jobs: jobs, Marked: len(jobs) > 1, Run: c.Failures[0].Run}
}

// Refuses returns why a key does nothing here.
func (s *Incident) Refuses(w *screen.World, a keys.Action) string {
	if (a == keys.Write || a == keys.Open) && s.causes.Len() == 0 {
		return "nothing has failed"
	}
	return s.Table.Refuses(w, a)
}

// write puts the write-up into a file of the current directory.
func (s *Incident) write(w *screen.World) []screen.Effect {
	text := s.markdown(w)
	name := "incident-" + w.Now.In(w.Local).Format("2006-01-02-150405") + ".md"
	return []screen.Effect{screen.Ask{Slot: slotWrite, Call: func(context.Context, screen.Daemon) (any, error) { return name, writeNew(name, text) }}}
}

// writeNew creates a file that must not exist. Only its owner may read it, because it
// contains output of jobs.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// written reports the file's name. If the file cannot be written, the report goes to
// the clipboard.
func (s *Incident) written(w *screen.World, a screen.Answer) []screen.Effect {
	if a.Err == nil {
		return []screen.Effect{screen.Say{Text: "written to " + a.Value.(string) + " in the current directory"}}
	}
	var path *fs.PathError
	why := a.Err.Error()
	if errors.As(a.Err, &path) {
		why = path.Err.Error()
	}
	return []screen.Effect{screen.Clip{Text: s.markdown(w), What: "the write-up, as no file can be written here (" + why + ")"}}
}

// markdown is the write-up.
func (s *Incident) markdown(w *screen.World) string {
	var b strings.Builder
	jobs := map[job.ID]bool{}
	for i := range s.causes.Len() {
		for _, id := range s.causes.Row(i).Jobs() {
			jobs[id] = true
		}
	}
	fmt.Fprintf(&b, "# Incident on %s, %s\n\n", plainMarkdown(w.Status.Host), w.Stamp(w.Now, ""))
	fmt.Fprintf(&b, "%s of %s in the 24 hours before, %s.\n", page.Count(s.total, "failure"), page.Count(len(jobs), "job"), page.Count(s.causes.Len(), "cause"))
	for i := range s.causes.Len() {
		writeCause(s.causes.Row(i), &b, w, i+1)
	}
	fmt.Fprintf(&b, "\n## In a shell\n\n    cronring history --failed --since %s\n", w.Now.Add(-incidentSpan).In(w.Local).Format(time.RFC3339))
	return b.String()
}

func writeCause(c *failure.Cause, b *strings.Builder, w *screen.World, n int) {
	const rows = 20
	fmt.Fprintf(b, "\n## %d. %s\n\n", n, plainMarkdown(c.Title))
	fmt.Fprintf(b, "First %s, last %s, %s of %s.\n\n", w.Stamp(c.First(), ""), w.Stamp(c.Last(), ""), page.Count(len(c.Failures), "failure"), page.Count(len(c.Jobs()), "job"))
	b.WriteString("| when | job | run | ended |\n|---|---|---|---|\n")
	for _, f := range c.Failures[:min(rows, len(c.Failures))] {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", w.Stamp(f.At, ""), plainMarkdown(string(f.Job)), f.Run, plainMarkdown(f.Ending))
	}
	if more := len(c.Failures) - rows; more > 0 {
		fmt.Fprintf(b, "\nand %d earlier ones.\n", more)
	}
	if line := c.Failures[0].Line; line != "" {
		fmt.Fprintf(b, "\nThe newest said (`cronring logs %s`):\n\n    %s\n", c.Failures[0].Run, display.Text(line))
	}
}

// plainMarkdown is foreign text that Markdown reads as text.
func plainMarkdown(text string) string {
	var b strings.Builder
	for _, r := range display.Text(text) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Draw draws the causes, and below them details of the selected one.
func (s *Incident) Draw(v canvas.View, w *screen.World) {
	s.drawHead(v.Row(0), w)
	v = v.Below(1)
	if s.causes.Len() == 0 {
		p := page.Page{Paragraphs: s.empty(w)}
		p.Draw(v, w.Glyphs)
		return
	}
	list := v.Above(min(s.causes.Len(), max(v.Height()/2, 3)))
	s.Place(list.Width(), list.Width()+1) // the title ends at the right border
	s.DrawRows(list, w)
	drawCause(s.Current(), v.Below(list.Height()), w)
}

func (s *Incident) drawHead(v canvas.View, w *screen.World) {
	if !s.known {
		return
	}
	text := fmt.Sprintf("%s since %s", page.Count(s.causes.Len(), "cause"), w.Stamp(s.asked.Add(-incidentSpan), ""))
	if s.read < s.total {
		text += fmt.Sprintf(", outputs of %d of %d failures read", s.read, s.total)
	}
	v.PutCut(1, 0, v.Width()-1, text, w.Glyphs.Ellipsis, canvas.Style{Bold: true})
}

// drawCause draws one cause: when it struck, which jobs, and the newest error line.
func drawCause(c *failure.Cause, v canvas.View, w *screen.World) {
	if v.Height() < 4 {
		return
	}
	page.DrawRule(v.Row(0), fmt.Sprintf("%s of %s, %s", page.Count(len(c.Failures), "failure"), page.Count(len(c.Jobs()), "job"), c.Failures[0].Ending), w.Glyphs)
	drawTimes(c, v.In(1, 1, v.Width()-2, 2), w)
	p := page.Page{Paragraphs: causeText(c, w)}
	p.Draw(v.Below(3), w.Glyphs)
}

// drawTimes draws how often it struck, over the last 24 hours, above their hours.
func drawTimes(c *failure.Cause, v canvas.View, w *screen.World) {
	n := v.Width()
	if n <= 0 {
		return
	}
	counts, most := make([]int, n), 0
	from := w.Now.Add(-incidentSpan)
	for _, f := range c.Failures {
		if i := int(f.At.Sub(from) * time.Duration(n) / incidentSpan); i >= 0 {
			i = min(i, n-1)
			counts[i]++
			most = max(most, counts[i])
		}
	}
	for x, count := range counts {
		if count > 0 {
			v.Put(x, 0, w.Glyphs.Bars[(count*len(w.Glyphs.Bars)-1)/most], canvas.Style{Role: canvas.Bad})
		}
	}
	const step = 3 * time.Hour
	loc := w.In("")
	for at := screen.Midnight(from, loc); at.Before(w.Now); at = at.Add(step) {
		if at.Before(from) {
			continue
		}
		x := int(at.Sub(from) * time.Duration(n) / incidentSpan)
		if x+8 <= n {
			v.Put(x, 1, at.In(loc).Format("15h"), screen.Dim)
		}
	}
	v.PutRight(1, "now", screen.Dim)
}

func causeText(c *failure.Cause, w *screen.World) []page.Paragraph {
	var text []page.Paragraph
	if line := c.Failures[0].Line; line != "" {
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: " err ", Style: canvas.Style{Role: canvas.Doubt}}, {Text: line}}, Hang: 5})
	}
	for _, id := range c.Jobs() {
		n, first, last := 0, time.Time{}, time.Time{}
		for _, f := range c.Failures { // newest first
			if f.Job != id {
				continue
			}
			if n++; last.IsZero() {
				last = f.At
			}
			first = f.At
		}
		words := fmt.Sprintf("%dx, last %s", n, w.Stamp(last, ""))
		if n > 1 {
			words += ", first " + w.Stamp(first, "")
		}
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: " " + display.Pad(display.Text(string(id)), 18) + " ", Style: canvas.Style{Bold: true}}, {Text: words}}, Hang: 5})
	}
	return text
}

// empty returns the text that replaces an empty list.
func (s *Incident) empty(w *screen.World) []page.Paragraph {
	switch {
	case s.err != nil:
		return page.ErrorText(w, s.err)
	case !s.known:
		return []page.Paragraph{page.Line(" Asking cronringd ...", screen.Dim)}
	}
	return []page.Paragraph{{Spans: []page.Span{{Text: " " + w.Glyphs.OK + " ", Style: canvas.Style{Role: canvas.Good}}, {Text: "Nothing has failed in the last 24 hours."}}, Hang: 3}}
}
