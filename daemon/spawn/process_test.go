package spawn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/envfile"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// with gives a run the options of its own crontab.
func with(t *testing.T, items string) func(*effect.Start) {
	return func(s *effect.Start) {
		entry(t, "#@ "+items, crontab.User)(s)
		s.Job.Env = append(s.Job.Env, s.Entry.Env()...)
	}
}

// write makes a file of a user.
func write(t *testing.T, path, text string, mode os.FileMode, owner string) string {
	t.Helper()
	filetest.Write(t, path, text, mode)
	who := accountOf(t, owner)
	if err := os.Chown(path, int(who.UID), int(who.GID)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProcessIsAsItsOptionsSay(t *testing.T) {
	dir := somebodys(t)
	file := write(t, filepath.Join(dir, "env"), "# comment\nA=of the file\nexport B='two words'\nC=file\nCRONRING_JOB=forged\nUSER=root\n", 0o600, somebody())
	r := newTestSpawner(t, Options{})
	items := fmt.Sprintf("cwd=%s umask=027 env=C=entry,D= env-file=%s", dir, file)
	e := r.do(`pwd; umask; echo "$A|$B|$C|$D|$CRONRING_JOB|$USER|$X"`, as(somebody()), env("A=of the crontab", "X=kept"), with(t, items))
	wantOutcome(t, e, exited(0))
	want := fmt.Sprintf("%s\n0027\nof the file|two words|entry||test.job|%s|kept\n", dir, somebody())
	if got := text(e, job.Stdout); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, mask := range []string{"000", "777"} {
		if e := r.do("umask", with(t, "umask="+mask)); text(e, job.Stdout) != "0"+mask+"\n" {
			t.Errorf("umask=%s: got %q", mask, text(e, job.Stdout))
		}
	}
}

// TestRunDoesNotStartElsewhere: a run whose directory or file of variables cannot be had does not
// start, in HOME or without the variables, and the reason is recorded. The files of a hostile user
// are a pipe, a device, huge, or of somebody else.
func TestRunDoesNotStartElsewhere(t *testing.T) {
	needRoot(t, "become another account")
	dir := somebodys(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(in("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := in("link")
	if err := os.Symlink(write(t, in("secret"), "A=1\n", 0o600, "root"), link); err != nil {
		t.Fatal(err)
	}
	r := newTestSpawner(t, Options{})
	for _, tt := range []struct{ items, want string }{
		{"cwd=/no/where", "enter the directory of cwd=: /no/where: no such file or directory"},
		{"cwd=/proc/1/cwd", "enter the directory of cwd=: /proc/1/cwd: permission denied"},
		{"cwd=/etc/passwd", "enter the directory of cwd=: /etc/passwd: not a directory"},
		{"env-file=/no/where", "env-file=/no/where: no such file or directory"},
		{"env-file=" + in("secret"), "permission denied"},
		{"env-file=" + link, "permission denied"},
		{"env-file=" + in("fifo"), "it is not a regular file"},
		{"env-file=/dev/zero", "it is not a regular file"},
		{"env-file=" + dir, "it is not a regular file"},
		{"env-file=" + write(t, in("huge"), strings.Repeat("A=1\n", envfile.MaxSize/4+1), 0o600, somebody()), "it has more than 65536 bytes"},
		{"env-file=" + write(t, in("open"), "A=1\n", 0o666, somebody()), "other users can change it (mode 0666): run chmod go-w on it"},
		{"env-file=" + write(t, in("bin's"), "A=1\n", 0o644, "bin"), fmt.Sprintf("who can change it: run chown %d on it", accountOf(t, somebody()).UID)},
		{"env-file=" + write(t, in("bad"), "A=1\nB C=2\n", 0o600, somebody()), "line 2 is not NAME=value"},
		{"group=0", "group=0: nobody is not a member of this group"},
		{"group=nosuchgroup", "group=nosuchgroup: unknown group"},
	} {
		e := r.do("echo it runs", as(somebody()), with(t, tt.items))
		if e.Outcome.Kind != job.NotStarted || !strings.Contains(e.Outcome.Error, tt.want) || text(e, job.Stdout) != "" {
			t.Errorf("%s: got %+v and %q, want no start because %s", tt.items, e.Outcome, text(e, job.Stdout), tt.want)
		}
	}
	if e := r.do("echo it runs", as(somebody()), env("SHELL=/no/shell"), with(t, "env-file="+write(t, in("good"), "A=1\n", 0o600, "root"))); e.Outcome.Error == "" {
		t.Error("root's private file: got a start, want none")
	}
	if e := r.do("true", as(somebody()), env("SHELL=/no/shell"), with(t, "env-file="+write(t, in("good"), "A=1\n", 0o644, "root"))); e.Outcome.Error != "run SHELL /no/shell: no such file or directory" {
		t.Errorf("a SHELL that does not exist: got %+v", e.Outcome)
	}
}

func TestGroupIsThePrimaryOne(t *testing.T) {
	needRoot(t, "change groups")
	r := newTestSpawner(t, Options{})
	e := r.do("id -g; id -G", with(t, "group=nogroup"))
	if got := text(e, job.Stdout); got != "65534\n65534 0\n" {
		t.Errorf("a job of root: got %q, want the group and that of root", got)
	}
	e = r.do("id -g", as("nobody"), func(s *effect.Start) { entry(t, "#@ group=daemon", crontab.System)(s) })
	if got := text(e, job.Stdout); got != "1\n" {
		t.Errorf("a system crontab, which root writes: got %q %+v, want group 1", got, e.Outcome)
	}
}

// TestFileThatNeverAnswersDelaysItsRunAlone has a file system without a server, as one on a dead
// network: the run that reads a file there waits, others start, and a stop ends it.
func TestFileThatNeverAnswersDelaysItsRunAlone(t *testing.T) {
	needRoot(t, "mount a file system")
	dir := publicDir(t)
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err == nil {
		defer fuse.Close()
		options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse.Fd())
		err = unix.Mount("fuse", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options)
	}
	if err != nil {
		hosttest.Missing(t, "no file system in user space: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	r := newTestSpawner(t, Options{})
	stuck := []job.RunID{
		r.start("echo it runs", as(somebody()), with(t, "env-file="+dir+"/env")),
		r.start("echo it runs", as(somebody()), with(t, "cwd="+dir+"/dir")),
	}
	for range 10 {
		wantOutcome(t, r.do("true", as(somebody()), with(t, "cwd=/tmp")), exited(0))
	}
	for _, id := range stuck {
		if r.started[id] != 0 || r.ended[id].Run != 0 {
			t.Errorf("run %d: got %+v, want it to wait", id, r.ended[id].Outcome)
		}
		r.spawner.Kill(effect.Kill{Run: id, Signal: syscall.SIGKILL}) // of both, because one waits for the other in the kernel
	}
	for _, id := range stuck {
		if e := r.await(id); text(e, job.Stdout) != "" {
			t.Errorf("run %d ran", id)
		}
	}
}

func TestPlanReadsTheFileAsTheUser(t *testing.T) {
	needRoot(t, "become another account")
	dir := somebodys(t)
	r := newTestSpawner(t, Options{})
	plan := func(file string) ([]string, error) {
		start := effect.Start{Job: job.Job{ID: "test.job", User: somebody(), Zone: "UTC", Command: "true"}, Run: job.Run{Env: []string{"B=run"}}}
		with(t, "umask=077 cwd=/tmp env=C=entry env-file="+file)(&start)
		p, err := r.spawner.Plan(context.Background(), &start)
		if err == nil && (p.Dir != "/tmp" || p.Umask == nil || *p.Umask != 0o077) {
			t.Errorf("got directory %s and umask %v", p.Dir, p.Umask)
		}
		return p.Env, err
	}
	got, err := plan(write(t, filepath.Join(dir, "env"), "A=file\nB=file\nC=file\n", 0o600, somebody()))
	if err != nil || !slices.Contains(got, "A=file") || !slices.Contains(got, "C=entry") || !slices.Contains(got, "B=run") {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := plan(write(t, filepath.Join(dir, "secret"), "A=1\n", 0o600, "root")); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a file that the user cannot read: got %q, %v", got, err)
	}
}
