package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cronring/cronring/daemon/atomicfile"
)

// maxSize is the largest accepted size of the file, in bytes.
const maxSize = 64 << 10

// File contains the settings and the file that they were read from. It is immutable: a
// change returns a new File.
type File struct {
	Settings
	Path     string   // empty: changes are not saved
	Problems []string // what is wrong in the file, with lines

	tables map[string]any // the values in the file
	wrong  []problem      // invalid settings
	text   string         // with the changes
	saved  string         // as the file was read or written last
	err    error          // why the file cannot be changed
}

// Path returns the path of the file: $XDG_CONFIG_HOME/cronring/config.toml.
func Path(env func(string) string) string {
	dir := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env("HOME"), ".config")
	}
	return filepath.Join(dir, "cronring", "config.toml")
}

// Open reads a file. If it is missing, all settings have their defaults; an invalid setting
// has its default too. A file that another user owns or can write is not read.
func Open(path string) *File {
	f := &File{Path: path, Settings: Default()}
	if path == "" {
		return f
	}
	text, err := read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.err, f.Problems = err, []string{err.Error()}
		return f
	}
	f.text, f.saved = text, text
	found := inspect(text)
	f.use(found)
	if !valid(text) {
		f.err = errors.New(f.Problems[0])
	}
	if old := filepath.Join(filepath.Dir(path), "keys"); exists(old) {
		f.Problems = append(f.Problems, old+" is no longer read: write its lines below [keys] in config.toml, such as run = \"ctrl+e\"")
	}
	return f
}

// use reads the settings in the text.
func (f *File) use(found *findings) {
	f.Settings, f.Problems, f.tables, f.wrong = found.Settings, found.texts(f.Path), found.tables, found.problems
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func read(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("read settings: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read settings: %w", err)
	}
	if why := refuse(info, os.Geteuid()); why != "" {
		return "", fmt.Errorf("%s is ignored: %s", path, why)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if len(text) > maxSize {
		return "", fmt.Errorf("%s is ignored: it is larger than 64 KiB", path)
	}
	return string(text), nil
}

// refuse returns why a user must not trust a file, or "".
func refuse(info fs.FileInfo, user int) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "it is not a regular file"
	case ok && int(st.Uid) != user && st.Uid != 0:
		return "another user owns it"
	case info.Mode().Perm()&0o022 != 0:
		return "other users can write it (chmod go-w)"
	}
	return ""
}

// Edit changes one setting.
type Edit struct {
	Path  []string // "theme", or "keys" and "run"
	Value string   // as TOML; empty: the default again
}

// IsSet reports whether the file has a value for a setting.
func (f *File) IsSet(path ...string) bool {
	v := f.tables
	for _, name := range path[:len(path)-1] {
		v, _ = v[name].(map[string]any)
	}
	_, ok := v[path[len(path)-1]]
	return ok
}

// IsWrong reports whether a setting is invalid in the file.
func (f *File) IsWrong(path ...string) bool {
	return slices.ContainsFunc(f.wrong, func(p problem) bool { return slices.Equal(p.path, path) })
}

// With returns the file with a change, which Save writes.
func (f *File) With(e Edit) (*File, error) {
	switch {
	case f.err != nil:
		return nil, f.err
	case e.Value == "" && !f.IsSet(e.Path...):
		return f, nil
	}
	next := *f
	next.text = parse(f.text).set(e.Path, e.Value)
	if !isChange(f.text, next.text, e.Path, e.Value) {
		return nil, fmt.Errorf("%s has %s in an unusual form: change it in the file", f.Path, strings.Join(e.Path, "."))
	}
	found := inspect(next.text)
	for _, p := range found.problems {
		if e.Value != "" && p.concerns(e.Path) {
			return nil, errors.New(p.why)
		}
	}
	next.use(found)
	return &next, nil
}

// Save writes the changes, unless the file was changed in between. Comments and the mode
// of the file stay, and after a crash it has the old or the new text.
func (f *File) Save() (*File, error) {
	saved := *f
	saved.saved = f.text
	if f.Path == "" || f.text == f.saved {
		return &saved, nil
	}
	now, err := read(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(filepath.Dir(f.Path), 0o700)
	}
	if err == nil && now != f.saved {
		return nil, fmt.Errorf("%s was changed by another program, and was read again: change the setting once more", f.Path)
	}
	if err == nil {
		err = Replace(f.Path, []byte(f.text))
	}
	if err != nil {
		return nil, fmt.Errorf("the setting is not saved: %w", err)
	}
	return &saved, nil
}

// Replace replaces the content of a file, or creates a file that only its owner can read. A
// symbolic link stays a link.
func Replace(path string, text []byte) error {
	mode := fs.FileMode(0o600)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0) // a file that is write-protected stays as it is
		if err != nil {
			return err
		}
		info, err := f.Stat()
		f.Close()
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
	}
	return atomicfile.Replace(path, mode, text)
}
