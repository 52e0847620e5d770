package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// showCommand prints what a job is and has, but for its description of the
// run.
const showCommand = `id -u; id -g; id -G; pwd; umask; ulimit -n; nice; env | grep -v -e ^CRONRING_ -e ^TRACEPARENT= -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | LC_ALL=C sort`

func TestHostRunsCrontabsOfAllKindsAsTheirUsers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		family crontab.Family
		path   string
		locale []string
	}{
		{"Debian", crontab.Debian, "/usr/bin:/bin", []string{"LANG=fr_FR.UTF-8"}},
		{"RHEL", crontab.RHEL, "/usr/bin:/bin:/usr/sbin:/sbin", []string{"LANG=de_DE.UTF-8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			h.Family = c.family
			h.env = []string{"LANG=de_DE.UTF-8", "SECRET=of the daemon"}
			h.write("etc/environment", "ENVIRON=yes\nPATH=/nowhere\n")
			h.write("etc/default/locale", "LANG=fr_FR.UTF-8\n")
			h.write("etc/security/limits.d/90-test.conf", "ann - nofile 200\n@staff - priority 5\n")
			line := "0 0 1 1 * ann " + showCommand + "\n"
			h.write("etc/crontab", "#@ name=system\n"+line)
			h.write("etc/cron.d/package", "LOGNAME=evil\nUSER=evil\nHOME=/tmp\nPATH=/usr/sbin:/usr/bin:/bin\nFOO=\" b c \"\n#@ name=package\n"+line)
			h.write("etc/anacrontab", "BAR= raw\n1 0 period "+showCommand+"\n")
			h.userCrontab("ann", annID, "#@ name=own\n0 0 1 1 * "+showCommand+"\n")
			h.start()
			home := h.path("home/ann")
			ann := func(dir, path string, vars ...string) string {
				vars = slices.Concat(vars, c.locale, []string{"ENVIRON=yes", "LOGNAME=ann", "PATH=" + path, "SHELL=/bin/sh", "USER=ann"})
				slices.Sort(vars)
				return fmt.Sprintf("%d\n%d\n%d %d %d\n%s\n0022\n200\n5\n%s\n", annID, annID, annID, staffID, extraID, dir, strings.Join(vars, "\n"))
			}
			for ref, want := range map[string]string{
				"system":  ann(home, c.path, "HOME="+home),
				"package": ann("/tmp", "/usr/sbin:/usr/bin:/bin", "HOME=/tmp", "FOO= b c "),
				"own":     ann(home, c.path, "HOME="+home),
			} {
				if r, got := h.do(ref); got != want || !r.Outcome.OK() {
					t.Errorf("%s: %v, printed\n%s\nwant\n%s", ref, r.Outcome, got, want)
				}
			}
			_, got := h.do("period")
			for _, want := range []string{"0\n0\n0\n/\n0022\n", "BAR= raw", "ENVIRON=yes", "SHELL=/bin/sh"} {
				if !strings.Contains(got, want) {
					t.Errorf("anacron's job printed\n%s\nwant %q in it", got, want)
				}
			}
			if strings.Contains(got, "SECRET") {
				t.Errorf("the daemon's own environment reached a job:\n%s", got)
			}
		})
	}
}

func TestHostWithoutHomeDecidesByFamily(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		family        crontab.Family
		outcome, said string
	}{
		{"Debian", crontab.Debian, "ok", "/\n"},
		{"RHEL", crontab.RHEL, "not started: chdir HOME failed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			h.Family = c.family
			h.write("etc/crontab", "HOME=/nowhere/at/all\n#@ name=homeless\n0 0 1 1 * ann pwd\n")
			h.start()
			r, out := h.do("homeless")
			if !strings.HasPrefix(r.Outcome.String(), c.outcome) || !strings.HasSuffix(out, c.said) {
				t.Errorf("%v, printed %q; want %s, %q", r.Outcome, out, c.outcome, c.said)
			}
		})
	}
}

func TestHostMailsOutputAsItsUser(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withMailer()
	h.write("etc/crontab", "MAILTO=team@example.org\n#@ name=loud\n0 0 1 1 * ann echo out; echo err >&2; exit 3\n"+
		"#@ name=silent\n0 0 1 1 * ann exit 4\nMAILTO=\n#@ name=nobody\n0 0 1 1 * ann echo unheard\n"+
		"MAILTO=\"\"\n#@ name=big\n0 0 1 1 * bob true\n")
	h.userCrontab("bob", bobID, "#@ name=own\n0 0 1 1 * echo from bob; id -u\n#@ name=much\n0 0 1 1 * i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done\n")
	h.start()
	for _, ref := range []string{"silent", "nobody", "loud"} {
		h.do(ref)
	}
	letter := h.letter()
	for _, want := range []string{fmt.Sprint(annID, "\n"), "To: team@example.org\n", "Subject: Cron <ann@", "> echo out; echo err >&2; exit 3\n", "\n\nout\nerr\n"} {
		if !strings.Contains(letter, want) {
			t.Errorf("the first letter is\n%s\nwant %q in it", letter, want)
		}
	}
	h.do("own")
	letter = h.letter()
	for _, want := range []string{fmt.Sprint(bobID, "\n"), "To: bob\n", fmt.Sprintf("\n\nfrom bob\n%d\n", bobID)} {
		if !strings.Contains(letter, want) {
			t.Errorf("the second letter is\n%s\nwant %q in it", letter, want)
		}
	}
	h.do("much")
	letter = h.letter()
	if n := strings.Count(letter, "\nline "); n != 20000 || !strings.HasSuffix(letter, "\nline 19999\n") {
		t.Errorf("a long output of 20000 lines was mailed with %d", n)
	}
	if left, _ := os.ReadDir(h.path("run/cronring/runs")); len(left) != 0 {
		t.Errorf("files are left of runs that ended and were mailed: %v", left)
	}
}

// A user can stop the own mailer, and delays the own mail alone.
func TestHostMailsBesideAMailerThatHangs(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withMailer()
	gate := h.fifo("gate")
	mailer := h.read("mailer")
	filetest.Write(t, h.path("mailer"), strings.Replace(mailer, "\n", "\ntest $LOGNAME != ann || read x <"+gate.Name()+"\n", 1), 0o755)
	h.write("etc/crontab", "#@ name=ann\n0 0 1 1 * ann echo of ann\n#@ name=bob\n0 0 1 1 * bob echo of bob\n")
	h.start()
	h.do("ann")
	for range 3 {
		h.do("bob")
		if letter := h.letter(); !strings.Contains(letter, "of bob") {
			t.Errorf("got the letter\n%s\nwant one of bob", letter)
		}
	}
	h.open(gate, 1)
	if letter := h.letter(); !strings.Contains(letter, "of ann") {
		t.Errorf("got the letter\n%s\nwant that of ann", letter)
	}
}

func TestHostFollowsItsCrontabs(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	wait := func(text string) string {
		return "echo " + text + "; read x <" + gate.Name() + "; echo " + text + " ends"
	}
	h.write("etc/crontab", "#@ name=a\n0 0 1 1 * ann "+wait("first")+"\n")
	h.userCrontab("bob", bobID, "#@ name=b\n0 0 1 1 * "+wait("bob")+"\n")
	h.start()
	a, b := h.run("a")[0], h.run("b")[0]
	h.printed(a.ID, "first")
	h.printed(b.ID, "bob")

	w := h.watch()
	loaded := func(r job.Record) bool { return r.Kind == job.Loaded }
	h.write("etc/crontab", "#@ name=a\n0 0 2 1 * ann echo second\n")
	w.await("the edited crontab is loaded", loaded)
	if _, out := h.do("a"); out != "second\n" {
		t.Errorf("after the edit the job printed %q", out)
	}
	if err := os.Chmod(h.path("etc/crontab"), 0o666); err != nil {
		t.Fatal(err)
	}
	h.said("a crontab is not read", "/etc/crontab", "mode is 0666", "kept=true")
	filetest.Write(t, h.path("etc/crontab"), "#@ name=a\n0 0 1 1 * root echo evil\n", 0o666)
	h.write("etc/cron.d/open", "")
	if err := os.Chmod(h.path("etc/cron.d/open"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := h.client.Reload(h.context()); err == nil || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "mode is 0666") != 2 {
		t.Errorf("got %v, want one line about both refused crontabs", err)
	}
	if err := os.Remove(h.path("etc/cron.d/open")); err != nil {
		t.Fatal(err)
	}
	if r, out := h.do("a"); out != "second\n" || r.User != "ann" {
		t.Errorf("a crontab that anybody may write was taken: printed %q as %s", out, r.User)
	}
	if s := h.status(); !slices.ContainsFunc(s.Problems, hasWords("INSECURE MODE")) {
		t.Errorf("the status does not tell of the refused crontab: %+v", s.Problems)
	}
	if err := os.Chmod(h.path("etc/crontab"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.await("the mended crontab is loaded", loaded)
	for _, name := range []string{"etc/crontab", "var/spool/cron/crontabs/bob"} {
		if err := os.Remove(h.path(name)); err != nil {
			t.Fatal(err)
		}
		w.await(name+" is gone", loaded)
	}
	if s := h.status(); s.Loaded != 0 {
		t.Errorf("%d jobs are loaded after their crontabs were removed", s.Loaded)
	}
	h.open(gate, 2)
	h.wantRun(a.ID, "ok", "first\nfirst ends\n")
	h.wantRun(b.ID, "ok", "bob\nbob ends\n")
}

// A load is one line of the log, however many crontabs it reads.
func TestALoadIsOneLineOfTheLog(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	for i := range 50 {
		h.write(fmt.Sprintf("etc/cron.d/t%02d", i), "0 0 1 1 * root true\n0 0 1 1 * root false\n")
	}
	h.start()
	h.write("etc/cron.d/last", "0 0 1 1 * root true\n")
	h.reload()
	h.said("crontabs read", h.path("etc/cron.d/last"))
	want := []string{
		fmt.Sprintf("crontabs=\"%[1]s/t00 %[1]s/t01 %[1]s/t02 and 47 more\" count=50 entries=100 gone=0", h.path("etc/cron.d")),
		"crontabs=" + h.path("etc/cron.d/last") + " count=1 entries=1 gone=0",
	}
	for _, words := range want {
		if n := h.count("crontabs read", words); n != 1 {
			t.Errorf("%d lines say %q, want one", n, words)
		}
	}
	if n := h.count("cron.d"); n != len(want) {
		t.Errorf("%d lines are about crontabs, want %d", n, len(want))
	}
}

func TestThousandEditsAreFewLoads(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	text := func(i int) string {
		return fmt.Sprintf("#@ name=a\n%d %d 1 1 * ann echo %d\n", i%60, i/60, i)
	}
	h.write("etc/crontab", text(0))
	h.start()
	w := h.watch()
	const edits = 1000
	begun := time.Now()
	for i := range edits {
		h.write("etc/crontab", text(i+1))
	}
	loads := 0
	for out := ""; out != fmt.Sprintln(edits); loads++ {
		w.await("the edited crontab is loaded", func(r job.Record) bool { return r.Kind == job.Loaded })
		_, out = h.do("a")
	}
	// A crontab is read when it was quiet for 0.2 s, which a slow machine makes it.
	if took := time.Since(begun); loads > 20+int(took/(200*time.Millisecond)) {
		t.Errorf("%d edits were loaded %d times in %v", edits, loads, took)
	}
}

func TestHostKeepsEachVersionOfACrontab(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	file := h.path("var/spool/cron/crontabs/bob")
	texts := []string{"#@ name=a\n0 0 1 1 * echo 1\n", "#@ name=a\n0 0 2 1 * echo 2\n", "#@ name=a\n0 0 3 1 * echo 3\n"}
	h.userCrontab("bob", bobID, texts[0])
	h.start()
	for _, text := range texts[1:] {
		h.userCrontab("bob", bobID, text)
		h.reload()
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	h.reload()
	revisions, err := h.client.Revisions(h.context(), api.RevisionQuery{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if len(revisions) != 4 || !revisions[0].Gone || revisions[0].User != "bob" || revisions[0].How != "seen" {
		t.Fatalf("the versions are %+v, want three and an end", revisions)
	}
	for i, want := range texts {
		r, err := h.client.Revision(h.context(), revisions[3-i].ID)
		if err != nil || string(r.Text) != want {
			t.Errorf("version %d is %q, error %v; want %q", i, r.Text, err, want)
		}
	}
	if _, err := h.client.Undo(h.context(), api.UndoRequest{Revision: revisions[2].ID}); err != nil {
		t.Fatal(err)
	}
	if r, out := h.do("a"); out != "2\n" || r.User != "bob" {
		t.Errorf("the restored crontab's job printed %q as %s", out, r.User)
	}
	if text := h.read("var/spool/cron/crontabs/bob"); !strings.HasSuffix(text, texts[1]) {
		t.Errorf("the restored file says %q", text)
	}
}

func TestHostRunsNobodyWhoIsNotThere(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.write("etc/shadow", "root:*:19000:0:99999:7:::\nann:*:19000:0:99999:7:::\nbob:!:19000:0:99999:7::1:\n")
	h.write("etc/crontab", "#@ name=later every=1s\n* * * * * carol id -u\n#@ name=expired every=1s\n* * * * * bob true\n#@ name=locked every=1s\n* * * * * ann true\n")
	h.start()
	w := h.watch()
	skipped := func(reason job.Reason, detail string) {
		t.Helper()
		r := w.await("an occurrence is skipped", func(r job.Record) bool { return r.Decision == job.DecideSkip && r.Reason == reason })
		if !strings.Contains(r.Detail.Words(), detail) {
			t.Errorf("it was skipped because %s (%s), want %s", r.Reason, r.Detail, detail)
		}
	}
	skipped(job.NoUser, "carol")
	skipped(job.AccountRefused, "expired")
	h.write("etc/passwd", h.read("etc/passwd")+fmt.Sprintf("carol:x:61003:61003::%s:/bin/sh\n", h.path("home")))
	r := w.await("carol's job ends", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.User == "carol" })
	h.wantRun(r.Run.ID, "ok", "61003\n")
	h.write("etc/shadow", strings.ReplaceAll(h.read("etc/shadow"), "::1:", ":::"))
	r = w.await("bob's job ends", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.User == "bob" })
	if !r.Run.Outcome.OK() {
		t.Errorf("a job of an account with a locked password: %v", r.Run.Outcome)
	}
}

func TestHostFollowsItsZone(t *testing.T) {
	t.Parallel()
	const zones = "/usr/share/zoneinfo/"
	if !exists(zones + "Asia/Tokyo") {
		hosttest.Missing(t, "there are no zones in %v", zones)
	}
	h := newTestHost(t)
	link := func(zone string) {
		t.Helper()
		if err := os.Symlink(zones+zone, h.path("etc/new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(h.path("etc/new"), h.path("etc/localtime")); err != nil {
			t.Fatal(err)
		}
	}
	link("America/New_York")
	h.crontab("a", "true")
	h.start()
	w := h.watch()
	for i, zone := range []string{"America/New_York", "Asia/Tokyo", "Etc/UTC"} {
		if i > 0 {
			link(zone)
			w.await("the crontabs are read in "+zone, func(r job.Record) bool { return r.Kind == job.Loaded })
		}
		shown, err := h.client.Show(h.context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		where, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		next := shown.Upcoming[0].In(where)
		if next.Hour() != 0 || next.Minute() != 0 || next.Day() != 1 || h.status().Zone != zone {
			t.Errorf("in %s the job for 00:00 on 1 January is due at %s; the host's zone is %s", zone, next, h.status().Zone)
		}
	}
}

// TestEntriesAboutAUsersCrontabNameTheUser: they wait for the log within the share of that user.
func TestEntriesAboutAUsersCrontabNameTheUser(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.userCrontab("ann", 61001, "61 * * * * true\n")
	h.userCrontab("bob", 61002, "* * * * * true\n")
	if err := os.Chmod(h.path("var/spool/cron/crontabs/bob"), 0o666); err != nil {
		t.Fatal(err)
	}
	h.write("etc/crontab", "61 * * * * root true\n")
	h.launch()
	if line := h.said("line left out", "etc/crontab"); strings.Contains(line, "user=") {
		t.Errorf("an entry about root's crontab takes the share of a user: %s", line)
	}
	h.said("line left out", "ann:1", "user=ann")
	h.said("a crontab is not read", "user=bob")
	h.stop()
}

// TestErrorsOfCrontabsAreLogged: each message matches what the error does.
func TestErrorsOfCrontabsAreLogged(t *testing.T) {
	_, diagnostics := crontab.Parse("tab", lex.ByteOrderMark+"61 * * * * a\n#@ retries=3\n0 * * * * a\n0 * * * * b\n", crontab.Config{MaxEntries: 1})
	var log bytes.Buffer
	warnOfErrors(slog.New(slog.NewTextHandler(&log, nil)), diagnostics)
	var got []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(line, ` msg="`)
		what, _, _ := strings.Cut(line, `"`)
		got = append(got, what)
	}
	if want := []string{"byte order mark ignored", "line left out", "option not followed", "the rest of the crontab is not loaded"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
