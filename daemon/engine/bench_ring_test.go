package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/gossip/register"
)

// ringOf returns a host with n ring jobs, at 1,440 times of the day, in a ring with some
// members.
func ringOf(b testing.TB, n, members int) (e *Engine, now Moment, m *register.Membership) {
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
	m = &register.Membership{Self: "m0"}
	for i := range members {
		m.Members = append(m.Members, register.Member{ID: fmt.Sprintf("m%d", i), Name: fmt.Sprintf("m%d", i), Weight: 1})
	}
	now = Moment{Wall: time.Date(2026, 11, 20, 8, 0, 30, 0, time.UTC), Up: time.Hour}
	e = New(State{})
	e.Step(now, Load{Crontabs: []*crontab.File{file}, Ring: Available})
	e.Step(now, FromRing{register.Ring{Membership: m}})
	return e, now, m
}

// BenchmarkRingChange measures a change of the members of a ring with 100,000 jobs (goal:
// microseconds).
func BenchmarkRingChange(b *testing.B) {
	for _, members := range []int{5, 300} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			const n = 100_000
			e, now, m := ringOf(b, n, members)
			for b.Loop() {
				left := *m
				e.Step(now, FromRing{register.Ring{Membership: &left}})
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
	e, now, _ := ringOf(b, n, members)
	due := 0
	for b.Loop() {
		now.Wall, now.Up = now.Wall.Add(time.Minute), now.Up+time.Minute
		e.ring.expected = 0
		for more := true; more; more = !e.Wake().After(now.Wall) {
			e.Step(now, Tick{})
		}
		clear(e.ring.claims)
		e.ring.queue = nil
		due += n / 1440
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(due), "ns/due")
}
