package daemon

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

var update = flag.Bool("update", false, "write the package map in CONTRIBUTING.md")

// The lines of CONTRIBUTING.md around the map.
const (
	mapBegin = "<!-- package map: made from the package comments by \"make map\" -->\n"
	mapEnd   = "<!-- package map: end -->\n"
)

// TestPackageMap compares the package map in CONTRIBUTING.md with the package
// comments. With -update it writes the map.
func TestPackageMap(t *testing.T) {
	const path = "../.github/CONTRIBUTING.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), mapBegin)
	got, after, ended := strings.Cut(rest, mapEnd)
	if !begun || !ended {
		t.Fatalf("%s has no map between %q and %q", path, mapBegin, mapEnd)
	}
	want := packageMap(listPackages(t))
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("%s has the map\n%s\nwant (write it with \"make map\")\n%s", path, got, want)
	}
	filetest.Write(t, path, before+mapBegin+want+mapEnd+after, 0o644)
}

// packageMap lists the packages from the top layer down, so that imports go down
// in it. An empty line separates layers of several packages.
func packageMap(all []pkg) string {
	var b strings.Builder
	b.WriteString("\n```\n")
	for i, row := range slices.Backward(layers) {
		if i < len(layers)-1 && max(len(row), len(layers[i+1])) > 1 {
			b.WriteString("\n")
		}
		for _, path := range row {
			at := slices.IndexFunc(all, func(p pkg) bool { return p.path() == path })
			if at >= 0 {
				b.WriteString(mapLine(path, summary(all[at].Doc)))
			}
		}
	}
	b.WriteString("```\n\n")
	return b.String()
}

// summary returns the purpose of a package: the first sentence of its comment,
// without "Package x owns" and up to a colon.
func summary(doc string) string {
	_, owned, found := strings.Cut(doc, " owns ")
	if !found {
		_, owned, _ = strings.Cut(doc, " is ")
	}
	owned, _, _ = strings.Cut(strings.TrimSuffix(owned, "."), ":")
	return owned
}

// mapLine formats the entry of one package in at most 96 columns.
func mapLine(path, owned string) string {
	const hang = 24
	var b strings.Builder
	line := fmt.Sprintf("%-*s", hang, path)
	for _, word := range strings.Fields(owned) {
		if len(line) > hang && len(line)+1+len(word) > 96 {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", hang)
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

func TestSummary(t *testing.T) {
	for doc, want := range map[string]string{
		"Package job owns the nouns that every other package speaks: job, run.": "the nouns that every other package speaks",
		"Package amount owns how amounts of bytes are said to people.":          "how amounts of bytes are said to people",
		"Command cronringd is the daemon.":                                      "the daemon",
	} {
		if got := summary(doc); got != want {
			t.Errorf("summary(%q) = %q, want %q", doc, got, want)
		}
	}
}
