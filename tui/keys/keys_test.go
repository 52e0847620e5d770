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
			t.Errorf("%s is in the table twice: the settings could not tell which is meant", b.Action)
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

func TestRebind(t *testing.T) {
	m, problems := Rebind(map[Action]string{"run": "ctrl+e", "stop": "", "retry": "r x", "filter": "ö", "sort": "+", "side": "ctrl++"})
	if len(problems) != 0 {
		t.Fatalf("got problems %q, want none", problems)
	}
	for _, tc := range []struct {
		key  string
		want Action
	}{{"ctrl+e", Run}, {"r", Retry}, {"x", Retry}, {"p", Pause}, {"ö", Filter}, {"/", ""}} {
		if got, _ := m.Find(tc.key, Subject, List); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.key, got, tc.want)
		}
	}
	if b, _ := Default().Binding(Run); !slices.Equal(b.Keys, []string{"r"}) {
		t.Errorf("the table itself was changed: run is on %q", b.Keys)
	}
}

// Two actions can swap their keys.
func TestRebindSwapsKeys(t *testing.T) {
	m, problems := Rebind(map[Action]string{"run": "x", "stop": "r"})
	run, _ := m.Find("x", Subject)
	stop, _ := m.Find("r", Subject)
	if len(problems) > 0 || run != Run || stop != Stop {
		t.Errorf("x is %q, r is %q, problems %q", run, stop, problems)
	}
}

func TestRebindReportsWhatCannotBeUsed(t *testing.T) {
	for _, tc := range []struct {
		action Action
		keys   string
		want   string
	}{
		{"runs-away", "r", `no action is called "runs-away"`},
		{"run", "x", "the key x belongs to stop"},
		{"run", "j", "the key j belongs to down"},
		{"times", "r", "the key r belongs to run"},
		{"run", "ctrl+c", "ctrl+c always ends"},
		{"quit", "x", "ctrl+c always ends"},
		{"run", "ctr+e", `"ctr+e" is not a key`},
		{"run", "F2", `"F2" is not a key`},
		{"run", "f99", `"f99" is not a key`},
		{"run", "\x1b", "is not a key"},
	} {
		m, problems := Rebind(map[Action]string{tc.action: tc.keys})
		if len(problems) != 1 || problems[0].Action != tc.action || !strings.HasPrefix(problems[0].Why, tc.want) && !strings.Contains(problems[0].Why, tc.want) {
			t.Errorf("%s = %q: got %q, want %q", tc.action, tc.keys, problems, tc.want)
		}
		if got, _ := m.Find("r", Subject); got != Run {
			t.Errorf("%s = %q: r is %q, want run as before", tc.action, tc.keys, got)
		}
	}
}

// An action that keeps its usual keys takes them from one that was to have them.
func TestRebindOfAChain(t *testing.T) {
	m, problems := Rebind(map[Action]string{"run": "x", "stop": "p"})
	run, _ := m.Find("r", Subject)
	stop, _ := m.Find("x", Subject)
	if len(problems) != 2 || run != Run || stop != Stop {
		t.Errorf("r is %q, x is %q, problems %q", run, stop, problems)
	}
}
