package spawn

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// written is all that a file of output holds of one stream.
func written(t *testing.T, path string, name job.Stream) (text string, cut bool) {
	t.Helper()
	chunks, cut, err := runoutput.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range chunks {
		if c.Stream == name {
			b.Write(c.Data)
		}
	}
	return b.String(), cut
}

func TestRecordingIsThereWhileTheJobRuns(t *testing.T) {
	dir := t.TempDir()
	seen := make(chan struct{}, 10)
	r := newTestSpawner(t, Options{Runs: dir, Live: func(job.Chunk) { seen <- struct{}{} }})
	g := newGate(t)
	id := r.start("echo out; echo err >&2; " + g.command())
	for range 2 {
		receive(r, "both lines", seen)
	}
	path := r.spawner.dir.Base(id)
	out, cut := written(t, path, job.Stdout)
	stderr, _ := written(t, path, job.Stderr)
	if out != "out\n" || stderr != "err\n" || cut {
		t.Errorf("the file says %q and %q, cut %t", out, stderr, cut)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	silent := r.do("true")
	if _, err := os.Stat(r.spawner.dir.Base(silent.Run)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("file of a silent job: %v", err)
	}
	g.open(1)
	if e := r.await(id); e.File != "" {
		t.Errorf("the file %q is offered, which nobody claimed", e.File)
	}
	r.stop()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("files that are left: %v, %v", left, err)
	}
}

func TestRecordingIsTheClaimers(t *testing.T) {
	dir := t.TempDir()
	r := newTestSpawner(t, Options{Runs: dir, Output: 1 << 10, Claim: func(job.RunID) bool { return true }})
	e := r.do("head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2")
	r.stop()
	out, cut := written(t, e.File, job.Stdout)
	if out != strings.Repeat("x", 3000000) || cut {
		t.Errorf("%d bytes in the file, cut %t; want 3000000", len(out), cut)
	}
}

func TestRecordingIsBounded(t *testing.T) {
	r := newTestSpawner(t, Options{Runs: t.TempDir(), Claim: func(job.RunID) bool { return true }})
	e := r.do("head -c 12000000 /dev/zero; echo end >&2")
	wantOutcome(t, e, exited(0))
	out, cut := written(t, e.File, job.Stdout)
	info, err := os.Stat(e.File)
	if err != nil || info.Size() > runoutput.MaxFile || !cut || len(out) < runoutput.MaxFile-(1<<20) {
		t.Errorf("%d bytes of output, file of %v, cut %t, %v; want it full, and to say so", len(out), info.Size(), cut, err)
	}
	if got := text(e, job.Stderr); got != "end\n" {
		t.Errorf("last words %q: what is kept must not suffer", got)
	}
}

func TestRecordingThatFailsCostsTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		hosttest.Missing(t, "a file system in memory cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	r := newTestSpawner(t, Options{Runs: dir, Claim: func(job.RunID) bool { return true }})
	e := r.do("head -c 1000000 /dev/zero; exit 3")
	wantOutcome(t, e, exited(3))
	if e.File != "" || len(text(e, job.Stdout)) != 64<<10 {
		t.Errorf("file %q, %d bytes kept; want no file and all that is kept", e.File, len(text(e, job.Stdout)))
	}
	r.stop() // the files of a run are removed after its end was reported
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("a full file system still holds %v, %v", left, err)
	}
	r = newTestSpawner(t, Options{Runs: filepath.Join(dir, "missing")})
	if e := r.do("echo out"); text(e, job.Stdout) != "out\n" {
		t.Errorf("output %q without a directory", text(e, job.Stdout))
	}
}

// TestRecordingOfANumberThatWasUsed finds a file and a link in the place of
// the files of two runs, as a history that was thrown away leaves them.
func TestRecordingOfANumberThatWasUsed(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	filetest.Write(t, victim, "precious", 0o600)
	if err := os.Symlink(victim, filepath.Join(dir, "1")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := runoutput.Read(filepath.Join(dir, "1")); err == nil {
		t.Error("a link is read")
	}
	frame := append(make([]byte, runoutput.FrameHead), "old\n"...)
	filetest.Write(t, filepath.Join(dir, "2"), string(frame), 0o600)
	r := newTestSpawner(t, Options{Runs: dir, Claim: func(job.RunID) bool { return true }})
	for range 2 {
		e := r.do("echo new")
		if out, _ := written(t, e.File, job.Stdout); out != "new\n" {
			t.Errorf("file of run %d says %q, want its own output alone", e.Run, out)
		}
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "precious" {
		t.Errorf("the link's target holds %q, %v", data, err)
	}
}
