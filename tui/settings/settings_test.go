package settings

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const example = `theme = "light"
mouse = false
notify = true

[[host]]
name = "db-1"
address = "ann@db-1.example.org"

[[host]]
name = "web"
`

func TestParseReadsEverySetting(t *testing.T) {
	want := Settings{Theme: "light", Notify: true, Hosts: []Host{{"db-1", "ann@db-1.example.org"}, {"web", "web"}}}
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
