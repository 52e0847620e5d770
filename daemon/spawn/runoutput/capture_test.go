package runoutput

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/cronring/cronring/daemon/job"
)

var midday = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestCaptureAgainstWholeOutput(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0))
		limit := MinLimit << rng.IntN(4)
		var c Capture
		var all []byte
		at := midday
		for range rng.IntN(60) {
			data := make([]byte, 1+rng.IntN(1<<rng.IntN(13)))
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			at = at.Add(time.Duration(rng.Int64N(2 * together)))
			c.Add(limit, streams[rng.IntN(3)], at, data)
			all = append(all, data...)
		}
		checkCapture(t, seed, c.Chunks(7, "j"), all, limit)
	}
}

// checkCapture expects a head and a tail of the output, each at most half of the limit, or all
// output if it fits.
func checkCapture(t *testing.T, seed uint64, chunks []job.Chunk, all []byte, limit int) {
	t.Helper()
	var head, tail []byte
	var cut int64
	for _, c := range chunks {
		if c.Cut > 0 && cut > 0 {
			t.Fatalf("seed %d: two gaps", seed)
		}
		cut += c.Cut
		if cut == 0 {
			head = append(head, c.Data...)
		} else {
			tail = append(tail, c.Data...)
		}
		if len(c.Data) == 0 || c.Run != 7 || c.Job != "j" {
			t.Fatalf("seed %d: chunk %+v", seed, c)
		}
	}
	kept := len(head) + len(tail)
	switch {
	case int64(kept)+cut != int64(len(all)):
		t.Fatalf("seed %d: %d kept and %d cut of %d", seed, kept, cut, len(all))
	case !bytes.HasPrefix(all, head), !bytes.HasSuffix(all, tail):
		t.Fatalf("seed %d: head or tail is not that of the output", seed)
	case kept > limit:
		t.Fatalf("seed %d: %d kept, limit %d", seed, kept, limit)
	case kept < min(len(all), limit):
		t.Fatalf("seed %d: %d kept of %d, limit %d", seed, kept, len(all), limit)
	}
}

func TestCaptureMergesWhatComesTogether(t *testing.T) {
	var c Capture
	for i := range 1000 {
		c.Add(64<<10, job.Stdout, midday.Add(time.Duration(i)*time.Millisecond), []byte("x"))
	}
	if got := len(c.Chunks(1, "j")); got != 10 {
		t.Errorf("%d chunks of 1000 bytes printed over a second, want one for each 100 ms", got)
	}
}

func TestCaptureIsBoundedForSingleBytes(t *testing.T) {
	const limit = 64 << 10
	var c Capture
	at := midday
	for i := range 1_000_000 {
		at = at.Add(time.Duration(together))
		c.Add(limit, streams[i%2], at, []byte{byte('a' + i%26)})
	}
	bytes := cap(c.head.bytes) + cap(c.tail.bytes)
	pieces := (cap(c.head.pieces) + cap(c.tail.pieces)) * int(unsafe.Sizeof(piece{}))
	if bytes+pieces > 5*limit {
		t.Errorf("%d bytes of output and %d of bookkeeping, want at most %d", bytes, pieces, 5*limit)
	}
	chunks := c.Chunks(1, "j")
	var kept, cut int64
	for _, chunk := range chunks {
		kept += int64(len(chunk.Data))
		cut += chunk.Cut
	}
	if kept+cut != 1_000_000 {
		t.Errorf("%d kept and %d cut of a million", kept, cut)
	}
	if last := chunks[len(chunks)-1]; last.Data[0] != byte('a'+999_999%26) || !last.At.Equal(at) {
		t.Errorf("last chunk %+v, want the last byte", last)
	}
	if size := unsafe.Sizeof(piece{}); size != 16 {
		t.Errorf("a piece takes %d bytes, want 16", size)
	}
}
