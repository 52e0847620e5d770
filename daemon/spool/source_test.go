package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// reads is a source and its last snapshot.
type reads struct {
	*crontabDirs
	*Source
	Snapshot
}

func (h *crontabDirs) open() *reads { return &reads{crontabDirs: h, Source: OpenSource(h.options())} }

func (r *reads) scan() *reads {
	r.Helper()
	r.Snapshot = r.Scan(r.Context())
	return r
}

// expect compares crontabs and changes with a list of words: "=pkg" for a crontab
// that is loaded, "pkg reloaded" for a change.
func (r *reads) expect(want ...string) {
	r.Helper()
	var got []string
	for _, t := range r.Crontabs {
		got = append(got, "="+filepath.Base(t.Name))
	}
	for _, c := range r.Changes {
		got = append(got, filepath.Base(c.Path)+" "+string(c.Kind))
	}
	if !slices.Equal(got, want) {
		r.Errorf("crontabs and changes %q\nwant %q", got, want)
	}
}

func (r *reads) refused(want ...string) {
	r.Helper()
	var got []string
	for _, f := range r.Refused {
		word := filepath.Base(f.Path) + ": " + f.Word
		if f.Kept {
			word += " (kept)"
		}
		got = append(got, word)
	}
	if !slices.Equal(got, want) {
		r.Errorf("refused %q\nwant %q", got, want)
	}
}

func (r *reads) commands() string {
	var all []string
	for _, t := range r.Crontabs {
		for i := range t.Entries {
			all = append(all, t.Entries[i].User()+":"+t.Entries[i].Command())
		}
	}
	return strings.Join(all, " ")
}

func (r *reads) runs(want string) {
	r.Helper()
	if got := r.commands(); got != want {
		r.Errorf("commands %q, want %q", got, want)
	}
}

func TestSourceReadsAllPlacesInOrder(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.places.Crontab, "1 1 * * * root main\n", 0o644, 0)
	h.write(h.system("zeta"), "1 1 * * * bob zeta\n", 0o644, 0)
	h.write(h.system("alpha"), "1 1 * * * eve alpha\nnonsense\n", 0o644, 0)
	h.write(h.system("backup.sh"), "1 1 * * * root never\n", 0o644, 0)
	h.write(h.system(".placeholder"), "", 0o644, 0)
	h.write(h.user("eve"), "1 1 * * * evil\n", 0o600, eveUID)
	h.write(h.user("bob"), "1 1 * * * bobs\n", 0o600, bobUID)
	h.write(h.user("zoe"), "1 1 * * * nobody\n", 0o600, 12345)
	h.write(h.user("tmp.x1"), "1 1 * * * nobody\n", 0o600, 12345)
	h.write(h.places.Anacrontab, "1 5 cron.daily daily\n", 0o644, 0)
	r := h.open().scan()
	r.expect("=crontab", "=alpha", "=zeta", "=bob", "=eve", "=anacrontab",
		"crontab loaded", "alpha loaded", "zeta loaded", "bob loaded", "eve loaded", "zoe refused", "anacrontab loaded")
	r.runs("root:main eve:alpha bob:zeta bob:bobs eve:evil root:daily")
	r.refused("zoe: ORPHAN")
	if len(r.Ignored) != 2 || r.Ignored[0].Path != h.system("backup.sh") || r.Ignored[1].Path != h.user("tmp.x1") {
		t.Errorf("ignored %+v; want backup.sh and tmp.x1", r.Ignored)
	}
	if len(r.Diagnostics) != 1 || r.Diagnostics[0].File != h.system("alpha") || r.Diagnostics[0].Line != 2 {
		t.Errorf("diagnostics %v; want one on line 2 of alpha", r.Diagnostics)
	}
	if c := r.Changes[1]; c.Who != "*system*alpha" || c.Text != "1 1 * * * eve alpha\nnonsense\n" || len(c.Diagnostics) != 1 || c.Log != "" {
		t.Errorf("change %+v; want text and diagnostics of alpha, and no RELOAD", c)
	}
	if c := r.Changes[1]; len(c.Errors) != 1 || c.Errors[0] != "bad minute, line 2 of "+h.system("alpha")+", this line will be ignored" {
		t.Errorf("errors %q of alpha; want line 2 in cron's words", c.Errors)
	}
	if c := r.Changes[5]; c.Log != "(zoe) ORPHAN (no passwd entry)" || c.Refusal == nil {
		t.Errorf("change %+v; want ORPHAN of zoe", c)
	}
	if !r.Changed || r.Zone != time.UTC {
		t.Errorf("changed %t, zone %v; want true, UTC", r.Changed, r.Zone)
	}
	before := r.Crontabs
	if r.scan(); r.Changed || len(r.Changes) > 0 || !slices.Equal(before, r.Crontabs) || len(r.Refused) != 1 || len(r.Ignored) != 2 {
		t.Errorf("a second scan of the same: changed %t, changes %v", r.Changed, r.Changes)
	}
}

func TestSourceLeavesAnacrontabToAnacron(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.places.Anacrontab, "1 5 cron.daily daily\n", 0o644, 0)
	h.must(os.MkdirAll(filepath.Dir(h.places.Anacron), 0o755))
	h.write(h.places.Anacron, "#!/bin/sh\n", 0o755, 0)
	o := h.options()
	o.AnacronInstalled = nil
	r := &reads{crontabDirs: h, Source: OpenSource(o)}
	r.scan().expect()
	h.must(os.Remove(h.places.Anacron))
	r.scan().expect("=anacrontab", "anacrontab loaded")
	h.write(h.places.Anacron, "#!/bin/sh\n", 0o755, 0)
	r.scan().expect("anacrontab gone")
}

func TestSourceFollowsEdits(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.system("a"), "1 1 * * * root a1\n", 0o644, 0)
	h.write(h.system("b"), "1 1 * * * root b1\n", 0o644, 0)
	r := h.open()
	r.scan().expect("=a", "=b", "a loaded", "b loaded")
	b := r.Crontabs[1]

	// An editor that renames its copy over the file.
	h.write(h.system("a.new"), "1 1 * * * root a2\n", 0o644, 0)
	h.must(os.Rename(h.system("a.new"), h.system("a")))
	r.scan().expect("=a", "=b", "a reloaded")
	r.runs("root:a2 root:b1")
	if r.Crontabs[1] != b {
		t.Error("a crontab that did not change was parsed again")
	}
	if c := r.Changes[0]; c.Log != "(*system*a) RELOAD ("+h.system("a")+")" || c.Text != "1 1 * * * root a2\n" {
		t.Errorf("change %+v; want RELOAD and the new text", c)
	}

	// A change in place of the same length, with the modification time restored.
	st := stat(t, h.system("a"))
	h.must(os.WriteFile(h.system("a"), []byte("1 1 * * * root a3\n"), 0o644))
	h.must(unix.UtimesNano(h.system("a"), []unix.Timespec{unix.NsecToTimespec(st.Atim.Nano()), unix.NsecToTimespec(st.Mtim.Nano())}))
	r.scan().runs("root:a3 root:b1")

	// Touched, but the same.
	h.must(os.Chtimes(h.system("b"), time.Now(), time.Unix(0, 0)))
	r.scan().expect("=a", "=b")
	if r.Changed || r.Crontabs[1] != b {
		t.Error("a crontab that was only touched was parsed again")
	}

	h.must(os.Remove(h.system("a")))
	r.scan().expect("=b", "a gone")
	if !r.Changed {
		t.Error("a crontab that is gone is no change")
	}
}

// A file system's clock may tick so slowly that two edits leave one look. Here
// it is made to, as the clocks of new kernels do not.
func TestSourceReadsFreshFilesAgain(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.system("a"), "1 1 * * * root a1\n", 0o644, 0)
	r := h.open()
	r.fresh = time.Hour
	edit := func(text string) {
		t.Helper()
		h.write(h.system("a"), text, 0o644, 0)
		l, err := lookAt(unix.AT_FDCWD, h.system("a"))
		h.must(err)
		r.files[h.system("a")].look = l
	}
	r.scan().runs("root:a1")
	edit("1 1 * * * root a2\n")
	r.scan().runs("root:a2")
	r.fresh = -time.Hour // what was just written is taken to be old
	edit("1 1 * * * root a3\n")
	r.scan().runs("root:a3") // it was fresh when it was read
	edit("1 1 * * * root a4\n")
	r.scan().runs("root:a3")
}

func TestLookIsFreshNearItsChange(t *testing.T) {
	now := time.Now()
	for age, want := range map[time.Duration]bool{
		0: true, time.Second: true, 3 * time.Second: false, -time.Second: true,
		-time.Hour: false, // the clock was set back
	} {
		at := now.Add(-age).UnixNano()
		if got := (pathFingerprint{self: fingerprint{ctime: at}}).fresh(now, freshness); got != want {
			t.Errorf("changed %v ago: fresh %t, want %t", age, got, want)
		}
		if got := (pathFingerprint{self: fingerprint{}, target: fingerprint{ctime: at}}).fresh(now, freshness); got != want {
			t.Errorf("target changed %v ago: fresh %t, want %t", age, got, want)
		}
	}
}

func TestSourceKeepsLastGoodVersion(t *testing.T) {
	needRoot(t)
	spoil := map[string]func(h *crontabDirs, path string){
		"world-writable": func(h *crontabDirs, path string) { h.write(path, "1 1 * * * forged\n", 0o666, bobUID) },
		"another's":      func(h *crontabDirs, path string) { h.write(path, "1 1 * * * forged\n", 0o600, eveUID) },
		"two names": func(h *crontabDirs, path string) {
			h.write(path, "1 1 * * * forged\n", 0o600, bobUID)
			h.must(os.Link(path, h.places.Crontab+".other"))
		},
		"a link": func(h *crontabDirs, path string) {
			h.write(h.places.Crontab+".other", "1 1 * * * forged\n", 0o600, bobUID)
			h.must(os.Remove(path))
			h.link(path, h.places.Crontab+".other")
		},
		"a pipe": func(h *crontabDirs, path string) {
			h.must(os.Remove(path))
			h.must(unix.Mkfifo(path, 0o600))
			h.must(os.Chown(path, bobUID, -1))
		},
		"a gigabyte": func(h *crontabDirs, path string) { h.must(os.Truncate(path, 1<<30)) },
	}
	for name, spoil := range spoil {
		t.Run(name, func(t *testing.T) {
			h := newCrontabDirs(t, crontab.Debian)
			path := h.user("bob")
			h.write(path, "1 1 * * * good\n", 0o600, bobUID)
			r := h.open()
			r.scan().runs("bob:good")
			spoil(h, path)
			r.scan().expect("=bob", "bob refused")
			r.runs("bob:good")
			if len(r.Refused) != 1 || !r.Refused[0].Kept {
				t.Errorf("refused %+v; want one that is kept", r.Refused)
			}
			if d := r.Refused[0].Diagnostic(); !strings.HasPrefix(d.Message, "refused, ") || d.Severity != crontab.Error {
				t.Errorf("diagnostic %+v does not say what holds", d)
			}
			r.scan().expect("=bob") // once for each change of state

			h.must(os.Remove(path))
			h.write(path, "1 1 * * * better\n", 0o600, bobUID)
			r.scan().expect("=bob", "bob reloaded")
			r.runs("bob:better")
			r.refused()
		})
	}
}

func TestParserPanicRefusesOneCrontabOnly(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.user("bob"), "1 1 * * * good\n", 0o600, bobUID)
	r := h.open()
	r.parseText = func(name, text string, c crontab.Config) (*crontab.File, []crontab.Diagnostic) {
		if strings.Contains(text, "panic") {
			panic("index out of range")
		}
		return crontab.Parse(name, text, c)
	}
	r.scan().runs("bob:good")
	h.write(h.user("bob"), "2 2 * * * panic\n", 0o600, bobUID)
	h.write(h.user("eve"), goodUser, 0o600, eveUID)
	r.scan().expect("=bob", "=eve", "bob refused", "eve loaded")
	r.refused("bob: CANNOT BE PARSED (kept)")
	if !strings.Contains(r.commands(), "bob:good") {
		t.Errorf("commands %q; want what bob's crontab contained before", r.commands())
	}
	r.scan().expect("=bob", "=eve")

	h.write(h.user("bob"), "3 3 * * * better\n", 0o600, bobUID)
	r.scan().expect("=bob", "=eve", "bob reloaded")
	r.refused()

	// At a start there is nothing to keep.
	h.write(h.user("bob"), "2 2 * * * panic\n", 0o600, bobUID)
	again := h.open()
	again.parseText = r.parseText
	again.scan().expect("=eve", "bob refused", "eve loaded")
	again.refused("bob: CANNOT BE PARSED")
}

func TestSourceAcceptsWhatWasMended(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.user("bob"), goodUser, 0o600, bobUID)
	r := h.open()
	r.scan()
	file := r.Crontabs[0]
	h.must(os.Chmod(h.user("bob"), 0o644))
	r.scan().refused("bob: INSECURE MODE (mode 0600 expected) (kept)")
	h.must(os.Chmod(h.user("bob"), 0o600))
	r.scan().expect("=bob", "bob accepted")
	if r.Crontabs[0] != file || r.Changes[0].Log != "(bob) RELOAD (crontabs/bob)" {
		t.Errorf("change %+v, same crontab %t; want RELOAD of the same", r.Changes[0], r.Crontabs[0] == file)
	}
	// What was never good has nothing to keep.
	h.write(h.user("eve"), goodUser, 0o666, eveUID)
	r.scan().refused("eve: INSECURE MODE (mode 0600 expected)")
	r.expect("=bob", "eve refused")
	h.must(os.Chmod(h.user("eve"), 0o600))
	r.scan().expect("=bob", "=eve", "eve loaded")
}

func TestSourceAsksForOrphansAgain(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.user("zoe"), goodUser, 0o600, 54999)
	r := h.open()
	r.scan().refused("zoe: ORPHAN")
	h.users["zoe"] = 54999
	r.scan().expect("=zoe", "zoe loaded")

	h.users["zoe"] = errors.New("the directory does not answer")
	r.scan().expect("=zoe")
	r.refused()

	h.users["zoe"] = 54998 // a new number: the file belongs to a different user now
	r.scan().refused("zoe: WRONG FILE OWNER (kept)")
	delete(h.users, "zoe")
	r.scan().expect("zoe gone", "zoe refused")
	r.refused("zoe: ORPHAN")
	h.users["zoe"] = 54999
	r.scan().expect("=zoe", "zoe loaded")

	h.write(h.user("yan"), goodUser, 0o600, 54997)
	h.users["yan"] = errors.New("the directory does not answer")
	r.scan()
	if len(r.Refused) != 1 || !strings.Contains(r.Refused[0].Why, "does not answer") {
		t.Errorf("refused %+v; want the directory's trouble", r.Refused)
	}
}

func TestSourceFollowsLinks(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	target := h.places.Crontab + ".opt"
	h.write(target, "1 1 * * * root v1\n", 0o644, 0)
	h.link(h.system("app"), target)
	r := h.open()
	r.scan().runs("root:v1")
	h.write(target, "1 1 * * * root v2\n", 0o644, 0)
	r.scan().runs("root:v2")

	// The link is replaced by a link of another user.
	h.must(os.Remove(h.system("app")))
	h.write(target+"2", "1 1 * * * root forged\n", 0o644, 0)
	h.link(h.system("app"), target+"2")
	h.must(os.Lchown(h.system("app"), eveUID, -1))
	r.scan().refused("app: WRONG SYMLINK OWNER (kept)")
	r.runs("root:v2")

	// If the target is removed, its entries end, like those of a file.
	h.must(os.Remove(h.system("app")))
	h.link(h.system("app"), target)
	r.scan().runs("root:v2")
	h.must(os.Remove(target))
	r.scan().expect("app gone", "app refused")
	r.refused("app: CAN'T OPEN SYMLINK")
}

func TestSourceTakesNoise(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	noise := make([]byte, 1<<20)
	state := uint32(1)
	for i := range noise {
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	h.write(h.system("noise"), string(noise), 0o644, 0)
	h.write(h.system("pkg"), goodSystem, 0o644, 0)
	r := h.open().scan()
	if len(r.Crontabs) != 2 || len(r.Crontabs[1].Entries) != 1 || len(r.Diagnostics) == 0 {
		t.Errorf("%d crontabs, %d diagnostics; want noise to be reported and the rest to run", len(r.Crontabs), len(r.Diagnostics))
	}
}

func TestSourceKeepsWhatItCannotList(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.places.Crontab, "1 1 * * * root main\n", 0o644, 0)
	h.write(h.system("pkg"), goodSystem, 0o644, 0)
	h.write(h.user("bob"), goodUser, 0o600, bobUID)
	r := h.open()
	r.scan().runs("root:main root:true bob:true")

	// A file in the place of the directory cannot be listed, root or not.
	h.must(os.Rename(h.places.CronD, h.places.CronD+".away"))
	h.must(os.WriteFile(h.places.CronD, nil, 0o644))
	r.scan().expect("=crontab", "=pkg", "=bob")
	r.refused("cron.d: OPENDIR FAILED (kept)")

	h.must(os.Remove(h.places.CronD))
	r.scan().expect("=crontab", "=bob", "pkg gone")
	h.must(os.Rename(h.places.CronD+".away", h.places.CronD))
	r.scan().expect("=crontab", "=pkg", "=bob", "pkg loaded")
}

func TestSourceFilesNamedByHandNeedOnlyBeReadable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "table.with.dots")
	filetest.Write(t, file, "1 1 * * * one\n", 0o666)
	r := &reads{crontabDirs: &crontabDirs{TB: t}, Source: OpenSource(SourceOptions{Host: Host{Account: "ann"}, Files: []string{file, file, filepath.Join(dir, "missing")}})}
	r.scan().expect("=table.with.dots", "table.with.dots loaded", "missing refused")
	r.runs("ann:one")
	if f := r.Refused[0]; f.Why != "it cannot be opened: no such file or directory" || f.Log != "" {
		t.Errorf("refused %+v", f)
	}
	// What it said before stays while it cannot be read: an editor may be at it.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r.scan().expect("=table.with.dots", "table.with.dots refused")
	filetest.Write(t, file, "1 1 * * * two\n", 0o666)
	r.scan().expect("=table.with.dots", "table.with.dots reloaded")
}

func TestSourceReadsPipeNamedByHandOnce(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := write.WriteString("1 1 * * * one\n"); err != nil {
		t.Fatal(err)
	}
	write.Close()
	r := &reads{crontabDirs: &crontabDirs{TB: t}, Source: OpenSource(SourceOptions{Host: Host{Account: "ann"}, Files: []string{fmt.Sprintf("/proc/self/fd/%d", read.Fd())}})}
	r.scan().runs("ann:one")
	r.scan().runs("ann:one")
}

// Opening a named pipe would block until a program writes to it.
func TestSourceRefusesNamedPipeNamedByHand(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(unix.Mkfifo(pipe, 0o600), os.Symlink(pipe, link)); err != nil {
		t.Fatal(err)
	}
	r := &reads{crontabDirs: &crontabDirs{TB: t}, Source: OpenSource(SourceOptions{Host: Host{Account: "ann"}, Files: []string{pipe, link}})}
	r.scan().refused("pipe: NOT A REGULAR FILE", "link: NOT A REGULAR FILE")
	if f := r.Refused[0]; f.Code != CodeType || f.Why != "it is a named pipe, not a regular file" || f.Fix == "" {
		t.Errorf("refused %+v", f)
	}
}

func TestSourceFollowsTheHostsZone(t *testing.T) {
	needRoot(t)
	t.Setenv("TZ", "") // put back at the end
	os.Unsetenv("TZ")
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.system("pkg"), "30 2 * * * root plain\n", 0o644, 0)
	h.write(h.system("tokyo"), "CRON_TZ=Asia/Tokyo\n30 2 * * * root own\n", 0o644, 0)
	h.link(h.places.Localtime, "/usr/share/zoneinfo/Europe/Berlin")
	r := h.open()
	hour := func(i int) int {
		return r.Crontabs[i].Entries[0].Schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).UTC().Hour()
	}
	zone := func(name string, plain int) {
		t.Helper()
		r.scan()
		if r.Zone.String() != name || hour(0) != plain || hour(1) != 17 {
			t.Errorf("zone %s, hours %d and %d; want %s, %d and 17", r.Zone, hour(0), hour(1), name, plain)
		}
	}
	zone("Europe/Berlin", 1)
	h.must(os.Remove(h.places.Localtime))
	h.link(h.places.Localtime, "/usr/share/zoneinfo/America/New_York")
	zone("America/New_York", 7)
	if !r.Changed || len(r.Changes) != 0 {
		t.Errorf("changed %t, changes %v; want a change of no file", r.Changed, r.Changes)
	}

	// The only name of a copy is the content of /etc/timezone, if that is correct.
	kolkata := zoneFile(t, "Asia/Kolkata")
	h.must(os.Remove(h.places.Localtime))
	h.must(os.WriteFile(h.places.Localtime, kolkata, 0o644))
	h.must(os.WriteFile(h.places.Timezone, []byte("Europe/Berlin\n"), 0o644))
	zone("Local", 21)
	h.must(os.WriteFile(h.places.Timezone, []byte("Asia/Kolkata\n"), 0o644))
	zone("Asia/Kolkata", 21)
	known := r.Zone
	if r.scan(); r.Changed || r.Zone != known {
		t.Error("a zone that did not change is another")
	}
	h.must(os.Remove(h.places.Localtime))
	zone("UTC", 2)

	t.Setenv("TZ", "Asia/Tokyo")
	r = h.open()
	zone("Asia/Tokyo", 17)
}

func zoneFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("/usr/share/zoneinfo/" + name)
	if err != nil {
		hosttest.Missing(t, "this machine has no zone files (package tzdata): %v", err)
	}
	return data
}

// A burst of a package manager: files come under names that are ignored and
// are renamed, some are removed, others come.
func TestSourcePackageManagersBurst(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	r := h.open()
	r.scan()
	for i := range 300 {
		name := h.system(fmt.Sprintf("pkg%03d", i))
		h.write(name+".dpkg-new", goodSystem, 0o644, 0)
		if i%3 == 0 {
			r.scan()
		}
		h.must(os.Rename(name+".dpkg-new", name))
		if i >= 100 {
			h.must(os.Remove(h.system(fmt.Sprintf("pkg%03d", i-100))))
		}
	}
	r.scan()
	if len(r.Crontabs) != 100 || len(r.Ignored) != 0 || len(r.Refused) != 0 {
		t.Errorf("%d crontabs, ignored %v, refused %v; want 100 and none", len(r.Crontabs), r.Ignored, r.Refused)
	}
}

func TestSourceCacheIsRenewed(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	r := h.open()
	first := r.cache
	for i := range 1100 {
		h.write(h.system("a"), fmt.Sprintf("%d %d * * * root true\n", i%60, i/60), 0o644, 0)
		r.scan()
	}
	if r.cache == first {
		t.Error("after 1,100 edits everything that was ever read is still remembered")
	}
}

// BenchmarkScan scans 10,000 unchanged crontabs, compared with as many bare calls of lstat, which
// is the minimum.
func BenchmarkScan(b *testing.B) {
	needRoot(b)
	h := newCrontabDirs(b, crontab.Debian)
	const files = 10_000
	for i := range files {
		h.write(h.system(fmt.Sprintf("package-%05d", i)), goodSystem, 0o644, 0)
	}
	s := OpenSource(h.options())
	s.fresh = -time.Hour // what was just made is taken to be old
	if n := len(s.Scan(b.Context()).Crontabs); n != files {
		b.Fatalf("%d crontabs, want %d", n, files)
	}
	b.Run("Unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if snap := s.Scan(b.Context()); snap.Changed {
				b.Fatal("something changed")
			}
		}
	})
	b.Run("Lstat", func(b *testing.B) {
		for b.Loop() {
			var st unix.Stat_t
			for i := range files {
				if err := unix.Lstat(h.system(fmt.Sprintf("package-%05d", i)), &st); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("Fresh", func(b *testing.B) {
		for b.Loop() {
			if n := len(OpenSource(h.options()).Scan(b.Context()).Crontabs); n != files {
				b.Fatal(n)
			}
		}
	})
}

func TestSourceParsesAnewForAnotherSidecarOnly(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.system("a"), "1 1 * * * root a1\n", 0o644, 0)
	h.write(h.system("b"), "1 1 * * * root b1\n", 0o644, 0)
	r := h.open()
	r.scan()
	same := func(want bool, what string) {
		t.Helper()
		before := r.Crontabs
		if r.scan(); slices.Equal(before, r.Crontabs) != want || r.Changed == want || len(r.Changes) > 0 {
			t.Errorf("%s: same crontabs %t, changed %t, changes %v; want the same: %t", what, slices.Equal(before, r.Crontabs), r.Changed, r.Changes, want)
		}
	}
	sidecar := &sidecar.Sidecar{Default: []sidecar.Setting{{Key: "retry", Value: "3"}}}
	r.Configure(Settings{Sidecar: sidecar})
	same(false, "another sidecar")
	if got := r.Crontabs[1].Entries[0].Options().Retry; got != 3 {
		t.Errorf("got retry %d, want that of the sidecar", got)
	}
	r.Configure(Settings{Sidecar: sidecar})
	same(true, "the same sidecar")
	b := r.Crontabs[1]
	h.write(h.system("a"), "1 1 * * * root a2\n", 0o644, 0)
	if r.scan(); r.Crontabs[1] != b || r.Crontabs[0].Entries[0].Options() != b.Entries[0].Options() {
		t.Error("an edit of one crontab: the other was parsed again, or they do not share their options")
	}
	r.Configure(Settings{})
	same(false, "no sidecar")
}

// TestSourceSaysWhenATextWasSaved: it is the time when the file was put in place, for any
// modification time.
func TestSourceSaysWhenATextWasSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tab")
	source := OpenSource(SourceOptions{Files: []string{path}})
	for _, text := range []string{"* * * * * x\n", "* * * * * y\n"} {
		old := time.Unix(1, 0)
		if err := errors.Join(os.WriteFile(path+"~", []byte(text), 0o644), os.Chtimes(path+"~", old, old), os.Rename(path+"~", path)); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		changes := source.Scan(t.Context()).Changes
		if want := time.Unix(st.Ctim.Unix()); len(changes) != 1 || !changes[0].Saved.Equal(want) {
			t.Errorf("changes %+v; want one, saved at %s", changes, want)
		}
	}
}
