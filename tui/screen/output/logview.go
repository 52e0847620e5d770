package output

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
)

// Bounds of what a log holds. The daemon keeps less of a run by default.
const (
	maxLogLines = 200_000
	maxLogBytes = 64 << 20
)

// logView shows lines that come one by one, and is quick with many of them: only
// those in view are ever broken into rows. Lines are numbered from 0 on as they
// came; the oldest are dropped when there are too many. The zero value is ready.
type logView struct {
	lines    []logLine
	dropped  int // lines before the first one
	bytes    int
	cleaners map[job.Stream]*display.Lines
	colors   map[job.Stream]canvas.Style // in effect after the newest lines
	open     []logLine                   // not finished, unless stale
	stale    bool
	at       time.Time // of the chunk being taken in

	cut    bool       // long lines are cut, not wrapped
	bare   bool       // no times in front
	raw    bool       // text alone
	alone  bool       // the lines are not output: they have neither time nor stream
	follow bool       // stay at the end
	only   job.Stream // the one stream to show; "": all

	top    place // first row in view
	height int   // as drawn last
	width  int   // of the text, likewise
	foot   int   // last line in view, likewise
	cache  map[int]*wrappedLine

	input   edit.Line
	typing  bool
	needle  string
	pattern *regexp.Regexp // of needle; nil: it is a text
	lone    bool           // only lines with the needle, and those around them
	search  uint32         // counts the searches, for logLine.near
	marked  int            // lines before this one are marked as near a match or not
	rest    int            // lines after marked that are near one
	goal    int            // 1 + the line to show when the height is known; 0: none
	found   int            // line of the current match; -1: none
	hits    int            // lines with the needle, of those counted
	counted int            // lines before this one are counted
}

// place is a row of a line.
type place struct{ line, row int }

// take adds a piece of output.
func (l *logView) take(c job.Chunk) {
	l.at = c.At
	defer l.changed(l.end())
	w := l.cleaner(c.Stream)
	if c.Cut > 0 {
		w.Close()                  // a sink takes everything
		delete(l.colors, c.Stream) // the sequence that ends them may have been dropped
		l.addMessage(c.At, fmt.Sprintf("[%d bytes left out]", c.Cut))
	}
	w.Write(c.Data)
}

// addMessage adds a message of the dashboard.
func (l *logView) addMessage(at time.Time, text string) {
	l.add(daemonLine(text, at))
}

// finish ends lines without a newline, because no more output follows.
func (l *logView) finish() {
	defer l.changed(l.end())
	for _, s := range logStreams {
		if c := l.cleaners[s]; c != nil {
			c.Close()
		}
	}
}

var logStreams = []job.Stream{job.Stdout, job.Stderr, job.System}

// reset removes all lines, and keeps the settings of the view.
func (l *logView) reset() {
	l.lines, l.open, l.dropped, l.bytes, l.cleaners, l.colors, l.cache = nil, nil, 0, 0, nil, nil, nil
	l.top, l.found, l.hits, l.counted = place{}, -1, 0, 0
}

func (l *logView) cleaner(s job.Stream) *display.Lines {
	c := l.cleaners[s]
	if c == nil {
		if l.cleaners == nil {
			l.cleaners = map[job.Stream]*display.Lines{}
		}
		c = &display.Lines{W: logSink{l, s}, Color: s != job.System, Flow: true}
		l.cleaners[s] = c
	}
	return c
}

// logSink adds the finished lines of a stream to a log.
type logSink struct {
	log    *logView
	stream job.Stream
}

func (s logSink) Write(p []byte) (int, error) {
	l, text := s.log, strings.TrimSuffix(string(p), "\n")
	if s.stream == job.System {
		l.add(daemonLine(text, l.at))
		return len(p), nil
	}
	line, left := newLogLine(text, l.at, s.stream, l.colors[s.stream])
	if l.colors == nil {
		l.colors = map[job.Stream]canvas.Style{}
	}
	l.colors[s.stream] = left
	l.add(line)
	return len(p), nil
}

func (l *logView) add(line logLine) {
	l.lines = append(l.lines, line)
	l.bytes += line.size()
	if len(l.lines) > maxLogLines || l.bytes > maxLogBytes {
		l.drop()
	}
}

// drop removes the oldest lines. It removes at least an eighth of all lines, so that it is
// seldom needed.
func (l *logView) drop() {
	n := 0
	for left := l.bytes; n < len(l.lines)-1 && (len(l.lines)-n > maxLogLines/8*7 || left > maxLogBytes/8*7); n++ {
		left -= l.lines[n].size()
	}
	for i := range n {
		if l.bytes -= l.lines[i].size(); l.needle != "" && l.dropped+i < l.counted && l.holds(&l.lines[i]) {
			l.hits--
		}
	}
	l.lines = slices.Delete(l.lines, 0, n)
	l.dropped += n
	l.cache = nil
	if l.top.line < l.dropped {
		l.top = place{l.dropped, 0}
	}
}

// end returns the number after the last finished line. Unfinished lines follow it.
func (l *logView) end() int { return l.dropped + len(l.lines) }

// last returns the number after the last line.
func (l *logView) last() int { return l.end() + len(l.unfinished()) }

// changed invalidates the cached lines after the last finished line.
func (l *logView) changed(end int) {
	for i := range logStreams {
		delete(l.cache, end+i)
		delete(l.cache, l.end()+i)
	}
	l.stale = true
}

// unfinished returns the lines that have no end yet, as they are shown.
func (l *logView) unfinished() []logLine {
	if !l.stale {
		return l.open
	}
	l.open, l.stale = l.open[:0], false
	for _, s := range logStreams {
		c := l.cleaners[s]
		if c == nil {
			continue
		}
		if text := c.Unfinished(); text != nil {
			line, _ := newLogLine(string(text), l.at, s, l.colors[s])
			if l.needle != "" && l.holds(&line) {
				line.near = l.search
			}
			l.open = append(l.open, line)
		}
	}
	return l.open
}

// line returns a line by its number, or nil.
func (l *logView) line(n int) *logLine {
	switch {
	case n < l.dropped:
		return nil
	case n < l.end():
		return &l.lines[n-l.dropped]
	}
	if n < l.last() {
		return &l.unfinished()[n-l.end()]
	}
	return nil
}

func (l *logView) shows(line *logLine) bool {
	return (l.only == "" || line.stream == l.only) && (!l.lone || l.needle == "" || line.near == l.search)
}

// next is the number of the first line shown from n on, previous of the last one
// up to n. ok is false if there is none.
func (l *logView) next(n int) (int, bool) {
	for ; n < l.end(); n++ {
		if l.shows(&l.lines[n-l.dropped]) {
			return n, true
		}
	}
	open := l.unfinished()
	for i := range open {
		if l.end()+i >= n && l.shows(&open[i]) {
			return l.end() + i, true
		}
	}
	return 0, false
}

func (l *logView) previous(n int) (int, bool) {
	open := l.unfinished()
	for i := min(n-l.end(), len(open)-1); i >= 0; i-- {
		if l.shows(&open[i]) {
			return l.end() + i, true
		}
	}
	for n = min(n, l.end()-1); n >= l.dropped; n-- {
		if l.shows(&l.lines[n-l.dropped]) {
			return n, true
		}
	}
	return 0, false
}

// maxLaid bounds the lines that are remembered as they are shown.
const maxLaid = 512

// laid is a line as it is shown at the present width.
func (l *logView) laid(n int) *wrappedLine {
	if out := l.cache[n]; out != nil {
		return out
	}
	line := l.line(n)
	if line == nil {
		return &wrappedLine{rows: []int{0}}
	}
	width := max(l.width, 1)
	if l.cut {
		width = 0
	}
	out := line.lay(width)
	if l.cache == nil || len(l.cache) >= maxLaid {
		l.cache = make(map[int]*wrappedLine, maxLaid)
	}
	l.cache[n] = out
	return out
}

// down returns the place that is a number of rows further down, or the last one, and how many rows that is.
func (l *logView) down(p place, by int) (place, int) {
	for left := by; left > 0; {
		if rest := len(l.laid(p.line).rows) - 1 - p.row; rest >= left {
			p.row += left
			return p, by
		} else if n, ok := l.next(p.line + 1); ok {
			left -= rest + 1
			p = place{n, 0}
		} else {
			p.row += rest
			return p, by - left + rest
		}
	}
	return p, by
}

// up returns the place that is a number of rows further up, or the first one.
func (l *logView) up(p place, by int) place {
	for by > 0 {
		if p.row >= by {
			p.row -= by
			return p
		}
		n, ok := l.previous(p.line - 1)
		if !ok {
			return place{p.line, 0}
		}
		by -= p.row + 1
		p = place{n, len(l.laid(n).rows) - 1}
	}
	return p
}

// bottom returns the first row in view when the last row is at the foot.
func (l *logView) bottom() place {
	n, ok := l.previous(l.last())
	if !ok {
		return place{}
	}
	return l.up(place{n, len(l.laid(n).rows) - 1}, max(l.height, 1)-1)
}

// start returns the first row.
func (l *logView) start() place {
	n, _ := l.next(l.dropped)
	return place{n, 0}
}

// settle moves the first row in view to an existing row.
func (l *logView) settle() {
	n, ok := l.next(l.top.line)
	if !ok {
		l.top = l.bottom()
		return
	}
	if n != l.top.line {
		l.top = place{n, 0}
	}
	l.top.row = min(l.top.row, len(l.laid(n).rows)-1)
	if end := l.bottom(); l.follow || l.top.after(end) {
		l.top = end
	}
}

func (p place) after(q place) bool {
	return p.line > q.line || p.line == q.line && p.row > q.row
}

// act performs a key. ok is false for a key that does not apply to a log.
func (l *logView) act(a keys.Action) (ok bool) {
	switch a {
	case keys.Down:
		l.scroll(1)
	case keys.Up:
		l.scroll(-1)
	case keys.HalfDown:
		l.scroll(max(l.height/2, 1))
	case keys.HalfUp:
		l.scroll(-max(l.height/2, 1))
	case keys.PageDown:
		l.scroll(max(l.height-1, 1))
	case keys.PageUp:
		l.scroll(-max(l.height-1, 1))
	case keys.First:
		l.follow, l.top = false, l.start()
	case keys.Last:
		l.top = l.bottom()
	case keys.Wrap:
		l.cut, l.cache = !l.cut, nil
		l.top.row = 0
	case keys.Timestamps:
		l.bare = !l.bare
	case keys.Raw:
		l.raw = !l.raw
	case keys.Search:
		l.typing = true
	case keys.Matching:
		l.lone, l.search, l.marked, l.rest, l.stale = !l.lone, l.search+1, l.dropped, 0, true
		l.mark()
	case keys.NextMatch:
		l.seek(1)
	case keys.PrevMatch:
		l.seek(-1)
	case keys.Back:
		return l.clear()
	default:
		return false
	}
	return true
}

// clear undoes one setting: text alone if it is on, otherwise the search.
func (l *logView) clear() bool {
	switch {
	case l.raw:
		l.raw = false
	case l.needle != "":
		l.input = edit.Line{}
		l.look("")
	default:
		return false
	}
	return true
}

func (l *logView) scroll(rows int) {
	l.settle()
	if rows > 0 {
		l.top, _ = l.down(l.top, rows)
		l.settle()
		return
	}
	l.follow = false
	l.top = l.up(l.top, -rows)
}

// streams selects the next choice of streams: all, then each alone.
func (l *logView) streams() {
	choices := append([]job.Stream{""}, logStreams...)
	l.only = choices[(slices.Index(choices, l.only)+1)%len(choices)]
	l.hits, l.counted = 0, l.dropped
	l.search, l.marked, l.rest = l.search+1, l.dropped, 0
}
