// Package why owns the screen that explains why an occurrence ran or did not, and
// what can be done about it.
package why

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Why explains, step by step, why an occurrence of a job ran or did not. It keeps to the occurrence of
// its first answer until another one is chosen: a newer one would change under the reader's eyes.
type Why struct {
	subject screen.Subject
	answer  api.Why
	known   bool
	err     error
	seen    api.Row     // the job as it was when it was asked
	around  []time.Time // occurrences of the job, oldest first
	page    page.Page

	aroundNext time.Time // the job's next occurrence when around was requested
}

// New explains a run, an occurrence, or of a job what went wrong last.
func New(s screen.Subject) *Why { return &Why{subject: s} }

// Scope returns the scope of why.
func (*Why) Scope() keys.Scope { return keys.Why }

// Heading names the occurrence.
func (s *Why) Heading(w *screen.World) string {
	if !s.known {
		return "Why: " + s.name()
	}
	return "Why: " + s.occurrence(w)
}

// occurrence names the occurrence, and the key that shows the next one if there is a newer one.
func (s *Why) occurrence(w *screen.World) string {
	text := fmt.Sprintf("%s at %s", s.answer.Job, w.Stamp(s.answer.At, s.answer.Zone))
	key := w.Keys.Key(keys.NextRun)
	if next, known := s.neighbour(keys.NextRun); key != "" && known && !next.After(w.Now) {
		text += "  newer: " + key
	}
	return text
}

func (s *Why) name() string {
	switch {
	case len(s.subject.Jobs) > 0:
		return string(s.subject.Jobs[0])
	case s.subject.Run != 0:
		return "run " + s.subject.Run.String()
	}
	return "no job"
}

// The slots of its questions.
const (
	slotWhy    = "why"
	slotAround = "why-around"
)

// Open requests the explanation.
func (s *Why) Open(w *screen.World) []screen.Effect {
	if len(s.subject.Jobs) == 0 && s.subject.Run == 0 {
		s.err = &api.Error{What: "nothing is selected", Fix: "go back and choose a job or a run"}
		return nil
	}
	subject := s.subject
	if row, ok := w.Row(subject); ok {
		s.seen = row
		if row.State == job.StateFailing && subject.Run == 0 && subject.At.IsZero() {
			subject.Run = row.LastRun
		}
	}
	effects := []screen.Effect{screen.Ask{Slot: slotWhy, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return askWhy(ctx, d, subject) }}}
	if (s.around == nil || !s.seen.Next.Equal(s.aroundNext)) && len(subject.Jobs) > 0 {
		id := subject.Jobs[0]
		s.aroundNext = s.seen.Next
		effects = append(effects, screen.Ask{Slot: slotAround, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return askAround(ctx, d, id) }})
	}
	return effects
}

func askWhy(ctx context.Context, d screen.Daemon, s screen.Subject) (api.Why, error) {
	var id job.ID
	if len(s.Jobs) > 0 {
		id = s.Jobs[0]
	}
	if s.Run != 0 && s.At.IsZero() {
		run, err := d.OneRun(ctx, s.Run.String())
		if err != nil {
			return api.Why{}, err
		}
		id, s.At = run.Job, run.Due
	}
	return d.Why(ctx, string(id), s.At)
}

// askAround requests the occurrences before and after.
func askAround(ctx context.Context, d screen.Daemon, id job.ID) ([]time.Time, error) {
	const back = 100
	pasts, err := d.Past(ctx, []job.ID{id}, back)
	if err != nil {
		return nil, err
	}
	times := []time.Time{}
	for _, past := range pasts {
		for _, c := range past.Cells {
			times = append(times, c.Due)
		}
	}
	j, err := d.Show(ctx, string(id))
	if err != nil {
		return nil, err
	}
	times = append(times, j.Upcoming...)
	slices.SortFunc(times, time.Time.Compare)
	return slices.CompactFunc(times, time.Time.Equal), nil
}

// Awaits reports whether a slot is one of this screen.
func (*Why) Awaits(slot string) bool { return slot == slotWhy || slot == slotAround }

// Take receives the explanation.
func (s *Why) Take(w *screen.World, a screen.Answer) []screen.Effect {
	switch {
	case a.Slot == slotAround && a.Err == nil:
		s.around = a.Value.([]time.Time)
	case a.Slot == slotWhy && a.Err != nil:
		s.err = a.Err
	case a.Slot == slotWhy:
		s.answer, s.known, s.err = a.Value.(api.Why), true, nil
		s.subject.At = s.answer.At
		if len(s.subject.Jobs) == 0 {
			s.subject.Jobs = []job.ID{s.answer.Job}
			return s.Open(w)
		}
	}
	return nil
}

// Refresh requests the explanation again after the job has changed, or when the
// daemon is back.
func (s *Why) Refresh(w *screen.World) []screen.Effect {
	if !w.Link.Live {
		return nil
	}
	row, ok := w.Row(s.subject)
	back := s.err != nil && api.KindOf(s.err) == api.Unreachable
	if back || ok && row != s.seen {
		s.seen = row
		return s.Open(w)
	}
	return nil
}

// Act scrolls, goes to other occurrences, and does what is proposed.
func (s *Why) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.PreviousRun, keys.NextRun:
		return s.step(w, a), true
	case keys.Remedy1, keys.Remedy2, keys.Remedy3, keys.Remedy4:
		if n := slices.Index(remedyActions, a); n < len(s.answer.Remedies) {
			return s.remedy(w, s.answer.Remedies[n]), true
		}
		return nil, true
	}
	return nil, s.page.Act(a)
}

// step goes to the occurrence before or after.
func (s *Why) step(w *screen.World, a keys.Action) []screen.Effect {
	at, ok := s.neighbour(a)
	if !ok {
		return nil
	}
	s.subject.At, s.subject.Run, s.page.Top = at, 0, 0
	return s.Open(w)
}

func (s *Why) neighbour(a keys.Action) (time.Time, bool) {
	i, found := slices.BinarySearchFunc(s.around, s.answer.At, time.Time.Compare)
	switch {
	case !s.known:
		return time.Time{}, false
	case a == keys.PreviousRun && i > 0:
		return s.around[i-1], true
	case a == keys.NextRun && found && i+1 < len(s.around):
		return s.around[i+1], true
	case a == keys.NextRun && !found && i < len(s.around):
		return s.around[i], true
	}
	return time.Time{}, false
}

// Refuses names what is not proposed, and the ends of the history.
func (s *Why) Refuses(w *screen.World, a keys.Action) string {
	n := slices.Index(remedyActions, a)
	_, ok := s.neighbour(a)
	switch {
	case n >= len(s.answer.Remedies):
		return "nothing is proposed under that number"
	case n >= 0 && edits(s.answer.Remedies[n]):
		return w.Denied(keys.Edit, s.Subject(w))
	case a == keys.Explain:
		return "this is it"
	case a == keys.PreviousRun && !ok:
		return "no occurrence before this one is known"
	case a == keys.NextRun && !ok:
		return "no occurrence after this one is known"
	}
	return ""
}

// Foot returns the keys of what can be done from here.
func (s *Why) Foot(*screen.World) []keys.Action {
	actions := remedyActions[:min(len(s.answer.Remedies), len(remedyActions))]
	return append(slices.Clip(actions), keys.PreviousRun, keys.NextRun, keys.ShowOutput, keys.Copy, keys.Back, keys.Help)
}

// Subject returns the occurrence, and its run if there is one.
func (s *Why) Subject(*screen.World) screen.Subject {
	if !s.known {
		return s.subject
	}
	subject := screen.Subject{Jobs: []job.ID{s.answer.Job}, At: s.answer.At, File: s.answer.Crontab, Line: s.answer.Line}
	if s.answer.Run != nil {
		subject.Run = s.answer.Run.ID
	}
	return subject
}

// Draw draws the chain.
func (s *Why) Draw(v canvas.View, w *screen.World) {
	s.page.Set(s.paragraphs(w, v.Width()))
	s.page.Draw(v, w)
}

// paragraphs returns the whole explanation, in the words of the command line.
func (s *Why) paragraphs(w *screen.World, width int) []page.Paragraph {
	if !s.known {
		return page.Unknown(w, s.err)
	}
	a := &s.answer
	sign, style := stepSign(w, a.Sum())
	var text []page.Paragraph
	if width < screen.FullWidth { // where the first line has no room for it
		text = append(text, page.Line(" "+s.occurrence(w), canvas.Style{Role: canvas.Title}))
	}
	text = append(text, page.Paragraph{Spans: []page.Span{{Text: " " + sign + " ", Style: style}, {Text: a.Verdict, Style: canvas.Style{Bold: true}}}, Hang: 3})
	if s.err != nil {
		text = append(text, page.ErrorText(w, s.err)...)
	}
	text = append(text, page.Heading("The chain, first cross wins"))
	for _, step := range a.Steps {
		text = append(text, stepParagraph(w, step))
	}
	if len(a.Facts) > 0 {
		text = append(text, page.Heading("Facts"))
	}
	for _, fact := range a.Facts {
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: " "}, {Text: fact}}, Hang: 1})
	}
	if len(a.Remedies) > 0 {
		text = append(text, page.Heading("Do one of these"))
	} else {
		text = append(text, page.Heading(""))
	}
	column := s.commandColumn(width)
	for i, r := range a.Remedies {
		r.Command = w.InShell(r.Command)
		text = append(text, remedyParagraphs(i, r, column)...)
	}
	return append(text, paired(" same text in a shell:", s.command(w), column, canvas.Style{Role: canvas.Off})...)
}

func stepParagraph(w *screen.World, step api.Step) page.Paragraph {
	sign, style := stepSign(w, step.State)
	fact := canvas.Style{}
	if step.State == api.NotReached {
		fact.Role = canvas.Off
	}
	return page.Paragraph{Spans: []page.Span{{Text: " " + sign + " ", Style: style}, {Text: display.Pad(string(step.Name), 10), Style: fact}, {Text: step.Fact, Style: fact}}, Hang: 13}
}

func stepSign(w *screen.World, s api.StepState) (string, canvas.Style) {
	switch s {
	case api.Passed:
		return w.Glyphs.OK, canvas.Style{Role: canvas.Good}
	case api.Crossed:
		return w.Glyphs.Failed, canvas.Style{Role: canvas.Bad, Bold: true}
	}
	return "-", canvas.Style{Role: canvas.Off}
}

// commandColumn returns the column of commands, behind the longest of the short
// descriptions.
func (s *Why) commandColumn(width int) int {
	column := 0
	for _, r := range s.answer.Remedies {
		if n := display.Width(display.Text(r.What)) + 8; n <= width/2 {
			column = max(column, n)
		}
	}
	return max(column, min(28, width/2))
}

// remedyParagraphs returns a proposal. A click on it is its key.
func remedyParagraphs(i int, r api.Remedy, column int) []page.Paragraph {
	text := paired(fmt.Sprintf(" %d  %s", i+1, display.Text(r.What)), r.Command, column, canvas.Style{})
	for j := range text {
		if i < len(remedyActions) {
			text[j].Does = remedyActions[i]
		}
	}
	return text
}

// paired puts a command beside what it does, or below where that is too long.
func paired(what, command string, column int, style canvas.Style) []page.Paragraph {
	text := canvas.Style{Bold: style == canvas.Style{}, Role: style.Role}
	if display.Width(what)+2 > column {
		return []page.Paragraph{
			{Spans: []page.Span{{Text: what, Style: style}}, Hang: 4},
			{Spans: []page.Span{{Text: "      "}, {Text: command, Style: text}}, Hang: 6},
		}
	}
	return []page.Paragraph{{Spans: []page.Span{{Text: display.Pad(what, column), Style: style}, {Text: command, Style: text}}, Hang: min(column, 6)}}
}

// command returns the shell command that prints the same.
func (s *Why) command(w *screen.World) string {
	return w.InShell("cronring why " + display.Quote(string(s.answer.Job)) + " --at " + shellTime(s.answer.At, w.Now, w.Local))
}

// shellTime writes an instant as the command line reads it, as short as it can.
func shellTime(t, now time.Time, loc *time.Location) string {
	const minute, clock = "2006-01-02 15:04", "15:04"
	local := t.In(loc)
	if again, err := time.ParseInLocation(minute, local.Format(minute), loc); err != nil || !again.Equal(t) {
		return local.Format(time.RFC3339Nano) // it has seconds, or the clock shows it twice
	}
	if y, m, d := local.Date(); (time.Date(y, m, d, 0, 0, 0, 0, loc)).Equal(screen.Midnight(now, loc)) {
		return local.Format(clock)
	}
	return "'" + local.Format(minute) + "'"
}
