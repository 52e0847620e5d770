package settings

import (
	"slices"
	"strings"
	"testing"
)

func TestAChangeTouchesOnlyItsLines(t *testing.T) {
	for _, tc := range []struct{ text, path, value, want string }{
		{"", "theme", `"dark"`, "theme = \"dark\"\n"},
		{"# mine", "theme", `"dark"`, "# mine\ntheme = \"dark\"\n"},
		{"mouse = true", "theme", `"dark"`, "mouse = true\ntheme = \"dark\"\n"},
		{"theme = \"a\"  # nice\nodd = 1 # unknown\n", "theme", `"dark"`, "theme = \"dark\"  # nice\nodd = 1 # unknown\n"},
		{"\ttheme=\"a # b\"#c\r\nx = 1\r\n", "theme", `"dark"`, "\ttheme=\"dark\"#c\r\nx = 1\r\n"},
		{"\"theme\" = '''\na\n''' # c\nx = 1\n", "theme", `"dark"`, "\"theme\" = \"dark\" # c\nx = 1\n"},
		{"columns = [ # these\n  \"next\", # soon\n  \"last\",\n] # all\nx = 1\n", "columns", `["took"]`, "columns = [\"took\"] # all\nx = 1\n"},
		{"x = \"\"\"\ntheme = 1\n\"\"\"\n", "theme", `"dark"`, "x = \"\"\"\ntheme = 1\n\"\"\"\ntheme = \"dark\"\n"},
		{"[[host]]\nname = \"a\"\n", "theme", `"dark"`, "theme = \"dark\"\n\n[[host]]\nname = \"a\"\n"},
		{"# settings\n\n# my host\n[[host]]\nname = \"a\"\n", "theme", `"dark"`, "# settings\n\ntheme = \"dark\"\n\n# my host\n[[host]]\nname = \"a\"\n"},
		{"x = 1\n\n[[host]]\nname = \"theme\"\ntheme = 2\n", "theme", `"dark"`, "x = 1\ntheme = \"dark\"\n\n[[host]]\nname = \"theme\"\ntheme = 2\n"},
		{"x = 1\n# about the theme\ntheme = \"a\"\n# end\n", "theme", "", "x = 1\n# about the theme\n# end\n"},
		{"x = 1\n", "keys.run", `"e"`, "x = 1\n\n[keys]\nrun = \"e\"\n"},
		{"", "keys.run", `"e"`, "[keys]\nrun = \"e\"\n"},
		{"[keys]\nstop = \"c\" # no\n\n# hosts\n[[host]]\nname = \"a\"\n", "keys.run", `"e"`, "[keys]\nstop = \"c\" # no\nrun = \"e\"\n\n# hosts\n[[host]]\nname = \"a\"\n"},
		{"[keys]\n[[host]]\nname = \"a\"\n", "keys.run", `"e"`, "[keys]\nrun = \"e\"\n[[host]]\nname = \"a\"\n"},
		{"[keys]\n\"run\"= \"r\"\n", "keys.run", `"="`, "[keys]\n\"run\"= \"=\"\n"},
		{"keys.run = \"r\" # here\n", "keys.run", `"#"`, "keys.run = \"#\" # here\n"},
		{"keys.stop = \"c\"\n[[host]]\nname = \"a\"\n", "keys.run", `"e"`, "keys.stop = \"c\"\nkeys.run = \"e\"\n[[host]]\nname = \"a\"\n"},
		{"[keys]\nrun = \"r\"\n", "keys.run", "", "[keys]\n"},
	} {
		path := strings.Split(tc.path, ".")
		got := parse(tc.text).set(path, tc.value)
		if got != tc.want {
			t.Errorf("%q: %s = %s: got %q, want %q", tc.text, tc.path, tc.value, got, tc.want)
		}
		if !isChange(tc.text, got, path, tc.value) {
			t.Errorf("%q: other values have changed", got)
		}
	}
}

// A form that a change could damage is noticed.
func TestAChangeOfAnInlineTableIsRefused(t *testing.T) {
	f := File{Path: "config.toml", text: "keys = { run = \"r\" }\n"}
	if got, err := f.With(KeysTo("run", []string{"ctrl+e"})); err == nil || !strings.Contains(err.Error(), "config.toml has keys.run in an unusual form") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// FuzzSet changes a setting of any valid file. Lines that are not of the setting stay.
func FuzzSet(f *testing.F) {
	f.Add(example, "theme")
	f.Add("x = [\n1, # a\n]\n[keys]\n", "keys.run")
	f.Fuzz(func(t *testing.T, text, name string) {
		path := strings.Split(name, ".")
		if !valid(text) || len(path) > 2 || slices.ContainsFunc(path, func(s string) bool { return !themeName.MatchString(s) }) {
			return
		}
		got := parse(text).set(path, `"value"`)
		if !isChange(text, got, path, `"value"`) {
			return // With refuses it
		}
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "#") && !strings.Contains(text, "\"\"\"") && !strings.Contains(text, "'''") && !strings.Contains(text, "[") && !strings.Contains(got, line) {
				t.Errorf("%q is lost in %q", line, got)
			}
		}
	})
}
