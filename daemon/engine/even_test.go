package engine

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// ringStep is a step of an engine with another membership.
func ringStep(e *Engine, now Moment, m *Membership, change func(m *Membership)) {
	next := *m
	next.Members = slices.Clone(m.Members)
	change(&next)
	e.Step(now, Ring{&next, nil})
}

func TestEvenBringsSharesWithinOnePercent(t *testing.T) {
	e, now, m := ringOf(t, 5_000, 5)
	at := now.Wall.Add(time.Minute)
	factors, err := e.View().Even(at, 20_000_000)
	if err != nil || len(factors) != 5 {
		t.Fatalf("got %d factors, %v, want 5", len(factors), err)
	}
	ringStep(e, now, m, func(m *Membership) { m.Evenings = []Evening{{}, {From: at, Factors: factors}} })
	v := e.View()
	before, _ := v.Shares(at.Add(-1))
	after, nobodys := v.Shares(at)
	sum, uneven := 0, 0
	for _, m := range m.Members {
		if n := after[m.ID]; n < 990 || n > 1010 {
			t.Errorf("%s has %d of 5,000 jobs, want 1,000 within 1 %%", m.ID, n)
		}
		sum += after[m.ID]
		uneven = max(uneven, before[m.ID]-1000, 1000-before[m.ID])
	}
	if sum != 5_000 || nobodys != 0 || uneven < 20 {
		t.Errorf("got %d jobs, %d of nobody, and before it %v: want 5,000, none, and shares that are uneven", sum, nobodys, before)
	}
	for i := range 500 {
		owner, _ := v.Owner(i, at)
		if name, _ := v.Owners()(i, at); name != owner.Members[0].Name {
			t.Fatalf("job %d is %s's in a list and %s's by itself", i, name, owner.Members[0].Name)
		}
	}
	if again, err := v.Even(at, 20_000_000); again != nil || err != nil {
		t.Errorf("what is even is evened out again: %v, %v", again, err)
	}
}

func TestEvenLeavesWhatItCannotMend(t *testing.T) {
	e, now, m := ringOf(t, 1_000, 5)
	if _, err := e.View().Even(now.Wall, 4_999); err == nil {
		t.Error("1,000 jobs and 5 members took less than 5,000 steps, want an error")
	}
	ringStep(e, now, m, func(m *Membership) { m.Members = m.Members[:1] })
	if factors, err := e.View().Even(now.Wall, 20_000_000); factors != nil || err != nil {
		t.Errorf("a member that is alone: got %v, %v, want nothing", factors, err)
	}
	if factors, err := New(State{}).View().Even(now.Wall, 20_000_000); factors != nil || err != nil {
		t.Errorf("a host in no ring: got %v, %v, want nothing", factors, err)
	}
}

// TestFewJobsStayWhereTheyAre: a share that is off by less than a job is even.
func TestFewJobsStayWhereTheyAre(t *testing.T) {
	e, now, m := ringOf(t, 20, 5)
	factors, err := e.View().Even(now.Wall, 20_000_000)
	if err != nil {
		t.Fatal(err)
	}
	ringStep(e, now, m, func(m *Membership) { m.Evenings = []Evening{{Factors: factors}} })
	shares, _ := e.View().Shares(now.Wall)
	if low, high := slices.Min(slices.Collect(maps.Values(shares))), slices.Max(slices.Collect(maps.Values(shares))); len(shares) != 5 || low != 4 || high != 4 {
		t.Errorf("got %v, want 4 of 20 jobs each", shares)
	}
}

func TestTheFirstThatStaysEvens(t *testing.T) {
	e, now, m := ringOf(t, 10, 3)
	at := now.Wall
	for name, c := range map[string]struct {
		change func(m *Membership)
		want   bool
	}{
		"it is the first":        {func(*Membership) {}, true},
		"another one is":         {func(m *Membership) { m.Self = "m1" }, false},
		"the first is to come":   {func(m *Membership) { m.Self, m.Members[0].From = "m1", at.Add(1) }, true},
		"the first is to go":     {func(m *Membership) { m.Self, m.Members[0].Until = "m1", at.Add(time.Hour) }, true},
		"it takes nothing":       {func(m *Membership) { m.Barred = "its clock is off" }, false},
		"it is yet to come":      {func(m *Membership) { m.Members[0].From = at.Add(1) }, false},
		"it is not listed first": {func(m *Membership) { slices.Reverse(m.Members) }, true},
	} {
		ringStep(e, now, m, c.change)
		if got := e.View().Evens(at); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestSameSharesAsLongAsNothingMoves(t *testing.T) {
	e, now, m := ringOf(t, 10, 3)
	at := now.Wall
	before := e.View()
	for name, c := range map[string]struct {
		change func(m *Membership)
		want   bool
	}{
		"the same again":     {func(*Membership) {}, true},
		"a member is busy":   {func(m *Membership) { m.Members[1].Load = 7 }, true},
		"a member is gone":   {func(m *Membership) { m.Members = m.Members[:2] }, false},
		"a member is to go":  {func(m *Membership) { m.Members[1].Until = at }, false},
		"a weight":           {func(m *Membership) { m.Members[1].Weight = 2 }, false},
		"a label":            {func(m *Membership) { m.Members[1].Labels = map[string]string{"a": "b"} }, false},
		"an entry":           {func(m *Membership) { m.Members[1].Lacks = map[job.Key]bool{{7}: true} }, false},
		"an evening":         {func(m *Membership) { m.Evenings = []Evening{{}} }, false},
		"it is barred":       {func(m *Membership) { m.Barred = "clock" }, false},
		"nothing, once more": {func(*Membership) {}, true},
	} {
		ringStep(e, now, m, c.change)
		if got := e.View().SameShares(before); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestSharesTurnWhenItWasSaid(t *testing.T) {
	e, now, m := ringOf(t, 10, 3)
	at := func(s int) time.Time { return now.Wall.Add(time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		change func(m *Membership)
		want   bool
	}{
		"long there":      {func(m *Membership) { m.Members[1].From = at(-60) }, false},
		"comes now":       {func(m *Membership) { m.Members[1].From = at(1) }, true},
		"comes soon":      {func(m *Membership) { m.Members[1].From = at(3) }, false},
		"goes now":        {func(m *Membership) { m.Members[1].Until = at(2) }, true},
		"goes soon":       {func(m *Membership) { m.Members[1].Until = at(3) }, false},
		"evened out now":  {func(m *Membership) { m.Evenings = []Evening{{}, {From: at(2)}} }, true},
		"evened out soon": {func(m *Membership) { m.Evenings = []Evening{{}, {From: at(3)}} }, false},
	} {
		ringStep(e, now, m, c.change)
		if got := e.View().Turned(at(0), at(2)); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// TestOccurrencesThatMoveAreAskedFor: as long as two evenings are known, what is the
// same member's by both is taken at once, and what is not is asked for, by the one
// that has it now, and a hold-off later by the other.
func TestOccurrencesThatMoveAreAskedFor(t *testing.T) {
	e, now, m := ringOf(t, 1_440, 3)
	from := now.Wall.Add(20 * time.Minute)
	factors := map[string]rendezvous.Weight{"m0": 2 * rendezvous.One, "m2": rendezvous.One / 2}
	ringStep(e, now, m, func(m *Membership) { m.Evenings = []Evening{{}, {From: from, Factors: factors}} })
	v := e.View()
	claims := map[int]Claim{}
	for range 40 * 60 {
		now.Wall, now.Up = now.Wall.Add(time.Second), now.Up+time.Second
		for _, effect := range e.Step(now, Tick{}) {
			if c, ok := effect.(Claim); ok {
				i, _ := v.Find(c.Job)
				claims[i] = c
			}
		}
	}
	owners := func(i int, at time.Time) string { name, _ := v.Owners()(i, at); return name }
	kept, moved, gone := 0, 0, 0
	for i := range v.Len() {
		due := v.Entry(i).Schedule.Next(now.Wall.Add(-40 * time.Minute))
		if due.After(now.Wall.Add(-10 * time.Second)) {
			continue
		}
		before, after := owners(i, from.Add(-1)) == "m0", owners(i, from) == "m0"
		c, claimed := claims[i]
		switch is := owners(i, due) == "m0"; {
		case before && after:
			kept++
			if !claimed || c.Late || c.Rank != 0 {
				t.Errorf("%s is this member's either way: got %+v, want it taken at once", v.ID(i), c)
			}
		case is:
			moved++
			if !claimed || !c.Late || c.Rank != 0 {
				t.Errorf("%s is this member's now: got %+v, want it asked for", v.ID(i), c)
			}
		case before || after:
			gone++
			if !claimed || !c.Late || c.Rank == 0 {
				t.Errorf("%s is another's now: got %+v, want it asked for later", v.ID(i), c)
			}
		}
	}
	if kept == 0 || moved == 0 || gone == 0 {
		t.Errorf("%d stay, %d come, %d go: want some of each", kept, moved, gone)
	}
	ringStep(e, now, m, func(m *Membership) { m.Evenings, m.Wary = []Evening{{}}, true })
	now.Wall, now.Up = now.Wall.Add(time.Minute), now.Up+time.Minute
	for _, effect := range e.Step(now, Tick{}) {
		if c, ok := effect.(Claim); ok && !c.Late {
			t.Errorf("%s is taken unasked though some member may go by another evening", c.Job)
		}
	}
}
