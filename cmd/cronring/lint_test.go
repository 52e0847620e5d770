package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/hosttest"
)

// TestLintRefusesWhatTheDaemonRefuses needs files of root and of others. The script
// testdata/script/offline_lint_host.txtar covers the other cases.
func TestLintRefusesWhatTheDaemonRefuses(t *testing.T) {
	hosttest.Root(t, "files of other accounts can be made by root only; run as root to test what lint says of them")
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(root, "etc/cron.d")
	must(os.MkdirAll(dir, 0o755))
	put := func(name, text string, mode uint32) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must(os.WriteFile(path, []byte(text), 0o600))
		must(unix.Chmod(path, mode))
		return path
	}
	put("good", "30 2 * * * root true\n", 0o644)
	writable := put("writable", "61 2 * * * root true\n", 0o666)
	stranger := put("stranger", "30 2 * * * root true\n", 0o644)
	must(os.Chown(stranger, 54321, -1))
	pipe := filepath.Join(dir, "pipe")
	must(unix.Mkfifo(pipe, 0o600))
	large := put("large", "", 0o644)
	must(os.Truncate(large, 1<<30))

	want := []string{
		"/large error   F108 refused, FILE TOO LARGE: the file has more than 16 MiB, which no crontab has",
		"/pipe error   F105 refused, NOT A REGULAR FILE: it is a named pipe, not a regular file",
		"/stranger error   F104 refused, WRONG FILE OWNER: it belongs to uid 54321, not to root: check its content before you fix that",
		"fix: chown root " + stranger,
		"/writable error   F106 refused, INSECURE MODE (group/other writable): its mode is 0666: others than the owner may write it",
		"fix: chmod go-w " + writable,
	}
	for _, args := range [][]string{
		{"--installed"},
		{pipe, large, stranger, writable}, // a pipe must not be waited for
	} {
		out, messages, code := Called(t, "", append([]string{"lint", "--root", root}, args...)...)
		for _, line := range want {
			if !strings.Contains(out, line) {
				t.Errorf("lint %q does not say %q:\n%s%s", args, line, out, messages)
			}
		}
		if code != cli.ExitProblems {
			t.Errorf("lint %q: exit code %d, want %d", args, code, cli.ExitProblems)
		}
	}
}

// TestLintReportsAMissingJobOnce has an entry with several jobs, as the daemon
// counts them.
func TestLintReportsAMissingJobOnce(t *testing.T) {
	out, _, _ := Called(t, "#@ after=nosuch shards=3\n0 * * * * /usr/bin/sync\n", "lint", "-")
	if n := strings.Count(out, "B417"); n != 1 {
		t.Errorf("got %d diagnostics, want 1:\n%s", n, out)
	}
}
