package output

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/failure"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// maxDiffLines bounds how much of two outputs is compared.
const maxDiffLines = 20_000

// comparison is the difference from the output of another run.
type comparison struct {
	run   job.Run
	lines []change.Line
	width int // for which log was made; 0: unified
	log   logView
}

// besideFrom is the least width of a screen that shows two outputs side by side.
const besideFrom = 140

// diffLines compares two outputs line by line. It ignores times and numbers.
func diffLines(before, after []string) []change.Line {
	return change.DiffLines(before[:min(len(before), maxDiffLines)], after[:min(len(after), maxDiffLines)], func(line string) string {
		return failure.Numbers.ReplaceAllString(line, "<n>")
	})
}

var diffRoles = map[byte]canvas.Role{' ': canvas.Plain, '-': canvas.Bad, '+': canvas.Good, '@': canvas.Off, '~': canvas.Doubt}

// unified is a difference in one column. Lines of both outputs are those of the new one.
func unified(all []change.Line) []logLine {
	lines := make([]logLine, len(all))
	for i, l := range all {
		text := l.Text()
		if l.Kind != '@' {
			text = string(l.Kind) + " " + text
		}
		lines[i] = styledLine(text, diffRoles[l.Kind])
	}
	return lines
}

// beside is a difference in two columns of a width each. Lines that were removed stand beside those
// that were added in their place ('~').
func beside(all []change.Line, width int, between string) []logLine {
	var lines []logLine
	for len(all) > 0 {
		l := all[0]
		if l.Kind == '@' {
			lines, all = append(lines, styledLine(l.After, diffRoles['@'])), all[1:]
			continue
		}
		removed := countOf(all, '-')
		added := countOf(all[removed:], '+')
		if removed+added == 0 {
			lines, all = appendBeside(lines, l, width, between), all[1:]
			continue
		}
		for i := range max(removed, added) {
			switch {
			case i >= removed:
				l = all[removed+i]
			case i >= added:
				l = all[i]
			default:
				l = change.Line{Kind: '~', Before: all[i].Before, After: all[removed+i].After}
			}
			lines = appendBeside(lines, l, width, between)
		}
		all = all[removed+added:]
	}
	return lines
}

// countOf counts the lines of a kind at the begin.
func countOf(all []change.Line, kind byte) (n int) {
	for n < len(all) && all[n].Kind == kind {
		n++
	}
	return n
}

// Bounds of a difference in two columns, because all its lines are wrapped when it is first shown. A
// longer one has one column.
const (
	mostBeside     = 1000 // lines
	mostBesideRows = 8    // rows of a line
)

// besideText is the text of a side, which is cut if it is long.
func besideText(text string, width int) string {
	room := mostBesideRows * width
	return page.Shorten(text[:min(len(text), 4*room)], room)
}

func appendBeside(lines []logLine, l change.Line, width int, between string) []logLine {
	signs := map[byte][2]string{' ': {"  ", "  "}, '-': {"- ", "  "}, '+': {"  ", "+ "}, '~': {"- ", "+ "}}[l.Kind]
	left := page.Wrap(signs[0]+besideText(l.Before, width), width, width)
	right := page.Wrap(signs[1]+besideText(l.After, width), width, width)
	for i := range max(len(left), len(right)) {
		var texts [2]string
		if i < len(left) {
			texts[0] = left[i]
		}
		if i < len(right) {
			texts[1] = right[i]
		}
		lines = append(lines, styledLine(display.Pad(texts[0], width)+" "+between+" "+texts[1], diffRoles[l.Kind]))
	}
	return lines
}

// fit makes the lines for the width of a screen.
func (c *comparison) fit(width int, between string) {
	if width < besideFrom || len(c.lines) > mostBeside {
		width = 0
	}
	if c.log.alone && width == c.width {
		return
	}
	c.width, c.log = width, logView{alone: true, lines: unified(c.lines)}
	if width > 0 {
		c.log.lines = beside(c.lines, width/2-3, between)
	}
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
