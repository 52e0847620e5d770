package main

import (
	"bufio"
	"bytes"
	"testing"
)

func TestPrintTableFitsTerminal(t *testing.T) {
	for _, tc := range []struct {
		form, want string
		color      bool
	}{
		{formTable, "JOB   COMMAND\n中文  echo a \\x1b[2J and …\nb     true\n", false},
		{formWide, "JOB   COMMAND\n中文  echo a \\x1b[2J and more\nb     true\n", false},
		{formPlain, "JOB\tCOMMAND\n中文\techo a \\x1b[2J and more\nb\ttrue\n", false},
		{formTable, "\x1b[2mJOB\x1b[0m   \x1b[2mCOMMAND\x1b[0m\n中文  echo a \\x1b[2J and …\nb     true\n", true},
	} {
		var out bytes.Buffer
		a := &app{printer: printer{out: bufio.NewWriter(&out), width: 26, color: oneOf("never", "always")}}
		if tc.color {
			a.color.word = "always"
		}
		list := &table{header: []string{"job", "command"}}
		list.add("中文", "echo a \x1b[2J and more")
		list.add("b", "true")
		a.printTable(list, &output{choice: choice{word: tc.form}})
		a.out.Flush()
		if got := out.String(); got != tc.want {
			t.Errorf("print a table as %s, colour %v: got %q, want %q", tc.form, tc.color, got, tc.want)
		}
	}
}
