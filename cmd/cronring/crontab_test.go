package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// Two accounts that every host has, with nothing in common.
const (
	annUID, ann = 1, "daemon"
	bobUID, bob = 2, "bin"
)

// crontabHost is a daemon's server on a real socket, with real files and the
// host's own accounts, and everything of it below one directory.
type crontabHost struct {
	t       *testing.T
	dir     string
	host    spool.Host
	places  spool.Places
	socket  string
	program string // this test, under the name crontab
	stop    func()

	mu      sync.Mutex
	log     []string
	pids    []int
	reloads int
}

// quietLoop is a loop with nothing in it.
type quietLoop struct {
	server.Backend
	h *crontabHost
}

func (quietLoop) Health() api.Health { return api.Health{V: api.Version} }

func (quietLoop) View() *engine.View { return engine.New(engine.State{}).View() }

func (quietLoop) Diagnostics() []crontab.Diagnostic { return nil }

func (quietLoop) Refused() []spool.Refusal { return nil }

func (quietLoop) Tap(func([]job.Record, []job.Ledger)) {}

func (q quietLoop) Config() api.Config { return api.Config{} }
func (q quietLoop) Reload(context.Context) ([]crontab.Diagnostic, error) {
	q.h.mu.Lock()
	defer q.h.mu.Unlock()
	q.h.reloads++
	return nil, nil
}

func newCrontabHost(t *testing.T, family crontab.Family) *crontabHost {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can be several accounts")
	}
	h := &crontabHost{t: t, dir: publicDir(t), host: spool.Host{Family: family, Zone: time.UTC, Account: "root", Root: true}}
	h.places = h.host.Places(filepath.Join(h.dir, "root"))
	h.socket, h.program = filepath.Join(h.dir, "s"), filepath.Join(h.dir, "crontab")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", self, h.program).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	h.serve()
	return h
}

// publicDir is a directory that every account can reach.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "crontab-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (h *crontabHost) serve() {
	h.t.Helper()
	history, err := store.Open(h.t.Context(), filepath.Join(h.dir, "state"))
	if err != nil {
		h.t.Fatal(err)
	}
	listener, err := server.Listen(h.socket)
	if err != nil {
		h.t.Fatal(err)
	}
	directory := account.New(account.Options{})
	s := server.New(server.Options{
		Backend: quietLoop{h: h}, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Account: func(uid uint32) (string, error) { return directory.Name(context.Background(), uid) },
		Crontabs: &server.Crontabs{
			Host: h.host, Places: h.places, Accounts: directory, Revisions: history, Version: "test",
			Note: func(pid int, who, word, text string) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.pids = append(h.pids, pid)
				h.log = append(h.log, fmt.Sprintf("(%s) %s (%s)", who, word, text))
			},
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listener) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
		history.Close()
	})
	h.t.Cleanup(h.stop)
}

// logged gives cron's log, and empties it.
func (h *crontabHost) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := strings.Join(h.log, "\n")
	h.log = nil
	return all
}

// callResult is what became of one call of crontab.
type callResult struct {
	out, err string
	code     int
}

func (h *crontabHost) call(uid int, stdin string, args ...string) callResult {
	h.t.Helper()
	return h.callWith(uid, stdin, nil, args...)
}

// callWith calls crontab as an account: another one than root's is a process of
// its own that has really become that account.
func (h *crontabHost) callWith(uid int, stdin string, env []string, args ...string) callResult {
	h.t.Helper()
	if uid == 0 {
		return h.callRoot(stdin, env, args...)
	}
	var out, talk strings.Builder
	cmd := exec.Command(h.program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = strings.NewReader(stdin), &out, &talk, "/"
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "CRONRING_SOCKET=" + h.socket, "TMPDIR=" + h.temp()}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	if err := cmd.Run(); cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return callResult{out.String(), talk.String(), cmd.ProcessState.ExitCode()}
}

// temp is a directory for drafts that goes with the test.
func (h *crontabHost) temp() string {
	h.t.Helper()
	dir := filepath.Join(h.dir, "tmp")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		h.t.Fatal(err)
	}
	return dir
}

func (h *crontabHost) callRoot(stdin string, env []string, args ...string) callResult {
	h.t.Helper()
	c := h.root(env)
	c.in, c.out, c.err = h.file(stdin), h.file(""), h.file("")
	code := c.run(args)
	return callResult{contents(h.t, c.out), contents(h.t, c.err), code}
}

func (h *crontabHost) root(env []string) *crontabApp {
	return &crontabApp{
		uid: 0, host: h.host, places: h.places, socket: h.socket,
		env: func(name string) string {
			for _, pair := range env {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		},
	}
}

func (h *crontabHost) file(text string) *os.File {
	h.t.Helper()
	f, err := os.CreateTemp(h.t.TempDir(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(text); err != nil {
		h.t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		h.t.Fatal(err)
	}
	return f
}

// script writes an executable file that every account can run.
func (h *crontabHost) script(text string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (r callResult) expect(t *testing.T, what string, want callResult) {
	t.Helper()
	if r != want {
		t.Errorf("%s:\ngot  %d, out %q, err %q\nwant %d, out %q, err %q", what, r.code, r.out, r.err, want.code, want.out, want.err)
	}
}

func TestCrontabInstallsListsAndRemoves(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	const text = "# mine\n0 5 * * * true\n"
	h.call(annUID, "", "-l").expect(t, "list of none", callResult{"", "no crontab for " + ann + "\n", 1})
	h.call(annUID, "", "-r").expect(t, "removal of none", callResult{"", "no crontab for " + ann + "\n", 1})
	h.call(annUID, text).expect(t, "install from stdin", callResult{})
	h.call(annUID, "", "-l").expect(t, "list", callResult{text, "", 0})
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(h.places.Users, ann), &st); err != nil || st.Uid != annUID || st.Mode != unix.S_IFREG|0o600 {
		t.Errorf("the table on disk: %+v, %v", st, err)
	}
	h.call(0, "", "-u", ann, "-l").expect(t, "root's list", callResult{text, "", 0})
	h.call(annUID, "", "-l", "-u", ann).expect(t, "list by one's own name", callResult{text, "", 0})
	h.call(0, "1 1 1 1 * true\n", "-u"+bob, "-").expect(t, "root for another", callResult{})
	h.call(bobUID, "", "-l").expect(t, "the other's list", callResult{"1 1 1 1 * true\n", "", 0})
	h.call(annUID, "", "-r").expect(t, "removal", callResult{})
	want := strings.NewReplacer("1", ann, "2", bob).Replace("(1) LIST (1)\n(1) REPLACE (1)\n(1) LIST (1)\n(root) LIST (1)\n(1) LIST (1)\n(root) REPLACE (2)\n(2) LIST (2)\n(1) DELETE (1)")
	if got := h.logged(); got != want {
		t.Errorf("log:\n%s\nwant:\n%s", got, want)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pids) != 8 || h.pids[0] <= 1 || h.pids[0] == os.Getpid() || h.pids[3] != os.Getpid() {
		t.Errorf("the pids in the log are %v; root's calls are %d", h.pids, os.Getpid())
	}
	if h.reloads != 3 {
		t.Errorf("%d reloads for three changes", h.reloads)
	}
}

// The words are those that Debian's crontab 3.0pl1-162 printed.
func TestCrontabRefusals(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	bad := filepath.Join(h.dir, "bad")
	cut := filepath.Join(h.dir, "cut")
	fine := filepath.Join(h.dir, "fine")
	for path, text := range map[string]string{bad: "# c\n* * * * * ok\n99 * * * * y\n", cut: "* * * * * x", fine: "* * * * * x\n# no newline here"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	badWords := "\"" + bad + "\":3: minute 99 is above 59 (column 1)\n"
	for _, test := range []struct {
		uid  int
		args string
		want callResult
	}{
		{annUID, "-u " + bob + " -l", callResult{"", "must be privileged to use -u\n", 1}},
		{annUID, "-u nobody-knows -l", callResult{"", "must be privileged to use -u\n", 1}},
		{0, "-u nobody-knows -l", callResult{"", "crontab:  user `nobody-knows' unknown\n", 1}},
		{0, "-u ../../etc/passwd -l", callResult{"", "crontab:  user `../../etc/passwd' unknown\n", 1}},
		{annUID, bad, callResult{"", badWords + "errors in crontab file, can't install.\n", 1}},
		{annUID, "-n " + bad, callResult{"", badWords + "errors in crontab file, can't install.\n", 1}},
		{annUID, "-T " + bad, callResult{"", badWords + "errors in crontab file, can't install.\n", 1}},
		{annUID, cut, callResult{"", "new crontab file is missing newline before EOF, can't install.\n", 1}},
		{annUID, fine, callResult{}},
		{annUID, "-n " + fine, callResult{"", "The syntax of the crontab file was successfully checked.\n", 0}},
		{annUID, "/nonexist", callResult{"", "/nonexist: No such file or directory\n", 1}},
		{annUID, "/etc", callResult{"", "/etc: Not a regular file.\n", 1}},
		{annUID, "/dev/null", callResult{"", "/dev/null: Not a regular file.\n", 1}},
	} {
		h.call(test.uid, "", strings.Fields(test.args)...).expect(t, fmt.Sprintf("uid %d: crontab %s", test.uid, test.args), test.want)
	}
	for args, first := range map[string]string{
		"-l -r": "crontab: usage error: only one operation permitted", "-l x": "crontab: usage error: no arguments permitted after this option",
		"-i": "crontab: usage error: file name must be specified for replace", "-u " + ann: "crontab: usage error: file name must be specified for replace",
		"-Z": "crontab: invalid option -- 'Z'\ncrontab: usage error: unrecognized option", "-u": "crontab: option requires an argument -- 'u'\ncrontab: usage error: unrecognized option",
		"-h": "usage:\tcrontab [-u user] [-n] file", "a b": "crontab: usage error: only one file name permitted",
	} {
		if r := h.call(annUID, "", strings.Fields(args)...); r.code != 1 || !strings.HasPrefix(r.err, first+"\n") || !strings.Contains(r.err, "usage:\tcrontab") {
			t.Errorf("crontab %s: %d, %q; want 1, %q and the usage", args, r.code, r.err, first)
		}
	}
}

func TestCrontabWordsOfCronie(t *testing.T) {
	h := newCrontabHost(t, crontab.RHEL)
	write := func(path, text string) string {
		path = filepath.Join(h.dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad, good := write("bad", "99 * * * * y\n"), write("good", "1 * * * * y\n")
	barred := callResult{"", "You (" + ann + ") are not allowed to use this program (crontab)\nSee crontab(1) for more information\n", 1}
	h.call(annUID, "#\n").expect(t, "without a list only root may", barred)
	write("root/etc/cron.deny", "")
	h.call(annUID, "# top\n1 * * * * y\n").expect(t, "with an empty cron.deny", callResult{})
	if text, _ := os.ReadFile(filepath.Join(h.places.Users, ann)); string(text) != "# top\n1 * * * * y\n" {
		t.Errorf("a header was put above: %q", text)
	}
	words := "\"" + bad + "\":1: minute 99 is above 59 (column 1)\n"
	h.callRoot("", nil, bad).expect(t, "bad", callResult{"", words + "Invalid crontab file, can't install.\n", 1})
	h.callRoot("", nil, "-T", bad).expect(t, "-T bad", callResult{"", words + "Invalid crontab file. Syntax issues were found.\n", 1})
	h.callRoot("", nil, "-T", good).expect(t, "-T good", callResult{"", "No syntax issues were found in the crontab file.\n", 0})
	if r := h.callRoot("", nil, "-n", "host"); r.code != 1 || !strings.Contains(r.err, "ring") {
		t.Errorf("-n HOST: %+v", r)
	}
	editor := h.script("exit 0\n")
	h.callRoot("", []string{"EDITOR=" + editor}, "-e").expect(t, "-e without a change",
		callResult{"", "no crontab for root - using an empty one\ncrontab: no changes made to crontab\n", 0})
}

func TestCrontabBarred(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	if err := os.MkdirAll(filepath.Dir(h.places.Allow), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.places.Allow, []byte(ann+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.call(annUID, "#\n").expect(t, "listed", callResult{})
	h.call(bobUID, "#\n").expect(t, "not listed", callResult{"", "You (" + bob + ") are not allowed to use this program (crontab)\nSee crontab(1) for more information\n", 1})
	h.call(0, "#\n", "-u", bob, "-").expect(t, "root for one not listed", callResult{"", "The user " + bob + " cannot use this program (crontab)\n", 1})
	h.call(0, "#\n").expect(t, "root", callResult{})
}

// An account that the host does not know has no crontab.
func TestCrontabOfUnknownUID(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	for _, args := range []string{"-l", "-r", "-", "-l -u root", "-l -u " + ann} {
		if r := h.call(54321, "#\n", strings.Fields(args)...); r.code != 1 || r.out != "" || !strings.Contains(r.err, "not allowed for uid 54321") {
			t.Errorf("crontab %s: %+v", args, r)
		}
	}
}

func TestCrontabEdits(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	left := func(r callResult) string {
		_, path, _ := strings.Cut(r.err, "crontab: edits left in ")
		path = strings.TrimSuffix(path, "\n")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("no edits are left: %v in %q", err, r.err)
			return ""
		}
		os.RemoveAll(filepath.Dir(path))
		return string(text)
	}
	edit := func(text string) callResult {
		return h.callWith(annUID, "", []string{"EDITOR=" + h.script(text)}, "-e")
	}
	none := "no crontab for " + ann + " - using an empty one\n"
	edit("exit 0").expect(t, "no change", callResult{"", none + "No modification made\n", 0})
	edit(`echo "1 * * * * one" >"$1"`).expect(t, "a change within the second", callResult{"", none + "crontab: installing new crontab\n", 0})
	h.call(annUID, "", "-l").expect(t, "after it", callResult{"1 * * * * one\n", "", 0})
	edit(`test "$(cat "$1")" = "1 * * * * one" && test "$(pwd)" = /tmp && test "$(stat -c %a%u "$1" "${1%/*}" | tr '\n' ' ')" = "6001 7001 "`).
		expect(t, "what the editor finds", callResult{"", "No modification made\n", 0})
	edit(`printf '2 * * * * two\n' >"$1.new"; mv "$1.new" "$1"`).expect(t, "an editor that renames", callResult{"", "crontab: installing new crontab\n", 0})

	bad := edit(`echo "61 * * * * bad" >"$1"`)
	if bad.code != 1 || bad.out != "Do you want to retry the same edit? (y/n) \n" || !strings.Contains(bad.err, "errors in crontab file, can't install.\n") || left(bad) != "61 * * * * bad\n" {
		t.Errorf("a bad edit and no answer: %+v", bad)
	}
	again := h.callWith(annUID, "perhaps\ny\n", []string{"VISUAL=" + h.script(`test -e "$1.seen" && echo "3 * * * * three" >"$1" || { echo 61 >"$1"; touch "$1.seen"; }`)}, "-e")
	if again.code != 0 || again.out != strings.Repeat("Do you want to retry the same edit? (y/n) ", 2) || !strings.Contains(again.err, "\nEnter Y or N\n") {
		t.Errorf("a second try: %+v", again)
	}
	h.call(annUID, "", "-l").expect(t, "after it", callResult{"3 * * * * three\n", "", 0})

	edit(`rm "$1"`).expect(t, "an editor that deletes", callResult{"", "Can't open tempfile after edit: No such file or directory\nError while editing crontab\n", 1})
	failing := edit("exit 3")
	failing.expect(t, "an editor that fails", callResult{"", "crontab: \"" + h.dir + "/script\" exited with status 3\n", 1})
	if r := edit(`echo "# an hour's work" >"$1"; kill -9 $$`); r.code != 1 || !strings.Contains(r.err, "script\" exited with status 137") || left(r) != "# an hour's work\n" {
		t.Errorf("an editor that is killed: %+v", r)
	}
	if r := edit(`rm "$1"; ln -s /etc/passwd "$1"`); r.code != 1 || strings.Contains(r.err, "installing") {
		t.Errorf("an editor that leaves a link: %+v", r)
	}
	h.call(annUID, "", "-l").expect(t, "after all that", callResult{"3 * * * * three\n", "", 0})
	if log := h.logged(); strings.Count(log, "BEGIN EDIT") != 10 || strings.Count(log, "END EDIT") != 10 {
		t.Errorf("the log of ten edits:\n%s", log)
	}
}

func TestCrontabEditOfChangedTableAsks(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	h.call(annUID, "# 1\n")
	// While the editor runs, somebody else installs.
	other := h.script(`echo "# other" | ` + h.program + ` -; echo "# mine" >"$1"`)
	r := h.callWith(annUID, "n\n", []string{"EDITOR=" + other}, "-e")
	if r.code != 1 || !strings.Contains(r.out, "was changed while you edited it") || !strings.Contains(r.err, "edits left in") {
		t.Errorf("the answer is no: %+v", r)
	}
	h.call(annUID, "", "-l").expect(t, "after no", callResult{"# other\n", "", 0})
	other = h.script(`echo "# third" | ` + h.program + ` -; echo "# mine" >"$1"`)
	r = h.callWith(annUID, "y\n", []string{"EDITOR=" + other}, "-e")
	if r.code != 0 {
		t.Errorf("the answer is yes: %+v", r)
	}
	h.call(annUID, "", "-l").expect(t, "after yes", callResult{"# mine\n", "", 0})
}

func TestCrontabAsksBeforeRemoval(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	h.call(annUID, "#\n")
	ask := "crontab: really delete " + ann + "'s crontab? (y/n) "
	h.call(annUID, "x\nn\n", "-ir").expect(t, "no", callResult{ask + "Please enter Y or N: ", "", 0})
	h.call(annUID, "", "-i", "-r").expect(t, "the end of input", callResult{ask + "\n", "", 0})
	h.call(annUID, "", "-l").expect(t, "still there", callResult{"#\n", "", 0})
	h.call(annUID, "Y\n", "-r", "-i").expect(t, "yes", callResult{ask, "", 0})
	h.call(annUID, "", "-l").expect(t, "gone", callResult{"", "no crontab for " + ann + "\n", 1})
}

func TestCrontabHeaderIsShownOnRequest(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	h.call(annUID, "# a\n# b\n# c\n# d\n")
	h.call(annUID, "", "-l").expect(t, "own comments", callResult{"# a\n# b\n# c\n# d\n", "", 0})
	r := h.callWith(annUID, "", []string{"CRONTAB_NOHEADER=N"}, "-l")
	if !strings.HasPrefix(r.out, "# DO NOT EDIT THIS FILE - edit the master and reinstall.\n# (- installed on ") || strings.Count(r.out, "\n") != 7 {
		t.Errorf("with CRONTAB_NOHEADER=N: %q", r.out)
	}
}

// TestCrontabListShowsWhatHides lists the line of debian/tests/check-listings-protection
// in the source package of Debian's cron.
func TestCrontabListShowsWhatHides(t *testing.T) {
	const line = "* * * * * >/tmp/x;\rno crontab for dummy\b\bbo\n"
	for _, c := range []struct {
		family     crontab.Family
		text, want string
	}{
		{crontab.Debian, line, `* * * * * >/tmp/x;\rno crontab for dummy\b\bbo` + "\n"},
		{crontab.Debian, "1 1 1 1 * dos\r\n#\x1b\n", "1 1 1 1 * dos\r\n#\x1b\n"},
		{crontab.RHEL, line, line},
	} {
		h := newCrontabHost(t, c.family)
		if r := h.call(0, c.text, "-u", ann, "-"); r.code != 0 {
			t.Errorf("install: %+v", r)
		}
		h.call(0, "", "-u", ann, "-l").expect(t, "list", callResult{c.want, "", 0})
		seen := filepath.Join(h.temp(), "seen")
		h.callWith(0, "", []string{"EDITOR=" + h.script(`cp "$1" `+seen)}, "-u", ann, "-e")
		if got, err := os.ReadFile(seen); string(got) != c.text {
			t.Errorf("the editor sees %q (%v), want %q", got, err, c.text)
		}
	}
}

// Without a daemon root goes on, and others are told what to do.
func TestCrontabWithoutDaemon(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	h.call(annUID, "# 1\n")
	h.stop()
	for _, args := range []string{"-l", "-r", "-e", "-"} {
		r := h.call(annUID, "# 2\n", args)
		if r.code != 1 || !strings.Contains(r.err, "cronringd does not answer on "+h.socket) || !strings.HasSuffix(r.err, "  fix   ask the administrator: systemctl start cronring\n") {
			t.Errorf("crontab %s: %+v", args, r)
		}
	}
	going := "crontab: cronringd does not answer on " + h.socket + "; going on without it\n"
	h.call(0, "", "-u", ann, "-l").expect(t, "root lists", callResult{"# 1\n", going, 0})
	if r := h.call(0, "5 * * * * x\n", "-u", ann, "-"); r.code != 0 || !strings.Contains(r.err, "written without the daemon") {
		t.Errorf("root installs: %+v", r)
	}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(h.places.Users, ann), &st); err != nil || st.Uid != annUID || st.Mode != unix.S_IFREG|0o600 {
		t.Errorf("the table on disk: %+v, %v", st, err)
	}
	r := h.callRoot("", []string{"EDITOR=" + h.script(`echo "# edited" >"$1"`)}, "-u", ann, "-e")
	if r.code != 0 {
		t.Errorf("root edits: %+v", r)
	}
	h.call(0, "", "-u", ann, "-l").expect(t, "root lists", callResult{"# edited\n", going, 0})
	h.call(0, "", "-u", "nobody-knows", "-l").expect(t, "unknown", callResult{"", going + "crontab:  user `nobody-knows' unknown\n", 1})
	if r := h.call(0, "", "-u", ann, "-r"); r.code != 0 {
		t.Errorf("root removes: %+v", r)
	}
	h.call(0, "", "-u", ann, "-r").expect(t, "root removes again", callResult{"", going + "no crontab for " + ann + "\n", 1})

	// The daemon is back, and keeps what it had not seen before it replaces it.
	h.serve()
	h.call(annUID, "# 3\n").expect(t, "with the daemon again", callResult{})
}

// A stranger's socket, named by the environment, learns nothing and is not
// believed.
func TestCrontabAsksOnlyTheHostsDaemon(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	h.stop()
	heard := make(chan string, 1)
	fake := h.fakeDaemon(bobUID, heard)
	h.socket = fake
	for _, uid := range []int{0, annUID} {
		r := h.call(uid, "* * * * * secret\n", "-")
		if r.code != 1 || !strings.Contains(r.err, " belongs to ") || !strings.Contains(r.err, fmt.Sprintf("uid %d", bobUID)) {
			t.Errorf("uid %d: %+v", uid, r)
		}
	}
	select {
	case text := <-heard:
		t.Errorf("the stranger heard %q", text)
	default:
	}
	t.Setenv("CRONRING_SOCKET", fake)
	if got := newCrontab().socket; got == fake {
		t.Error("root's crontab asks the socket that the environment names")
	}
}

// cronring of root asks nothing of the daemon of another user, however its socket
// is named, and looks for none in a home directory.
func TestRootAsksNoDaemonOfAnotherUser(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	heard := make(chan string, 100)
	fake := h.fakeDaemon(bobUID, heard)
	refused := func(args ...string) {
		t.Helper()
		stdout, stderr, code := called(t, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n", args...)
		if want := "the socket " + fake + " belongs to "; code == 0 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("cronring %v: exit code %d, %q, %q, want %q", args, code, stdout, stderr, want)
		}
	}
	commands := [][]string{{"list"}, {"status"}, {"run", "secret"}, {"pause", "secret"}, {"events"}, {"edit", "--user", ann}, {"bridge"}, {"metrics"}}
	for _, args := range commands {
		refused(append(args, "--socket", fake)...)
	}
	t.Setenv("CRONRING_SOCKET", fake)
	for _, args := range commands {
		refused(args...)
	}
	t.Setenv("CRONRING_SOCKET", "")
	t.Setenv("XDG_STATE_HOME", filepath.Dir(fake))
	t.Setenv("HOME", filepath.Dir(fake))
	if err := os.Mkdir(filepath.Join(filepath.Dir(fake), "cronring"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fake, filepath.Join(filepath.Dir(fake), "cronring", "cronring.sock")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(api.SystemSocket); err == nil {
		t.Skip("SKIPPED: a daemon of this host would be asked")
	}
	if _, stderr, code := called(t, "", "list"); code == 0 || !strings.Contains(stderr, "cronringd does not answer on "+api.SystemSocket) {
		t.Errorf("cronring list without a daemon of the host: exit code %d, %q", code, stderr)
	}
	select {
	case text := <-heard:
		t.Errorf("the other user's daemon received %q", text)
	default:
	}
}

// fakeDaemon listens as another account: the kernel tells callers the uid that
// the listener had.
func (h *crontabHost) fakeDaemon(uid int, heard chan<- string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, "fake")
	if err := os.Chmod(h.dir, 0o777); err != nil {
		h.t.Fatal(err)
	}
	made := make(chan error)
	fds := make(chan int, 1)
	go func() {
		// The thread becomes the account and ends with the goroutine.
		runtime.LockOSThread()
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			made <- errno
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
		}
		if err == nil {
			err = unix.Listen(fd, 8)
		}
		fds <- fd
		made <- err
	}()
	if err := <-made; err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		h.t.Fatal(err)
	}
	fd := <-fds
	h.t.Cleanup(func() { unix.Shutdown(fd, unix.SHUT_RDWR); unix.Close(fd) })
	go func() {
		for {
			conn, _, err := unix.Accept(fd)
			if err != nil {
				return
			}
			text := make([]byte, 1<<16)
			if n, _ := unix.Read(conn, text); n > 0 {
				heard <- string(text[:n])
			}
			unix.Close(conn)
		}
	}()
	return path
}

// A hostile TMPDIR would let its owner put a link in the editor's way.
func TestCrontabTempDirIsSafe(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	mine := filepath.Join(h.dir, "mine")
	theirs := filepath.Join(h.dir, "theirs")
	shared := filepath.Join(h.dir, "shared")
	sticky := filepath.Join(h.dir, "sticky")
	for path, mode := range map[string]os.FileMode{mine: 0o700, theirs: 0o700, shared: 0o777, sticky: 0o777 | os.ModeSticky, theirs + "/root": 0o700} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(theirs, bobUID, bobUID); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, h.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"": "/tmp", "relative": "/tmp", mine: mine, sticky: sticky, theirs: "/tmp", theirs + "/root": "/tmp", shared: "/tmp", h.dir + "/link": "/tmp", "/nonexist": "/tmp",
	} {
		c := h.root([]string{"TMPDIR=" + dir})
		c.err = h.file("")
		if got := c.tempDir(); got != want {
			t.Errorf("TMPDIR=%s: %s, want %s", dir, got, want)
		}
	}
	evil := filepath.Join(mine, "$(touch "+filepath.Base(h.dir)+"-evil);x")
	if err := os.Mkdir(evil, 0o700); err != nil {
		t.Fatal(err)
	}
	r := h.callRoot("", []string{"TMPDIR=" + evil, "EDITOR=" + h.script(`test -f "$1" && echo "# ok" >"$1"`)}, "-e")
	if _, err := os.Stat("/tmp/" + filepath.Base(h.dir) + "-evil"); err == nil || r.code != 0 {
		t.Errorf("a directory's name is run: %+v", r)
	}
}

func TestCrontabOnTerminal(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	const hostile = "#\x1b[2J\r\x07\u202e\t.\n1 1 1 1 * true\n"
	h.call(annUID, hostile)
	outside, inside := clitest.OpenTerminal(t)
	read := func(until string) string {
		var all strings.Builder
		for part := make([]byte, 4096); !strings.Contains(all.String(), until); {
			n, err := outside.Read(part)
			if err != nil {
				t.Fatalf("%v after %q, want %q", err, all.String(), until)
			}
			all.Write(part[:n])
		}
		return all.String()
	}
	c := h.root(nil)
	c.in, c.out, c.err = inside, inside, inside
	if code := c.run([]string{"-u", ann, "-l"}); code != 0 {
		t.Errorf("-l: exit %d", code)
	}
	if got := read("true\r\n"); strings.ContainsAny(got, "\x1b\x07") || strings.Contains(got, "\u202e") || !strings.Contains(got, `#\x1b[2J`) {
		t.Errorf("the terminal gets %q", got)
	}
	if code := c.run([]string{"-u", ann, "-r"}); code != 0 {
		t.Errorf("-r: exit %d", code)
	}
	if got := read("\n"); got != "removed 1 entry; undo: cronring undo 2\r\n" {
		t.Errorf("-r says %q", got)
	}
	stdout, stderr, code := called(t, "", "undo", "2", "--socket", h.socket)
	if code != 0 || !strings.HasPrefix(stdout, "restored "+h.places.Users+"/"+ann+", 1 entry; undo: cronring undo 3\n") {
		t.Errorf("cronring undo 2: %d, %q, %q", code, stdout, stderr)
	}
	h.call(annUID, "", "-l").expect(t, "restored", callResult{strings.ReplaceAll(hostile, "\r", `\r`), "", 0})
}

func TestRevisionsCommand(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	h.call(annUID, "# 1\n")
	h.call(annUID, "# 2\n")
	h.call(annUID, "", "-r")
	stdout, _, code := called(t, "", "revisions", "--user", ann, "--socket", h.socket, "--utc")
	lines := strings.Split(stdout, "\n")
	if code != 0 || len(lines) != 6 || !strings.HasPrefix(lines[1], "4\t") || !strings.Contains(lines[1], "\tremove\t"+ann+"\tnone\t") || !strings.Contains(lines[3], "\tinstall\t"+ann+"\t4\t"+h.places.Users+"/"+ann) {
		t.Errorf("cronring revisions: %d\n%s", code, stdout)
	}
	for args, want := range map[string]callResult{
		"revisions 2":        {"# 1\n", "", 0},
		"revisions 99":       {"", "cronring: cannot read revision 99: there is none", 3},
		"revisions x":        {"", "cronring: cannot find revision \"x\"", 2},
		"undo 1 --user x":    {"", "cronring: cannot undo to revision 1 of x", 2},
		"undo --user " + bob: {"", "cronring: cannot undo: no older version", 6},
		"revisions 4":        {"", "revision 4: from then on there was no " + h.places.Users + "/" + ann, 0},
	} {
		stdout, stderr, code := called(t, "", append(strings.Fields(args), "--socket", h.socket)...)
		if stdout != want.out || !strings.HasPrefix(stderr, want.err) || code != want.code {
			t.Errorf("cronring %s: %d, %q, %q; want %d, %q, %q", args, code, stdout, stderr, want.code, want.out, want.err)
		}
	}
}

// The largest table goes through, and one byte more does not.
func TestCrontabLargest(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	text := strings.Repeat("#"+strings.Repeat("x", 1022)+"\n", crontab.MaxText/1024)
	h.call(annUID, text).expect(t, "the largest", callResult{})
	if r := h.call(annUID, "", "-l"); r.out != text {
		t.Errorf("%d bytes came back of %d, %d, %q", len(r.out), len(text), r.code, r.err)
	}
	if r := h.call(annUID, text+"#\n"); r.code != 1 || !strings.Contains(r.err, "16 MiB") {
		t.Errorf("larger: %d, %q", r.code, r.err)
	}
}

func TestRevisionTextIsCleaned(t *testing.T) {
	const evil = "x\x1b[2J\u202e\x07\ny"
	socket := clitest.Scripted(t, map[string][]any{
		"GET /v1/revisions": {api.Revisions{V: 1, Revisions: []api.Revision{{ID: 1, File: evil, User: evil, By: evil, How: evil}}}},
		"POST /v1/undo":     {api.Installed{V: 1, User: evil, File: evil, Notice: evil, Remarks: []api.Diagnostic{{File: evil, Severity: "error", Message: evil}}}},
	})
	for _, line := range []string{"revisions", "revisions -o table", "undo", "undo 1"} {
		stdout, stderr, code := called(t, "", append(strings.Fields(line), "--socket", socket)...)
		if all := stdout + stderr; code != cli.ExitDone || !strings.Contains(all, "x") || strings.ContainsAny(all, "\x1b\x07") || strings.Contains(all, "\u202e") {
			t.Errorf("cronring %s: got exit %d and what can steer a terminal: %q", line, code, all)
		}
	}
}
