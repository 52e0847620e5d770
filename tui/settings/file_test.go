package settings

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

func TestOpenRefusesAFileThatOthersCanWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if f := Open(path); f.Problems != nil {
		t.Errorf("missing: %q", f.Problems)
	}
	filetest.Write(t, path, "notify = true", 0o600)
	if f := Open(path); !f.Notify || f.Problems != nil {
		t.Errorf("own: %+v", f)
	}
	filetest.Write(t, path, "notify = true", 0o622)
	f := Open(path)
	if f.Notify || len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "other users can write it") {
		t.Errorf("writable: %+v", f)
	}
	if _, err := f.With(Options[0].To("dark")); err == nil {
		t.Error("a file that is not trusted can be changed")
	}
}

func TestOpenSaysThatTheKeyFileIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	filetest.Write(t, filepath.Join(filepath.Dir(path), "keys"), "run = e\n", 0o600)
	if f := Open(path); len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "below [keys] in config.toml") {
		t.Errorf("got %q", f.Problems)
	}
}

// option returns the option of a name.
func option(t *testing.T, name string) *Option {
	t.Helper()
	for i := range Options {
		if Options[i].Name == name {
			return &Options[i]
		}
	}
	t.Fatalf("no option is called %q", name)
	return nil
}

// Each option has the value that was typed, after the file was written and read again.
func TestEveryOptionIsSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config.toml")
	f := Open(path)
	typed := map[string]string{"columns": "next command:40", "refresh": "5s"}
	for i := range Options {
		o := &Options[i]
		want := typed[o.Name]
		if o.Choices != nil {
			for _, want = range o.Choices(&f.Settings) {
				if want != o.Text(&f.Settings) {
					break
				}
			}
		}
		next, err := f.With(o.To(want))
		if err == nil {
			f, err = next.Save()
		}
		if got := o.Text(&Open(path).Settings); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", o.Name, got, err, want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of a new file: %v, %v", info, err)
	}
	for i := range Options {
		next, err := f.With(Options[i].To(""))
		if err != nil {
			t.Fatal(err)
		}
		if f, err = next.Save(); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := os.ReadFile(path); string(text) != "" {
		t.Errorf("with the usual values again: %q", text)
	}
}

func TestSaveKeepsTheModeAndASymbolicLink(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "config.toml"), filepath.Join(dir, "dotfiles.toml")
	filetest.Write(t, target, "# mine\nodd = 1\n", 0o640)
	if err := os.Symlink("dotfiles.toml", path); err != nil {
		t.Fatal(err)
	}
	next, err := Open(path).With(option(t, "theme").To("dark"))
	if err == nil {
		_, err = next.Save()
	}
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(target)
	if text, _ := os.ReadFile(target); string(text) != "# mine\nodd = 1\ntheme = \"dark\"\n" || err != nil || info.Mode() != 0o640 {
		t.Errorf("got %q, %v, %v", text, info, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("files are left: %v", files)
	}
}

func TestSaveRefusesAFileThatWasEditedInBetween(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for _, before := range []string{"", "mouse = true\n"} {
		if before != "" {
			filetest.Write(t, path, before, 0o600)
		}
		next, err := Open(path).With(option(t, "theme").To("dark"))
		if err != nil {
			t.Fatal(err)
		}
		filetest.Write(t, path, "mouse = false\n", 0o600)
		if _, err := next.Save(); err == nil || !strings.Contains(err.Error(), "was changed by another program") {
			t.Errorf("%q: got %v", before, err)
		}
		if text, _ := os.ReadFile(path); string(text) != "mouse = false\n" {
			t.Errorf("%q: got the text %q", before, text)
		}
	}
	next, err := Open(path).With(option(t, "theme").To("dark"))
	if err != nil || os.Remove(path) != nil {
		t.Fatal(err)
	}
	if _, err := next.Save(); err == nil {
		t.Error("a file that was removed is there again")
	}
}

// The directory of the settings cannot be made where a file has its name.
func TestSaveReportsADirectoryThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "file"), "", 0o600)
	next, err := Open("").With(option(t, "theme").To("dark"))
	if err != nil {
		t.Fatal(err)
	}
	next.Path = filepath.Join(dir, "file", "config.toml")
	if _, err := next.Save(); err == nil || !strings.Contains(err.Error(), "the setting is not saved: ") {
		t.Errorf("got %v", err)
	}
}

func TestInvalidChangesAreRefused(t *testing.T) {
	f := Open("")
	for _, e := range []Edit{option(t, "refresh").To("2h"), option(t, "columns").To("next size"), KeysTo("run", []string{"x"}), KeysTo("quit", nil)} {
		if next, err := f.With(e); err == nil {
			t.Errorf("%+v: got %+v", e, next.Settings)
		}
	}
	broken := filepath.Join(t.TempDir(), "config.toml")
	filetest.Write(t, broken, "theme = \n", 0o600)
	if _, err := Open(broken).With(option(t, "mouse").To("false")); err == nil || !strings.Contains(err.Error(), "line 1: ") {
		t.Errorf("a broken file: got %v", err)
	}
}
