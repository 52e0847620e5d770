package custom

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/keys"
)

// hostile are names that would be syntax if a shell read them as such. Each would print or make
// something else.
var hostile = []string{
	"$(echo pwned)", "`echo pwned`", "'; echo pwned; '", `"; echo pwned; "`, "a b  c", "*", "~", "a\nb", `\`, `'`, `"`, "$HOME", "${HOME}", "a;b", "a|b",
	"a&b", "<a", ">a", "#a", "!a", "{job}", "$CRONRING_VALUE_1", "İ\x1b[2J", "EOF", `'"'"'`,
}

// run runs a command in an empty directory, and returns what it prints.
func run(t *testing.T, p *exec.Cmd) string {
	t.Helper()
	p.Dir = t.TempDir()
	out, err := p.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", p.Args, err, out)
	}
	if left, err := os.ReadDir(p.Dir); err != nil || len(left) > 0 {
		t.Errorf("%q made %v, error %v", p.Args, left, err)
	}
	return string(out)
}

func TestNoNameIsSyntax(t *testing.T) {
	for _, template := range []string{
		"printf '%s.' {job}", "printf %s. ''{job}''", `printf %s. ""{job}`, "x={job}; printf %s. \"$x\"", "x=$(printf %s. {job}); printf %s \"$x\"",
		"f() { printf %s. \"$1\"; }; f {job}", "for i in {job}; do printf %s. \"$i\"; done", `printf "%s." {job} # "`, "printf %s. {job}>&1",
	} {
		c := Command{Run: template}
		if why := c.Check(); why != "" {
			t.Fatalf("%s: %s", template, why)
		}
		for _, name := range hostile {
			v := Values{"job": {name}}
			if got := run(t, c.Process(t.Context(), v, nil)); got != name+"." {
				t.Errorf("%s with %q: got %q", template, name, got)
			}
			if got := run(t, exec.Command("/bin/sh", "-c", c.Text(v))); got != name+"." {
				t.Errorf("%s with %q: its text %s prints %q", template, name, c.Text(v), got)
			}
		}
	}
}

// A template that Check refuses must be harmless nevertheless: its quotes are wrong, not its values.
func TestNoNameIsSyntaxInAHereDocument(t *testing.T) {
	for _, name := range hostile {
		c := Command{Run: "cat <<EOF\n{job}\nEOF\n"}
		if got := run(t, c.Process(t.Context(), Values{"job": {name}}, nil)); got != `"`+name+"\"\n" {
			t.Errorf("%q: got %q", name, got)
		}
	}
}

func TestMarkedJobsAreSeveralWords(t *testing.T) {
	c := Command{Run: "printf '[%s]' {job} {host}"}
	v := Values{"job": {"a b", "$(c)"}, "host": {"db-1"}}
	if got := run(t, c.Process(t.Context(), v, nil)); got != "[a b][$(c)][db-1]" {
		t.Errorf("got %q", got)
	}
	if got, want := c.Text(v), "printf '[%s]' 'a b' '$(c)' db-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheckRefusesTemplates(t *testing.T) {
	for template, want := range map[string]string{
		"":                          "run is missing",
		" \n":                       "run is missing",
		"a\x00b":                    "run is missing",
		`echo "{job}"`:              "remove the quotes around {job}",
		"echo 'x {run} y'":          "remove the quotes around {run}",
		`echo "\"{file}"`:           "remove the quotes around {file}",
		"echo {jobs}":               "unknown placeholder {jobs}: expected {job}",
		`echo \"{job}\"`:            "",
		`echo '\'{job}`:             "",
		"echo ${job} ${job:-x}":     "",
		"awk '{print}' {file}":      "",
		"echo {a,b} {} {1..3} {Job": "",
	} {
		c := Command{Run: template}
		if got := c.Check(); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%q: got %q, want %q", template, got, want)
		}
	}
}

func TestRefusesValues(t *testing.T) {
	for _, tc := range []struct {
		run  string
		v    Values
		want string
	}{
		{"true", nil, ""},
		{"echo {job}", nil, "no job is selected"},
		{"echo {run}", Values{"job": {"a"}}, "no run is selected, and the job never ran"},
		{"echo {job}", Values{"job": {"a", "b"}}, ""},
		{"echo --job={job}", Values{"job": {"a", "b"}}, "one job at a time"},
		{"echo {job}.log", Values{"job": {"a", "b"}}, "one job at a time"},
		{"echo {host}", Values{"host": {"-oProxyCommand=x"}}, "the value of {host} begins with a hyphen, like an option"},
	} {
		c := Command{Run: tc.run}
		if got := c.Refuses(tc.v); got != tc.want {
			t.Errorf("%s with %v: got %q, want %q", tc.run, tc.v, got, tc.want)
		}
	}
}

func TestConflicts(t *testing.T) {
	commands := []Command{
		{Key: "r", Line: 1}, {Key: "c", Line: 2}, {Key: "c", On: keys.Jobs, Line: 3}, {Key: "c", On: keys.Timeline, Line: 4}, {Key: "ctrl+c", Line: 5},
		{Key: "L", Line: 6}, {Key: "L", On: keys.Runs, Line: 7}, {Line: 8}, {Line: 9}, {Key: "B", On: keys.Jobs, Line: 10}, {Key: "B", On: keys.Runs, Line: 11}, {Key: "c", Line: 12},
	}
	want := []string{
		`line 1: the key r is "run" already`, `line 2: the key c is "clashes" on the screen timeline already`, `line 3: the key c is the command of line 2 already`,
		`line 4: the key c is "clashes" on the screen timeline already`, `line 5: the key ctrl+c is "quit" already`,
		"line 7: the key L is the command of line 6 already", `line 12: the key c is "clashes" on the screen timeline already`,
	}
	var got []string
	for _, c := range Conflicts(commands, keys.Default()) {
		got = append(got, fmt.Sprintf("line %d: %s", c.Line, c.Why))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	m, _ := keys.Rebind(map[keys.Action]string{keys.Run: ""})
	if got := Conflicts(commands[:1], m); len(got) > 0 {
		t.Errorf("got %v for a key that was set free", got)
	}
}

// What a command has started ends with it. A process that has an end of the pipe keeps it open.
func TestProcessEndsWithItsChildren(t *testing.T) {
	c := Command{Run: "sleep 1000 & echo started; wait"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := c.Process(ctx, nil, []string{"CRONRING_HOST=db-1"})
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("started\n"))); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if p.Wait() == nil {
		t.Error("got no error of a command that was ended")
	}
	if !slices.Contains(p.Env, "CRONRING_HOST=db-1") {
		t.Error("it does not have the variables that it was given")
	}
}

func TestLastLine(t *testing.T) {
	for _, tc := range []struct{ run, want, err string }{
		{"echo a; echo b", "b", ""},
		{"true", "", ""},
		{"seq 100000", "100000", ""},
		{"echo no route >&2; exit 3", "no route", "no route (exit status 3)"},
		{"exit 4", "", "exit status 4"},
		{"sleep 1000 & echo left", "left", ""},
	} {
		c := Command{Run: tc.run, Output: Message}
		ctx, cancel := context.WithCancel(t.Context())
		got, err := LastLine(c.Process(ctx, nil, nil))
		cancel()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != tc.want || text != tc.err {
			t.Errorf("%s: got %q, %q; want %q, %q", tc.run, got, text, tc.want, tc.err)
		}
	}
}

// FuzzCheck: any template is safe, and its text is what it was without placeholders.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{"echo {job}", `"{run}`, `\{job}`, "${job} '{x}'", "{job}{run}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := Command{Run: text}
		if c.Check() != "" {
			return
		}
		v := Values{}
		for name := range placeholders {
			v[name] = []string{"{" + name + "}"}
		}
		if got := c.fill(v, func(value string) string { return value }); got != text {
			t.Errorf("%q: got %q", text, got)
		}
	})
}
