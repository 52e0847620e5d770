package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/tui/keys"
)

// scopeTitles are the titles of the scopes on the manual page, in its order.
var scopeTitles = []struct {
	scope keys.Scope
	title string
}{
	{keys.Subject, "On a job or run"}, {keys.List, "In lists and texts"}, {keys.Jobs, "On the jobs"}, {keys.Detail, "On one job"},
	{keys.Runs, "On the runs"}, {keys.Timeline, "On the time line"}, {keys.Ring, "On the ring"}, {keys.Files, "On the files"},
	{keys.Editor, "In the editor"}, {keys.Output, "In output"}, {keys.Why, "In an explanation"}, {keys.DST, "On changes of the clocks"},
	{keys.Incident, "On failures"}, {keys.Stats, "On statistics"}, {keys.Options, "On settings"}, {keys.Everywhere, "Everywhere"},
}

// TestManKeys holds the keys of the manual page to those of the dashboard; with
// UPDATE_SCRIPTS=1 it writes them again.
func TestManKeys(t *testing.T) {
	page := readPage(t, "../../man/cronring-dashboard.7")
	before, rest, found := strings.Cut(page, ".Ss Keys\n")
	_, after, ended := strings.Cut(rest, ".Ss Keys of your own\n")
	if !found || !ended {
		t.Fatal("man/cronring-dashboard.7 has no sections Keys and Keys of your own")
	}
	want := ".Ss Keys\n" + manKeys() + ".Ss Keys of your own\n"
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		filetest.Write(t, "../../man/cronring-dashboard.7", before+want+after, 0o644)
		return
	}
	got := ".Ss Keys\n" + strings.TrimSuffix(rest, after)
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("keys of the dashboard and of man/cronring-dashboard.7 differ (-table +page; UPDATE_SCRIPTS=1 writes them anew):\n%s", diff)
	}
}

// manKeys writes the table of keys as a manual page has it.
func manKeys() string {
	var b strings.Builder
	m := keys.Default()
	for _, s := range scopeTitles {
		bindings := m.Of(s.scope)
		if len(bindings) == 0 {
			continue
		}
		b.WriteString(s.title + ":\n.Bl -tag -width Ds -compact\n")
		for _, key := range bindings {
			b.WriteString(".It Ic " + manWords(key.Keys) + " Pq Li " + string(key.Action) + "\n" + upperFirst(key.Long) + ".\n")
			if key.Command != "" {
				b.WriteString("As\n.Li " + key.Command + " .\n")
			}
		}
		b.WriteString(".El\n.Pp\n")
	}
	return strings.TrimSuffix(b.String(), ".Pp\n")
}

// manWords are words that a macro could read as another macro or as punctuation.
func manWords(words []string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = `\&` + strings.ReplaceAll(word, "-", `\-`)
	}
	return strings.Join(all, " , ")
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// TestKeysNameCommandsThatExist checks that all commands in the dashboard's texts exist.
func TestKeysNameCommandsThatExist(t *testing.T) {
	root := tree(t)
	for _, b := range keys.Default().Of(allScopes()...) {
		words := strings.Fields(b.Command)
		if len(words) < 2 || words[0] != "cronring" {
			continue
		}
		c, rest, err := root.Find(words[1:])
		if err != nil || c == root {
			t.Errorf("%s: %q is no command", b.Action, b.Command)
			continue
		}
		for _, word := range rest {
			if name, ok := strings.CutPrefix(word, "--"); ok && c.Flags().Lookup(name) == nil {
				t.Errorf("%s: %q has no such flag as %s", b.Action, b.Command, word)
			}
		}
	}
}

func allScopes() []keys.Scope {
	scopes := make([]keys.Scope, len(scopeTitles))
	for i, s := range scopeTitles {
		scopes[i] = s.scope
	}
	return scopes
}
