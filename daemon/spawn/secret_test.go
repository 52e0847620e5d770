package spawn

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/credential"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/usercalls"
)

// memoryRuns makes a directory for Options.Runs in memory, as on a host.
func memoryRuns(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("/dev/shm", "cronring-test-")
	if err != nil {
		hosttest.Missing(t, "no directory in memory: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	runs := filepath.Join(base, "runs")
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(runs, 0o700); err != nil {
		t.Fatal(err)
	}
	if why := credential.Missing(credential.Dir(runs)); why != "" {
		hosttest.Missing(t, "%s", why)
	}
	return runs
}

// fifo makes a named pipe that everybody can open.
func fifo(t *testing.T, path string) string {
	t.Helper()
	if err := errors.Join(syscall.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantNoneLeft checks that no credentials are left.
func wantNoneLeft(t *testing.T, runs string) {
	t.Helper()
	if left := credential.Left(credential.Dir(runs)); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestCredentialIsTheRunsAlone: root's crontab gives a run a secret that its user cannot read
// otherwise. The user cannot write to its directory, other users cannot read it, and it is gone at the
// end of the run, also for a process that has it open.
func TestCredentialIsTheRunsAlone(t *testing.T) {
	needRoot(t, "become another account")
	runs := memoryRuns(t)
	secret := write(t, filepath.Join(t.TempDir(), "secret"), "pass\x00word\n", 0o600, "root")
	empty := write(t, filepath.Join(t.TempDir(), "empty"), "", 0o600, "root")
	r := newTestSpawner(t, Options{Runs: runs})
	gate := fifo(t, filepath.Join(filepath.Dir(runs), "gate"))
	options := entry(t, fmt.Sprintf("#@ credential=db:%s,none:%s env=CREDENTIALS_DIRECTORY=/forged", secret, empty), crontab.System)
	id := r.start(`cd $CREDENTIALS_DIRECTORY && od -c db && wc -c <none && ls
		(echo x >db; echo x >new; chmod 777 .; chmod 666 db; rm db; mkdir d; mv db e; ln -s db s) 2>/dev/null; ls
		pwd; read x <`+gate, as(somebody()), options)
	r.until("the start", func() bool { return r.started[id] != 0 })
	left := credential.Left(credential.Dir(runs))
	if len(left) != 1 {
		t.Fatalf("got %v, want one directory", left)
	}
	for dir, run := range left {
		if run != id.String() {
			t.Errorf("got %s of run %s, want %v", dir, run, id)
		}
		open, err := os.Open(filepath.Join(dir, "db"))
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		for _, other := range []string{"daemon", "bin"} {
			if got := r.do("cat "+dir+"/db || ls "+dir, as(other)); got.Outcome.OK() || text(got, job.Stdout) != "" {
				t.Errorf("%s: got %+v %q", other, got.Outcome, text(got, job.Stdout))
			}
		}
		if err := os.WriteFile(gate, []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		e := r.await(id)
		wantOutcome(t, e, exited(0))
		want := "0000000   p   a   s   s  \\0   w   o   r   d  \\n\n0000012\n0\ndb\nnone\ndb\nnone\n" + dir + "\n"
		if got := text(e, job.Stdout); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if info, err := open.Stat(); err != nil || info.Size() != 0 {
			t.Errorf("the open file has %d bytes, %v", info.Size(), err)
		}
	}
	wantNoneLeft(t, runs)
	// The file of the output is removed after the end is reported.
	poll(t, "release of the memory", func() bool { return r.spawner.space.Held(somebody()) == 0 })
	if got := r.check("[ $(tr -d '\\0' <$CREDENTIALS_DIRECTORY/db) = password ]", as(somebody()), options); got != exited(0) {
		t.Errorf("the check: got %+v", got)
	}
	wantNoneLeft(t, runs)
}

// TestCredentialInSandbox: a strict sandbox can read its credentials, and not their files.
func TestCredentialInSandbox(t *testing.T) {
	needSandbox(t, option.SandboxStrict)
	runs := memoryRuns(t)
	secret := write(t, filepath.Join(publicDir(t), "secret"), "word\n", 0o644, "root")
	r := newTestSpawner(t, Options{Runs: runs})
	e := r.do("cat $CREDENTIALS_DIRECTORY/db; cat "+secret, as(somebody()), with(t, "sandbox=strict credential=db:"+secret))
	if got := text(e, job.Stdout); got != "word\n" || e.Outcome.OK() {
		t.Errorf("got %q %+v, want the credential alone", got, e.Outcome)
	}
}

// TestCredentialIsReadAsTheUser: nobody reads files of root through a crontab of their own, and
// a run does not start without all of its credentials.
func TestCredentialIsReadAsTheUser(t *testing.T) {
	needRoot(t, "become another account")
	runs := memoryRuns(t)
	dir := somebodys(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	good := write(t, in("good"), "word\n", 0o600, somebody())
	secret := write(t, in("secret"), "x\n", 0o600, "root")
	if err := os.Symlink(secret, in("link")); err != nil {
		t.Fatal(err)
	}
	write(t, in("huge"), strings.Repeat("x", credential.MaxBytes), 0o600, somebody())
	write(t, in("credstore.encrypted/forged"), "not encrypted\n", 0o644, "root")
	r := newTestSpawner(t, Options{Runs: runs})
	for _, tt := range []struct{ items, want string }{
		{"credential=a:" + good + ",b:" + secret, "credential=b:" + secret + ": exit 1: head: cannot open '" + secret + "' for reading: Permission denied"},
		{"credential=a:" + in("link"), "Permission denied"},
		{"credential=a:/no/where", "No such file or directory"},
		{"credential=a:" + dir, "Is a directory"},
		{"credential=a:" + good + ",b:" + in("huge"), "the credentials of a run have more than 1048576 bytes"},
		{"credential=a:/dev/zero", "the credentials of a run have more than 1048576 bytes"},
		{"credential=a:" + in("credstore.encrypted/forged"), "credential=a:" + in("credstore.encrypted/forged")},
	} {
		e := r.do("echo it runs", as(somebody()), with(t, tt.items))
		if e.Outcome.Kind != job.NotStarted || !strings.Contains(e.Outcome.Error, tt.want) || text(e, job.Stdout) != "" {
			t.Errorf("%s: got %+v %q, want %q", tt.items, e.Outcome, text(e, job.Stdout), tt.want)
		}
	}
	if got := text(r.do("cat $CREDENTIALS_DIRECTORY/a", as(somebody()), with(t, "credential=a:"+good)), job.Stdout); got != "word\n" {
		t.Errorf("a file of the user: got %q", got)
	}
	wantNoneLeft(t, runs)
}

// TestCredentialThatNeverAnswersDelaysItsUserAlone has more runs of one user read from pipes without
// a writer than are read at once. A run of root starts, and a stop ends the others.
func TestCredentialThatNeverAnswersDelaysItsUserAlone(t *testing.T) {
	needRoot(t, "become another account")
	runs := memoryRuns(t)
	dir := somebodys(t)
	pipe := fifo(t, filepath.Join(dir, "pipe"))
	good := write(t, filepath.Join(dir, "good"), "word\n", 0o600, "root")
	r := newTestSpawner(t, Options{Runs: runs})
	var stuck []job.RunID
	for range 2 * usercalls.Limit {
		stuck = append(stuck, r.start("echo it runs", as(somebody()), with(t, "credential=a:"+pipe)))
	}
	for range 3 {
		wantOutcome(t, r.do("true", as("root"), with(t, "credential=a:"+good)), exited(0))
		wantOutcome(t, r.do("true", as(somebody())), exited(0))
	}
	for _, id := range stuck {
		if r.started[id] != 0 || r.ended[id].Run != 0 {
			t.Errorf("run %d: got %+v, want it to wait", id, r.ended[id].Outcome)
		}
	}
}

// TestCredentialsOutliveTheDaemon: those of runs that go on stay, with the memory that they use, and
// the others are removed.
func TestCredentialsOutliveTheDaemon(t *testing.T) {
	runs := memoryRuns(t)
	dir := credential.Dir(runs)
	make := func(run string) string {
		made, err := credential.Make(dir, run, uint32(os.Geteuid()), []credential.File{{ID: "a", Data: []byte("12345")}})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	kept := make("5")
	make("6")
	make("5-if")
	filetest.Write(t, filepath.Join(dir, "no.number", "x"), "", 0o600)
	s := New(Options{Runs: runs})
	c := &child{run: 5, user: somebody()}
	s.living[5] = c
	s.adoptCredentials()
	if left := credential.Left(dir); len(left) != 1 || left[kept] != "5" || s.space.Held(somebody()) != 5 {
		t.Errorf("got %v and %d bytes, want %s and 5", left, s.space.Held(somebody()), kept)
	}
	s.dropCredentials(c)
	wantNoneLeft(t, runs)
	if s.space.Held(somebody()) != 0 {
		t.Errorf("%d bytes are held at the end", s.space.Held(somebody()))
	}
}

// TestCredentialOfSystemd has systemd-creds encrypt a secret under a name, and decrypt it for a run.
func TestCredentialOfSystemd(t *testing.T) {
	needRoot(t, "read the host's key")
	runs := memoryRuns(t)
	path := filepath.Join(publicDir(t), "credstore.encrypted", "db")
	filetest.Write(t, path, "", 0o600)
	encrypt := func(key string) ([]byte, error) { // without a key, which differs between versions, so that the host gets none
		cmd := exec.Command("systemd-creds", "encrypt", "--with-key="+key, "--name=db", "-", path)
		cmd.Stdin = strings.NewReader("word\n")
		return cmd.CombinedOutput()
	}
	if _, err := encrypt("null"); err != nil {
		if out, err := encrypt("tpm2-absent"); err != nil {
			hosttest.Missing(t, "systemd-creds cannot encrypt here: %v: %s", err, out)
		}
	}
	r := newTestSpawner(t, Options{Runs: runs})
	e := r.do("cat $CREDENTIALS_DIRECTORY/db", as(somebody()), entry(t, "#@ credential=db:"+path, crontab.System))
	if got := text(e, job.Stdout); got != "word\n" {
		t.Errorf("got %q %+v", got, e.Outcome)
	}
	e = r.do("echo it runs", as(somebody()), entry(t, "#@ credential=other:"+path, crontab.System))
	if e.Outcome.Kind != job.NotStarted {
		t.Errorf("under another name: got %+v", e.Outcome)
	}
}
