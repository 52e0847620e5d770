package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// spoolIn is a host's places below a directory of the test, and an account
// that is not the test's own where the test is root.
func spoolIn(t *testing.T, family crontab.Family) (Paths, account.Account) {
	t.Helper()
	bob := account.Account{Name: "bob", UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	if os.Geteuid() == 0 {
		bob.UID, bob.GID = 20002, 20003
	}
	p := Host{Family: family}.Paths(t.TempDir())
	return p, bob
}

func stat(t *testing.T, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st
}

func listNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

func TestInstallMakesSpoolAndCrontab(t *testing.T) {
	for family, group := range map[crontab.Family]string{crontab.Debian: "daemon", crontab.RHEL: ""} {
		p, bob := spoolIn(t, family)
		p.Group = group // a group that each host has: "crontab" is not on all
		if os.Geteuid() != 0 {
			p.Group = ""
		}
		gid, shared := p.group()
		if !shared {
			gid = int(bob.GID)
		}
		if err := Install(p, bob, "* * * * * true\n"); err != nil {
			t.Fatal(err)
		}
		dir, want := stat(t, p.Users), uint32(0o700)
		if shared {
			want = 0o1730
		}
		if dir.Mode&0o7777 != want || dir.Uid != uint32(os.Geteuid()) || shared && int(dir.Gid) != gid {
			t.Errorf("family %d: spool has mode %o, owner %d:%d, want %o of root", family, dir.Mode&0o7777, dir.Uid, dir.Gid, want)
		}
		st := stat(t, filepath.Join(p.Users, "bob"))
		if st.Mode != unix.S_IFREG|0o600 || st.Uid != bob.UID || int(st.Gid) != gid || st.Nlink != 1 {
			t.Errorf("family %d: crontab has mode %o, owner %d:%d, %d names; want 0600 of %d:%d, one", family, st.Mode, st.Uid, st.Gid, st.Nlink, bob.UID, gid)
		}
		if text, err := p.ReadCrontab(bob); err != nil || text != "* * * * * true\n" {
			t.Errorf("ReadTable: %q, %v", text, err)
		}
	}
}

// What the source of crontabs would refuse must never be made here.
func TestInstalledCrontabIsTrusted(t *testing.T) {
	for _, family := range []crontab.Family{crontab.Debian, crontab.RHEL} {
		p, bob := spoolIn(t, family)
		if err := Install(p, bob, "* * * * * true\n"); err != nil {
			t.Fatal(err)
		}
		f := facts{candidate: candidate{userCrontab, filepath.Join(p.Users, "bob"), "bob"}, account: &bob, file: stat(t, filepath.Join(p.Users, "bob"))}
		if r := (trust{family: family}).refuse(&f); r != nil {
			t.Errorf("family %d: the crontab is refused: %v", family, r)
		}
	}
}

// A user who can write to the spool, or could once, creates files at the path of a crontab or its
// temporary file.
func TestInstallFollowsNothingPlanted(t *testing.T) {
	for name, plant := range map[string]func(victim, path string) error{
		"symbolic link": os.Symlink,
		"hard link":     os.Link,
		"dangling link": func(victim, path string) error { return os.Symlink(victim+".new", path) },
		"named pipe":    func(_, path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			p, bob := spoolIn(t, crontab.Debian)
			victim := filepath.Join(t.TempDir(), "victim")
			filetest.Write(t, victim, "secret\n", 0o644)
			path := filepath.Join(p.Users, "bob")
			if err := errors.Join(os.MkdirAll(p.Users, 0o700), plant(victim, path)); err != nil {
				t.Fatal(err)
			}
			if text, err := p.ReadCrontab(bob); err == nil {
				t.Errorf("ReadTable shows %q", text)
			}
			if err := Install(p, bob, "* * * * * true\n"); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(victim); string(got) != "secret\n" {
				t.Errorf("the file outside says %q now", got)
			}
			if _, err := os.Lstat(victim + ".new"); err == nil {
				t.Error("a file was made outside")
			}
			if st := stat(t, path); st.Mode != unix.S_IFREG|0o600 || st.Nlink != 1 {
				t.Errorf("the crontab has mode %o and %d names, want a file of its own", st.Mode, st.Nlink)
			}
			if err := errors.Join(os.Remove(path), plant(victim, path), Remove(p, bob)); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(victim); string(got) != "secret\n" {
				t.Errorf("after Remove the file outside says %q", got)
			}
		})
	}
}

func TestReadCrontabRefusesStrangers(t *testing.T) {
	hosttest.Root(t, "only root can give files away")
	p, bob := spoolIn(t, crontab.Debian)
	path := filepath.Join(p.Users, "bob")
	if err := Install(p, bob, "* * * * * true\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, int(bob.UID)+7, 0); err != nil {
		t.Fatal(err)
	}
	if text, err := p.ReadCrontab(bob); err == nil {
		t.Errorf("the file of a third account is shown: %q", text)
	}
}

func TestUserCrontabTakesNoPaths(t *testing.T) {
	p, _ := spoolIn(t, crontab.Debian)
	for _, name := range []string{"", ".", "..", "../../etc/passwd", "a/b", "/etc/passwd", ".hidden", "a\x00b", "a\nb", "#bob", "bob~", "bob.rpmsave", tempPrefix + "x"} {
		if path, err := p.UserCrontab(name); err == nil {
			t.Errorf("%q has the crontab %s", name, path)
		}
		if err := Install(p, account.Account{Name: name}, "x"); err == nil {
			t.Errorf("a crontab was installed for %q", name)
		}
		if err := Remove(p, account.Account{Name: name}); err == nil {
			t.Errorf("a crontab was removed for %q", name)
		}
	}
	for _, name := range []string{"bob", "john.doe", "EXAMPLE\\bob", "bob@example.org", "www-data", "a b", "машa"} {
		if path, err := p.UserCrontab(name); err != nil || path != filepath.Join(p.Users, name) {
			t.Errorf("%q: %s, %v", name, path, err)
		}
	}
}

func TestInstallConcurrentlyLeavesOneWhole(t *testing.T) {
	p, bob := spoolIn(t, crontab.Debian)
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			if err := Install(p, bob, strings.Repeat(fmt.Sprintf("%d * * * * true\n", n), 5000)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := p.ReadCrontab(bob)
	first, _, _ := strings.Cut(text, "\n")
	if err != nil || text != strings.Repeat(first+"\n", 5000) {
		t.Errorf("the crontab is mixed from several, or cut: %d bytes, %v", len(text), err)
	}
	if found := listNames(t, p.Users); len(found) != 1 {
		t.Errorf("temporary files are left: %q", found)
	}
}

// On a full disk the old crontab stays, whole, and nothing is left behind.
func TestInstallOnFullDiskKeepsOldCrontab(t *testing.T) {
	p, bob := spoolIn(t, crontab.Debian)
	if err := os.MkdirAll(p.Users, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", p.Users, "tmpfs", 0, "size=64k"); err != nil {
		hosttest.Missing(t, "no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(p.Users, 0) })
	if err := Install(p, bob, "* * * * * old\n"); err != nil {
		t.Fatal(err)
	}
	err := Install(p, bob, strings.Repeat("* * * * * new\n", 10_000))
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Install: %v, want no space", err)
	}
	if text, err := p.ReadCrontab(bob); err != nil || text != "* * * * * old\n" {
		t.Errorf("the old crontab: %q, %v", text, err)
	}
	if found := listNames(t, p.Users); len(found) != 1 {
		t.Errorf("left behind: %q", found)
	}
}

func TestRemoveTellsOfNone(t *testing.T) {
	p, bob := spoolIn(t, crontab.Debian)
	if err := Remove(p, bob); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Remove without a spool: %v, want not-exist", err)
	}
	if err := Install(p, bob, "#\n"); err != nil {
		t.Fatal(err)
	}
	if err := Remove(p, bob); err != nil {
		t.Error(err)
	}
	if err := Remove(p, bob); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Remove of nothing: %v, want not-exist", err)
	}
}

func TestRestoreKeepsOwnerAndMode(t *testing.T) {
	p, bob := spoolIn(t, crontab.Debian)
	path := filepath.Join(p.CronD, "backup")
	filetest.Write(t, path, "old\n", 0o644)
	if err := errors.Join(os.Chown(path, int(bob.UID), int(bob.GID)), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	if err := Restore(p, path, "new\n"); err != nil {
		t.Fatal(err)
	}
	if st := stat(t, path); st.Mode&0o7777 != 0o640 || st.Uid != bob.UID || st.Gid != bob.GID {
		t.Errorf("mode %o, owner %d:%d; want 0640 of %d:%d", st.Mode&0o7777, st.Uid, st.Gid, bob.UID, bob.GID)
	}
	if err := Restore(p, p.Crontab, "made\n"); err != nil {
		t.Error(err)
	} else if st := stat(t, p.Crontab); st.Mode&0o7777 != 0o644 || st.Uid != uint32(os.Geteuid()) {
		t.Errorf("a new one has mode %o, owner %d", st.Mode&0o7777, st.Uid)
	}
	if err := Withdraw(p, path); err != nil {
		t.Error(err)
	}
	if err := Withdraw(p, path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Withdraw of nothing: %v", err)
	}
}

func TestRestoreWritesCrontabsAlone(t *testing.T) {
	p, _ := spoolIn(t, crontab.Debian)
	filetest.Write(t, filepath.Join(p.CronD, "x"), "old\n", 0o644)
	victim := filepath.Join(filepath.Dir(p.CronD), "passwd")
	filetest.Write(t, victim, "secret\n", 0o644)
	if err := os.Symlink(victim, filepath.Join(p.CronD, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		victim, p.CronD + "/../passwd", p.CronD + "/a/b", p.CronD, "passwd", "", p.CronD + "/link", filepath.Join(p.Users, "bob"),
	} {
		if err := Restore(p, path, "evil\n"); err == nil {
			t.Errorf("%q was written", path)
		}
		if path != p.CronD+"/link" {
			if err := Withdraw(p, path); err == nil {
				t.Errorf("%q was removed", path)
			}
		}
	}
	if got, _ := os.ReadFile(victim); string(got) != "secret\n" {
		t.Errorf("the file outside says %q", got)
	}
}

func TestHeaderComesAndGoes(t *testing.T) {
	now := time.Date(2026, 11, 21, 21, 16, 44, 0, time.UTC)
	const own = "# mine\n# also mine\n# and this\n* * * * * x\n"
	header := Header("/tmp/ok", now, "1.0")
	if want := "# DO NOT EDIT THIS FILE - edit the master and reinstall.\n# (/tmp/ok installed on Sat Nov 21 21:16:44 2026)\n# (Cron version -- cronring 1.0)\n"; header != want {
		t.Errorf("header %q, want %q", header, want)
	}
	const debian = "# DO NOT EDIT THIS FILE - edit the master and reinstall.\n# (- installed on Sat Nov 21 21:16:44 2026)\n" +
		"# (Cron version -- $Id: crontab.c,v 2.13 1994/01/17 03:20:37 vixie Exp $)\n"
	for text, want := range map[string]string{
		header + own: own, debian + own: own, own: own, "": "", header: "",
		header + header + own:            header + own,
		strings.TrimSuffix(header, "\n"): strings.TrimSuffix(header, "\n"),
		"#\n" + header + own:             "#\n" + header + own,
		headerWarning + "\n" + own:       headerWarning + "\n" + own,
	} {
		if got := StripHeader(text); got != want {
			t.Errorf("StripHeader(%q): %q, want %q", text, got, want)
		}
	}
	hostile := Header("a\n* * * * * evil\n\x1b[2J"+strings.Repeat("x", 1000), now, "1")
	if strings.Count(hostile, "\n") != 3 || strings.Contains(hostile, "\x1b") || len(hostile) > headerRoom {
		t.Errorf("a file's name breaks out of the header: %q", hostile)
	}
}

func TestBodyOfUsersCrontabsHasNoHeader(t *testing.T) {
	p, _ := spoolIn(t, crontab.Debian)
	text := Header("-", time.Unix(0, 0), "1") + "x\n"
	if got := p.Body(filepath.Join(p.Users, "bob"), text); got != "x\n" {
		t.Errorf("body of a user's crontab: %q", got)
	}
	if got := p.Body(p.Crontab, text); got != text {
		t.Errorf("body of a system crontab: %q", got)
	}
}

func TestMayUse(t *testing.T) {
	for _, test := range []struct {
		name           string
		family         crontab.Family
		allow, deny    string // "-": none
		caller, target string
		want           bool
	}{
		{"no list", crontab.Debian, "-", "-", "bob", "bob", true},
		{"no list", crontab.RHEL, "-", "-", "bob", "bob", false},
		{"no list, root", crontab.RHEL, "-", "-", "root", "bob", true},
		{"allowed", crontab.Debian, "ann\nbob\n", "bob\n", "bob", "bob", true},
		{"not listed", crontab.Debian, "ann\n", "-", "bob", "bob", false},
		{"not listed, root", crontab.Debian, "ann\n", "-", "root", "root", true},
		{"target not listed, root", crontab.Debian, "ann\n", "-", "root", "bob", false},
		{"target not listed, root", crontab.RHEL, "ann\n", "-", "root", "bob", true},
		{"denied", crontab.Debian, "-", "bob\n", "bob", "bob", false},
		{"denied", crontab.RHEL, "-", "bob\n", "bob", "bob", false},
		{"empty deny", crontab.RHEL, "-", "", "bob", "bob", true},
		{"empty allow", crontab.Debian, "", "-", "bob", "bob", false},
		{"part of a line", crontab.Debian, "-", "bobby\nxbob\nbob \n#bob\n", "bob", "bob", true},
		{"no newline at the end", crontab.Debian, "-", "bob", "bob", "bob", false},
		{"pattern", crontab.Debian, "*\nALL\n", "-", "bob", "bob", false},
	} {
		p, _ := spoolIn(t, test.family)
		for path, text := range map[string]string{p.Allow: test.allow, p.Deny: test.deny} {
			if text != "-" {
				filetest.Write(t, path, text, 0o644)
			}
		}
		err := p.MayUse(test.family, test.caller, test.target)
		var barred *BarredError
		if (err == nil) != test.want || err != nil && !errors.As(err, &barred) {
			t.Errorf("%s, family %d, %s for %s: %v, want allowed %t", test.name, test.family, test.caller, test.target, err, test.want)
		}
	}
}

func TestMayUseRefusesWhenListIsUnreadable(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"directory":     func(path string) error { return os.MkdirAll(path, 0o755) },
		"named pipe":    func(path string) error { return unix.Mkfifo(path, 0o644) },
		"loop of links": func(path string) error { return os.Symlink(path, path) },
	} {
		p, _ := spoolIn(t, crontab.Debian)
		for _, path := range []string{p.Allow, p.Deny} {
			filetest.Write(t, p.Crontab, "", 0o644) // makes /etc
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			if err := p.MayUse(crontab.Debian, "bob", "bob"); err == nil {
				t.Errorf("%s is a %s, and bob is let in", path, name)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}
