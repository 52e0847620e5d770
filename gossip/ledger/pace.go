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
// not reach a majority for one. It sends heartbeats at multiples of 0.4 of the timeout, the next one
// 0.1 to 0.2 after the answer to the last one at the earliest. So they are at most 0.8 apart if a round
// trip takes up to half of the timeout.
const (
	leastBeat   = time.Second
	mostBeat    = 2 * time.Second
	beatTrips   = 2  // round trips in a heartbeat timeout
	beatSamples = 30 // a minute of them
)

// errPace ends a voter that starts again with other times.
var errPace = errors.New("the times of raft change with those of the network")

// pace maps each other voter to the times that it needs to answer.
type pace map[string]answerTimes

// answerTimes are the last answer times of a voter. They include the time to send lost packets again.
type answerTimes struct {
	samples []time.Duration // the newest last
	missed  int             // hellos since the last answer that it did not answer in time
}

// add adds a sample. If a voter misses several hellos, and then answers fast, it was not slow but out
// of reach, for instance behind a network partition: the missed ones no longer count.
func (a answerTimes) add(took time.Duration, answered bool) answerTimes {
	switch {
	case !answered:
		a.missed++
	case a.missed > 1 && took < helloTime/2:
		a.samples = a.samples[:max(0, len(a.samples)-a.missed)]
		a.missed = 0
	default:
		a.missed = 0
	}
	a.samples = append(a.samples, took)
	a.samples = a.samples[max(0, len(a.samples)-beatSamples):]
	return a
}

// greet sends a hello to all other voters, returns the answers, and records how long they took.
func (v *voter) greet(ctx context.Context) map[string]hello {
	var mu sync.Mutex
	var all sync.WaitGroup
	l, answers := v.ledger, map[string]hello{}
	for _, member := range l.voterList() {
		if member == l.o.ID {
			continue
		}
		all.Go(func() {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(ctx, helloTime)
			defer cancel()
			h, err := v.requestHello(ctx, member)
			took := time.Since(begun)
			if err != nil && took < helloTime {
				return // the voter is down
			}
			mu.Lock()
			defer mu.Unlock()
			l.pace[member] = l.pace[member].add(took, err == nil)
			if err == nil {
				answers[member] = h
			}
		})
	}
	all.Wait()
	return answers
}

// beatFor returns the heartbeat timeout for n voters, which is leastBeat times a power of two. It
// depends on the slowest voter of the fastest majority. The slowest answer of each voter is
// ignored, because a busy host can cause it.
func (p pace) beatFor(n int) time.Duration {
	var slow []time.Duration
	for _, a := range p {
		if len(a.samples) > 1 {
			sorted := slices.Sorted(slices.Values(a.samples))
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
	if beat := l.pace.beatFor(len(l.voterList())); beat != l.beat && ctx.Err() == nil {
		l.o.Log.Info("the times of the voters follow the network", "heartbeat timeout", beat, "before", l.beat)
		l.beat = beat
		v.handOver()
		v.fail(errPace)
	}
}
