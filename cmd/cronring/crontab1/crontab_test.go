package crontab1

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
)

func call(h *clitest.Host, uid int, stdin string, args ...string) clitest.Result {
	h.T.Helper()
	return callWith(h, uid, stdin, nil, args...)
}

// callWith calls crontab as a user. For other users than root that is a process
// that has really become that user.
func callWith(h *clitest.Host, uid int, stdin string, env []string, args ...string) clitest.Result {
	h.T.Helper()
	if uid == 0 {
		return callRoot(h, stdin, env, args...)
	}
	return h.CallAs(uid, stdin, env, args...)
}

func callRoot(h *clitest.Host, stdin string, env []string, args ...string) clitest.Result {
	h.T.Helper()
	c := root(h, env)
	c.in, c.out, c.err = h.File(stdin), h.File(""), h.File("")
	code := c.Run(args)
	return clitest.Result{Out: clitest.Contents(h.T, c.out), Err: clitest.Contents(h.T, c.err), Code: code}
}

func root(h *clitest.Host, env []string) *Program {
	return &Program{
		uid: 0, Host: h.Host, places: h.Places, socket: h.Socket,
		Env: func(name string) string {
			for _, pair := range env {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		},
	}
}

func expect(r clitest.Result, t *testing.T, what string, want clitest.Result) {
	t.Helper()
	if r != want {
		t.Errorf("%s:\ngot  %d, out %q, err %q\nwant %d, out %q, err %q", what, r.Code, r.Out, r.Err, want.Code, want.Out, want.Err)
	}
}

func TestCrontabInstallsListsAndRemoves(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	const text = "# mine\n0 5 * * * true\n"
	expect(call(h, clitest.AnnUID, "", "-l"), t, "list of none", clitest.Result{Out: "", Err: "no crontab for " + clitest.Ann + "\n", Code: 1})
	expect(call(h, clitest.AnnUID, "", "-r"), t, "removal of none", clitest.Result{Out: "", Err: "no crontab for " + clitest.Ann + "\n", Code: 1})
	expect(call(h, clitest.AnnUID, text), t, "install from stdin", clitest.Result{})
	expect(call(h, clitest.AnnUID, "", "-l"), t, "list", clitest.Result{Out: text, Err: "", Code: 0})
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(h.Places.Users, clitest.Ann), &st); err != nil || st.Uid != clitest.AnnUID || st.Mode != unix.S_IFREG|0o600 {
		t.Errorf("the crontab on disk: %+v, %v", st, err)
	}
	expect(call(h, 0, "", "-u", clitest.Ann, "-l"), t, "root's list", clitest.Result{Out: text, Err: "", Code: 0})
	expect(call(h, clitest.AnnUID, "", "-l", "-u", clitest.Ann), t, "list by one's own name", clitest.Result{Out: text, Err: "", Code: 0})
	expect(call(h, 0, "1 1 1 1 * true\n", "-u"+clitest.Bob, "-"), t, "root for another", clitest.Result{})
	expect(call(h, clitest.BobUID, "", "-l"), t, "the other's list", clitest.Result{Out: "1 1 1 1 * true\n", Err: "", Code: 0})
	expect(call(h, clitest.AnnUID, "", "-r"), t, "removal", clitest.Result{})
	want := strings.NewReplacer("1", clitest.Ann, "2", clitest.Bob).Replace("(1) LIST (1)\n(1) REPLACE (1)\n(1) LIST (1)\n(root) LIST (1)\n(1) LIST (1)\n(root) REPLACE (2)\n(2) LIST (2)\n(1) DELETE (1)")
	if got := h.Logged(); got != want {
		t.Errorf("log:\n%s\nwant:\n%s", got, want)
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if len(h.Pids) != 8 || h.Pids[0] <= 1 || h.Pids[0] == os.Getpid() || h.Pids[3] != os.Getpid() {
		t.Errorf("the pids in the log are %v; root's calls are %d", h.Pids, os.Getpid())
	}
	if h.Reloads != 3 {
		t.Errorf("%d reloads for three changes", h.Reloads)
	}
}

// The expected messages are the output of Debian's crontab 3.0pl1-162.
func TestCrontabRefusals(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	bad := filepath.Join(h.Dir, "bad")
	cut := filepath.Join(h.Dir, "cut")
	fine := filepath.Join(h.Dir, "fine")
	for path, text := range map[string]string{bad: "# c\n* * * * * ok\n99 * * * * y\n", cut: "* * * * * x", fine: "* * * * * x\n# no newline here"} {
		filetest.Write(t, path, text, 0o644)
	}
	badWords := "\"" + bad + "\":3: minute 99 is above 59 (column 1)\n"
	for _, test := range []struct {
		uid  int
		args string
		want clitest.Result
	}{
		{clitest.AnnUID, "-u " + clitest.Bob + " -l", clitest.Result{Out: "", Err: "must be privileged to use -u\n", Code: 1}},
		{clitest.AnnUID, "-u nobody-knows -l", clitest.Result{Out: "", Err: "must be privileged to use -u\n", Code: 1}},
		{0, "-u nobody-knows -l", clitest.Result{Out: "", Err: "crontab:  user `nobody-knows' unknown\n", Code: 1}},
		{0, "-u ../../etc/passwd -l", clitest.Result{Out: "", Err: "crontab:  user `../../etc/passwd' unknown\n", Code: 1}},
		{clitest.AnnUID, bad, clitest.Result{Out: "", Err: badWords + "errors in crontab file, can't install.\n", Code: 1}},
		{clitest.AnnUID, "-n " + bad, clitest.Result{Out: "", Err: badWords + "errors in crontab file, can't install.\n", Code: 1}},
		{clitest.AnnUID, "-T " + bad, clitest.Result{Out: "", Err: badWords + "errors in crontab file, can't install.\n", Code: 1}},
		{clitest.AnnUID, cut, clitest.Result{Out: "", Err: "new crontab file is missing newline before EOF, can't install.\n", Code: 1}},
		{clitest.AnnUID, fine, clitest.Result{}},
		{clitest.AnnUID, "-n " + fine, clitest.Result{Out: "", Err: "The syntax of the crontab file was successfully checked.\n", Code: 0}},
		{clitest.AnnUID, "/nonexist", clitest.Result{Out: "", Err: "/nonexist: No such file or directory\n", Code: 1}},
		{clitest.AnnUID, "/etc", clitest.Result{Out: "", Err: "/etc: Not a regular file.\n", Code: 1}},
		{clitest.AnnUID, "/dev/null", clitest.Result{Out: "", Err: "/dev/null: Not a regular file.\n", Code: 1}},
	} {
		expect(call(h, test.uid, "", strings.Fields(test.args)...), t, fmt.Sprintf("uid %d: crontab %s", test.uid, test.args), test.want)
	}
	for args, first := range map[string]string{
		"-l -r": "crontab: usage error: only one operation permitted", "-l x": "crontab: usage error: no arguments permitted after this option",
		"-i": "crontab: usage error: file name must be specified for replace", "-u " + clitest.Ann: "crontab: usage error: file name must be specified for replace",
		"-Z": "crontab: invalid option -- 'Z'\ncrontab: usage error: unrecognized option", "-u": "crontab: option requires an argument -- 'u'\ncrontab: usage error: unrecognized option",
		"-h": "usage:\tcrontab [-u user] [-n] file", "a b": "crontab: usage error: only one file name permitted",
	} {
		if r := call(h, clitest.AnnUID, "", strings.Fields(args)...); r.Code != 1 || !strings.HasPrefix(r.Err, first+"\n") || !strings.Contains(r.Err, "usage:\tcrontab") {
			t.Errorf("crontab %s: %d, %q; want 1, %q and the usage", args, r.Code, r.Err, first)
		}
	}
}

func TestCrontabWordsOfCronie(t *testing.T) {
	h := clitest.NewHost(t, crontab.RHEL)
	write := func(path, text string) string {
		path = filepath.Join(h.Dir, path)
		filetest.Write(t, path, text, 0o644)
		return path
	}
	bad, good := write("bad", "99 * * * * y\n"), write("good", "1 * * * * y\n")
	barred := clitest.Result{Out: "", Err: "You (" + clitest.Ann + ") are not allowed to use this program (crontab)\nSee crontab(1) for more information\n", Code: 1}
	expect(call(h, clitest.AnnUID, "#\n"), t, "without a list only root may", barred)
	write("root/etc/cron.deny", "")
	expect(call(h, clitest.AnnUID, "# top\n1 * * * * y\n"), t, "with an empty cron.deny", clitest.Result{})
	if text, _ := os.ReadFile(filepath.Join(h.Places.Users, clitest.Ann)); string(text) != "# top\n1 * * * * y\n" {
		t.Errorf("a header was put above: %q", text)
	}
	words := "\"" + bad + "\":1: minute 99 is above 59 (column 1)\n"
	expect(callRoot(h, "", nil, bad), t, "bad", clitest.Result{Out: "", Err: words + "Invalid crontab file, can't install.\n", Code: 1})
	expect(callRoot(h, "", nil, "-T", bad), t, "-T bad", clitest.Result{Out: "", Err: words + "Invalid crontab file. Syntax issues were found.\n", Code: 1})
	expect(callRoot(h, "", nil, "-T", good), t, "-T good", clitest.Result{Out: "", Err: "No syntax issues were found in the crontab file.\n", Code: 0})
	if r := callRoot(h, "", nil, "-n", "host"); r.Code != 1 || !strings.Contains(r.Err, "ring") {
		t.Errorf("-n HOST: %+v", r)
	}
	editor := h.Script("exit 0\n")
	expect(callRoot(h, "", []string{"EDITOR=" + editor}, "-e"), t, "-e without a change",
		clitest.Result{Out: "", Err: "no crontab for root - using an empty one\ncrontab: no changes made to crontab\n", Code: 0})
}

func TestCrontabBarred(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	filetest.Write(t, h.Places.Allow, clitest.Ann+"\n", 0o600)
	expect(call(h, clitest.AnnUID, "#\n"), t, "listed", clitest.Result{})
	expect(call(h, clitest.BobUID, "#\n"), t, "not listed", clitest.Result{Out: "", Err: "You (" + clitest.Bob + ") are not allowed to use this program (crontab)\nSee crontab(1) for more information\n", Code: 1})
	expect(call(h, 0, "#\n", "-u", clitest.Bob, "-"), t, "root for one not listed", clitest.Result{Out: "", Err: "The user " + clitest.Bob + " cannot use this program (crontab)\n", Code: 1})
	expect(call(h, 0, "#\n"), t, "root", clitest.Result{})
}

// An account that the host does not know has no crontab.
func TestCrontabOfUnknownUID(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	for _, args := range []string{"-l", "-r", "-", "-l -u root", "-l -u " + clitest.Ann} {
		if r := call(h, 54321, "#\n", strings.Fields(args)...); r.Code != 1 || r.Out != "" || !strings.Contains(r.Err, "not allowed for uid 54321") {
			t.Errorf("crontab %s: %+v", args, r)
		}
	}
}

func TestCrontabEdits(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	left := func(r clitest.Result) string {
		_, path, _ := strings.Cut(r.Err, "crontab: edits left in ")
		path = strings.TrimSuffix(path, "\n")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("no edits are left: %v in %q", err, r.Err)
			return ""
		}
		os.RemoveAll(filepath.Dir(path))
		return string(text)
	}
	edit := func(text string) clitest.Result {
		return callWith(h, clitest.AnnUID, "", []string{"EDITOR=" + h.Script(text)}, "-e")
	}
	none := "no crontab for " + clitest.Ann + " - using an empty one\n"
	expect(edit("exit 0"), t, "no change", clitest.Result{Out: "", Err: none + "No modification made\n", Code: 0})
	expect(edit(`echo "1 * * * * one" >"$1"`), t, "a change within the second", clitest.Result{Out: "", Err: none + "crontab: installing new crontab\n", Code: 0})
	expect(call(h, clitest.AnnUID, "", "-l"), t, "after it", clitest.Result{Out: "1 * * * * one\n", Err: "", Code: 0})
	expect(edit(`test "$(cat "$1")" = "1 * * * * one" && test "$(pwd)" = /tmp && test "$(stat -c %a%u "$1" "${1%/*}" | tr '\n' ' ')" = "6001 7001 "`), t, "what the editor finds", clitest.Result{Out: "", Err: "No modification made\n", Code: 0})
	expect(edit(`printf '2 * * * * two\n' >"$1.new"; mv "$1.new" "$1"`), t, "an editor that renames", clitest.Result{Out: "", Err: "crontab: installing new crontab\n", Code: 0})

	bad := edit(`echo "61 * * * * bad" >"$1"`)
	if bad.Code != 1 || bad.Out != "Do you want to retry the same edit? (y/n) \n" || !strings.Contains(bad.Err, "errors in crontab file, can't install.\n") || left(bad) != "61 * * * * bad\n" {
		t.Errorf("a bad edit and no answer: %+v", bad)
	}
	again := callWith(h, clitest.AnnUID, "perhaps\ny\n", []string{"VISUAL=" + h.Script(`test -e "$1.seen" && echo "3 * * * * three" >"$1" || { echo 61 >"$1"; touch "$1.seen"; }`)}, "-e")
	if again.Code != 0 || again.Out != strings.Repeat("Do you want to retry the same edit? (y/n) ", 2) || !strings.Contains(again.Err, "\nEnter Y or N\n") {
		t.Errorf("a second try: %+v", again)
	}
	expect(call(h, clitest.AnnUID, "", "-l"), t, "after it", clitest.Result{Out: "3 * * * * three\n", Err: "", Code: 0})

	expect(edit(`rm "$1"`), t, "an editor that deletes", clitest.Result{Out: "", Err: "Can't open tempfile after edit: No such file or directory\nError while editing crontab\n", Code: 1})
	failing := edit("exit 3")
	expect(failing, t, "an editor that fails", clitest.Result{Out: "", Err: "crontab: \"" + h.Dir + "/script\" exited with status 3\n", Code: 1})
	if r := edit(`echo "# an hour's work" >"$1"; kill -9 $$`); r.Code != 1 || !strings.Contains(r.Err, "script\" exited with status 137") || left(r) != "# an hour's work\n" {
		t.Errorf("an editor that is killed: %+v", r)
	}
	if r := edit(`rm "$1"; ln -s /etc/passwd "$1"`); r.Code != 1 || strings.Contains(r.Err, "installing") {
		t.Errorf("an editor that leaves a link: %+v", r)
	}
	expect(call(h, clitest.AnnUID, "", "-l"), t, "after all that", clitest.Result{Out: "3 * * * * three\n", Err: "", Code: 0})
	if log := h.Logged(); strings.Count(log, "BEGIN EDIT") != 10 || strings.Count(log, "END EDIT") != 10 {
		t.Errorf("the log of ten edits:\n%s", log)
	}
}

func TestCrontabEditOfChangedCrontabAsks(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	call(h, clitest.AnnUID, "# 1\n")
	// While the editor runs, another user installs a version.
	other := h.Script(`echo "# other" | ` + h.Program + ` -; echo "# mine" >"$1"`)
	r := callWith(h, clitest.AnnUID, "n\n", []string{"EDITOR=" + other}, "-e")
	if r.Code != 1 || !strings.Contains(r.Out, "was changed while you edited it") || !strings.Contains(r.Err, "edits left in") {
		t.Errorf("the answer is no: %+v", r)
	}
	expect(call(h, clitest.AnnUID, "", "-l"), t, "after no", clitest.Result{Out: "# other\n", Err: "", Code: 0})
	other = h.Script(`echo "# third" | ` + h.Program + ` -; echo "# mine" >"$1"`)
	r = callWith(h, clitest.AnnUID, "y\n", []string{"EDITOR=" + other}, "-e")
	if r.Code != 0 {
		t.Errorf("the answer is yes: %+v", r)
	}
	expect(call(h, clitest.AnnUID, "", "-l"), t, "after yes", clitest.Result{Out: "# mine\n", Err: "", Code: 0})
}

func TestCrontabAsksBeforeRemoval(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	call(h, clitest.AnnUID, "#\n")
	ask := "crontab: really delete " + clitest.Ann + "'s crontab? (y/n) "
	expect(call(h, clitest.AnnUID, "x\nn\n", "-ir"), t, "no", clitest.Result{Out: ask + "Please enter Y or N: ", Err: "", Code: 0})
	expect(call(h, clitest.AnnUID, "", "-i", "-r"), t, "the end of input", clitest.Result{Out: ask + "\n", Err: "", Code: 0})
	expect(call(h, clitest.AnnUID, "", "-l"), t, "still there", clitest.Result{Out: "#\n", Err: "", Code: 0})
	expect(call(h, clitest.AnnUID, "Y\n", "-r", "-i"), t, "yes", clitest.Result{Out: ask, Err: "", Code: 0})
	expect(call(h, clitest.AnnUID, "", "-l"), t, "gone", clitest.Result{Out: "", Err: "no crontab for " + clitest.Ann + "\n", Code: 1})
}

func TestCrontabHeaderIsShownOnRequest(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	call(h, clitest.AnnUID, "# a\n# b\n# c\n# d\n")
	expect(call(h, clitest.AnnUID, "", "-l"), t, "own comments", clitest.Result{Out: "# a\n# b\n# c\n# d\n", Err: "", Code: 0})
	r := callWith(h, clitest.AnnUID, "", []string{"CRONTAB_NOHEADER=N"}, "-l")
	if !strings.HasPrefix(r.Out, "# DO NOT EDIT THIS FILE - edit the master and reinstall.\n# (- installed on ") || strings.Count(r.Out, "\n") != 7 {
		t.Errorf("with CRONTAB_NOHEADER=N: %q", r.Out)
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
		h := clitest.NewHost(t, c.family)
		if r := call(h, 0, c.text, "-u", clitest.Ann, "-"); r.Code != 0 {
			t.Errorf("install: %+v", r)
		}
		expect(call(h, 0, "", "-u", clitest.Ann, "-l"), t, "list", clitest.Result{Out: c.want, Err: "", Code: 0})
		seen := filepath.Join(h.Temp(), "seen")
		callWith(h, 0, "", []string{"EDITOR=" + h.Script(`cp "$1" `+seen)}, "-u", clitest.Ann, "-e")
		if got, err := os.ReadFile(seen); string(got) != c.text {
			t.Errorf("the editor sees %q (%v), want %q", got, err, c.text)
		}
	}
}

// Without a daemon root continues, and other users read what to do.
func TestCrontabWithoutDaemon(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	call(h, clitest.AnnUID, "# 1\n")
	h.Stop()
	for _, args := range []string{"-l", "-r", "-e", "-"} {
		r := call(h, clitest.AnnUID, "# 2\n", args)
		if r.Code != 1 || !strings.Contains(r.Err, "cronringd does not answer on "+h.Socket) || !strings.HasSuffix(r.Err, "  fix   ask the administrator: systemctl start cronring\n") {
			t.Errorf("crontab %s: %+v", args, r)
		}
	}
	going := "crontab: cronringd does not answer on " + h.Socket + "; continuing without it\n"
	expect(call(h, 0, "", "-u", clitest.Ann, "-l"), t, "root lists", clitest.Result{Out: "# 1\n", Err: going, Code: 0})
	if r := call(h, 0, "5 * * * * x\n", "-u", clitest.Ann, "-"); r.Code != 0 || !strings.Contains(r.Err, "written without the daemon") {
		t.Errorf("root installs: %+v", r)
	}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(h.Places.Users, clitest.Ann), &st); err != nil || st.Uid != clitest.AnnUID || st.Mode != unix.S_IFREG|0o600 {
		t.Errorf("the crontab on disk: %+v, %v", st, err)
	}
	r := callRoot(h, "", []string{"EDITOR=" + h.Script(`echo "# edited" >"$1"`)}, "-u", clitest.Ann, "-e")
	if r.Code != 0 {
		t.Errorf("root edits: %+v", r)
	}
	expect(call(h, 0, "", "-u", clitest.Ann, "-l"), t, "root lists", clitest.Result{Out: "# edited\n", Err: going, Code: 0})
	expect(call(h, 0, "", "-u", "nobody-knows", "-l"), t, "unknown", clitest.Result{Out: "", Err: going + "crontab:  user `nobody-knows' unknown\n", Code: 1})
	if r := call(h, 0, "", "-u", clitest.Ann, "-r"); r.Code != 0 {
		t.Errorf("root removes: %+v", r)
	}
	expect(call(h, 0, "", "-u", clitest.Ann, "-r"), t, "root removes again", clitest.Result{Out: "", Err: going + "no crontab for " + clitest.Ann + "\n", Code: 1})

	// The daemon is back, and keeps what it had not seen before it replaces it.
	h.Serve()
	expect(call(h, clitest.AnnUID, "# 3\n"), t, "with the daemon again", clitest.Result{})
}

// If the environment names another user's socket, crontab sends it nothing and ignores its
// answers.
func TestCrontabAsksOnlyTheHostsDaemon(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	h.Stop()
	heard := make(chan string, 1)
	fake := h.FakeDaemon(clitest.BobUID, heard)
	h.Socket = fake
	for _, uid := range []int{0, clitest.AnnUID} {
		r := call(h, uid, "* * * * * secret\n", "-")
		if r.Code != 1 || !strings.Contains(r.Err, " belongs to ") || !strings.Contains(r.Err, fmt.Sprintf("uid %d", clitest.BobUID)) {
			t.Errorf("uid %d: %+v", uid, r)
		}
	}
	select {
	case text := <-heard:
		t.Errorf("the stranger heard %q", text)
	default:
	}
	t.Setenv("CRONRING_SOCKET", fake)
	if got := New().socket; got == fake {
		t.Error("root's crontab asks the socket that the environment names")
	}
}

// A hostile TMPDIR would let its owner put a link in the editor's way.
func TestCrontabTempDirIsSafe(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	mine := filepath.Join(h.Dir, "mine")
	theirs := filepath.Join(h.Dir, "theirs")
	shared := filepath.Join(h.Dir, "shared")
	sticky := filepath.Join(h.Dir, "sticky")
	for path, mode := range map[string]os.FileMode{mine: 0o700, theirs: 0o700, shared: 0o777, sticky: 0o777 | os.ModeSticky, theirs + "/root": 0o700} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(theirs, clitest.BobUID, clitest.BobUID); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, h.Dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"": "/tmp", "relative": "/tmp", mine: mine, sticky: sticky, theirs: "/tmp", theirs + "/root": "/tmp", shared: "/tmp", h.Dir + "/link": "/tmp", "/nonexist": "/tmp",
	} {
		c := root(h, []string{"TMPDIR=" + dir})
		c.err = h.File("")
		if got := c.tempDir(); got != want {
			t.Errorf("TMPDIR=%s: %s, want %s", dir, got, want)
		}
	}
	evil := filepath.Join(mine, "$(touch "+filepath.Base(h.Dir)+"-evil);x")
	if err := os.Mkdir(evil, 0o700); err != nil {
		t.Fatal(err)
	}
	r := callRoot(h, "", []string{"TMPDIR=" + evil, "EDITOR=" + h.Script(`test -f "$1" && echo "# ok" >"$1"`)}, "-e")
	if _, err := os.Stat("/tmp/" + filepath.Base(h.Dir) + "-evil"); err == nil || r.Code != 0 {
		t.Errorf("a directory's name is run: %+v", r)
	}
}

func TestCrontabOnTerminal(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	const hostile = "#\x1b[2J\r\x07\u202e\t.\n1 1 1 1 * true\n"
	call(h, clitest.AnnUID, hostile)
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
	c := root(h, nil)
	c.in, c.out, c.err = inside, inside, inside
	if code := c.Run([]string{"-u", clitest.Ann, "-l"}); code != 0 {
		t.Errorf("-l: exit %d", code)
	}
	if got := read("true\r\n"); strings.ContainsAny(got, "\x1b\x07") || strings.Contains(got, "\u202e") || !strings.Contains(got, `#\x1b[2J`) {
		t.Errorf("the terminal gets %q", got)
	}
	if code := c.Run([]string{"-u", clitest.Ann, "-r"}); code != 0 {
		t.Errorf("-r: exit %d", code)
	}
	if got := read("\n"); got != "removed 1 entry; undo: cronring undo 2\r\n" {
		t.Errorf("-r says %q", got)
	}
	client := api.Dial(h.Socket)
	defer client.Close()
	if done, err := client.Undo(t.Context(), api.UndoRequest{Revision: 2}); err != nil || done.Entries != 1 || done.Before != 3 {
		t.Errorf("undo 2: got %+v, %v, want 1 entry and revision 3 before", done, err)
	}
	expect(call(h, clitest.AnnUID, "", "-l"), t, "restored", clitest.Result{Out: strings.ReplaceAll(hostile, "\r", `\r`), Err: "", Code: 0})
}

// The largest crontab goes through, and one byte more does not.
func TestCrontabLargest(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	text := strings.Repeat("#"+strings.Repeat("x", 1022)+"\n", crontab.MaxText/1024)
	expect(call(h, clitest.AnnUID, text), t, "the largest", clitest.Result{})
	if r := call(h, clitest.AnnUID, "", "-l"); r.Out != text {
		t.Errorf("%d bytes came back of %d, %d, %q", len(r.Out), len(text), r.Code, r.Err)
	}
	if r := call(h, clitest.AnnUID, text+"#\n"); r.Code != 1 || !strings.Contains(r.Err, "16 MiB") {
		t.Errorf("larger: %d, %q", r.Code, r.Err)
	}
}
