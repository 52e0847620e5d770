package editor

import (
	"testing"

	"github.com/cronring/cronring/crontab"
)

// TestFormCommandAsWritten: the form shows the command as the file has it, for any spacing between
// the fields.
func TestFormCommandAsWritten(t *testing.T) {
	for line, want := range map[string]string{
		"17 *\t* * *\troot    cd / && run  a\tb%in": "cd / && run  a\tb%in",
		" \t-5  4 * * *\troot\trun -n":              "run -n",
		"@daily \troot root":                        "root",
	} {
		file, diagnostics := crontab.Parse("t", line+"\n", crontab.Config{Format: crontab.System})
		if len(file.Entries) != 1 {
			t.Errorf("%q: got no entry: %v", line, diagnostics)
			continue
		}
		if got := commandText(&file.Entries[0]); got != want {
			t.Errorf("%q: got the command %q, want %q", line, got, want)
		}
	}
}
