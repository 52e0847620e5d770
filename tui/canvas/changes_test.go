package canvas

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
)

// screen is a terminal that supports only the sequences of AppendChanges.
type screen struct {
	t             *testing.T
	width, height int
	cells         [][]string
	styles        [][]string
	x, y          int
	style         string
}

var sequence = regexp.MustCompile(`^\x1b\[([0-9;]*)([HJGm])`)

func newScreen(t *testing.T, width, height int) *screen {
	s := &screen{t: t, width: width, height: height}
	s.clear("?")
	return s
}

func (s *screen) clear(text string) {
	s.cells, s.styles = make([][]string, s.height), make([][]string, s.height)
	for y := range s.cells {
		s.cells[y], s.styles[y] = make([]string, s.width), make([]string, s.width)
		for x := range s.cells[y] {
			s.cells[y][x] = text
		}
	}
}

// show takes in what was written.
func (s *screen) show(text string) {
	s.t.Helper()
	for text != "" {
		if m := sequence.FindStringSubmatch(text); m != nil {
			s.order(m[1], m[2])
			text = text[len(m[0]):]
			continue
		}
		if m := regexp.MustCompile(`^<(\d+)>`).FindStringSubmatch(text); m != nil {
			s.style = m[1]
			text = text[len(m[0]):]
			continue
		}
		g := displaywidth.StringGraphemes(text)
		g.Next()
		if s.x+g.Width() > s.width || s.y >= s.height || g.Value() == "\x1b" {
			s.t.Fatalf("%q is written at %d,%d of %dx%d", g.Value(), s.x, s.y, s.width, s.height)
		}
		s.cells[s.y][s.x], s.styles[s.y][s.x] = g.Value(), s.style
		for i := 1; i < g.Width(); i++ {
			s.cells[s.y][s.x+i], s.styles[s.y][s.x+i] = "", s.style
		}
		s.x += g.Width()
		text = text[len(g.Value()):]
	}
}

func (s *screen) order(numbers, what string) {
	n := func(i int) int {
		parts := strings.Split(numbers, ";")
		if i >= len(parts) {
			return 1
		}
		v, err := strconv.Atoi(parts[i])
		if err != nil {
			return 1
		}
		return v
	}
	switch what {
	case "H":
		s.y, s.x = n(0)-1, n(1)-1
	case "G":
		s.x = n(0) - 1
	case "J":
		s.clear(" ")
	case "m":
		s.style = ""
	}
}

// numbered writes the role of a style.
type numbered struct{}

func (numbered) Sequence(s Style) string {
	if s == (Style{}) {
		return ""
	}
	return "<" + strconv.Itoa(int(s.Role)) + ">"
}

func TestChangesLeadFromAnyScreenToAnyOther(t *testing.T) {
	words := []string{"a", "abc def", "中文字", "a\u0301b", "👨‍👩‍👧‍👦", "▂▃█✗", "é", "\x1b[2J", " ", "─────"}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		width, height := 1+random.IntN(20), 1+random.IntN(5)
		at := newScreen(t, width, height)
		shown, next := (*Canvas)(nil), New(width, height)
		for range 6 {
			for range random.IntN(6) {
				next.View().Put(random.IntN(width+4)-2, random.IntN(height), words[random.IntN(len(words))], Style{Role: Role(random.IntN(3))})
			}
			at.show(string(next.AppendChanges(nil, shown, numbered{})))
			if got := strings.Join(flat(at.cells), ""); got+"\n" != next.Text() {
				t.Fatalf("seed %d: got %q, want %q", seed, got, next.Text())
			}
			checkStyles(t, seed, at, next)
			if shown == nil {
				shown = new(Canvas)
			}
			shown.Copy(next)
		}
	}
}

func flat(rows [][]string) []string {
	lines := make([]string, 0, 2*len(rows))
	for y, row := range rows {
		if y > 0 {
			lines = append(lines, "\n")
		}
		lines = append(lines, strings.Join(row, ""))
	}
	return lines
}

func checkStyles(t *testing.T, seed uint64, at *screen, want *Canvas) {
	t.Helper()
	for y := range want.height {
		for x := range want.width {
			c := want.cells[y*want.width+x]
			style := ""
			if c.style.Role != Plain {
				style = strconv.Itoa(int(c.style.Role))
			}
			if c.text != "" && at.styles[y][x] != style {
				t.Fatalf("seed %d: the cell %d,%d (%q) is in style %q, want %q", seed, x, y, c.text, at.styles[y][x], style)
			}
		}
	}
}

func TestChangesOfNothingAreNothing(t *testing.T) {
	c, same := New(10, 2), new(Canvas)
	c.View().Put(0, 0, "中文 abc", Style{Role: Bad})
	same.Copy(c)
	if got := c.AppendChanges(nil, same, numbered{}); len(got) != 0 {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestChangesSayTheColumnBehindWhatIsNotPlain(t *testing.T) {
	c := New(12, 1)
	c.View().Put(0, 0, "a中b─c", Style{})
	got := string(c.AppendChanges(nil, New(12, 1), numbered{}))
	if want := "\x1b[1;1Ha中\x1b[1;4Hb─c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
