package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMatch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a]*")
	if got := Match(dir, "*.db"); len(got) > 0 {
		t.Errorf("a missing directory has %q", got)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.db", "a.db", "a.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := Match(dir, "*.db"), []string{filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
