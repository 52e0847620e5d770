package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPagerIsForLongResults(t *testing.T) {
	for _, c := range []struct {
		lines int
		paged bool
	}{{2, false}, {3, false}, {4, true}, {10_000, true}} {
		dir := t.TempDir()
		var short strings.Builder
		p := &pager{program: "cat >" + filepath.Join(dir, "paged"), to: &short, lines: 3, terminal: os.Stdout, messages: os.Stderr}
		text := strings.Repeat("a line\n", c.lines)
		for half := range strings.SplitAfterSeq(text, "a ") { // in pieces, as it comes
			if _, err := p.Write([]byte(half)); err != nil {
				t.Fatal(err)
			}
		}
		p.close()
		paged, _ := os.ReadFile(filepath.Join(dir, "paged"))
		got, other := short.String(), string(paged)
		if c.paged {
			got, other = other, got
		}
		if got != text || other != "" {
			t.Errorf("%d lines: got %d bytes where they belong and %d elsewhere, want %d and 0", c.lines, len(got), len(other), len(text))
		}
	}
}

func TestPagerThatIsLeftEarlyIsNoTrouble(t *testing.T) {
	p := &pager{program: "true", to: os.Stdout, lines: 1, terminal: os.Stdout, messages: os.Stderr}
	for range 1000 {
		if _, err := p.Write([]byte(strings.Repeat("x\n", 1000))); err != nil {
			break // the pager is gone
		}
	}
	p.close() // comes back
}
