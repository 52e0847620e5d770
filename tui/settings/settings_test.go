package settings

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
)

const example = `theme = "light"
mouse = false
notify = true
hints = false

[[host]]
name = "db-1"
address = "ann@db-1.example.org"

[[host]]
name = "web"

[[command]]
key = "L"
run = "journalctl -g {job}"

[[command]]
name = "open a ticket"
key = "T"
on = "jobs"
run = "ticket --title {job}"
confirm = true
output = "message"
`

func TestParseReadsEverySetting(t *testing.T) {
	want := Settings{Theme: "light", Notify: true, Hosts: []Host{{"db-1", "ann@db-1.example.org"}, {"web", "web"}}, Commands: []custom.Command{
		{Name: "journalctl -g {job}", Key: "L", Run: "journalctl -g {job}", Output: custom.Pane, Line: 13},
		{Name: "open a ticket", Key: "T", On: keys.Jobs, Run: "ticket --title {job}", Confirm: true, Output: custom.Message, Line: 17},
	}}
	if got, errs := Parse(example); len(errs) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %q, want %+v", got, errs, want)
	}
}

func TestParseReportsTheLineAndKeepsTheRest(t *testing.T) {
	for text, want := range map[string]string{
		"notify = true\ncolour = 1\n":                        `line 2: unknown setting "colour"`,
		"notify = true\ntheme = \"pink\"\n":                  "line 2: invalid theme",
		"notify = true\nmouse = 3\n":                         "line 2: invalid mouse",
		"notify = true\n[[host]]\nname = \"-oProxyCommand\"": "line 2: [[host]] number 1",
	} {
		s, errs := Parse(text)
		if len(errs) != 1 || !strings.HasPrefix(errs[0], want) || !s.Notify || len(s.Hosts) > 0 {
			t.Errorf("%q: %+v %q, want %q", text, s, errs, want)
		}
	}
	if _, errs := Parse("mouse = true\nx = \n"); len(errs) != 1 || !strings.HasPrefix(errs[0], "line 2: ") {
		t.Errorf("syntax: %q", errs)
	}
}

// Each invalid command is reported with its own line, and the valid ones stay.
func TestParseReportsTheLineOfACommand(t *testing.T) {
	text := "# [[command]]\n[[command]]\nrun = \"true\"\n\n"
	for _, table := range []string{
		`key = "L"`, `run = 3`, `run = "echo '{job}'"`, `run = "echo {jobs}"`, "run = \"true\"\non = \"nowhere\"", "run = \"true\"\noutput = \"printer\"",
		"run = \"true\"\nconfirm = \"yes\"", "run = \"true\"\ncolor = 1", "run = \"true\"\nkey = \"g g\"",
	} {
		text += "[[command]]\n" + table + "\n"
	}
	want := []string{
		"line 5: run is missing", "line 7: invalid run: expected text", "line 9: remove the quotes around {job}", "line 11: unknown placeholder {jobs}",
		`line 13: unknown screen "nowhere": expected jobs, job,`, `line 16: invalid output "printer": expected pane, terminal, message`,
		"line 19: invalid confirm: expected true or false", `line 22: unknown key "color"`, `line 25: invalid key "g g"`,
	}
	s, got := Parse(text)
	if len(s.Commands) != 1 || len(got) != len(want) {
		t.Fatalf("got %+v and %q, want %d diagnostics", s.Commands, got, len(want))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
	if _, got := Parse("theme = \"dark\"\ncommand = \"x\""); len(got) != 1 || !strings.HasPrefix(got[0], "line 2: invalid command") {
		t.Errorf("got %q", got)
	}
}

func TestLoadRefusesAFileThatOthersCanWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if _, errs := Load(path); errs != nil {
		t.Errorf("missing: %q", errs)
	}
	if err := os.WriteFile(path, []byte("notify = true"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, errs := Load(path); !s.Notify || errs != nil {
		t.Errorf("own: %+v %q", s, errs)
	}
	if err := os.Chmod(path, 0o622); err != nil {
		t.Fatal(err)
	}
	if s, errs := Load(path); s.Notify || len(errs) != 1 || !strings.Contains(errs[0], "other users can write it") {
		t.Errorf("writable: %+v %q", s, errs)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Fuzz(func(_ *testing.T, text string) { Parse(text) })
}
