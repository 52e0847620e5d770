package cli

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// JSON is printed byte for byte into a pipe, and escaped on a terminal.
func TestJSONOnTerminalIsEscaped(t *testing.T) {
	document := map[string]string{"command": "echo \u202egpj.exe\u009b"}
	for _, print := range []func(*App, any) error{(*App).PrintJSON, (*App).PrintLine} {
		for _, tty := range []bool{false, true} {
			var out bytes.Buffer
			a := &App{Printer: Printer{Out: bufio.NewWriter(&out), Terminal: tty}}
			if err := print(a, document); err != nil {
				t.Fatal(err)
			}
			a.Out.Flush()
			want := "\u202egpj.exe\u009b"
			if tty {
				want = `\u202egpj.exe\u009b`
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("on a terminal %t: %q, want %q in it", tty, out.String(), want)
			}
		}
	}
}
