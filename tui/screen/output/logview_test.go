package output

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func out(text string) job.Chunk {
	return job.Chunk{Stream: job.Stdout, At: screentest.Now, Data: []byte(text)}
}
func errs(text string) job.Chunk {
	return job.Chunk{Stream: job.Stderr, At: screentest.Now, Data: []byte(text)}
}

// logOf is a log that some pieces of output came to.
func logOf(chunks ...job.Chunk) *logView {
	l := new(logView)
	l.reset()
	for _, c := range chunks {
		l.take(c)
	}
	return l
}

// shownLog returns the raw text of a log at a size, without trailing blanks.
func shownLog(t testing.TB, l *logView, width, height int) []string {
	t.Helper()
	c := canvas.New(width, height)
	w := &screen.World{Glyphs: canvas.GlyphsOf(canvas.Full)}
	l.raw = true
	l.draw(c.View(), w, time.UTC)
	lines := strings.Split(strings.TrimSuffix(c.Text(), "\n"), "\n")
	for i, line := range lines {
		if got := display.Width(line); got != width {
			t.Errorf("row %d is %d cells wide, want %d: %q", i, got, width, line)
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

func checkLog(t *testing.T, name string, l *logView, width, height int, want ...string) {
	t.Helper()
	got := shownLog(t, l, width, height)
	for len(want) < height {
		want = append(want, "")
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s: got\n%s\nwant\n%s", name, g, w)
	}
}

func TestLogShowsNothingButText(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"cursor moves", "a\x1b[2J\x1b[Hb\x1b[10;10Hc\n", "abc"},
		{"title", "a\x1b]0;owned\x07b\x1b]52;c;aGk=\x1b\\c\n", "abc"},
		{"C1 controls", "a\u009b2Jb\u0085c\n", "a2Jbc"},
		{"raw C1 bytes", "a\x9b2Jb\n", "a\ufffd2Jb"},
		{"not UTF-8", "a\xff\xfe\xc3\n", "a\ufffd\ufffd\ufffd"},
		{"right to left", "user \u202egnp.exe\u202c\n", "user gnp.exe"},
		{"zero width", "a\u200bb\u2060c\ufeff\n", "abc"},
		{"progress", "10 %\r20 %\r100 %\n", "100 %"},
		{"progress that goes on", "10 %\r20 %\r30", "30"},
		{"carriage return of DOS", "a\r\n", "a"},
		{"tabs", "a\tb\n", "a       b"},
		{"tab after a wide one", "日\tb\n", "日      b"},
		{"backspace and bell", "a\bb\a\n", "ab"},
		{"colour", "\x1b[31mred\x1b[0m\n", "red"},
		{"half a sequence", "a\x1b[31", "a"},
	} {
		checkLog(t, tt.name, logOf(out(tt.text)), 20, 1, tt.want)
	}
}

// Colours continue over line ends, separately for each stream, until a sequence ends them or their
// state is unknown.
func TestLogCarriesColours(t *testing.T) {
	red, blue := canvas.Style{Foreground: canvas.Indexed(1)}, canvas.Style{Background: canvas.Indexed(4), Bold: true}
	cut := out("")
	cut.Cut = 7
	l := logOf(out("\x1b[31mone\ntwo\n"), errs("plain\n"), out("\x1b[0;1;44m\nthree\x1b[m\nfour\n\x1b[31mfive\n"), cut, out("six\n"),
		out("\x1b[31m"+strings.Repeat("x", 2*display.MaxLine)+"\x1b[0m\nseven\n\x1b[31meight\nopen"))
	l.addMessage(screentest.Now, "the daemon's")
	type styled struct {
		text  string
		style canvas.Style
	}
	want := []styled{
		{"one", red}, {"two", red}, {"plain", canvas.Style{}}, {"", blue}, {"three", blue}, {"four", canvas.Style{}}, {"five", red},
		{"[7 bytes left out]", canvas.Style{Role: canvas.Off}}, {"six", canvas.Style{}}, {"xxxxx", red}, {"seven", canvas.Style{}}, {"eight", red},
		{"the daemon's", canvas.Style{Role: canvas.Off}}, {"open", red},
	}
	for n, w := range want {
		line := l.laid(n)
		style := line.paints[0].style
		for _, p := range line.paints {
			if p.from == 0 {
				style = p.style
			}
		}
		if !strings.HasPrefix(line.text, w.text) || style != w.style && w.text != "" {
			t.Errorf("line %d: got %.20q in %+v, want %q in %+v", n, line.text, style, w.text, w.style)
		}
	}
	if l.last() != len(want) {
		t.Errorf("got %d lines, want %d", l.last(), len(want))
	}
}

func TestLogPilesUpNoAccents(t *testing.T) {
	l := logOf(out("a" + strings.Repeat("\u0301", 4000) + "b\n"))
	if got := shownLog(t, l, 20, 1)[0]; len(got) > 2*maxGrapheme || !strings.HasSuffix(got, "b") {
		t.Errorf("4000 accents show as %d bytes %q", len(got), got)
	}
}

func TestLogWrapsOrCuts(t *testing.T) {
	l := logOf(out("0123456789abc\nxyz\n日本語日本語\n"))
	checkLog(t, "wrapped", l, 10, 6, "0123456789", "abc", "xyz", "日本語日本", "語")
	checkLog(t, "narrower", l, 5, 8, "01234", "56789", "abc", "xyz", "日本", "語日", "本語")
	l.act(keys.Wrap)
	checkLog(t, "cut", l, 10, 4, "012345678…", "xyz", "日本語日 …")
}

func TestLogKeepsStreamsApart(t *testing.T) {
	l := logOf(out("one "), errs("oops\n"), out("line\n"), errs("again"))
	checkLog(t, "all", l, 20, 4, "oops", "one line", "again")
	l.streams()
	checkLog(t, "only out", l, 20, 4, "one line")
	l.streams()
	checkLog(t, "only err", l, 20, 4, "oops", "again")
	l.take(errs(" and again\n"))
	checkLog(t, "only err, finished", l, 20, 4, "oops", "again and again")
}

func TestLogScrolls(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "line %d and more of it\n", i)
	}
	l := logOf(out(b.String()))
	for _, tt := range []struct {
		key  keys.Action
		want string // first row
	}{
		{"", "line 0 and"},
		{keys.Down, "more of it"},
		{keys.HalfDown, "more of it"},
		{keys.PageDown, "line 3 and"},
		{keys.Up, "more of it"},
		{keys.Last, "line 98 and"},
		{keys.Down, "line 98 and"},
		{keys.HalfUp, "line 97 and"},
		{keys.First, "line 0 and"},
		{keys.PageUp, "line 0 and"},
	} {
		l.act(tt.key)
		if got := shownLog(t, l, 11, 4)[0]; got != tt.want {
			t.Errorf("after %q the first row is %q, want %q", tt.key, got, tt.want)
		}
	}
}

func TestLogFollowsUntilOneScrolls(t *testing.T) {
	l := logOf(out("1\n2\n3\n4\n"))
	l.follow = true
	checkLog(t, "at the end", l, 5, 2, "3", "4")
	l.take(out("5\n6"))
	checkLog(t, "more came", l, 5, 2, "5", "6")
	l.act(keys.Up)
	l.take(out("\n7\n"))
	checkLog(t, "scrolled", l, 5, 2, "4", "5")
}

func TestLogSearches(t *testing.T) {
	l := logOf(out("alpha\nbeta\nGamma beta\ndelta\n"), errs("\x1b[1mBE\x1b[0mTA\n"))
	shownLog(t, l, 20, 3)
	l.act(keys.Search)
	for _, k := range []string{"b", "e", "t", "a"} {
		l.typed(screen.Key{Name: k, Text: k})
	}
	l.typed(screen.Key{Name: "enter"})
	if l.typing || l.count() != 3 {
		t.Fatalf("typing %v, %d lines found; want false, 3", l.typing, l.count())
	}
	for i, want := range []int{1, 2, 4, 1} {
		if i > 0 {
			l.act(keys.NextMatch)
		}
		if l.found != want {
			t.Errorf("match %d is line %d, want %d", i, l.found, want)
		}
	}
	l.act(keys.PrevMatch)
	if l.found != 4 {
		t.Errorf("the match before the first is line %d, want 4", l.found)
	}
	c := canvas.New(20, 3)
	l.draw(c.View(), &screen.World{Glyphs: canvas.GlyphsOf(canvas.Full)}, time.UTC)
	if mask := strings.Split(c.Mask(), "\n")[2]; mask != "9999................" {
		t.Errorf("the last row is drawn %q, want its four first cells as a match", mask)
	}
	l.take(out("beta again\n"))
	if got := l.count(); got != 4 {
		t.Errorf("%d lines are found after one more came, want 4", got)
	}
	l.raw = false
	if !l.act(keys.Back) || l.needle != "" || l.act(keys.Back) {
		t.Error("back clears the search once, and then nothing")
	}
}

func TestLogKeepsColours(t *testing.T) {
	l := logOf(out("\x1b[1;31mred\x1b[0m plain \x1b[38;5;200mpink\x1b[48;2;1;2;3m!\n"))
	laid := l.laid(0)
	want := []paint{
		{0, canvas.Style{}},
		{0, canvas.Style{Foreground: canvas.Indexed(1), Bold: true}},
		{3, canvas.Style{}},
		{10, canvas.Style{Foreground: canvas.Indexed(200)}},
		{14, canvas.Style{Foreground: canvas.Indexed(200), Background: canvas.RGB(1, 2, 3)}},
	}
	if laid.text != "red plain pink!" || fmt.Sprint(laid.paints) != fmt.Sprint(want) {
		t.Errorf("got %q %v, want %v", laid.text, laid.paints, want)
	}
}

func TestLogDropsTheOldest(t *testing.T) {
	l := logOf()
	l.look("x")
	const long, short = 9_000, maxLogLines + 1
	for i := range long + short {
		line := "x\n"
		if i < long {
			line = strings.Repeat("x", 8000) + "\n"
		}
		l.take(out(line))
		if n := len(l.lines); n > maxLogLines || l.bytes > maxLogBytes || l.dropped+n != i+1 {
			t.Fatalf("of %d lines %d of %d bytes are kept, %d were dropped", i+1, n, l.bytes, l.dropped)
		}
	}
	if got := l.count(); got != len(l.lines) {
		t.Errorf("%d lines are found, want %d", got, len(l.lines))
	}
	l.act(keys.First)
	if got := shownLog(t, l, 10, 1)[0]; got != "x" {
		t.Errorf("the first row is %q", got)
	}
}

// One line of 10 MB costs no more than the part of it that is kept.
func TestLogOfOneLongLineIsBounded(t *testing.T) {
	l := logOf()
	piece := []byte(strings.Repeat("0123456789", 100))
	for range 10_000 {
		l.take(job.Chunk{Stream: job.Stdout, Data: piece})
	}
	l.finish()
	if len(l.lines) != 1 || l.bytes > display.MaxLine+64 || !strings.HasSuffix(l.lines[0].text, "[line cut]") {
		t.Errorf("10 MB on one line are kept as %d lines of %d bytes", len(l.lines), l.bytes)
	}
}

func TestIndexFold(t *testing.T) {
	for _, tt := range []struct {
		s, needle string
		want      int
	}{
		{"abc", "", 0}, {"abc", "C", 2}, {"ABC", "bc", 1}, {"aab", "ab", 1}, {"ab", "abc", -1}, {"", "a", -1},
		{"x=1", "=1", 1}, {"Straße", "SSE", -1}, {"日本", "本", 3}, {"bBbA", "ba", 2},
	} {
		if got := indexFold(tt.s, tt.needle); got != tt.want {
			t.Errorf("indexFold(%q, %q) = %d, want %d", tt.s, tt.needle, got, tt.want)
		}
	}
}

// For any output of a job, rows are as wide as the screen and contain no sequence that a terminal
// would execute.
func FuzzLogView(f *testing.F) {
	for _, seed := range []string{
		"plain\n", "\x1b[31mred\x1b[0m\ttab\r\n", "\xff\x9b[2J", "a\u0301\u0301\u202e日本👨\u200d👩\u200d👧\n", "\x1b]0;t", "1\r2\r3", "\x1b[38;5;999999999999m\x1b[38:2::1:2:3mx",
		"\U0001f1e9\x1b[1m\U0001f1ea\n", "\u0e33\u0b95\u0bcd\u1100\u1161\u11a8\ufe0f",
	} {
		f.Add([]byte(seed), []byte(seed), uint8(7), uint8(3), "a")
	}
	f.Fuzz(func(t *testing.T, a, b []byte, width, height uint8, needle string) {
		w, h := int(width%100)+1, int(height%30)+1
		l := logOf(job.Chunk{Stream: job.Stdout, Data: a}, job.Chunk{Stream: job.Stderr, Data: b}, job.Chunk{Stream: job.Stdout, Data: b})
		l.look(needle)
		for _, step := range []keys.Action{"", keys.Last, keys.Wrap, keys.PageUp, keys.Streams, keys.NextMatch, keys.First} {
			if step == keys.Streams {
				l.streams()
			}
			l.act(step)
			for _, line := range shownLog(t, l, w, h) {
				for _, r := range line {
					if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
						t.Fatalf("row %q has %U in it", line, r)
					}
				}
			}
		}
	})
}

func benchLog(lines int) *logView {
	l := logOf()
	for i := range lines {
		l.take(job.Chunk{Stream: job.Stdout, At: screentest.Now, Data: fmt.Appendf(nil, "%d the quick brown fox jumps over the lazy dog, \x1b[32mgreen\x1b[0m and on and on\n", i)})
	}
	return l
}

// 100,000 lines: what a key costs, from the key to the drawn screen.
func BenchmarkLogView(b *testing.B) {
	const many = 100_000
	l := benchLog(many)
	c := canvas.New(160, 48)
	w := &screen.World{Glyphs: canvas.GlyphsOf(canvas.Full)}
	for _, bb := range []struct {
		name string
		do   func()
	}{
		{"Page", func() { l.act(keys.PageUp) }},
		{"Ends", func() { l.act(keys.First); l.act(keys.Last) }},
		{"Search", func() { l.look("99999 the QUICK") }},
		{"Stream", func() { l.streams() }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.do()
				l.count()
				l.draw(c.View(), w, time.UTC)
			}
		})
	}
	b.Run("Take", func(b *testing.B) {
		for b.Loop() {
			benchLog(many)
		}
	})
}
