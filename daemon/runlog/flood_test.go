package runlog

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// The goroutine that starts all jobs says what is wrong with one of them. It
// must not wait for the room that the output of another job has taken.
func TestMessageOfTheDaemonDoesNotWaitBehindAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := New(nil, false) // nobody empties the queue
		for v.Ready("ann") {
			v.Chunk(job.Chunk{Run: 1, User: "ann", Stream: job.Stdout, Data: make([]byte, 64<<10)})
		}
		before := time.Now()
		v.Chunk(job.Chunk{Run: 2, Stream: job.System, Data: []byte("cannot enter /nowhere; running in /\n")})
		if took := time.Since(before); took > 0 {
			t.Errorf("it took %v behind a flood, want no waiting", took)
		}
		items, _, _ := v.takeAll()
		if c, ok := items[len(items)-1].(job.Chunk); !ok || c.Run != 2 {
			t.Errorf("the last item is %+v, want the daemon's own word", items[len(items)-1])
		}
	})
}
