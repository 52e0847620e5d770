package spool

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/account/accounttest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// The users of the tests. Their numbers are unused on most machines.
const (
	bobUID = 54321
	eveUID = 54322
)

// needRoot skips a test of owners, which only root can give away.
func needRoot(t testing.TB) {
	t.Helper()
	hosttest.Root(t, "files of other accounts can be made by root only; run as root to test who is trusted")
}

// crontabDirs is the directories of crontabs of a host, below a directory of the test.
type crontabDirs struct {
	testing.TB
	family crontab.Family
	places Paths
	users  accounttest.Users
}

func newCrontabDirs(t testing.TB, family crontab.Family) *crontabDirs {
	t.Helper()
	h := &crontabDirs{t, family, Host{Family: family}.Paths(t.TempDir()), accounttest.Users{"root": 0, "bob": bobUID, "eve": eveUID}}
	for _, dir := range []string{h.places.CronD, h.places.Users} {
		h.must(os.MkdirAll(dir, 0o755))
	}
	return h
}

func (h *crontabDirs) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *crontabDirs) options() SourceOptions {
	return SourceOptions{
		Host: Host{Family: h.family, Account: "root", Root: true}, Paths: h.places, Accounts: h.users,
		AnacronInstalled: func() bool { return false },
	}
}

// write makes a file with mode and owner, for any umask.
func (h *crontabDirs) write(path, text string, mode os.FileMode, uid int) {
	h.Helper()
	h.must(os.WriteFile(path, []byte(text), 0o600))
	if os.Geteuid() == 0 {
		h.must(os.Chown(path, uid, -1))
	}
	h.must(unix.Chmod(path, uint32(mode)))
}

func (h *crontabDirs) user(name string) string   { return filepath.Join(h.places.Users, name) }
func (h *crontabDirs) system(name string) string { return filepath.Join(h.places.CronD, name) }

const (
	goodUser   = "1 2 3 4 * true\n"
	goodSystem = "1 2 3 4 * root true\n"
)

// rows are states of a file, beside a good one, and the message of each cron's daemon about it as
// a user's crontab and as a system crontab; "" is no message.
var rows = []struct {
	name                   string
	make                   func(h *crontabDirs, path string, owner int)
	debianUser, debianFile string
	cronieUser, cronieFile string
}{
	{"good", func(*crontabDirs, string, int) {}, "", "", "", ""},
	{"owned by root", func(h *crontabDirs, path string, _ int) { h.must(os.Chown(path, 0, 0)) }, "", "", "", ""},
	{"owned by another", func(h *crontabDirs, path string, _ int) { h.must(os.Chown(path, eveUID, -1)) },
		"WRONG FILE OWNER", "WRONG FILE OWNER", "WRONG FILE OWNER", "WRONG FILE OWNER"},
	mode(0o600, "", "", "", ""),
	mode(0o644, insecureUser, "", "", ""),
	mode(0o400, insecureUser, "", "", ""),
	mode(0o000, insecureUser, "", "BAD FILE MODE", "BAD FILE MODE"),
	mode(0o700, insecureUser, "", "BAD FILE MODE", "BAD FILE MODE"),
	mode(0o755, insecureUser, "", "BAD FILE MODE", "BAD FILE MODE"),
	mode(0o4644, insecureUser, "", "BAD FILE MODE", "BAD FILE MODE"),
	mode(0o2600, insecureUser, "", "BAD FILE MODE", "BAD FILE MODE"),
	mode(0o620, insecureUser, insecureFile, "BAD FILE MODE", "BAD FILE MODE"),
	mode(0o602, insecureUser, insecureFile, "BAD FILE MODE", "BAD FILE MODE"),
	mode(0o666, insecureUser, insecureFile, "BAD FILE MODE", "BAD FILE MODE"),
	{"two names", func(h *crontabDirs, path string, _ int) { h.must(os.Link(path, h.places.Crontab+".other")) },
		"NUMBER OF HARD LINKS > 1", "NUMBER OF HARD LINKS > 1", "BAD LINK COUNT", ""},
	{"link", func(h *crontabDirs, path string, _ int) { h.link(path, h.move(path)) }, "CAN'T OPEN", "", "", ""},
	{"link of another", func(h *crontabDirs, path string, _ int) {
		h.link(path, h.move(path))
		h.must(os.Lchown(path, eveUID, -1))
	}, "CAN'T OPEN", "WRONG SYMLINK OWNER", "", ""},
	{"link to another's file", func(h *crontabDirs, path string, _ int) {
		moved := h.move(path)
		h.must(os.Chown(moved, eveUID, -1))
		h.link(path, moved)
	}, "CAN'T OPEN", "WRONG FILE OWNER", "WRONG FILE OWNER", "WRONG FILE OWNER"},
	{"broken link", func(h *crontabDirs, path string, _ int) {
		h.must(os.Remove(h.move(path)))
		h.link(path, path+".nowhere")
	}, "CAN'T OPEN", "CAN'T OPEN SYMLINK", "CAN'T OPEN", "CAN'T OPEN"},
	{"link in a circle", func(h *crontabDirs, path string, _ int) {
		h.move(path)
		h.link(path, path)
	}, "CAN'T OPEN", "CAN'T OPEN SYMLINK", "CAN'T OPEN", "CAN'T OPEN"},
	{"directory", func(h *crontabDirs, path string, owner int) {
		h.move(path)
		h.must(os.Mkdir(path, 0o700))
		h.must(os.Chown(path, owner, -1))
	}, "NOT A REGULAR FILE", "NOT A REGULAR FILE", "NOT REGULAR", "NOT REGULAR"},
	{"pipe", func(h *crontabDirs, path string, owner int) {
		h.move(path)
		h.must(unix.Mkfifo(path, 0o600))
		h.must(os.Chown(path, owner, -1))
	}, "NOT A REGULAR FILE", "NOT A REGULAR FILE", "NOT REGULAR", "NOT REGULAR"},
	{"pipe of another", func(h *crontabDirs, path string, _ int) {
		h.move(path)
		h.must(unix.Mkfifo(path, 0o666))
		h.must(os.Chown(path, eveUID, -1))
	}, "WRONG FILE OWNER", "WRONG FILE OWNER", "NOT REGULAR", "NOT REGULAR"},
	{"link to a device", func(h *crontabDirs, path string, _ int) {
		h.move(path)
		h.link(path, "/dev/zero")
	}, "CAN'T OPEN", "NOT A REGULAR FILE", "NOT REGULAR", "NOT REGULAR"},
	{"socket", func(h *crontabDirs, path string, owner int) {
		h.move(path)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		h.must(err)
		h.Cleanup(func() { l.Close() })
		h.must(os.Chown(path, owner, -1))
	}, "CAN'T OPEN", "CAN'T OPEN", "CAN'T OPEN", "CAN'T OPEN"},
	{"a gigabyte", func(h *crontabDirs, path string, _ int) { h.must(os.Truncate(path, 1<<30)) },
		"FILE TOO LARGE", "FILE TOO LARGE", "FILE TOO LARGE", "FILE TOO LARGE"},
	{"one byte too many", func(h *crontabDirs, path string, _ int) { h.must(os.Truncate(path, crontab.MaxText+1)) },
		"FILE TOO LARGE", "FILE TOO LARGE", "FILE TOO LARGE", "FILE TOO LARGE"},
	{"as large as can be", func(h *crontabDirs, path string, _ int) { h.must(os.Truncate(path, crontab.MaxText)) }, "", "", "", ""},
}

const (
	insecureUser = "INSECURE MODE (mode 0600 expected)"
	insecureFile = "INSECURE MODE (group/other writable)"
)

type row = struct {
	name                   string
	make                   func(h *crontabDirs, path string, owner int)
	debianUser, debianFile string
	cronieUser, cronieFile string
}

func mode(m uint32, debianUser, debianFile, cronieUser, cronieFile string) row {
	return row{
		fmt.Sprintf("mode %04o", m), func(h *crontabDirs, path string, _ int) { h.must(unix.Chmod(path, m)) },
		debianUser, debianFile, cronieUser, cronieFile,
	}
}

// move puts a file out of the way, as it is.
func (h *crontabDirs) move(path string) string {
	h.Helper()
	moved := filepath.Join(filepath.Dir(h.places.Crontab), "moved")
	h.must(os.Rename(path, moved))
	return moved
}

func (h *crontabDirs) link(path, target string) {
	h.Helper()
	h.must(os.Symlink(target, path))
}

func TestTrustEveryRow(t *testing.T) {
	needRoot(t)
	for _, family := range []crontab.Family{crontab.Debian, crontab.RHEL} {
		for _, row := range rows {
			user, file := row.debianUser, row.debianFile
			if family == crontab.RHEL {
				user, file = row.cronieUser, row.cronieFile
			}
			t.Run(fmt.Sprintf("%d/%s", family, row.name), func(t *testing.T) {
				h := newCrontabDirs(t, family)
				h.write(h.user("bob"), goodUser, 0o600, bobUID)
				row.make(h, h.user("bob"), bobUID)
				h.judge(candidate{userCrontab, h.user("bob"), "bob"}, user)
			})
			t.Run(fmt.Sprintf("%d/%s, system", family, row.name), func(t *testing.T) {
				h := newCrontabDirs(t, family)
				h.write(h.system("pkg"), goodSystem, 0o644, 0)
				row.make(h, h.system("pkg"), 0)
				h.judge(candidate{systemCrontab, h.system("pkg"), "pkg"}, file)
			})
		}
	}
}

// judge loads a candidate and compares the word. A judgement that blocks is
// one, too.
func (h *crontabDirs) judge(c candidate, want string) *Refusal {
	h.Helper()
	type result struct {
		text    string
		refusal *Refusal
	}
	done := make(chan result, 1)
	go func() {
		bob := account.Account{Name: "bob", UID: bobUID}
		text, r := trust{family: h.family}.load(c, &bob, nil)
		done <- result{text, r}
	}()
	var got result
	select {
	case got = <-done:
	case <-time.After(hosttest.Patience):
		h.Fatalf("%s: judging it blocks", c.path)
	}
	word := ""
	if r := got.refusal; r != nil {
		word = r.Word
		if r.Why == "" || r.Code == "" || r.Path != c.path || !strings.Contains(r.Log, ") "+r.Word+" (") {
			h.Errorf("refusal %+v lacks something", r)
		}
	}
	if word != want || word == "" && len(got.text) == 0 || word != "" && got.text != "" {
		h.Errorf("family %d, %s: word %q and %d bytes; want %q", h.family, c.path, word, len(got.text), want)
	}
	return got.refusal
}

func TestTrustPermissiveAsksOnlyWhatCanBeRead(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.RHEL)
	h.write(h.user("bob"), goodUser, 0o666, eveUID)
	bob := account.Account{Name: "bob", UID: bobUID}
	p := trust{family: crontab.RHEL, permissive: true}
	if _, r := p.load(candidate{userCrontab, h.user("bob"), "bob"}, &bob, nil); r != nil {
		t.Errorf("another's file that all may write is refused with -p: %v", r)
	}
	if _, r := p.load(candidate{userCrontab, h.user("bob"), "bob"}, nil, nil); r == nil || r.Word != "ORPHAN" {
		t.Errorf("a crontab of nobody: %v; want ORPHAN with -p, too", r)
	}
	if _, r := p.load(candidate{systemCrontab, h.places.CronD, "x"}, nil, nil); r == nil || r.Word != "NOT REGULAR" {
		t.Errorf("a directory: %v; want NOT REGULAR with -p, too", r)
	}
}

func TestTrustAnacrontabIsRoots(t *testing.T) {
	needRoot(t)
	for _, test := range []struct {
		family crontab.Family
		mode   os.FileMode
		uid    int
		want   string
	}{
		{crontab.Debian, 0o644, 0, ""},
		{crontab.Debian, 0o755, 0, ""},
		{crontab.Debian, 0o664, 0, insecureFile},
		{crontab.Debian, 0o644, eveUID, "WRONG FILE OWNER"},
		{crontab.RHEL, 0o600, 0, ""},
		{crontab.RHEL, 0o755, 0, ""},
		{crontab.RHEL, 0o646, 0, "BAD FILE MODE"},
		{crontab.RHEL, 0o600, eveUID, "WRONG FILE OWNER"},
	} {
		h := newCrontabDirs(t, test.family)
		h.write(h.places.Anacrontab, "1 5 x true\n", test.mode, test.uid)
		h.judge(candidate{anacrontab, h.places.Anacrontab, "anacrontab"}, test.want)
	}
}

func TestTrustLogsAsCronDoes(t *testing.T) {
	needRoot(t)
	for _, test := range []struct {
		family crontab.Family
		make   func(h *crontabDirs) candidate
		want   string // PATH stands for the path
	}{
		{crontab.Debian, func(h *crontabDirs) candidate {
			h.write(h.user("bob"), goodUser, 0o600, eveUID)
			return candidate{userCrontab, h.user("bob"), "bob"}
		}, "(bob) WRONG FILE OWNER (crontabs/bob)"},
		{crontab.Debian, func(h *crontabDirs) candidate {
			h.write(h.system("pkg"), goodSystem, 0o666, 0)
			return candidate{systemCrontab, h.system("pkg"), "pkg"}
		}, "(*system*pkg) INSECURE MODE (group/other writable) (PATH)"},
		{crontab.Debian, func(h *crontabDirs) candidate {
			h.write(h.places.Crontab, goodSystem, 0o666, 0)
			return candidate{systemCrontab, h.places.Crontab, ""}
		}, "(*system*) INSECURE MODE (group/other writable) (PATH)"},
		{crontab.RHEL, func(h *crontabDirs) candidate {
			h.write(h.user("bob"), goodUser, 0o777, bobUID)
			return candidate{userCrontab, h.user("bob"), "bob"}
		}, "(bob) BAD FILE MODE (PATH)"},
		{crontab.RHEL, func(h *crontabDirs) candidate {
			h.write(h.system("pkg"), goodSystem, 0o666, 0)
			return candidate{systemCrontab, h.system("pkg"), "pkg"}
		}, "(root) BAD FILE MODE (PATH)"},
		{crontab.RHEL, func(h *crontabDirs) candidate {
			h.link(h.system("pkg"), "/nowhere/at/all")
			return candidate{systemCrontab, h.system("pkg"), "pkg"}
		}, "(root) CAN'T OPEN (PATH): no such file or directory"},
	} {
		h := newCrontabDirs(t, test.family)
		c := test.make(h)
		bob := account.Account{Name: "bob", UID: bobUID}
		_, r := trust{family: test.family}.load(c, &bob, nil)
		want := strings.ReplaceAll(test.want, "PATH", c.path)
		if r == nil || r.Log != want {
			t.Errorf("logs %v\nwant %s", r, want)
		}
	}
	odd := candidate{userCrontab, "/spool/b\x1b[31mö", "b\x1b[31mö"}
	_, r := trust{}.load(odd, nil, nil)
	if want := `(b^[[31m\303\266) ORPHAN (no passwd entry)`; r == nil || r.Log != want {
		t.Errorf("logs %v; want %s", r, want)
	}
}
