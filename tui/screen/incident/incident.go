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
	counts gathered // its lines are never changed, as questions look into them
	known  bool
	err    error
	text   page.Page // below the list
	of     string    // the cause that it is about

	version uint64 // of the board when it was asked last
	asked   time.Time
}

// New makes the screen.
func New() *Incident {
	s := &Incident{causes: table.Rows[string, failure.Cause]{Key: func(c *failure.Cause) string { return c.Key }}}
	s.Table = table.Table[string, failure.Cause]{
		Source: &s.causes, Left: 1, In: keys.Incident,
		Keys: []keys.Action{keys.Open, keys.Write, keys.Acknowledge, keys.Retry, keys.Explain, keys.PageDown, keys.Copy, keys.Times, keys.Back, keys.Help},
		Refused: table.Refuse("always sorted by the number of jobs affected",
			keys.Filter, keys.Mark, keys.Range, keys.MarkAll, keys.States, keys.Sort, keys.Reverse, keys.Wide, keys.Views),
		Columns: []table.Column[failure.Cause]{
			{Width: 2, Text: func(w *screen.World, _ *failure.Cause) (string, canvas.Style) {
				return w.Glyphs.Failed, canvas.Style{Role: canvas.Bad}
			}},
			{Width: 7, Text: table.Plain(func(c *failure.Cause) string { return fmt.Sprintf("%dx", c.Count()) })},
			{Width: 9, From: screen.FullWidth, Text: table.Plain(func(c *failure.Cause) string { return display.Count(len(c.Jobs()), "job") })},
			{Width: 11, From: screen.FullWidth, Text: func(w *screen.World, c *failure.Cause) (string, canvas.Style) {
				return w.Past(c.Last(), ""), canvas.Style{}
			}},
			{Fill: true, Text: table.Plain(func(c *failure.Cause) string { return c.Title })},
		},
	}
	s.Refused[keys.ShowGroups] = "this is it"
	return s
}

// Bounds of an incident.
const (
	incidentSpan  = 24 * time.Hour
	mostOutputs   = 50
	incidentPause = 5 * time.Second // between two questions
)

// The slots of its questions.
const (
	slotFailures = "incident"
	slotWrite    = "incident-write"
)

// Heading counts.
func (s *Incident) Heading(w *screen.World) string {
	if !s.known || w.Status.NoDaemon != "" {
		return "Incident"
	}
	return fmt.Sprintf("Incident: %s in 24 hours", s.total())
}

// total returns how many runs failed: "12 failures".
func (s *Incident) total() string {
	if s.counts.older {
		return "at least " + display.Count(s.counts.total, "failure")
	}
	return display.Count(s.counts.total, "failure")
}

// gathered is the failures, and what their runs said.
type gathered struct {
	failures []failure.Failure
	lines    map[job.RunID]string
	total    int  // failures
	older    bool // there are more
	read     int  // of them, those whose output was read, or that of one like them
}

// Open requests the failures.
func (s *Incident) Open(w *screen.World) []screen.Effect {
	s.version, s.asked = w.Board.Version(), w.Now
	since, lines := w.Now.Add(-incidentSpan), s.counts.lines
	return []screen.Effect{screen.Ask{Slot: slotFailures, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		counted, err := d.Failures(ctx, since)
		if err != nil {
			return nil, err
		}
		return gather(ctx, d, counted, lines), nil
	}}}
}

// gather reads the newest output of each group of failures, and no more than some: the same job
// failing in the same way usually prints the same.
func gather(ctx context.Context, d screen.Daemon, counted api.Failures, lines map[job.RunID]string) gathered {
	g := gathered{lines: map[job.RunID]string{}, total: counted.Count, older: counted.Older}
	read := counted.Groups[:min(mostOutputs, len(counted.Groups))]
	var unknown []job.RunID
	for i := range read {
		id := read[i].Run
		if line, ok := lines[id]; ok {
			g.lines[id] = line
		} else {
			unknown = append(unknown, id)
		}
		g.read += read[i].Count
	}
	maps.Copy(g.lines, failure.ReadComplaints(ctx, d, unknown))
	for i := range counted.Groups {
		c := &counted.Groups[i]
		g.failures = append(g.failures, failure.Failure{
			Job: c.Job, Run: c.Run, Count: c.Count, First: c.First, At: c.Last, Ending: c.Ending, Line: g.lines[c.Run], Parts: c.Parts[:],
		})
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
	s.counts, s.known = a.Value.(gathered), true
	s.SetRows(failure.Group(s.counts.failures))
	return nil
}

// Refresh requests the failures again after the board has changed.
func (s *Incident) Refresh(w *screen.World) []screen.Effect {
	changed := s.version != w.Board.Version() || s.err != nil && api.KindOf(s.err) == api.Unreachable
	if !w.Link.Live || !changed || w.Now.Sub(s.asked) < incidentPause {
		return nil
	}
	return s.Open(w)
}

// Act moves between causes, scrolls the text below them, opens the newest failure of one, and writes
// it all up.
func (s *Incident) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.Open:
		f := s.Current().Failures[0]
		return []screen.Effect{screen.Show{Action: keys.ShowOutput, Subject: screen.Subject{Jobs: []job.ID{f.Job}, Run: f.Run}}}, true
	case keys.Write:
		return s.write(w), true
	case keys.Filter, keys.Mark, keys.Range, keys.MarkAll:
		return nil, true // Refuses returns the reason
	case keys.PageDown, keys.PageUp, keys.HalfDown, keys.HalfUp:
		return nil, s.text.Act(a)
	}
	return nil, s.Move(a)
}

// Subject returns the jobs of the cause under the cursor, and its newest failure.
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
		return []screen.Effect{screen.Toast{Text: "written to " + a.Value.(string) + " in the current directory"}}
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
	fmt.Fprintf(&b, "%s of %s in the 24 hours before, %s.\n", s.total(), display.Count(len(jobs), "job"), display.Count(s.causes.Len(), "cause"))
	for i := range s.causes.Len() {
		writeCause(s.causes.Row(i), &b, w, i+1)
	}
	fmt.Fprintf(&b, "\n## In a shell\n\n    cronring history --failed --since %s\n", w.Now.Add(-incidentSpan).In(w.Local).Format(time.RFC3339))
	return b.String()
}

func writeCause(c *failure.Cause, b *strings.Builder, w *screen.World, n int) {
	const rows = 20
	fmt.Fprintf(b, "\n## %d. %s\n\n", n, plainMarkdown(c.Title))
	fmt.Fprintf(b, "First %s, last %s, %s of %s.\n\n", w.Stamp(c.First(), ""), w.Stamp(c.Last(), ""), display.Count(c.Count(), "failure"), display.Count(len(c.Jobs()), "job"))
	b.WriteString("| job | ended | failures | first | last | newest run |\n|---|---|--:|---|---|--:|\n")
	for _, f := range c.Failures[:min(rows, len(c.Failures))] {
		fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s |\n", plainMarkdown(string(f.Job)), plainMarkdown(f.Ending), f.Count, w.Stamp(f.First, ""), w.Stamp(f.At, ""), f.Run)
	}
	if more := len(c.Failures) - rows; more > 0 {
		fmt.Fprintf(b, "\nand %d more.\n", more)
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
		p.Draw(v, w)
		return
	}
	list := v.Above(min(s.causes.Len(), max(v.Height()/2, 3)))
	s.Place(w, list.Width(), list.Width()+1) // the title ends at the right border
	s.DrawRows(list, w)
	s.drawCause(s.Current(), v.Below(list.Height()), w)
}

func (s *Incident) drawHead(v canvas.View, w *screen.World) {
	if !s.known || w.Status.NoDaemon != "" {
		return
	}
	text := fmt.Sprintf("%s since %s", display.Count(s.causes.Len(), "cause"), w.Stamp(s.asked.Add(-incidentSpan), ""))
	if s.counts.read < s.counts.total {
		text += fmt.Sprintf(", outputs of %d of %d failures read", s.counts.read, s.counts.total)
	}
	v.PutCut(1, 0, v.Width()-1, text, w.Glyphs.Ellipsis, canvas.Style{Bold: true})
}

// drawCause draws one cause: when it struck, which jobs, and the newest error line.
func (s *Incident) drawCause(c *failure.Cause, v canvas.View, w *screen.World) {
	if v.Height() < 4 {
		return
	}
	page.DrawRule(v.Row(0), fmt.Sprintf("%s of %s, %s", display.Count(c.Count(), "failure"), display.Count(len(c.Jobs()), "job"), c.Failures[0].Ending), w.Glyphs)
	drawTimes(c, v.In(1, 1, v.Width()-2, 2), w)
	if s.of != c.Key {
		s.of, s.text.Top = c.Key, 0
	}
	s.text.Set(causeText(c, w))
	s.text.Draw(v.Below(3), w)
	w.OnWheel(v, s.text.Scroll)
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
		for part, count := range f.Parts {
			i := part * n / len(f.Parts)
			counts[i] += count
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
	for _, f := range c.Failures {
		words := fmt.Sprintf("%dx %s, last %s", f.Count, f.Ending, w.Stamp(f.At, ""))
		if f.Count > 1 {
			words += ", first " + w.Stamp(f.First, "")
		}
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: " " + display.Pad(display.Text(string(f.Job)), 18) + " ", Style: canvas.Style{Bold: true}}, {Text: words}}, Hang: 5})
	}
	return text
}

// empty returns the text that replaces an empty list.
func (s *Incident) empty(w *screen.World) []page.Paragraph {
	switch {
	case s.err != nil || !s.known:
		return page.Unknown(w, s.err)
	case w.Status.NoDaemon != "":
		return []page.Paragraph{page.Line(" Failures are not known: "+screen.CronKeeps+".", canvas.Style{})}
	}
	return []page.Paragraph{{Spans: []page.Span{{Text: " " + w.Glyphs.OK + " ", Style: canvas.Style{Role: canvas.Good}}, {Text: "Nothing has failed in the last 24 hours."}}, Hang: 3}}
}
