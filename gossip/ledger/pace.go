package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Limits of the times of raft. A follower becomes a candidate if it receives no message from the
// leader for a random time between one and two heartbeat timeouts. The leader resigns if it does
// not reach a majority for half a heartbeat timeout.
const (
	leastBeat   = time.Second
	mostBeat    = 8 * time.Second
	beatTrips   = 4  // round trips in a heartbeat timeout
	beatSamples = 30 // a minute of them
)

// errPace ends a voter that starts again with other times.
var errPace = errors.New("the times of raft change with those of the network")

// pace maps each other voter to its last answer times, the newest last. They include the time to
// send lost packets again.
type pace map[string][]time.Duration

// measure sends a hello to all other voters, and records how long they take to answer.
func (v *voter) measure(ctx context.Context) {
	var mu sync.Mutex
	var all sync.WaitGroup
	l := v.ledger
	for _, member := range l.voterList() {
		if member == l.id {
			continue
		}
		all.Go(func() {
			begun := time.Now()
			_, err := l.requestHello(ctx, member)
			took := time.Since(begun)
			if err != nil && took < helloTime {
				return // the voter is down
			}
			mu.Lock()
			defer mu.Unlock()
			samples := append(l.pace[member], took)
			l.pace[member] = samples[max(0, len(samples)-beatSamples):]
		})
	}
	all.Wait()
}

// beatFor returns the heartbeat timeout for n voters, which is leastBeat times a power of two. It
// depends on the slowest voter of the fastest majority. The slowest answer of each voter is
// ignored, because a busy host can cause it.
func (p pace) beatFor(n int) time.Duration {
	var slow []time.Duration
	for _, samples := range p {
		if len(samples) > 1 {
			sorted := slices.Sorted(slices.Values(samples))
			slow = append(slow, sorted[len(sorted)-2])
		}
	}
	slices.SortFunc(slow, cmp.Compare)
	beat, others := leastBeat, n/2
	if others == 0 || len(slow) < others {
		return beat
	}
	for beat < beatTrips*slow[others-1] && beat < mostBeat {
		beat *= 2
	}
	return beat
}

// adapt starts the voter again if the network has become slower, or faster for a minute.
func (v *voter) adapt(ctx context.Context) {
	l := v.ledger
	v.measure(ctx)
	if beat := l.pace.beatFor(len(l.voterList())); beat != l.beat && ctx.Err() == nil {
		l.log.Info("the times of the voters follow the network", "heartbeat timeout", beat, "before", l.beat)
		l.beat = beat
		v.handOver()
		v.fail(errPace)
	}
}
