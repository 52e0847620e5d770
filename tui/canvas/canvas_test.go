package canvas

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/display"
)

func TestPutStaysInsideItsView(t *testing.T) {
	for _, text := range []string{"abcdefgh", "中文字符", "a\u0301bcdefgh", "\x1b[2Jxyz", "\u202eabcdef", "\xff\xfe", "👨‍👩‍👧‍👦abc", "日"} {
		for width := range 6 {
			for x := -3; x < 8; x++ {
				c := New(6, 3)
				c.View().In(1, 1, width, 1).Put(x, 0, text, Style{})
				lines := strings.Split(c.Text(), "\n")
				for y, line := range lines[:3] {
					if got := display.Width(line); got != 6 {
						t.Fatalf("put %q at %d in %d cells: line %d is %d cells wide (%q), want 6", text, x, width, y, got, line)
					}
				}
				if lines[0] != "      " || lines[2] != "      " || lines[1][0] != ' ' {
					t.Fatalf("put %q at %d in %d cells drew outside: %q", text, x, width, lines)
				}
			}
		}
	}
}

func TestPutCutMarksWhatIsMissing(t *testing.T) {
	for _, tc := range []struct {
		text     string
		width    int
		ellipsis string
		want     string
	}{
		{"abcdefgh", 5, "…", " abcd…  "},
		{"abcdefgh", 5, "~", " abcd~  "},
		{"abcde", 5, "…", " abcde  "},
		{"äbcdefgh", 5, "…", " äbcd…  "},
		{"日本語", 5, "~", " 日本~  "},
		{"abc", 0, "…", "        "},
		{"äöü", 0, "…", "        "},
		{"abc", 1, "…", " …      "},
	} {
		c := New(8, 1)
		c.View().PutCut(1, 0, tc.width, tc.text, tc.ellipsis, Style{})
		if got := strings.TrimSuffix(c.Text(), "\n"); got != tc.want {
			t.Errorf("%q in %d cells: got %q, want %q", tc.text, tc.width, got, tc.want)
		}
	}
}

func TestRulerMeasuresTexts(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "日本": 4, "a\x1bb": 6} {
		if got := Ruler().In(0, 0, 100, 1).Put(1, 0, text, Style{}); got != 1+want {
			t.Errorf("%q: got %d cells, want %d", text, got-1, want)
		}
	}
	if got := Ruler().PutBytes(2, 0, []byte("12.4s"), Style{}); got != 7 {
		t.Errorf("bytes end at %d, want 7", got)
	}
}

func TestPutBytesDrawsWithoutAllocating(t *testing.T) {
	c := New(100, 1)
	var room [95]byte
	for i := range room {
		room[i] = byte(' ' + i)
	}
	if got := c.View().PutBytes(0, 0, room[:], Style{}); got != len(room) {
		t.Errorf("column after it: got %d, want %d", got, len(room))
	}
	if got := c.Text()[:len(room)]; got != string(room[:]) {
		t.Errorf("got %q, want %q", got, room)
	}
	if got := testing.AllocsPerRun(10, func() { c.View().PutBytes(0, 0, room[:], Style{}) }); got != 0 {
		t.Errorf("allocations: got %v, want none", got)
	}
	c.View().PutBytes(0, 0, []byte("a\x1bb\xff"), Style{})
	if got := c.Text()[:4]; got != "a?b?" {
		t.Errorf("control bytes: got %q, want %q", got, "a?b?")
	}
}

type brackets struct{}

func (brackets) Sequence(s Style) string {
	if s == (Style{}) {
		return ""
	}
	return "<" + string('0'+rune(s.Role)) + ">"
}

func TestFrameChangesStyleOnlyWhereItChanges(t *testing.T) {
	c := New(4, 2)
	c.View().Put(0, 0, "ab", Style{Role: Bad})
	c.View().Put(2, 0, "cd", Style{Role: Good})
	c.View().Put(1, 1, "x", Style{Role: Bad})
	want := "\x1b[1;1H<2>ab\x1b[0m<1>cd\x1b[2;2H\x1b[0m<2>x\x1b[0m"
	if got := string(c.AppendChanges(nil, New(4, 2), brackets{})); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGlyphsTakeOneCell(t *testing.T) {
	for tier := range glyphs {
		g := glyphs[tier]
		all := append([]string{
			g.OK, g.Failed, g.Late, g.Running, g.Held, g.New, g.Skipped, g.Planned, g.Expected, g.Long, g.Ran,
			g.Across, g.Down, g.Tee, g.Foot, g.Cursor, g.Mark, g.Ellipsis, g.Caret,
		}, g.Bars[:]...)
		for _, glyph := range all {
			if got := display.Width(glyph); got != 1 {
				t.Errorf("tier %d: %q takes %d cells, want 1", tier, glyph, got)
			}
		}
	}
}

func TestViewBesideTheCanvasIsEmpty(t *testing.T) {
	c := New(4, 2)
	v := c.View().In(9, 9, 3, 3)
	v.Restyle(func(s Style) Style { return Style{Bold: true} })
	if v.Width() != 0 || v.Height() != 0 || c.Mask() != "....\n....\n" {
		t.Errorf("a view beside the canvas is %dx%d, and leaves %q", v.Width(), v.Height(), c.Mask())
	}
	c.View().In(3, 1, 1, 1).In(2, 0, 1, 1).Restyle(func(s Style) Style { return Style{Bold: true} })
	if c.Mask() != "....\n....\n" {
		t.Errorf("a view beside the last cell leaves %q", c.Mask())
	}
}
