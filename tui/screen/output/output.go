// Package output owns the screen that shows what a run wrote, live and past, and
// compares two outputs.
package output

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// Output shows what a run wrote, and continues while it runs.
type Output struct {
	subject screen.Subject
	run     job.Run
	known   bool
	done    bool // all output has arrived
	err     error
	log     logView
	against *comparison // nil: the output itself is shown
	ended   bool        // the run had ended when the screen requested it
	paging  bool        // the output goes to the pager, and then the screen closes
}

// New shows the output of a run, or of the newest run of a job.
func New(s screen.Subject) *Output { return &Output{subject: s, log: logView{follow: true}} }

// NewPager passes the output to the pager when it is complete.
func NewPager(s screen.Subject) *Output { return &Output{subject: s, paging: true} }

// Scope returns the scope of logs.
func (*Output) Scope() keys.Scope { return keys.Output }

// Heading returns the job and the run.
func (s *Output) Heading(*screen.World) string {
	switch {
	case !s.known:
		return "Output"
	case s.against != nil:
		return fmt.Sprintf("Output: %s  run %s against %s", s.run.Job, s.run.ID, s.against.run.ID)
	}
	return fmt.Sprintf("Output: %s  run %s", s.run.Job, s.run.ID)
}

// The slots of the screen's requests.
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
		line += " after " + display.Brief(r.Length())
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

// Type handles a key of the search.
func (s *Output) Type(_ *screen.World, k screen.Key) ([]screen.Effect, bool) {
	return nil, s.shown().typed(k)
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

// Foot returns the keys of a log.
func (s *Output) Foot(*screen.World) []keys.Action {
	return []keys.Action{keys.Search, keys.Follow, keys.Streams, keys.Diff, keys.PreviousRun, keys.NextRun, keys.Explain, keys.PageOutput,
		keys.Wrap, keys.Timestamps, keys.Matching, keys.Raw, keys.Back, keys.Help}
}

// Subject returns the run.
func (s *Output) Subject(*screen.World) screen.Subject { return s.subject }
