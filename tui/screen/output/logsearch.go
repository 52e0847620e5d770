package output

import (
	"regexp"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/failure"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// typed handles a key of the search.
func (l *logView) typed(k screen.Key) bool {
	switch k.Name {
	case "enter":
		l.typing = false
		return true
	case "esc":
		l.typing, l.input = false, edit.Line{}
		l.look("")
		return true
	}
	ok := page.TypeInto(&l.input, k)
	if text := l.input.Text(); text != l.needle {
		l.look(text)
	}
	return ok
}

// look searches for a regular expression, or for plain text if it is not a valid one. It ignores case,
// and shows the first match from the top of the view on.
func (l *logView) look(text string) {
	l.needle, l.pattern, l.hits, l.counted, l.found, l.goal = text, nil, 0, l.dropped, -1, 0
	l.search, l.marked, l.rest, l.stale = l.search+1, l.dropped, 0, true
	if regexp.QuoteMeta(text) != text {
		l.pattern, _ = regexp.Compile("(?i)" + text)
	}
	l.mark()
	if text != "" {
		l.found = l.top.line - 1
		if !l.seek(1) {
			l.found = -1
		}
	}
}

// seek shows the next or the previous line with the text, and wraps around at the end.
func (l *logView) seek(way int) bool {
	if l.needle == "" {
		return false
	}
	from := l.found
	if from < 0 {
		from = l.top.line - max(way, 0)
	}
	n := max(from, l.dropped-1)
	for range l.lines {
		if n += way; n >= l.end() {
			n = l.dropped
		} else if n < l.dropped {
			n = l.end() - 1
		}
		if line := &l.lines[n-l.dropped]; l.shows(line) && l.holds(line) {
			l.found = n
			l.reveal(n)
			return true
		}
	}
	return false
}

// reveal brings a line into view, a third from above.
func (l *logView) reveal(n int) {
	l.follow = false
	last, _ := l.down(l.top, max(l.height, 1)-1)
	if (place{n, 0}).after(last) || l.top.after(place{n, 0}) {
		l.top = l.up(place{n, 0}, l.height/3)
	}
}

// holds reports whether a line matches the search.
func (l *logView) holds(line *logLine) bool { return l.match(line.plain()) != nil }

// match returns begin and end of the first match in a text, or nil.
func (l *logView) match(text string) []int {
	if l.pattern != nil {
		return l.pattern.FindStringIndex(text)
	}
	if i := indexFold(text, l.needle); i >= 0 {
		return []int{i, i + len(l.needle)}
	}
	return nil
}

// literal reports whether the needle looks like a regular expression but is not a valid one.
func (l *logView) literal() bool { return l.pattern == nil && regexp.QuoteMeta(l.needle) != l.needle }

// around is the number of lines that are shown before and after a match.
const around = 2

// mark records which lines are near a match.
func (l *logView) mark() {
	if !l.lone || l.needle == "" {
		return
	}
	for l.marked = max(l.marked, l.dropped); l.marked < l.end(); l.marked++ {
		i := l.marked - l.dropped
		if line := &l.lines[i]; (l.only == "" || line.stream == l.only) && l.holds(line) {
			for j := max(i-around, 0); j < i; j++ {
				l.lines[j].near = l.search
			}
			l.rest = around + 1
		}
		if l.rest > 0 {
			l.lines[i].near = l.search
			l.rest--
		}
	}
}

// count updates the number of matching lines.
func (l *logView) count() int {
	for n := max(l.counted, l.dropped); n < l.end(); n++ {
		if line := &l.lines[n-l.dropped]; l.shows(line) && l.holds(line) {
			l.hits++
		}
	}
	l.counted = l.end()
	return l.hits
}

// goToError shows the first error message, preferably of standard error. It does not depend on how
// much of the output was drawn before. The end of the output stays in view if both fit.
func (l *logView) goToError() {
	for _, stream := range []job.Stream{job.Stderr, job.Stdout} {
		for i := range l.lines {
			if line := &l.lines[i]; line.stream == stream && failure.Complaints(line.plain()) != nil {
				l.goal, l.follow, l.top = l.dropped+i+1, false, l.bottom()
				return
			}
		}
	}
}
