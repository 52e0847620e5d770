package settings

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
)

const example = `theme = "night"
mouse = false
notify = true
hints = false
bell = true
times = "absolute"
zone = "utc"
clock = "12h"
refresh = "5s"
columns = ["next", "command:40"]

[keys]
run = "ctrl+e"
mark = "space m"

[themes.night]
base = "dark"
failed = "#ff8800"
late = "bright-yellow"
off = 244

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

func TestEverySettingIsRead(t *testing.T) {
	bindings, _ := keys.Rebind(map[keys.Action]string{keys.Run: "ctrl+e", keys.Mark: "space m"})
	want := Settings{
		Theme: "night", Notify: true, Bell: true, Times: "absolute", Zone: "utc", Clock: "12h", Refresh: 5 * time.Second,
		Columns: []Column{{"next", 0}, {"command", 40}}, Keys: bindings,
		Custom: map[string]Theme{"night": {Base: "dark", Colors: map[canvas.Role]string{canvas.Bad: "#ff8800", canvas.Doubt: "11", canvas.Off: "244"}}},
		Hosts:  []Host{{"db-1", "ann@db-1.example.org"}, {"web", "web"}},
		Commands: []custom.Command{
			{Name: "journalctl -g {job}", Key: "L", Run: "journalctl -g {job}", Output: custom.Pane, Line: 29},
			{Name: "open a ticket", Key: "T", On: keys.Jobs, Run: "ticket --title {job}", Confirm: true, Output: custom.Message, Line: 33},
		},
	}
	if got := inspect(example); len(got.problems) > 0 || !reflect.DeepEqual(got.Settings, want) {
		t.Errorf("%+v %v, want %+v", got.Settings, got.problems, want)
	}
}

// What is wrong is reported with its line and with what to write; everything else is used.
func TestInvalidSettingsAreReportedWithTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"colour = 1":                                        `line 2: unknown setting "colour": expected theme, times, `,
		"theme = \"pink\"":                                  `line 2: invalid theme: expected "ansi", "dark", "light" or "cvd"`,
		"mouse = 3":                                         "line 2: invalid mouse: expected true or false",
		"bell = \"yes\"":                                    "line 2: invalid bell: expected true or false",
		"times = \"short\"":                                 `line 2: invalid times: expected "relative" or "absolute"`,
		"zone = 1":                                          `line 2: invalid zone: expected "local", "job" or "utc"`,
		"clock = 12":                                        `line 2: invalid clock: expected "24h" or "12h"`,
		"refresh = \"1ms\"":                                 `line 2: invalid refresh: expected a time from "1s" to "1m"`,
		"refresh = 5":                                       `line 2: invalid refresh: expected a time from "1s" to "1m"`,
		"columns = \"next\"":                                `line 2: invalid columns: expected a list like ["next"`,
		"columns = [\n\"next\",\n\"size\"]":                 `line 2: invalid columns: no column is called "size": expected schedule, next, `,
		"columns = [\"next:1\"]":                            `line 2: invalid columns: width of "next": expected 3 to 200`,
		"columns = [\"next\", \"next:9\"]":                  `line 2: invalid columns: the column "next" is there twice`,
		"keys = 1":                                          "line 2: invalid keys: expected [keys], ",
		"[keys]\nstop = 1":                                  `line 3: invalid keys of stop: expected a text like "ctrl+e"`,
		"[keys]\n\nrun-away = \"r\"":                        `line 4: no action is called "run-away"`,
		"[keys]\nsort = \"S\"\nrun = \"x\"\n":               "line 3: the key S belongs to reverse",
		"[keys]\nrun = \"ctr+e\"":                           `line 3: "ctr+e" is not a key: expected a character, or a name such as ctrl+e`,
		"[themes.night]\nfailed = \"rod\"":                  "line 3: invalid colour of failed: expected \"#rrggbb\"",
		"[themes.night]\nfailed = 256":                      "line 3: invalid colour of failed",
		"[themes.night]\nwrong = \"red\"":                   `line 3: unknown colour "wrong": expected base, failed, late, `,
		"[themes.night]\nbase = \"day\"":                    `line 3: invalid base: expected "ansi", "dark"`,
		"[themes.dark]\nok = \"green\"":                     `line 2: the theme "dark" exists: expected another name`,
		"command = \"x\"":                                   "line 2: invalid command",
		"themes = 1":                                        "line 2: invalid themes: expected a header like [themes.night]",
		"[[host]]\nname = \"-oProxyCommand\"":               "line 2: [[host]] number 1",
		"# theme = 1\nx = [\n'''theme = 2\n''']\ntheme = 3": "line 6: invalid theme",
	} {
		f := inspect("notify = true\n" + text)
		var got string
		for _, line := range f.texts("config.toml") {
			got += line + "\n"
		}
		if !strings.Contains(got, "config.toml: "+want) || !f.Notify {
			t.Errorf("%q: notify %v, got %q, want %q", text, f.Notify, got, want)
		}
	}
	if f := inspect("mouse = true\nx = \n"); len(f.problems) != 1 || f.problems[0].line != 2 {
		t.Errorf("syntax: %+v", f.problems)
	}
}

// Each invalid command is reported with its own line, and the valid ones stay.
func TestTheLineOfAnInvalidCommandIsReported(t *testing.T) {
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
	f := inspect(text)
	got := f.texts("x")
	if len(f.Commands) != 1 || len(got) != len(want) {
		t.Fatalf("got %+v and %q, want %d problems", f.Commands, got, len(want))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], "x: "+want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

// A command whose key an action gets is reported.
func TestAKeyOfACommandThatIsTakenIsReported(t *testing.T) {
	f := inspect("[[command]]\nkey = \"L\"\nrun = \"true\"\n[keys]\nrun = \"L\"\n")
	if got := f.texts("x"); len(got) != 1 || got[0] != `x: line 1: the key L is "run" already` {
		t.Errorf("got %q", got)
	}
}

// An invalid key does not take the others away, and an invalid colour not the theme.
func TestPartsOfATableThatAreValidAreUsed(t *testing.T) {
	f := inspect("theme = \"night\"\n[keys]\nrun = \"ctrl+e\"\nstop = \"q\"\n[themes.night]\nok = \"green\"\nlate = \"\"\n")
	run, _ := f.Keys.Find("ctrl+e", keys.Subject)
	stop, _ := f.Keys.Find("x", keys.Subject)
	if len(f.problems) != 2 || run != keys.Run || stop != keys.Stop {
		t.Errorf("ctrl+e is %q, x is %q, problems %v", run, stop, f.problems)
	}
	if f.Theme != "night" || f.Custom["night"].Colors[canvas.Good] != "2" {
		t.Errorf("theme %q of %v", f.Theme, f.Custom)
	}
}

// A theme can change the colour of everything that has one.
func TestEveryRoleHasAName(t *testing.T) {
	if got, want := len(roles), int(canvas.Roles)-1; got != want {
		t.Errorf("%d roles have names, want %d", got, want)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add(example)
	f.Fuzz(func(_ *testing.T, text string) { inspect(text) })
}
