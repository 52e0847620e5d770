package envfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/daemon/filetest"
)

func TestApply(t *testing.T) {
	for _, tc := range []struct{ text, want, err string }{
		{"A=new\nB=2\n", "A=new HOME=/ B=2", ""},
		{"# comment\n\n  export B='two words'\r\nC=\"\"\n", "A=1 HOME=/ B=two words C=", ""},
		{"B=$HOME # kept\n", "A=1 HOME=/ B=$HOME # kept", ""},
		{"B='\nC='x\"\n", "A=1 HOME=/ B=' C='x\"", ""},
		{"KEPT=no\nCRONRING_JOB=forged\nB=2\n", "A=1 HOME=/ B=2", ""},
		{"A=2\nA=3\n", "A=3 HOME=/", ""},
		{"A=1\nB\n", "", "line 2 is not NAME=value"},
		{"1A=1\n", "", "line 1 is not NAME=value"},
		{"A=\x00\n", "", "line 1 is not NAME=value"},
		{strings.Repeat("#", MaxSize), "A=1 HOME=/", ""},
		{strings.Repeat("#", MaxSize+1), "", "it has more than 65536 bytes"},
	} {
		path := filepath.Join(t.TempDir(), "env")
		filetest.Write(t, path, tc.text, 0o600)
		got, err := Apply([]string{"A=1", "HOME=/"}, path, []string{"KEPT"})
		if tc.err != "" {
			if err == nil || !strings.HasSuffix(err.Error(), tc.err) {
				t.Errorf("%.40q: got error %v, want %q", tc.text, err, tc.err)
			}
			continue
		}
		if s := strings.Join(got, " "); err != nil || s != tc.want {
			t.Errorf("%.40q: got %q, %v; want %q", tc.text, s, err, tc.want)
		}
	}
}

// TestReadTrustsNoOther checks that another user cannot set variables, and that a pipe or device
// does not block.
func TestReadTrustsNoOther(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	filetest.Write(t, path("group"), "A=1\n", 0o620)
	filetest.Write(t, path("others"), "A=1\n", 0o602)
	filetest.Write(t, path("readable"), "A=1\n", 0o644)
	filetest.Write(t, path("strangers"), "A=1\n", 0o600)
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		path("readable"): "", path("group"): "other users can change it (mode 0620)", path("others"): "other users can change it (mode 0602)",
		path("pipe"): "it is not a regular file", "/dev/null": "it is not a regular file", dir: "it is not a regular file", path("none"): "no such file",
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path("strangers"), 54321, 0); err != nil {
			t.Fatal(err)
		}
		cases[path("strangers")] = "it belongs to uid 54321, who can change it: run chown root on it"
	}
	for file, want := range cases {
		env, err := read(file)
		if want == "" {
			if err != nil || !slices.Equal(env, []string{"A=1"}) {
				t.Errorf("%s: got %q, %v", file, env, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), file) {
			t.Errorf("%s: got error %v, want %q and no path, which a user could choose to end a command", file, err, want)
		}
	}
}

// FuzzParse reads any file of variables.
func FuzzParse(f *testing.F) {
	f.Add("# comment\n\n  export B='two words'\r\nC=\"\"\nA=$HOME # kept\n")
	f.Add("KEPT=no\nCRONRING_JOB=forged\nA=1\nA=2")
	f.Add("A='\nB=\"\nexport =\n1A=\nA=\x00")
	f.Fuzz(func(t *testing.T, text string) {
		env, err := parse(text)
		if err != nil {
			if len(env) > 0 || err.Error() != diagnostic.Harmless(err.Error()) {
				t.Errorf("%q: %d variables and %q", text, len(env), err)
			}
			return
		}
		var file strings.Builder
		for _, entry := range env {
			name, value, ok := strings.Cut(entry, "=")
			if !ok || !lex.IsIdentifier(name) || strings.ContainsAny(value, "\x00\n") {
				t.Fatalf("%q is read as %q", text, entry)
			}
			file.WriteString("export " + name + "='" + value + "'\n")
		}
		if file.Len() > len(text)+len("export ''\n")*len(env) {
			t.Errorf("%d bytes are read as %d", len(text), file.Len())
		}
		if again, err := parse(file.String()); err != nil || !slices.Equal(again, env) {
			t.Errorf("read %q, written and read again %q, %v", env, again, err)
		}
		if more, err := parse("# " + strings.TrimLeft(text, "\n")); err != nil || len(more) > len(env) {
			t.Errorf("%q: with the first line as a comment %q, %v", text, more, err)
		}
	})
}
