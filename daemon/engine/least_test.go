package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
)

// leastRing is members of which each holds the same thousand jobs for the one of two
// that has less to do, all due at noon.
func leastRing(t *testing.T, ids ...string) (members map[string]*Engine, now Moment, at time.Time) {
	t.Helper()
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "#@ name=j%d scope=ring route=least\n0 12 * * * job\n", i)
	}
	table, remarks := crontab.Parse("ring", text.String(), crontab.Config{Owner: "root"})
	if len(remarks) > 0 {
		t.Fatal(remarks[0])
	}
	now = Moment{Wall: time.Date(2026, 11, 20, 11, 59, 30, 0, time.UTC), Up: time.Hour}
	members = map[string]*Engine{}
	for _, id := range ids {
		members[id] = New(State{})
		members[id].Step(now, Load{Tables: []*crontab.Table{table}, Ring: Available})
	}
	return members, now, now.Wall.Add(30 * time.Second)
}

// membersOf is a ring as a member sees it, with what it takes for the others' loads.
func membersOf(self string, weights map[string]float64, loads map[string]int) *Membership {
	m := &Membership{Self: self}
	for id, w := range weights {
		m.Members = append(m.Members, Member{ID: id, Name: id, Weight: w, Load: loads[id]})
	}
	slices.SortFunc(m.Members, func(a, b Member) int { return strings.Compare(a.ID, b.ID) })
	return m
}

// claimsAt is the claims of a member with a rank, each of which asks the others.
func claimsAt(t *testing.T, e *Engine, now Moment, at time.Time, rank int) (jobs []string) {
	t.Helper()
	for more := true; more; more = !e.Wake().After(at) {
		for _, effect := range e.Step(Moment{Wall: at, Up: now.Up + at.Sub(now.Wall)}, Tick{}) {
			c, ok := effect.(Claim)
			if !ok {
				continue
			}
			if !c.Late || c.Rank != rank {
				t.Fatalf("got %+v, want a claim of rank %d that asks the others", c, rank)
			}
			jobs = append(jobs, string(c.Job))
		}
	}
	return jobs
}

// TestLeastSpreadsWhatIsDueAtOnce: of a thousand jobs that are due at once each is
// claimed by one member, and none of three has all of them, whatever they have to do.
func TestLeastSpreadsWhatIsDueAtOnce(t *testing.T) {
	even := map[string]float64{"a": 1, "b": 1, "c": 1}
	for _, c := range []struct {
		name        string
		weights     map[string]float64
		loads       map[string]int
		least, most map[string]int
	}{
		{"all idle", even, nil, map[string]int{"a": 280, "b": 280, "c": 280}, map[string]int{"a": 390, "b": 390, "c": 390}},
		{"one is busy", even, map[string]int{"a": 40}, map[string]int{"b": 430, "c": 430}, map[string]int{"a": 0, "b": 570, "c": 570}},
		{"one is idle", even, map[string]int{"a": 1, "b": 7, "c": 7}, map[string]int{"a": 600, "b": 110, "c": 110}, map[string]int{"a": 730, "b": 230, "c": 230}},
		{"each has another load", even, map[string]int{"a": 1, "b": 2, "c": 3}, map[string]int{"a": 600, "b": 270}, map[string]int{"a": 730, "b": 400, "c": 0}},
		{"as weights ask for", map[string]float64{"a": 4, "b": 1, "c": 1}, map[string]int{"a": 4, "b": 1, "c": 1}, map[string]int{"a": 600, "b": 110, "c": 110}, map[string]int{"a": 730, "b": 230, "c": 230}},
		{"a word that cannot be", even, map[string]int{"a": math.MinInt / 2, "b": -(math.MinInt / 2), "c": -(math.MinInt / 2)}, map[string]int{"a": 600}, map[string]int{"a": 730, "b": 230, "c": 230}},
	} {
		t.Run(c.name, func(t *testing.T) {
			members, now, at := leastRing(t, "a", "b", "c")
			taken := map[string]string{}
			for id, e := range members {
				e.Step(now, Ring{membersOf(id, c.weights, c.loads), nil})
				jobs := claimsAt(t, e, now, at, 0)
				if n := len(jobs); n < c.least[id] || n > c.most[id] {
					t.Errorf("%s claims %d jobs, want %d to %d", id, n, c.least[id], c.most[id])
				}
				for _, j := range jobs {
					if other := taken[j]; other != "" {
						t.Errorf("%s is claimed by %s and by %s", j, other, id)
					}
					taken[j] = id
				}
			}
			if len(taken) != 1000 {
				t.Errorf("%d jobs are claimed, want all 1000", len(taken))
			}
		})
	}
}

// TestLeastLosesNothingWhereViewsDiffer has each member take itself for the busiest, or
// for the one with least to do: those that no member takes for its own are claimed a
// hold-off later, and those that two do they ask each other for.
func TestLeastLosesNothingWhereViewsDiffer(t *testing.T) {
	weights := map[string]float64{"a": 1, "b": 1, "c": 1}
	for name, own := range map[string]int{"each takes itself for busy": 5, "each takes itself for idle": -5} {
		t.Run(name, func(t *testing.T) {
			members, now, at := leastRing(t, "a", "b", "c")
			claims := map[string]int{}
			for id, e := range members {
				e.Step(now, Ring{membersOf(id, weights, map[string]int{"a": 10, "b": 10, "c": 10, id: 10 + own}), nil})
				first := claimsAt(t, e, now, at, 0)
				later := claimsAt(t, e, now, at.Add(usualHoldOff), 1)
				if own > 0 && len(first) > 0 || own < 0 && len(later) > 0 {
					t.Errorf("%s claims %d jobs at once and %d a hold-off later", id, len(first), len(later))
				}
				for _, j := range append(first, later...) {
					claims[j]++
				}
			}
			for i := range 1000 {
				if n := claims[fmt.Sprintf("j%d", i)]; n != 2 {
					t.Fatalf("j%d is claimed by %d members, want the two of its pair", i, n)
				}
			}
		})
	}
}

// TestLeastIsLeftOutWhenSharesAreEvened: factors are made from what goes by the order
// alone.
func TestLeastIsLeftOutWhenSharesAreEvened(t *testing.T) {
	members, now, at := leastRing(t, "a")
	e := members["a"]
	e.Step(now, Ring{membersOf("a", map[string]float64{"a": 1, "b": 1, "c": 1}, nil), nil})
	s := newSeats(e.View().seats.Membership)
	if items := s.items(e.View().jobs, at); len(items) != 0 {
		t.Errorf("%d jobs are counted, want none", len(items))
	}
}
