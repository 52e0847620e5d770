package claims

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

// engineInRing is an engine with its ring.
type engineInRing struct {
	*engine.Engine
	ring *Ring
	now  job.Moment
}

// step lets time pass, handles events, and returns the claims that are sent.
func (h *engineInRing) step(d time.Duration, events ...any) (claims []holders.Claim) {
	h.now.Wall, h.now.Up = h.now.Wall.Add(d), h.now.Up+d
	var own []event.Event
	for _, ev := range events {
		if x, ok := ev.(event.Event); ok {
			own = append(own, x)
		} else {
			h.ring.Receive(ev.(holders.Event))
		}
	}
	h.StepIn(h.ring, h.now, own...)
	for _, x := range h.ring.Effects() {
		if c, ok := x.(holders.Claim); ok {
			claims = append(claims, c)
		}
	}
	return claims
}

// newEngineInRing returns a host with n ring jobs, at 1,440 times of the day, in a ring with some
// members.
func newEngineInRing(b testing.TB, n, members int) (h *engineInRing, m *holders.Membership) {
	b.Helper()
	var text strings.Builder
	text.WriteString("#@ default scope=ring\n")
	for i := range n {
		fmt.Fprintf(&text, "%d %d * * * job --number %d\n", i%60, i/60%24, i)
	}
	file, diagnostics := crontab.Parse("ring", text.String(), crontab.Config{Owner: "root", Cache: crontab.NewCache()})
	if len(diagnostics) > 0 {
		b.Fatal(diagnostics[0])
	}
	m = &holders.Membership{Self: "m0"}
	for i := range members {
		m.Members = append(m.Members, holders.Member{ID: fmt.Sprintf("m%d", i), Name: fmt.Sprintf("m%d", i), Weight: 1})
	}
	h = &engineInRing{engine.New(engine.State{}), New(), job.Moment{Wall: time.Date(2026, 11, 20, 8, 0, 30, 0, time.UTC), Up: time.Hour}}
	h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available})
	h.step(0, holders.Ring{Membership: m})
	return h, m
}

// BenchmarkRingChange measures a change of the members of a ring with 100,000 jobs (goal:
// microseconds).
func BenchmarkRingChange(b *testing.B) {
	for _, members := range []int{5, 300} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			h, m := newEngineInRing(b, 100_000, members)
			for b.Loop() {
				left := *m
				h.step(0, holders.Ring{Membership: &left})
			}
		})
	}
}

// BenchmarkRingDue measures finding the owner of a due occurrence, and claiming those of
// this member.
func BenchmarkRingDue(b *testing.B) {
	for _, members := range []int{5, 300} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) { ringDue(b, members) })
	}
}

func ringDue(b *testing.B, members int) {
	const n = 100_000
	h, _ := newEngineInRing(b, n, members)
	due := 0
	for b.Loop() {
		d := time.Minute
		for more := true; more; more = !h.Wake().After(h.now.Wall) {
			h.step(d)
			d = 0
		}
		clear(h.ring.claims)
		h.ring.queue, h.ring.granted = nil, 0
		due += n / 1440
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(due), "ns/due")
}
