package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// maxSettings bounds a file of settings.
const maxSettings = 1 << 20

// KeyFile returns the path of the user's key file: $XDG_CONFIG_HOME/cronring/keys.
func KeyFile(env func(string) string) string {
	return filepath.Join(home(env, "XDG_CONFIG_HOME", ".config"), "cronring", "keys")
}

// ViewFile returns the path of the saved views: $XDG_STATE_HOME/cronring/views.
func ViewFile(env func(string) string) string {
	return filepath.Join(home(env, "XDG_STATE_HOME", filepath.Join(".local", "state")), "cronring", "views")
}

func home(env func(string) string, name, otherwise string) string {
	if dir := env(name); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(env("HOME"), otherwise)
}

// ReadKeys reads a key file. A missing file changes nothing. It also returns the
// errors in the file.
func ReadKeys(path string) (*keys.Map, []string) {
	text, err := readSettings(path)
	if err != nil {
		return keys.Default(), []string{err.Error()}
	}
	return keys.Read(string(text))
}

// ReadViews reads the views that were saved.
func ReadViews(path string) ([]screen.View, error) {
	text, err := readSettings(path)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	var views []screen.View
	if err := json.Unmarshal(text, &views); err != nil {
		return nil, fmt.Errorf("read views of %s: %w", path, err)
	}
	return views, nil
}

// writeViews saves views in the place of those before.
func writeViews(path string, views []screen.View) error {
	text, err := json.MarshalIndent(views, "", "  ")
	if err != nil {
		return fmt.Errorf("write views: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write views: %w", err)
	}
	beside, err := os.CreateTemp(filepath.Dir(path), ".views-")
	if err != nil {
		return fmt.Errorf("write views: %w", err)
	}
	defer os.Remove(beside.Name()) // fails when all went well: it has its name then
	_, err = beside.Write(append(text, '\n'))
	if e := beside.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(beside.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write views: %w", err)
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
