package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// JSON is printed byte for byte into a pipe, and escaped on a terminal.
func TestJSONOnTerminalIsEscaped(t *testing.T) {
	document := map[string]string{"command": "echo \u202egpj.exe\u009b"}
	for _, print := range []func(*app, any) error{(*app).printJSON, (*app).printLine} {
		for _, tty := range []bool{false, true} {
			var out bytes.Buffer
			a := &app{printer: printer{out: bufio.NewWriter(&out), tty: tty}}
			if err := print(a, document); err != nil {
				t.Fatal(err)
			}
			a.out.Flush()
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
