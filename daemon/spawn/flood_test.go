package spawn

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// flood prints 5 MB and then waits.
func flood(g *gate) string { return "head -c 5000000 /dev/zero; " + g.command() }

// The runs of a user who floods keep less, those of another and of root all that
// they print, and memory is held until the receiver releases it.
func TestFloodTakesTheMemoryOfItsUserAlone(t *testing.T) {
	needRoot(t, "starting jobs as two users")
	memory := budget.New(4<<20, 4<<20)
	r := newTestSpawner(t, Options{Memory: memory})
	const n = 40
	gate := newGate(t)
	var floods []job.RunID
	for range n {
		floods = append(floods, r.start(flood(gate), as("nobody")))
	}
	r.until("the starts", func() bool { return len(r.started) == n })
	gate.open(n)
	kept := 0
	for _, id := range floods {
		e := r.await(id)
		out := text(e, job.Stdout)
		kept += len(out)
		var cut int
		for _, c := range e.Output {
			cut += int(c.Cut)
		}
		if len(out)+cut < 5000000 { // more, if the shell prints something itself
			t.Errorf("run %d: %d bytes kept and %d counted as left out of 5000000", id, len(out), cut)
		}
	}
	if most := 4<<20/2/runoutput.Cost + n*runoutput.MinLimit; kept > most {
		t.Errorf("%d bytes are kept of nobody's runs, want at most %d", kept, most)
	}
	if held := memory.Held("nobody"); held > 4<<20/2+n*4096 {
		t.Errorf("%d bytes are held for nobody, want at most half of %d", held, 4<<20)
	}
	for _, user := range []string{"daemon", "root"} {
		e := r.do("head -c 60000 /dev/zero", as(user))
		if got := len(text(e, job.Stdout)); got != 60000 {
			t.Errorf("%d bytes are kept of 60000 that %s printed beside a flood", got, user)
		}
		e.Memory.Release()
	}
	for _, id := range floods {
		r.ended[id].Memory.Release()
	}
	if held := memory.Held("nobody") + memory.Held("daemon"); held != 0 {
		t.Errorf("%d bytes are held of runs that are over", held)
	}
	if got := len(text(r.do("head -c 60000 /dev/zero", as("nobody")), job.Stdout)); got != 60000 {
		t.Errorf("%d bytes are kept of 60000 after the flood", got)
	}
}

// Both streams of a run count against output-max=.
func TestFloodOnBothStreams(t *testing.T) {
	r := newTestSpawner(t, Options{Output: 10 << 10})
	e := r.do("head -c 100000 /dev/zero & head -c 100000 /dev/zero >&2; wait")
	kept, cut := 0, 0
	for _, c := range e.Output {
		kept, cut = kept+len(c.Data), cut+int(c.Cut)
	}
	if kept > 10<<10 || kept+cut != 200000 {
		t.Errorf("%d bytes kept and %d cut, want at most 10 KiB of 200000", kept, cut)
	}
}

// Files of what runs print are shared as well, where the directory is in memory
// and where it is not.
func TestFloodTakesTheFilesOfItsUserAlone(t *testing.T) {
	needRoot(t, "starting jobs as two users")
	r := &testSpawner{t: t, spawner: New(Options{Runs: t.TempDir(), Claim: func(job.RunID) bool { return true }}), started: map[job.RunID]int{}, ended: map[job.RunID]Ended{}}
	r.spawner.space = budget.New(4<<20, 1<<40)
	r.run()
	size := func(user string) (n int64) {
		e := r.do("head -c 1500000 /dev/zero", as(user))
		info, err := os.Stat(e.File)
		if err != nil {
			t.Fatal(err)
		}
		if _, cut, err := runoutput.Read(e.File); err != nil || cut != (info.Size() < 1500000) {
			t.Errorf("the file of %d bytes: cut %t, %v", info.Size(), cut, err)
		}
		return info.Size()
	}
	if first, second := size("nobody"), size("nobody"); first < 1500000 || second >= 1500000 || first+second > 2<<20+runoutput.FrameHead {
		t.Errorf("two files of %d and %d bytes, want half of 4 MiB together", first, second)
	}
	if got := size("root"); got < 1500000 {
		t.Errorf("root's file has %d bytes beside a flood", got)
	}
	for _, e := range r.ended {
		e.Space.Release()
	}
	if held := r.spawner.space.Held("nobody"); held != 0 {
		t.Errorf("%d bytes are held of files that are gone", held)
	}
}

// While the receiver is not ready for a user, only this user's jobs wait, and only when they
// print, not when they start or end.
func TestFloodWaitsForTheReceiver(t *testing.T) {
	needRoot(t, "starting jobs as two users")
	var read atomic.Int64
	var ready atomic.Bool
	r := newTestSpawner(t, Options{
		Ready: func(user string) bool { return user != "nobody" || ready.Load() },
		Live: func(c job.Chunk) {
			if c.User == "nobody" {
				read.Add(int64(len(c.Data)))
			}
		},
	})
	const n = 50
	begun := time.Now()
	for range n {
		r.start("head -c 5000000 /dev/zero", as("nobody"))
	}
	r.until("the starts", func() bool { return len(r.started) == n })
	for i := range 100 {
		if e := r.do(fmt.Sprint("echo ", i)); text(e, job.Stdout) != fmt.Sprintln(i) {
			t.Fatalf("root's output %q", text(e, job.Stdout))
		}
	}
	if got := read.Load(); got > n*int64(64<<10)*int64(10+time.Since(begun)/time.Second) { // one read each second
		t.Errorf("%d bytes of a flood were read for a receiver that was not ready", got)
	}
	ready.Store(true)
	r.until("the ends", func() bool { return len(r.ended) == n+100 })
	if got := read.Load(); got != n*5000000 {
		t.Errorf("%d bytes were read of %d when the receiver was ready", got, n*5000000)
	}
}

// What a run that is over has left in its pipe is read, also if it had to wait.
func TestFloodIsReadToItsEnd(t *testing.T) {
	r := newTestSpawner(t, Options{Ready: func(string) bool { return false }, Linger: 1})
	e := r.do("printf BEGIN; head -c 30000 /dev/zero | tr '\\0' x; printf END", func(s *effect.Start) {})
	out := text(e, job.Stdout)
	if !strings.HasPrefix(out, "BEGINx") || !strings.HasSuffix(out, "xEND") || len(out) != 30008 {
		t.Errorf("%d bytes, from %.6q, want all 30008", len(out), out)
	}
}
