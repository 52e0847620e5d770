package spawn

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// written is all that a file of output holds of one stream.
func written(t *testing.T, path string, name job.Stream) (text string, cut bool) {
	t.Helper()
	chunks, cut, err := ReadOutput(path)
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
	r := newRig(t, Options{Runs: dir, Live: func(job.Chunk) { seen <- struct{}{} }})
	g := newGate(t)
	id := r.start("echo out; echo err >&2; " + g.command())
	for range 2 {
		receive(r, "both lines", seen)
	}
	path := r.spawner.recordPath(id)
	out, cut := written(t, path, job.Stdout)
	stderr, _ := written(t, path, job.Stderr)
	if out != "out\n" || stderr != "err\n" || cut {
		t.Errorf("the file says %q and %q, cut %t", out, stderr, cut)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	silent := r.do("true")
	if _, err := os.Stat(r.spawner.recordPath(silent.Run)); !errors.Is(err, os.ErrNotExist) {
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
	r := newRig(t, Options{Runs: dir, Output: 1 << 10, Claim: func(job.RunID) bool { return true }})
	e := r.do("head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2")
	r.stop()
	out, cut := written(t, e.File, job.Stdout)
	if out != strings.Repeat("x", 3000000) || cut {
		t.Errorf("%d bytes in the file, cut %t; want 3000000", len(out), cut)
	}
}

func TestRecordingIsBounded(t *testing.T) {
	r := newRig(t, Options{Runs: t.TempDir(), Claim: func(job.RunID) bool { return true }})
	e := r.do("head -c 12000000 /dev/zero; echo end >&2")
	wantOutcome(t, e, exited(0))
	out, cut := written(t, e.File, job.Stdout)
	info, err := os.Stat(e.File)
	if err != nil || info.Size() > maxRecording || !cut || len(out) < maxRecording-(1<<20) {
		t.Errorf("%d bytes of output, file of %v, cut %t, %v; want it full, and to say so", len(out), info.Size(), cut, err)
	}
	if got := text(e, job.Stderr); got != "end\n" {
		t.Errorf("last words %q: what is kept must not suffer", got)
	}
}

func TestRecordingThatFailsCostsTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k,mode=0700"); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: a file system in memory cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	r := newRig(t, Options{Runs: dir, Claim: func(job.RunID) bool { return true }})
	e := r.do("head -c 1000000 /dev/zero; exit 3")
	wantOutcome(t, e, exited(3))
	if e.File != "" || len(text(e, job.Stdout)) != 64<<10 {
		t.Errorf("file %q, %d bytes kept; want no file and all that is kept", e.File, len(text(e, job.Stdout)))
	}
	r.stop() // the files of a run are removed after its end was reported
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("a full file system still holds %v, %v", left, err)
	}
	r = newRig(t, Options{Runs: filepath.Join(dir, "missing")})
	if e := r.do("echo out"); text(e, job.Stdout) != "out\n" {
		t.Errorf("output %q without a directory", text(e, job.Stdout))
	}
}

// TestRecordingOfANumberThatWasUsed finds a file and a link in the place of
// the files of two runs, as a history that was thrown away leaves them.
func TestRecordingOfANumberThatWasUsed(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "1")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadOutput(filepath.Join(dir, "1")); err == nil {
		t.Error("a link is read")
	}
	frame := append(make([]byte, frameHead), "old\n"...)
	putHead(frame, 0, noon, 4)
	if err := os.WriteFile(filepath.Join(dir, "2"), frame, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, Options{Runs: dir, Claim: func(job.RunID) bool { return true }})
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

// TestReadOutputOfAnyBytes reads every beginning of a file, and noise.
func TestReadOutputOfAnyBytes(t *testing.T) {
	var file []byte
	for i, data := range []string{"one\n", "two\n", ""} {
		frame := append(make([]byte, frameHead), data...)
		putHead(frame, uint8(i), noon, len(data))
		file = append(file, frame...)
	}
	path := filepath.Join(t.TempDir(), "run")
	read := func(data []byte) ([]job.Chunk, error) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		chunks, _, err := ReadOutput(path)
		return chunks, err
	}
	for n := range len(file) + 1 {
		chunks, err := read(file[:n])
		want := 0
		for _, end := range []int{20, 40, 56} {
			if n >= end {
				want++
			}
		}
		if err != nil || len(chunks) != want {
			t.Errorf("%d bytes: %d chunks, %v; want %d", n, len(chunks), err, want)
		}
	}
	for _, noise := range []string{"\x07" + strings.Repeat("\xff", 50), "\x00\x00\x00\x00\xff\xff\xff\xff" + strings.Repeat("\x00", 50)} {
		if chunks, _ := read([]byte(noise)); len(chunks) != 0 {
			t.Errorf("noise %q: %+v", noise, chunks)
		}
	}
}

// TestOutputBetweenTwoSystemCalls takes output from a pipe and leaves out what
// follows, as a daemon does that is killed at that instant. The next daemon has
// the output, and appends to the file.
func TestOutputBetweenTwoSystemCalls(t *testing.T) {
	dir := t.TempDir()
	pipe := func(text string) int {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(ends[0]); unix.Close(ends[1]) })
		if _, err := unix.Write(ends[1], []byte(text)); err != nil {
			t.Fatal(err)
		}
		return ends[0]
	}
	r := newRig(t, Options{Runs: dir})
	r.do("true") // now the spawner runs
	newChild := func() *child { return &child{run: 70, file: recording{space: r.spawner.space.Lease("ann")}} }
	c := newChild()
	room := make([]byte, frameHead+100)
	fetch := func(text string) int {
		n, ok, err := r.spawner.fetch(c, pipe(text), room[frameHead:])
		if !ok || err != nil || string(room[frameHead:frameHead+n]) != text {
			t.Fatalf("fetched %q, %t, %v", room[frameHead:frameHead+n], ok, err)
		}
		return n
	}
	n := fetch("first\n")
	r.spawner.record(c, job.Stderr, noon, room[:frameHead+n])
	fetch("second\n")
	r.spawner.closeRecording(c)

	path := r.spawner.recordPath(70)
	chunks, _, err := ReadOutput(path)
	if err != nil || len(chunks) != 2 || string(chunks[1].Data) != "second\n" || chunks[1].At.IsZero() {
		t.Fatalf("the file holds %+v, %v", chunks, err)
	}
	c = newChild()
	if got := r.spawner.resumeRecording(c); len(got) != 2 {
		t.Fatalf("the next daemon finds %+v", got)
	}
	n = fetch("third\n")
	r.spawner.record(c, job.Stdout, noon, room[:frameHead+n])
	if out, cut := written(t, path, job.Stdout); out != "second\nthird\n" || cut {
		t.Errorf("then the file holds %q, cut %t", out, cut)
	}
	r.spawner.closeRecording(c)
}

func TestCaptureGoesOnWhereItLeftOff(t *testing.T) {
	for _, total := range []int{100, 2000, 5000, 100_000} {
		var whole, first, second capture
		const limit = 4 << 10
		for i := range total {
			at := noon.Add(0)
			stream := streams[i/100%2]
			c := &first
			if i == total/2 {
				second.restore(limit, first.chunks(1, "j"))
			}
			if i >= total/2 {
				c = &second
			}
			c.add(limit, stream, at, []byte{byte(i)})
			whole.add(limit, stream, at, []byte{byte(i)})
		}
		same := func(a, b job.Chunk) bool {
			return bytes.Equal(a.Data, b.Data) && a.Stream == b.Stream && a.Cut == b.Cut && a.At.Equal(b.At)
		}
		if got, want := second.chunks(1, "j"), whole.chunks(1, "j"); !slices.EqualFunc(got, want, same) {
			t.Errorf("%d bytes: %d chunks, want %d: %s", total, len(got), len(want), firstDifference(got, want))
		}
	}
}

func firstDifference(got, want []job.Chunk) string {
	for i := range min(len(got), len(want)) {
		if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
			return fmt.Sprintf("chunk %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	return "one is longer"
}
