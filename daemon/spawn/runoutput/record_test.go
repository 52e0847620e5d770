package runoutput

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
)

// TestReadOutputOfAnyBytes reads every beginning of a file, and noise.
func TestReadOutputOfAnyBytes(t *testing.T) {
	var file []byte
	for i, data := range []string{"one\n", "two\n", ""} {
		frame := append(make([]byte, FrameHead), data...)
		putHead(frame, uint8(i), midday, len(data))
		file = append(file, frame...)
	}
	path := filepath.Join(t.TempDir(), "run")
	read := func(data []byte) ([]job.Chunk, error) {
		filetest.Write(t, path, string(data), 0o600)
		chunks, _, err := Read(path)
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
	const run = 70
	d := Dir{Path: dir, Spare: func(int) bool { return true }}
	newFile := func() *File { return &File{Space: NewSpace(dir).Lease("ann")} }
	f := newFile()
	room := make([]byte, FrameHead+100)
	fetch := func(text string) int {
		n, ok, err := d.Fetch(f, run, pipe(text), room[FrameHead:])
		if !ok || err != nil || string(room[FrameHead:FrameHead+n]) != text {
			t.Fatalf("fetched %q, %t, %v", room[FrameHead:FrameHead+n], ok, err)
		}
		return n
	}
	n := fetch("first\n")
	d.Record(f, run, job.Stderr, midday, room[:FrameHead+n])
	fetch("second\n")
	d.Close(f)

	path := d.Base(run)
	chunks, _, err := Read(path)
	if err != nil || len(chunks) != 2 || string(chunks[1].Data) != "second\n" || chunks[1].At.IsZero() {
		t.Fatalf("the file holds %+v, %v", chunks, err)
	}
	f = newFile()
	if got := d.Resume(f, run); len(got) != 2 {
		t.Fatalf("the next daemon finds %+v", got)
	}
	n = fetch("third\n")
	d.Record(f, run, job.Stdout, midday, room[:FrameHead+n])
	if chunks, cut, err := Read(path); err != nil || cut || len(chunks) != 3 || string(chunks[2].Data) != "third\n" || chunks[2].Stream != job.Stdout {
		t.Errorf("then the file holds %+v, cut %t, %v", chunks, cut, err)
	}
	d.Close(f)
}

func TestCaptureGoesOnWhereItLeftOff(t *testing.T) {
	for _, total := range []int{100, 2000, 5000, 100_000} {
		var whole, first, second Capture
		const limit = 4 << 10
		for i := range total {
			at := midday.Add(0)
			stream := streams[i/100%2]
			c := &first
			if i == total/2 {
				second.Restore(limit, first.Chunks(1, "j"))
			}
			if i >= total/2 {
				c = &second
			}
			c.Add(limit, stream, at, []byte{byte(i)})
			whole.Add(limit, stream, at, []byte{byte(i)})
		}
		same := func(a, b job.Chunk) bool {
			return bytes.Equal(a.Data, b.Data) && a.Stream == b.Stream && a.Cut == b.Cut && a.At.Equal(b.At)
		}
		if got, want := second.Chunks(1, "j"), whole.Chunks(1, "j"); !slices.EqualFunc(got, want, same) {
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

// FuzzFrames reads any file of output. Its user cannot write to it, but a daemon that is killed leaves it at
// any byte, and a file system any bytes.
func FuzzFrames(f *testing.F) {
	var file []byte
	for i, data := range []string{"one\n", "two\n", "the rest\x1b[31m\xff"} {
		frame := append(make([]byte, FrameHead), data...)
		putHead(frame, uint8(i), midday, len(data))
		file = append(file, frame...)
	}
	f.Add(file, 7)
	f.Add(append(file, make([]byte, FrameHead+5)...), 0)
	f.Add(append(file, markFrame, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 'x'), 70_000)
	f.Add(append(file, 3), -1)
	f.Fuzz(func(t *testing.T, file []byte, limit int) {
		chunks, whole, marked, err := splitFrames(file, midday)
		if whole < 0 || whole > int64(len(file)) || marked && err != nil {
			t.Fatalf("%d of %d bytes are whole, marked %t, error %v", whole, len(file), marked, err)
		}
		var again []byte
		for _, c := range chunks {
			frame := append(make([]byte, FrameHead), c.Data...)
			putHead(frame, number(c.Stream), c.At, len(c.Data))
			again = append(again, frame...)
		}
		if int64(len(again)) != whole {
			t.Fatalf("%d chunks have %d bytes, want %d", len(chunks), len(again), whole)
		}
		if same, _, _, err := splitFrames(again, midday); err != nil || !reflect.DeepEqual(same, chunks) {
			t.Errorf("read %+v, written and read again %+v, %v", chunks, same, err)
		}
		if limit < 0 || limit > DefaultLimit {
			return
		}
		limit = max(limit, MinLimit)
		var kept Capture
		kept.Restore(limit, chunks)
		size := 0
		for _, c := range kept.Chunks(70, "") {
			size += len(c.Data)
		}
		if size > limit {
			t.Errorf("%d bytes are kept, limit %d", size, limit)
		}
	})
}
