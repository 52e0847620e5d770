// Package filetest owns writing files for tests.
package filetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Write writes a file and makes missing directories above it. The file has the mode for any
// umask.
func Write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
