package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/settings"
)

// maxSettings bounds a file of settings.
const maxSettings = 1 << 20

// ViewFile returns the path of the saved views: $XDG_STATE_HOME/cronring/views.
func ViewFile(env func(string) string) string {
	return filepath.Join(home(env, "XDG_STATE_HOME", filepath.Join(".local", "state")), "cronring", "views")
}

// RecentFile returns the path of the recent commands: $XDG_STATE_HOME/cronring/recent.
func RecentFile(env func(string) string) string {
	return filepath.Join(filepath.Dir(ViewFile(env)), "recent")
}

// HintsFile returns the path of the file that records that the hints for the first start were shown:
// $XDG_STATE_HOME/cronring/hints.
func HintsFile(env func(string) string) string {
	return filepath.Join(filepath.Dir(ViewFile(env)), "hints")
}

// Welcomed reports whether the hints were shown.
func Welcomed(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func home(env func(string) string, name, otherwise string) string {
	if dir := env(name); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(env("HOME"), otherwise)
}

// ReadViews reads the views that were saved. ReadRecent reads the recent commands.
func ReadViews(path string) (views []screen.View, err error) {
	err = readJSON(path, &views)
	return views, err
}
func ReadRecent(path string) (recent []string, err error) {
	err = readJSON(path, &recent)
	return recent, err
}

func readJSON(path string, v any) error {
	text, err := readSettings(path)
	if err != nil || len(text) == 0 {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// writeJSON saves a value in the place of the one before.
func writeJSON(path string, v any) error {
	if path == "" {
		return nil // nothing is kept, as in the demo
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = settings.Replace(path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// readSettings reads a small file; a missing one is empty.
func readSettings(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}
