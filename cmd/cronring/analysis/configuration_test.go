package analysis

import (
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

// TestConfigTextsSkipsPipes: a pipe in the place of a configuration file must not block the check of
// the others.
func TestConfigTextsSkipsPipes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "conf.d", "file.toml")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, file, "x", 0o644)
	if err := syscall.Mkfifo(filepath.Join(dir, "cronring.toml"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := ConfigTexts(dir), map[string]string{file: "x"}; !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
