// Package output owns the screen that shows what a run wrote, live and past, and
// compares two outputs.
package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Output shows what a run wrote, and continues while it runs.
type Output struct {
	subject screen.Subject
	run     job.Run
	known   bool
	done    bool // all has come
	err     error
	log     logView
	against *comparison // nil: the output itself is shown
	ended   bool        // the run was over when the screen asked for it
	paging  bool        // the pager gets it, and then the screen is left
}

// New shows the output of a run, or of the newest run of a job.
func New(s screen.Subject) *Output { return &Output{subject: s, log: logView{follow: true}} }

// NewPager passes the output to the pager when it is complete.
func NewPager(s screen.Subject) *Output { return &Output{subject: s, paging: true} }

// Scope is that of output.
func (*Output) Scope() keys.Scope { return keys.Output }

// Heading names the run.
func (s *Output) Heading(*screen.World) string {
	switch {
	case !s.known:
		return "Output"
	case s.against != nil:
		return fmt.Sprintf("Output: %s  run %s against %s", s.run.Job, s.run.ID, s.against.run.ID)
	}
	return fmt.Sprintf("Output: %s  run %s", s.run.Job, s.run.ID)
}

// The slots of its questions.
const (
	slotRun     = "output-run"
	slotOutput  = "output"
	slotNear    = "output-near"
	slotCompare = "output-compare"
	slotPager   = "output-pager"
)

// Open requests the run and its output, unless they are complete.
func (s *Output) Open(*screen.World) []screen.Effect {
	if s.done {
		return nil
	}
	subject := s.subject
	if subject.Run == 0 && len(subject.Jobs) == 0 {
		s.err = &api.Error{What: "nothing is selected", Fix: "go back and choose a job or a run"}
		return nil
	}
	return []screen.Effect{screen.Ask{Slot: slotRun, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		if subject.Run != 0 {
			return d.OneRun(ctx, subject.Run.String())
		}
		return newestOf(ctx, d, subject.Jobs[0])
	}}}
}

// newestOf returns the newest run of a job. A run that waits for a retry has no
// output yet: the failed attempt is shown instead.
func newestOf(ctx context.Context, d screen.Daemon, id job.ID) (job.Run, error) {
	run, err := d.OneRun(ctx, string(id)+"@last")
	if err != nil || run.WaitsOn() != job.WaitsOnRetry {
		return run, err
	}
	tried, err := runBefore(ctx, d, id, run.ID, func(r *job.Run) bool { return !r.Started.IsZero() })
	if err != nil {
		return run, nil
	}
	return tried, nil
}

// show begins to show a run.
func (s *Output) show(run job.Run) []screen.Effect {
	s.log.reset()
	s.run, s.known, s.done, s.err, s.against = run, true, false, nil, nil
	s.ended = run.State == job.RunEnded
	s.log.follow = s.log.follow || s.ended
	s.subject = screen.Subject{Jobs: []job.ID{run.Job}, Run: run.ID, At: run.Due, Against: s.subject.Against}
	id, follow := run.ID, !s.paging
	return []screen.Effect{screen.Follow{Slot: slotOutput, Call: func(ctx context.Context, d screen.Daemon) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			for e, err := range d.Output(ctx, id.String(), follow) {
				if !yield(e, err) {
					return
				}
			}
		}
	}}}
}

// Take receives the run, its output, and what it is compared with.
func (s *Output) Take(w *screen.World, a screen.Answer) []screen.Effect {
	switch a.Slot {
	case slotOutput:
		return s.takeOutput(a)
	case slotPager:
		return leavePager(a.Err)
	}
	if a.Err != nil {
		if a.Slot == slotRun {
			s.err = a.Err
			return nil
		}
		return []screen.Effect{screen.Toast{Text: a.Err.Error(), Bad: true}}
	}
	switch value := a.Value.(type) {
	case job.Run:
		return s.show(value)
	case *comparison:
		if value != nil && s.known {
			s.against = value
		}
	}
	return nil
}

func (s *Output) takeOutput(a screen.Answer) []screen.Effect {
	if e, ok := a.Value.(api.Event); ok && a.Err == nil {
		s.event(e)
	}
	if a.Err != nil {
		s.err = a.Err
	}
	if !a.Done {
		return nil
	}
	s.log.finish()
	s.done = s.err == nil
	if s.done && s.ended && !s.run.OK() && s.log.follow {
		s.log.goToError()
	}
	if s.subject.Against != 0 && s.done && s.against == nil {
		return s.compareWith(s.subject.Against)
	}
	if s.paging && s.done {
		return []screen.Effect{screen.Execute{Slot: slotPager, Program: s.pager()}}
	}
	return nil
}

func (s *Output) event(e api.Event) {
	switch {
	case e.Chunk != nil:
		s.log.take(*e.Chunk)
	case e.Gap != nil:
		s.log.addMessage(s.log.at, "["+display.Count(e.Gap.Lost, "piece")+" left out: this dashboard was too slow for them]")
	case e.Record != nil && e.Record.Run != nil:
		s.run = *e.Record.Run
		s.log.finish()
		s.conclude()
	}
}

// conclude appends how the run ended.
func (s *Output) conclude() {
	r := &s.run
	line := r.ResultOrState()
	switch {
	case r.OnlyStarted():
		line = "cron started it, and keeps neither its output nor how it ended"
	case !r.Started.IsZero():
		line += " after " + display.Brief(r.Ended.Sub(r.Started))
	}
	s.log.addMessage(r.Ended, display.Text(line))
	if text := jobinfo.UsageText(r.Usage); text != "" {
		s.log.addMessage(r.Ended, text)
	}
	if text := r.Reason.Sentence(); text != "" && endReasons[r.Reason] {
		s.log.addMessage(r.Ended, text)
	}
	if r.Verdict == job.VerdictRetry {
		s.log.addMessage(r.Ended, "another attempt follows")
	}
}

// endReasons are the reasons that belong to the end of a run, not to its beginning.
var endReasons = map[job.Reason]bool{
	job.StopAsked: true, job.OverTime: true, job.NoBeat: true, job.Preempted: true, job.OverMemory: true, job.OverTasks: true, job.DaemonStopped: true, job.DaemonDied: true,
}

func leavePager(err error) []screen.Effect {
	if err != nil {
		return []screen.Effect{screen.Back{}, screen.Toast{Text: "the pager: " + err.Error(), Bad: true}}
	}
	return []screen.Effect{screen.Back{}}
}

// pager returns the program that shows the output. The variables are the user's own,
// and a shell splits them as it does for other programs.
func (s *Output) pager() func() *exec.Cmd {
	var text strings.Builder
	for i := range s.log.lines {
		line := s.log.lines[i].text
		if text.WriteString(line); strings.Contains(line, "\x1b") {
			text.WriteString("\x1b[0m") // pagers reset styles at line ends, and streams are mixed
		}
		text.WriteByte('\n')
	}
	return func() *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", cmp.Or(os.Getenv("CRONRING_PAGER"), os.Getenv("PAGER"), "less -R"))
		cmd.Stdin = strings.NewReader(text.String())
		return cmd
	}
}

// Refresh repeats a request that failed while the daemon was away.
func (s *Output) Refresh(w *screen.World) []screen.Effect {
	if w.Link.Live && s.err != nil && api.KindOf(s.err) == api.Unreachable {
		s.err = nil
		return s.Open(w)
	}
	return nil
}

// Act scrolls, searches, compares, and goes to other runs.
func (s *Output) Act(_ *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.PreviousRun, keys.NextRun:
		return s.near(a), true
	case keys.Diff:
		return s.compare(), true
	case keys.Streams:
		s.log.streams()
		return nil, true
	case keys.Follow:
		s.log.follow = !s.log.follow
		return nil, true
	case keys.Last:
		s.log.follow = !s.done && s.against == nil
	case keys.Back:
		if s.against != nil && !s.against.log.clear() {
			s.against = nil
			return nil, true
		}
	}
	return nil, s.shown().act(a)
}

// Bare reports that nothing but the text is shown, also where other screens have a
// heading.
func (s *Output) Bare() bool { return s.log.raw }

// Leave ends the questions of this screen when another takes its place.
func (*Output) Leave() []screen.Effect { return []screen.Effect{screen.Forget{Slot: slotOutput}} }

// shown is the log that is on the screen.
func (s *Output) shown() *logView {
	if s.against != nil {
		return &s.against.log
	}
	return &s.log
}

// Typing reports that keys go to the search.
func (s *Output) Typing() bool { return s.shown().typing }

// Type answers to a key of the search.
func (s *Output) Type(_ *screen.World, k screen.Key) ([]screen.Effect, bool) {
	return nil, s.shown().typed(k)
}

// near requests the previous or next run of the job.
func (s *Output) near(a keys.Action) []screen.Effect {
	if !s.known {
		return nil
	}
	id, at := s.run.Job, s.run.ID
	return []screen.Effect{screen.Ask{Slot: slotNear, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		if a == keys.PreviousRun {
			r, err := runBefore(ctx, d, id, at, func(*job.Run) bool { return true })
			if errors.Is(err, errNoRun) {
				err = fmt.Errorf("run %s is the oldest of %s that is known", at, display.Text(string(id)))
			}
			return r, err
		}
		return runAfter(ctx, d, id, at)
	}}}
}

// Bounds of a look through the history of a job.
const (
	historyPage  = 500
	historyPages = 20
)

// runBefore is the newest run of a job before another that is wanted.
func runBefore(ctx context.Context, d screen.Daemon, id job.ID, before job.RunID, wanted func(*job.Run) bool) (job.Run, error) {
	for range historyPages {
		runs, err := d.History(ctx, api.Filter{Refs: []string{string(id)}, Before: before, Limit: historyPage})
		if err != nil {
			return job.Run{}, err
		}
		for i := range runs.Runs {
			if r := &runs.Runs[i]; r.ID < before && wanted(r) {
				return *r, nil
			}
		}
		if len(runs.Runs) < historyPage {
			break
		}
		before = runs.Runs[len(runs.Runs)-1].ID
	}
	return job.Run{}, errNoRun
}

var errNoRun = errors.New("no such run is known")

// runAfter is the oldest run of a job after another.
func runAfter(ctx context.Context, d screen.Daemon, id job.ID, after job.RunID) (job.Run, error) {
	var found job.Run
	before := job.RunID(0)
	for range historyPages {
		runs, err := d.History(ctx, api.Filter{Refs: []string{string(id)}, Before: before, Limit: historyPage})
		if err != nil {
			return job.Run{}, err
		}
		for _, r := range runs.Runs {
			if r.ID <= after {
				return orNone(found, id, after)
			}
			found, before = r, r.ID
		}
		if len(runs.Runs) < historyPage {
			break
		}
	}
	return orNone(found, id, after)
}

func orNone(r job.Run, id job.ID, after job.RunID) (job.Run, error) {
	if r.ID == 0 {
		return r, fmt.Errorf("run %s is the newest of %s", after, display.Text(string(id)))
	}
	return r, nil
}

// compare requests the difference from the last successful run, or returns to the
// output.
func (s *Output) compare() []screen.Effect {
	if s.against != nil {
		s.against = nil
		return nil
	}
	if !s.known {
		return nil
	}
	return s.compareWith(0)
}

// compareWith requests the difference from a run; 0: from the last successful one.
func (s *Output) compareWith(other job.RunID) []screen.Effect {
	s.subject.Against = 0
	id, at, after, only := s.run.Job, s.run.ID, plainLines(&s.log, s.log.only), s.log.only
	return []screen.Effect{screen.Ask{Slot: slotCompare, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		base, err := job.Run{}, error(nil)
		if other != 0 {
			base, err = d.OneRun(ctx, other.String())
		} else if base, err = runBefore(ctx, d, id, at, func(r *job.Run) bool { return r.State == job.RunEnded && r.OK() }); err != nil {
			err = fmt.Errorf("cannot compare with an earlier run that went well: %w", err)
		}
		if err != nil {
			return nil, err
		}
		before, err := outputOf(ctx, d, base.ID)
		if err != nil {
			return nil, err
		}
		return &comparison{run: base, lines: diffLines(plainLines(before, only), after)}, nil
	}}}
}

// outputOf reads the output of a run.
func outputOf(ctx context.Context, d screen.Daemon, id job.RunID) (*logView, error) {
	log := new(logView)
	for e, err := range d.Output(ctx, id.String(), false) {
		if err != nil {
			return nil, err
		}
		if e.Chunk != nil {
			log.take(*e.Chunk)
		}
	}
	log.finish()
	return log, nil
}

// plainLines are the lines of a stream, or of both outputs, without colours.
func plainLines(l *logView, only job.Stream) []string {
	var lines []string
	for i := range l.lines[:min(len(l.lines), maxDiffLines)] {
		if line := &l.lines[i]; line.stream == only || only == "" && line.stream != job.System {
			lines = append(lines, line.plain())
		}
	}
	return lines
}

// Refuses returns why a key does nothing with this output now.
func (s *Output) Refuses(_ *screen.World, a keys.Action) string {
	switch {
	case a == keys.Follow && s.done:
		return "the run has ended: nothing more comes"
	case a == keys.Follow && s.against != nil, a == keys.Streams && s.against != nil:
		return "this is a comparison; = goes back to the output"
	case (a == keys.NextMatch || a == keys.PrevMatch || a == keys.Matching) && s.shown().needle == "":
		return "search for something first, with /"
	case a == keys.Stop && s.known && !s.run.State.Live():
		return "the run has ended"
	case a == keys.ShowOutput:
		return "this is it"
	case a == keys.Diff && len(s.log.lines) == 0 && s.against == nil:
		return "no output to compare"
	}
	return ""
}

// Foot is the keys of a log.
func (s *Output) Foot(*screen.World) []keys.Action {
	return []keys.Action{keys.Search, keys.Follow, keys.Streams, keys.Diff, keys.PreviousRun, keys.NextRun, keys.Explain, keys.PageOutput,
		keys.Wrap, keys.Timestamps, keys.Matching, keys.Raw, keys.Back, keys.Help}
}

// Subject is the run.
func (s *Output) Subject(*screen.World) screen.Subject { return s.subject }

// Draw draws a line about the run, and the log.
func (s *Output) Draw(v canvas.View, w *screen.World) {
	if s.against != nil {
		s.against.fit(v.Width(), w.Glyphs.Down)
	}
	log := s.shown()
	if log.raw {
		log.draw(v, w, s.zone(w))
		return
	}
	defer func() { s.drawStatus(v.Row(0), w, log) }() // it shows the lines in view
	body := v.Below(1)
	if log.typing || log.needle != "" {
		s.drawSearch(body.Row(body.Height()-1), w, log)
		body = body.Above(body.Height() - 1)
	}
	if text := s.instead(w, log); text != nil {
		p := page.Page{Paragraphs: text}
		p.Draw(body, w)
		return
	}
	log.draw(body, w, s.zone(w))
}

func (s *Output) zone(w *screen.World) *time.Location {
	row, _ := w.Row(s.subject)
	return w.In(row.Zone)
}

// instead returns the text that replaces an empty log.
func (s *Output) instead(w *screen.World, log *logView) []page.Paragraph {
	off := canvas.Style{Role: canvas.Off}
	_, some := log.next(log.dropped)
	switch {
	case some:
		return nil
	case s.err != nil:
		return page.ErrorText(w, s.err)
	case s.against != nil:
		return []page.Paragraph{page.Line(" The output is the same, but for times and numbers.", off)}
	case !s.known:
		return page.Unknown(w, nil)
	case log.only != "" && len(log.lines) > 0:
		return []page.Paragraph{page.Line(" Nothing on this stream; f shows others.", off)}
	case s.run.State.Live():
		return []page.Paragraph{page.Line(" Waiting for output ...", off)}
	case !s.done:
		return []page.Paragraph{page.Line(" Reading ...", off)}
	}
	return []page.Paragraph{page.Line(" It wrote nothing.", off)}
}

// drawStatus draws the state of the run, and how the log is shown.
func (s *Output) drawStatus(v canvas.View, w *screen.World, log *logView) {
	width, end := v.Width(), v.Width()
	if words := s.modes(log); words != "" {
		end = v.PutRight(0, words+" ", canvas.Style{Role: canvas.Off})
	}
	v = v.In(0, 0, end, 1)
	if !s.known {
		return
	}
	x := 1
	for i, p := range s.status(w, width) {
		if n := display.Width(display.Text(p.Text)); i > 0 && x+2+n > v.Width() {
			return
		}
		x = v.Put(x, 0, p.Text, p.Style) + 2
	}
}

// status returns the state of the run, the most important first.
func (s *Output) status(w *screen.World, width int) []page.Span {
	r := &s.run
	sign, style := screen.RunSign(w, r)
	words := []page.Span{{Text: sign + " " + r.ResultOrState(), Style: style}}
	if width < screen.FullWidth { // where the first line has no room for it
		words = append(words, page.Span{Text: fmt.Sprintf("%s %s", r.Job, r.ID)})
	}
	if !r.Started.IsZero() {
		end := r.Ended
		if end.IsZero() {
			end = w.Now
		}
		row, _ := w.Row(s.subject)
		took := "took " + display.Brief(end.Sub(r.Started))
		switch {
		case r.OnlyStarted():
			took = "end not known"
		case r.Ended.IsZero():
			took = "for " + display.Brief(end.Sub(r.Started).Truncate(time.Second))
		}
		words = append(words, page.Span{Text: took}, page.Span{Text: "began " + w.Stamp(r.Started, row.Zone)})
	}
	if text := jobinfo.UsageText(r.Usage); text != "" {
		words = append(words, page.Span{Text: text, Style: canvas.Style{Role: canvas.Off}})
	}
	return words
}

// modes returns how the log is shown, and the position in it.
func (s *Output) modes(log *logView) string {
	var words []string
	if s.against == nil && !s.done && s.known {
		words = append(words, "live")
		if log.follow {
			words[0] = "follow"
		}
	}
	if log.only != "" {
		words = append(words, "only "+string(log.only))
	}
	if log.lone && log.needle != "" {
		words = append(words, "matching")
	}
	if log.cut {
		words = append(words, "cut")
	}
	if n := log.last() - log.dropped; n > 0 {
		words = append(words, fmt.Sprintf("%d-%d/%d", log.top.line-log.dropped+1, log.foot-log.dropped+1, n))
	}
	return strings.Join(words, " ")
}

func (s *Output) drawSearch(v canvas.View, w *screen.World, log *logView) {
	x := v.Put(0, 0, " /", canvas.Style{Role: canvas.Match})
	if log.typing {
		x = page.DrawInput(v, x, 0, v.Width()/2, &log.input, w)
	} else {
		w.ClickActs(v, keys.Search)
		x = v.Put(x, 0, log.needle, canvas.Style{Role: canvas.Match})
	}
	if log.needle != "" {
		text := "in " + display.Count(log.count(), "line")
		if log.literal() {
			text += "; not a regular expression, so this text"
		}
		v.Put(x+2, 0, text, canvas.Style{Role: canvas.Off})
	}
}
