package tui

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPicture writes a picture of the dashboard, with the demonstration crontab
// after it has run for some minutes, to the file in CRONRING_PICTURE.
func TestPicture(t *testing.T) {
	path := os.Getenv("CRONRING_PICTURE")
	if path == "" {
		t.Skip("SKIPPED: the picture takes minutes: make picture")
	}
	h := newHost(t, demo(t))
	x := h.openWith([]string{"COLORTERM=truecolor", "CRONRING_THEME=dark"}, 92, 24)
	twice := regexp.MustCompile(`failing .*✗✗ `)
	for end := time.After(10 * time.Minute); !twice.MatchString(x.screen()); {
		select {
		case <-x.changed:
		case <-end:
			t.Fatalf("failing has not failed twice:\n%s", x.screen())
		}
	}
	text := x.tmux("capture-pane", "-p", "-e")
	if err := os.WriteFile(path, []byte(svg(text, 92)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// style is the appearance of a piece of terminal text. Colours are SVG colours; "" is the
// terminal's default.
type style struct {
	text, back     string
	bold, inverted bool
}

const (
	cellWidth, cellHeight = 8.4, 18
	pictureText           = "#d4d4d4"
	pictureBack           = "#1e1e1e"
)

var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// svg draws text with the SGR sequences that tmux prints.
func svg(text string, columns int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" font-family="monospace" font-size="14">`+"\n",
		float64(columns+2)*cellWidth, (len(lines)+1)*cellHeight)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", pictureBack)
	var now style
	for i, line := range lines {
		column := 0
		for line != "" {
			at := sgr.FindStringSubmatchIndex(line)
			piece := line
			if at != nil {
				piece = line[:at[0]]
			}
			draw(&b, now, piece, column, i)
			column += len([]rune(piece))
			if at == nil {
				break
			}
			now = now.after(line[at[2]:at[3]])
			line = line[at[1]:]
		}
	}
	return b.String() + "</svg>\n"
}

func draw(b *strings.Builder, s style, piece string, column, line int) {
	text, back := cmp.Or(s.text, pictureText), s.back
	if s.inverted {
		text, back = cmp.Or(s.back, pictureBack), text
	}
	x, y, width := float64(column+1)*cellWidth, line*cellHeight+cellHeight/2, float64(len([]rune(piece)))*cellWidth
	if back != "" && piece != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y, width, cellHeight, back)
	}
	if strings.TrimSpace(piece) == "" {
		return
	}
	weight := ""
	if s.bold {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" fill="%s"%s xml:space="preserve">`, x, y+13, width, text, weight)
	_ = xml.EscapeText(b, []byte(piece)) // a strings.Builder takes everything
	b.WriteString("</text>\n")
}

// after returns the style after a sequence with these parameters.
func (s style) after(parameters string) style {
	p := strings.Split(parameters, ";")
	for i := 0; i < len(p); i++ {
		switch n, _ := strconv.Atoi(p[i]); {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 7:
			s.inverted = true
		case n == 39:
			s.text = ""
		case n == 49:
			s.back = ""
		case (n == 38 || n == 48) && i+4 < len(p) && p[i+1] == "2":
			var c [3]int
			for k := range c {
				c[k], _ = strconv.Atoi(p[i+2+k])
			}
			colour := fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
			if n == 38 {
				s.text = colour
			} else {
				s.back = colour
			}
			i += 4
		}
	}
	return s
}

func TestPictureOfColours(t *testing.T) {
	got := svg("plain\x1b[1;38;2;255;0;16m<b>\x1b[0m\n", 10)
	for _, want := range []string{">plain</text>", `fill="#ff0010" font-weight="bold" xml:space="preserve">&lt;b&gt;</text>`} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture lacks %s:\n%s", want, got)
		}
	}
}
