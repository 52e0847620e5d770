package screentest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
)

var update = flag.Bool("update", false, "update the golden screens in testdata/tui")

// size is the size of a screen in cells.
type size struct{ width, height int }

func (s size) String() string { return fmt.Sprintf("%dx%d", s.width, s.height) }

// The sizes at which screens are drawn. Every golden screen has the usual size. Those of CheckLayouts
// also have the narrow and the wide one.
var (
	usual  = size{80, 24}
	narrow = size{40, 15}
	wide   = size{160, 48}
	sizes  = []size{narrow, usual, {120, 40}, wide}
)

// Check compares what draw shows at 80x24 with testdata/tui/NAME.txtar. It draws all other sizes,
// in Unicode and ASCII, and checks their properties: see checkDrawn.
func Check(t *testing.T, name string, draw func(v canvas.View, w *screen.World)) {
	t.Helper()
	check(t, name, draw, false)
}

// CheckLayouts is Check for the main state of one kind of screen. It also keeps the roles and the
// ASCII text at 80x24, and the text at a narrow and a wide size.
func CheckLayouts(t *testing.T, name string, draw func(v canvas.View, w *screen.World)) {
	t.Helper()
	check(t, name, draw, true)
}

func check(t *testing.T, name string, draw func(v canvas.View, w *screen.World), layouts bool) {
	t.Helper()
	var got txtar.Archive
	keep := func(title, text string) {
		got.Files = append(got.Files, txtar.File{Name: title, Data: []byte(ends(text))})
	}
	for _, at := range sizes {
		for _, tier := range []canvas.Tier{canvas.Full, canvas.ASCII} {
			w := NewWorld(t)
			w.Glyphs = canvas.GlyphsOf(tier)
			c := canvas.New(at.width, at.height)
			draw(c.View(), w)
			checkDrawn(t, fmt.Sprintf("%s %s", name, at), c.Text(), at.width, tier)
			switch {
			case tier == canvas.Full && (at == usual || layouts && (at == narrow || at == wide)):
				keep(at.String(), c.Text())
				if layouts && at == usual {
					keep(at.String()+" roles", c.Mask())
				}
			case tier == canvas.ASCII && layouts && at == usual:
				keep(at.String()+" ascii", c.Text())
			}
		}
	}
	CompareGolden(t, name, txtar.Format(&got))
}

// ends marks the end of each line, so that blanks there are seen in a diff.
func ends(text string) string { return strings.ReplaceAll(text, "\n", "|\n") }

// checkDrawn checks what is true of every screen: each line is as wide as the screen, no character
// can control the terminal, and the ASCII tier has only ASCII.
func checkDrawn(t *testing.T, name, text string, width int, tier canvas.Tier) {
	t.Helper()
	CheckWidths(t, name, text, width)
	for i, r := range text {
		switch {
		case r == '\n':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			t.Errorf("%s: %q at byte %d can control a terminal", name, r, i)
			return
		case tier == canvas.ASCII && r > '~':
			t.Errorf("%s: %q at byte %d is not ASCII", name, r, i)
			return
		}
	}
}

// CheckWidths reports lines that are not as wide as the screen.
func CheckWidths(t *testing.T, name, text string, want int) {
	t.Helper()
	for y, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if got := display.Width(line); got != want {
			t.Errorf("%s: line %d is %d cells wide, want %d: %q", name, y+1, got, want, line)
		}
	}
}

// Root returns the directory of the repository.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above the working directory: %v", err)
	return ""
}

// CompareGolden compares a text with testdata/tui/NAME.txtar, or writes the file with
// -update.
func CompareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join(Root(t), "testdata", "tui", name+".txtar")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./tui/... -update writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s differs (-want +got; go test ./tui/... -update writes it again):\n%s", path, diff)
	}
}

// Inside leaves the lines of the shell blank.
func Inside(v canvas.View) canvas.View { return v.In(0, 1, v.Width(), v.Height()-2) }
