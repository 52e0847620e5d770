package main

import (
	"bytes"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cronring": main, "crontab": main})
}

// TestScript runs the scripts of testdata/script that need no daemon. With
// UPDATE_SCRIPTS=1 the golden files in them are written again.
func TestScript(t *testing.T) {
	names, err := filepath.Glob("../../testdata/script/offline_*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("find scripts: got %d, %v", len(names), err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:         names,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "ME="+me.Username, "TZ=UTC", "NO_COLOR=", "LANG=C.UTF-8", "CRONRING_SOCKET="+filepath.Join(e.WorkDir, "none.sock"))
			return nil
		},
	})
}

// Called runs one command line in this process. Its stdout is a file, like piped output.
func Called(t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	messages, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Close()
	code = runApp(cli.New(strings.NewReader(stdin), out, messages), args)
	return clitest.Contents(t, out), clitest.Contents(t, messages), code
}

// TestNoEscapePiped checks that this program prints no escape sequence unless stdout is a
// terminal, for any text in a crontab.
func TestNoEscapePiped(t *testing.T) {
	const hostile = "61 * * * * \x1b[31mred\x1b]0;title\x07\n* * * * * echo \x1b[2J \u202e\n"
	for _, args := range [][]string{
		{"lint", "-"}, {"lint", "-", "-o", "sarif"}, {"lint", "-", "-o", "json"},
		{"simulate", "-", "--utc", "--from", "2026-01-01", "-o", "table"},
		{"simulate", "-", "--utc", "--from", "2026-01-01", "-o", "plain"},
		{"simulate", "-", "--utc", "--from", "2026-01-01", "-o", "jsonl"},
		{"diff", "/dev/null", "-"},
		{"explain", "* * * * * echo \x1b[2J"},
		{"explain", "61 * * * * echo \x1b[2J"},
		{"list", "--socket", "/no\x1b[2J"},
		{"--help"}, {"lint", "--help"},
	} {
		stdout, stderr, _ := Called(t, hostile, args...)
		if all := stdout + stderr; strings.ContainsAny(all, "\x1b\x07") || strings.Contains(all, "\u202e") && !strings.Contains(strings.Join(args, " "), "json") {
			t.Errorf("cronring %q: got an escape sequence: %q", args, all)
		}
	}
}

func TestErrorShape(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
		near string // must be in the fix
	}{
		{[]string{"lnit"}, 2, "cronring lint"},
		{[]string{"zzzzzz"}, 2, "cronring --help"},
		{[]string{"lint", "--strct", "x"}, 2, "--strict"},
		{[]string{"lint", "-o", "xml", "x"}, 2, "--help"},
		{[]string{"lint"}, 2, "cronring lint FILE"},
		{[]string{"lint", "/no/such/file"}, 3, ""},
		{[]string{"next", "61 * * * *"}, 2, ""},
		{[]string{"next", "* * * * *", "--tz", "Europe/Berlim"}, 2, "--tz"},
		{[]string{"next", "* * * * *", "--from", "noonish"}, 2, ""},
		{[]string{"diff", "/no/such/file", "/dev/null"}, 2, ""},
		{[]string{"simulate", "/dev/null", "--from", "2026-01-02", "--until", "2026-01-01"}, 2, ""},
		{[]string{"history", "--trigger", "cron"}, 2, "--help"},
		{[]string{"backfill", "x", "--at", "noonish"}, 2, "cronring backfill"},
		{[]string{"list", "--socket", "/no/such/socket"}, 5, "--socket"},
		{[]string{"run", "x", "--socket", "/no/such/socket"}, 5, ""},
		{[]string{"run", "x", "--wait", "--socket", "/no/such/socket"}, 125, ""},
	} {
		stdout, stderr, code := Called(t, "", tc.args...)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		if code != tc.code || stdout != "" && tc.args[0] != "lint" {
			t.Errorf("cronring %q: got exit %d and stdout %q, want exit %d and none", tc.args, code, stdout, tc.code)
		}
		i := 0
		for !strings.HasPrefix(lines[i], "cronring: cannot ") {
			if i++; i == len(lines) {
				t.Fatalf("cronring %q: got stderr %q, want a line \"cronring: cannot ...\"", tc.args, stderr)
			}
		}
		fix := ""
		for _, line := range lines[i+1:] {
			if !strings.HasPrefix(line, "  why   ") && !strings.HasPrefix(line, "  fix   ") {
				t.Errorf("cronring %q: got line %q, want why or fix", tc.args, line)
			}
			fix = line
		}
		if !strings.Contains(fix, tc.near) {
			t.Errorf("cronring %q: got fix %q, want %q in it", tc.args, fix, tc.near)
		}
		if bytes.ContainsRune([]byte(lines[i]), '\x1b') || strings.HasSuffix(lines[i], ".") {
			t.Errorf("cronring %q: got %q, want no escape and no full stop", tc.args, lines[i])
		}
	}
}

func TestWriteErrorFails(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	messages, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Close()
	if code := runApp(cli.New(strings.NewReader(""), full, messages), []string{"--version"}); code != cli.ExitFailed {
		t.Errorf("cronring --version >/dev/full: got exit %d, want %d", code, cli.ExitFailed)
	}
	if got := clitest.Contents(t, messages); !strings.Contains(got, "cannot write the result") {
		t.Errorf("cronring --version >/dev/full: got %q, want a word about the result", got)
	}
}

// runApp runs a command line of the whole program.
func runApp(a *cli.App, args []string) (code int) { return a.Run(newRoot(a), args) }
