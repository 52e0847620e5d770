package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/cronring/cronring/daemon/api"
)

func TestExcerptShowsPlace(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tt := range []struct {
		name, line     string
		column, length int
		shown, carets  string
	}{
		{"beginning", "61 * * * * x", 1, 2, "61 * * * * x", "^^"},
		{"length 0 is one caret", "abc", 2, 0, "abc", " ^"},
		{"tabs are blanks", "0\t24 * * * x", 3, 2, "0 24 * * * x", "  ^^"},
		{"wide characters", "日本!", 7, 1, "日本!", "    ^"},
		{"behind the end", "* * *", 6, 1, "* * *", "     ^"},
		{"whole line", "abc", 0, 0, "abc", ""},
		{"byte order mark is not shown", "\ufeff61 x", 1, 2, "61 x", "^^"},
		{"long line is cut between characters", "x" + strings.Repeat("日", 50) + "!" + strings.Repeat("日", 50), 152, 1, "..." + strings.Repeat("日", 20) + "!" + strings.Repeat("日", 20) + "...", strings.Repeat(" ", 43) + "^"},
		{"long line is cut", long + "!" + long, 301, 1, "..." + long[:60] + "!" + long[:59] + "...", strings.Repeat(" ", 63) + "^"},
	} {
		shown, carets := Excerpt(tt.line, tt.column, tt.length)
		if shown != tt.shown || carets != tt.carets {
			t.Errorf("%s: got\n%q\n%q, want\n%q\n%q", tt.name, shown, carets, tt.shown, tt.carets)
		}
	}
	if shown, carets := Excerpt("a\x1b[2J!\xff", 6, 1); strings.Contains(shown, "\x1b") || !strings.HasSuffix(carets, " ^") {
		t.Errorf("control bytes: got %q, %q", shown, carets)
	}
}

// FuzzDiagnostic prints any diagnostic of a hostile daemon on another host.
func FuzzDiagnostic(f *testing.F) {
	f.Add([]byte(`{"file":"/etc/crontab","line":7,"column":3,"severity":"error","code":"bad-minute","message":"61 is not a minute","fix":"write 0 to 59"}`))
	f.Add([]byte(`{"file":"a\nb","line":-1,"severity":"\u001b[31m","code":"\u001b]0;x\u0007","message":"\r"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d api.Diagnostic
		if json.Unmarshal(text, &d) != nil {
			return
		}
		var out bytes.Buffer
		p := Printer{Out: bufio.NewWriter(&out), Color: OneOf("never")}
		p.PrintDiagnostic(d)
		p.Out.Flush()
		if line, ok := bytes.CutSuffix(out.Bytes(), []byte("\n")); !ok || bytes.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%s is printed as %q", text, out.Bytes())
		}
	})
}
