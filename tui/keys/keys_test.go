package keys

import (
	"slices"
	"strings"
	"testing"
)

func TestTableIsSound(t *testing.T) {
	type place struct {
		scope Scope
		key   string
	}
	keys, actions := map[place]Action{}, map[Action]bool{}
	for _, b := range table {
		if actions[b.Action] {
			t.Errorf("%s is in the table twice: a key file could not tell which is meant", b.Action)
		}
		actions[b.Action] = true
		if b.Short == "" || b.Long == "" || len(b.Keys) == 0 {
			t.Errorf("%s: a key, a short and a long text are wanted", b.Action)
		}
		for _, key := range b.Keys {
			if key == "d" {
				t.Errorf("%s is on d, which people from elsewhere press to delete", b.Action)
			}
			if other, ok := keys[place{b.Scope, key}]; ok {
				t.Errorf("%s is both %s and %s, on %s", key, other, b.Action, b.Scope)
			}
			keys[place{b.Scope, key}] = b.Action
		}
		if b.Command != "" && !strings.HasPrefix(b.Command, "cronring ") && !strings.HasPrefix(b.Command, "man ") {
			t.Errorf("%s: its command is %q, want one of cronring", b.Action, b.Command)
		}
	}
	for _, b := range table {
		if b.Scope != Subject && b.Scope != List {
			continue
		}
		for _, key := range b.Keys {
			if other, ok := keys[place{Everywhere, key}]; ok {
				t.Errorf("%s is %s, and %s everywhere: that one could not be reached", key, b.Action, other)
			}
		}
	}
}

func TestReadKeyFile(t *testing.T) {
	m, diagnostics := Read("# my keys\n\nrun = ctrl+e\n stop=\nretry = r\n")
	if len(diagnostics) != 0 {
		t.Fatalf("got diagnostics %q, want none", diagnostics)
	}
	for _, tc := range []struct {
		key  string
		want Action
	}{{"ctrl+e", Run}, {"r", Retry}, {"x", ""}, {"p", Pause}} {
		if got, _ := m.Find(tc.key, Subject); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.key, got, tc.want)
		}
	}
	if b, _ := Default().Binding(Run, Subject); !slices.Equal(b.Keys, []string{"r"}) {
		t.Errorf("the table itself was changed: run is on %q", b.Keys)
	}
}

func TestReadKeyFileTellsWhatItLeavesOut(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"run", "line 1: not of the form"},
		{"\nruns-away = r", `line 2: no action is called "runs-away"`},
		{"run = x", "line 1: x is stop already"},
		{"run = ctrl+c", "line 1: ctrl+c is quit already"},
		{"quit = x", "line 1: ctrl+c always ends"},
	} {
		m, diagnostics := Read(tc.text)
		if len(diagnostics) != 1 || !strings.HasPrefix(diagnostics[0], tc.want) {
			t.Errorf("%q: got %q, want %q", tc.text, diagnostics, tc.want)
		}
		if got, _ := m.Find("r", Subject); got != Run {
			t.Errorf("%q: r is %q, want run as before", tc.text, got)
		}
	}
	if _, diagnostics := Read(strings.Repeat("x\n", 1000)); len(diagnostics) != maxDiagnostics {
		t.Errorf("got %d diagnostics on 1000 bad lines, want %d", len(diagnostics), maxDiagnostics)
	}
}
