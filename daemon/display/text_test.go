package display

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanerKeepsTextOnly(t *testing.T) {
	for _, tc := range []struct {
		in, mono, color string
	}{
		{"plain\ttab\n", "plain\ttab\n", "plain\ttab\n"},
		{"no newline", "no newline\n", "no newline\n"},
		{"\x1b[31mred\x1b[0m\n", "red\n", "\x1b[31mred\x1b[0m\x1b[0m\n"},
		{"\x1b[38;5;9mred\n", "red\n", "\x1b[38;5;9mred\x1b[0m\n"},
		{"\x1b[?1mhidden\n", "hidden\n", "hidden\n"},
		{"a\x1b[2Jb\x1b[10;10Hc\n", "abc\n", "abc\n"},
		{"a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c\n", "abc\n", "abc\n"},
		{"a\x1bP unfinished\nb\n", "a\nb\n", "a\nb\n"},
		{"a\x1b(Bb\x1bcc\x1b\n", "abc\n", "abc\n"},
		{"a\u009b31mb\x9bc\n", "a31mb\ufffdc\n", "a31mb\ufffdc\n"},
		{"a\u202eb\x00\x07\x08c\n", "abc\n", "abc\n"},
		{"10%\r20%\r30%\n", "30%\n", "30%\n"},
		{"dos\r\nline\r\n", "dos\nline\n", "dos\nline\n"},
		{"ünï \u4e2d\n", "ünï \u4e2d\n", "ünï \u4e2d\n"},
	} {
		for _, color := range []bool{false, true} {
			want := tc.mono
			if color {
				want = tc.color
			}
			for _, size := range []int{1, 3, len(tc.in)} {
				if got := cleaned(tc.in, color, size); got != want {
					t.Errorf("clean %q, color %v, in pieces of %d: got %q, want %q", tc.in, color, size, got, want)
				}
			}
		}
	}
}

// cleaned passes text through a Lines in pieces.
func cleaned(text string, color bool, size int) string {
	var out bytes.Buffer
	c := &Lines{W: &out, Color: color}
	for len(text) > 0 {
		n := min(size, len(text))
		c.Write([]byte(text[:n]))
		text = text[n:]
	}
	c.Close()
	return out.String()
}

// JSON on a terminal has no characters that reorder it, and is the same document.
func TestJSONIsEscaped(t *testing.T) {
	for _, text := range []string{
		"plain", "ünï 中\t\n", "a\u202eb", "\u2066x\u2069", "\u0085\u009b31m", "\u2028\u2029\u200b\ufeff", "\U000e0001\U000e0041", "\x7f\x1b[2J\x00", "\\u202e",
	} {
		var out bytes.Buffer
		enc := json.NewEncoder(JSON{&out})
		enc.SetIndent("", "  ")
		if err := enc.Encode(map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		for _, r := range out.String() {
			if r != '\n' && (hidden(r) || r == 0x7f) {
				t.Errorf("%q is printed with %U: %q", text, r, out.String())
			}
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back[text] != text {
			t.Errorf("%q comes back as %q, %v", text, back, err)
		}
	}
}

func TestCleanerCutsLongLine(t *testing.T) {
	got := cleaned(strings.Repeat("x", 3*MaxLine)+"\nnext\n", false, 1000)
	want := strings.Repeat("x", MaxLine) + " [line cut]\nnext\n"
	if got != want {
		t.Errorf("clean a line of %d bytes: got %d bytes, want %d", 3*MaxLine, len(got), len(want))
	}
}

func TestCleanCellShowsControls(t *testing.T) {
	got := Text("a\x1b[2Jb\tc\nd\u202ee\xff\u0085ü")
	if want := `a\x1b[2Jb\x09c\x0ad\u202ee\xff\u0085ü`; got != want {
		t.Errorf("clean a cell: got %q, want %q", got, want)
	}
}

// FuzzCleaner checks that the result contains only text, tabs, newlines and colours, and does not
// depend on how the output is divided into chunks.
func FuzzCleaner(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b]0;t\x07\r\n\xff\u009b"), true, byte(3))
	f.Fuzz(func(t *testing.T, text []byte, color bool, size byte) {
		got := cleaned(string(text), color, max(int(size), 1))
		if whole := cleaned(string(text), color, max(len(text), 1)); got != whole {
			t.Errorf("clean %q: got %q in pieces of %d, want %q", text, got, size, whole)
		}
		for i := 0; i < len(got); {
			if got[i] == 0x1b && color {
				if n, sgr := escapeLen([]byte(got[i:min(i+MaxLine, len(got))])); sgr {
					i += n
					continue
				}
			}
			r, n := utf8.DecodeRuneInString(got[i:])
			if r != '\n' && r != '\t' && hidden(r) {
				t.Fatalf("clean %q: got %q, with %U in it", text, got, r)
			}
			i += n
		}
		cell := Text(string(text))
		if strings.ContainsFunc(cell, hidden) || !utf8.ValidString(cell) {
			t.Errorf("clean cell %q: got %q", text, cell)
		}
	})
}

// What goes to a clipboard is pasted into a shell: it has no control character
// but the ends of its lines.
func TestParagraphsKeepsLinesAlone(t *testing.T) {
	in, want := "a\x1b[201~b\rc\n\u202ed\te\n", "a\\x1b[201~b\\x0dc\n\\u202ed\\x09e\n"
	if got := Paragraphs(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
