package daemon

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the map of the rooms in README.md anew")

// What stands in the README around the map.
const (
	roomsBegin = "<!-- rooms: made of the package comments by \"make rooms\" -->\n"
	roomsEnd   = "<!-- rooms: end -->\n"
)

// TestRoomsInReadme holds the README's map of the rooms to the signs on their
// doors. With -update it writes the map.
func TestRoomsInReadme(t *testing.T) {
	const path = "../README.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), roomsBegin)
	got, after, ended := strings.Cut(rest, roomsEnd)
	if !begun || !ended {
		t.Fatalf("README.md has no place for the map between %q and %q", roomsBegin, roomsEnd)
	}
	want := rooms(listPackages(t))
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("README.md has the map\n%s\nwant (write it with \"make rooms\")\n%s", got, want)
	}
	if err := os.WriteFile(path, []byte(before+roomsBegin+want+roomsEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// rooms draws the house from the roof down, so that imports go down in it. Rooms
// of one row, which do not import each other, stand together.
func rooms(all []pkg) string {
	var b strings.Builder
	b.WriteString("\n```\n")
	for i, row := range slices.Backward(layers) {
		if i < len(layers)-1 && max(len(row), len(layers[i+1])) > 1 {
			b.WriteString("\n")
		}
		for _, path := range row {
			at := slices.IndexFunc(all, func(p pkg) bool { return p.path() == path })
			if at >= 0 {
				b.WriteString(door(path, sign(all[at].Doc)))
			}
		}
	}
	b.WriteString("```\n\n")
	return b.String()
}

// sign is what a package comment says that its package owns: its first sentence
// up to the colon behind which the details are.
func sign(doc string) string {
	_, owned, found := strings.Cut(doc, " owns ")
	if !found {
		_, owned, _ = strings.Cut(doc, " is ")
	}
	owned, _, _ = strings.Cut(strings.TrimSuffix(owned, "."), ":")
	return owned
}

// door is one room in at most 96 columns.
func door(path, owned string) string {
	const hang = 20
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

func TestSignOfADoor(t *testing.T) {
	for doc, want := range map[string]string{
		"Package job owns the nouns that every other package speaks: job, run.": "the nouns that every other package speaks",
		"Package amount owns how amounts of bytes are said to people.":          "how amounts of bytes are said to people",
		"Command cronringd is the daemon.":                                      "the daemon",
	} {
		if got := sign(doc); got != want {
			t.Errorf("sign(%q) = %q, want %q", doc, got, want)
		}
	}
}
