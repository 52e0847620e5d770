package cli

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
		{FormTable, "JOB   COMMAND\n中文  echo a \\x1b[2J and …\nb     true\n", false},
		{FormWide, "JOB   COMMAND\n中文  echo a \\x1b[2J and more\nb     true\n", false},
		{FormPlain, "JOB\tCOMMAND\n中文\techo a \\x1b[2J and more\nb\ttrue\n", false},
		{FormTable, "\x1b[2mJOB\x1b[0m   \x1b[2mCOMMAND\x1b[0m\n中文  echo a \\x1b[2J and …\nb     true\n", true},
	} {
		var out bytes.Buffer
		a := &App{Printer: Printer{Out: bufio.NewWriter(&out), Width: 26, Color: OneOf("never", "always")}}
		if tc.color {
			a.Color.Value = "always"
		}
		list := &Table{Header: []string{"job", "command"}}
		list.Add("中文", "echo a \x1b[2J and more")
		list.Add("b", "true")
		a.PrintTable(list, &Output{Choice: Choice{Value: tc.form}})
		a.Out.Flush()
		if got := out.String(); got != tc.want {
			t.Errorf("print a table as %s, colour %v: got %q, want %q", tc.form, tc.color, got, tc.want)
		}
	}
}
