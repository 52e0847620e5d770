package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/settings"
)

// StateDir returns the directory of what is kept for the next dashboard: $XDG_STATE_HOME/cronring.
func StateDir(env func(string) string) string {
	dir := env("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env("HOME"), ".local", "state")
	}
	return filepath.Join(dir, "cronring")
}

// The files in that directory: the saved views, the recent commands, and one that records that the
// hints for the first start were shown.
const (
	viewsFile  = "views"
	recentFile = "recent"
	hintsFile  = "hints"
)

// Welcomed reports whether the hints were shown.
func Welcomed(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, hintsFile))
	return err == nil && dir != ""
}

// ReadViews reads the views that were saved. ReadRecent reads the recent commands.
func ReadViews(dir string) (views []screen.View, err error) {
	err = readJSON(dir, viewsFile, &views)
	return views, err
}

func ReadRecent(dir string) (recent []string, err error) {
	err = readJSON(dir, recentFile, &recent)
	return recent, err
}

// largest is the maximum size of such a file, in bytes.
const largest = 1 << 20

func readJSON(dir, name string, v any) error {
	path := filepath.Join(dir, name)
	text, err := atomicfile.ReadRegular(path, largest)
	if dir == "" || errors.Is(err, fs.ErrNotExist) || err == nil && text == "" {
		return nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// writeJSON saves a value in the place of the one before.
func writeJSON(dir, name string, v any) error {
	if dir == "" {
		return nil // nothing is kept, as in the demo
	}
	path := filepath.Join(dir, name)
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = settings.Replace(path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
