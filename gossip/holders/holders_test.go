package holders

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

var noon = time.Unix(1_800_000_000, 0)

func due(key uint64, ago time.Duration) exchange.Occurrence {
	return exchange.Occurrence{Key: numbered(key), Due: noon.Add(-ago).UnixNano()}
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// claimAlone claims an occurrence in a ring without other members.
func (r *Table) claimAlone(o exchange.Occurrence) Claimed {
	_, out := r.Ask(o, false, nil, noon)
	return out
}

// ownMark returns the member's mark of an occurrence.
func (r *Table) ownMark(o exchange.Occurrence) Mark {
	m, _ := r.Own(o)
	return m
}

func reports(marks ...Mark) []Report {
	var all []Report
	for _, m := range marks {
		all = append(all, Report{Mark: m})
	}
	return all
}

func TestClaimIsIdempotentUntilItBegins(t *testing.T) {
	r, o := New("a", DefaultLimits), due(1, 0)
	mine := Mark{Occurrence: o, Member: "a", Phase: exchange.Taken}
	want(t, "first claim", r.claimAlone(o), Claimed{Occurrence: o, Grant: Granted})
	want(t, "second claim", r.claimAlone(o), Claimed{Occurrence: o, Grant: Granted})
	want(t, "its mark", r.ownMark(o), mine)
	r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 7}, noon)
	want(t, "claim of what began", r.claimAlone(o), Claimed{Occurrence: o, Grant: Refused, By: "a"})
}

// TestAskerOfItsOwnWasStartedAnew: a member's own mark does not prevent its claim after a restart,
// unless the run had begun.
func TestAskerOfItsOwnWasStartedAnew(t *testing.T) {
	for _, c := range []struct {
		phase exchange.Phase
		want  Reply
	}{{exchange.Taken, Free}, {exchange.Begun, Known}, {exchange.Over, Known}} {
		r, o := New("a", DefaultLimits), due(1, 0)
		r.Learn([]Mark{{Occurrence: o, Member: "b", Phase: c.phase, Run: 1}}, noon)
		if got := r.Answer("b", Question{Occurrence: o}, noon).Reply; got != c.want {
			t.Errorf("b asks for what it had in phase %d: reply %d, want %d", c.phase, got, c.want)
		}
	}
}

func TestOrphans(t *testing.T) {
	r := New("a", DefaultLimits)
	taken, begun, over, other, asked := due(1, 0), due(2, 0), due(3, 0), due(4, 0), due(5, 0)
	r.Learn([]Mark{
		{Occurrence: taken, Member: "x", Phase: exchange.Taken},
		{Occurrence: begun, Member: "x", Phase: exchange.Begun, Run: 3},
		{Occurrence: over, Member: "x", Phase: exchange.Over, Run: 4},
		{Occurrence: other, Member: "y", Phase: exchange.Taken},
	}, noon)
	r.Answer("x", Question{Occurrence: asked}, noon)
	orphans := reports(
		Mark{Occurrence: taken, Member: "x", Phase: exchange.Taken},
		Mark{Occurrence: begun, Member: "x", Phase: exchange.Begun, Run: 3},
		Mark{Occurrence: asked, Member: "x", Phase: exchange.Taken},
	)
	orphans[2].Asks = true
	want(t, "orphans of x", r.Lose("x"), orphans)

	// A message that arrives afterwards is about an orphan, too.
	late := Mark{Occurrence: due(6, 0), Member: "x", Phase: exchange.Taken}
	want(t, "late word", r.Learn([]Mark{late}, noon), Changes{Others: []exchange.Occurrence{late.Occurrence}, Orphans: reports(late)})
	want(t, "the same again", r.Learn([]Mark{late}, noon), Changes{})
	r.Regain("x")
	x := New("x", DefaultLimits)
	x.claimAlone(taken)
	q, _ := r.Ask(taken, true, []string{"x"}, noon)
	out, _ := r.Receive("x", x.Answer("a", q, noon), noon)
	want(t, "claim of what is x's, which is back", out, Claimed{Occurrence: taken, Grant: Refused, By: "x"})
}

// TestWaitingIsAfterTheAttempt: the final state of a member that left after its attempt failed
// replaces the start of that attempt. A member that has received it may claim the next attempt.
func TestWaitingIsAfterTheAttempt(t *testing.T) {
	r, o := New("a", DefaultLimits), due(1, 0)
	r.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Begun, Attempt: 1, Run: 3}}, noon)
	late := New("b", DefaultLimits)
	late.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Begun, Attempt: 1, Run: 3}}, noon)
	waiting := Mark{Occurrence: o, Member: "x", Phase: exchange.Taken, Attempt: 1, Run: 3}
	r.Learn([]Mark{waiting}, noon)
	want(t, "what x lost", r.Lose("x"), reports(waiting))
	q, _ := r.Ask(o, true, []string{"b"}, noon)
	want(t, "the answer of a member that has not heard it", late.Answer("a", q, noon).Reply, Free)
	other := New("c", DefaultLimits)
	other.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Begun, Attempt: 2, Run: 4}}, noon)
	want(t, "the answer of a member that knows of the next attempt", other.Answer("a", q, noon).Reply, Known)
}

// TestWhatRanHereIsNoOrphan, even if a member that had not received the start took it meanwhile.
func TestWhatRanHereIsNoOrphan(t *testing.T) {
	r, lost, vanished := New("a", DefaultLimits), due(2, 0), due(3, 0)
	for _, o := range []exchange.Occurrence{lost, vanished} {
		r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Over, Attempt: 1, Run: 7, Vanished: o == vanished}, noon)
	}
	news := r.Learn([]Mark{
		{Occurrence: lost, Member: "x", Generation: 1, Phase: exchange.Taken},
	}, noon)
	want(t, "what x took", news, Changes{})
	again := Mark{Occurrence: vanished, Member: "x", Generation: 1, Phase: exchange.Taken}
	r.Learn([]Mark{again}, noon)
	want(t, "what x lost", r.Lose("x"), reports(again))
}

// TestOwnIsAskedForAnew by a member that was gone for a while: the others may
// have taken it, or be about to.
func TestOwnIsAskedForAnew(t *testing.T) {
	o := due(1, 0)
	b := New("b", DefaultLimits)
	b.Learn([]Mark{{Occurrence: o, Member: "a", Phase: exchange.Taken}}, noon)
	b.Lose("a")
	b.Answer("a", Question{Occurrence: o, Mine: true}, noon)
	_, out := b.Ask(o, true, []string{"c"}, noon)
	want(t, "claim of what a said that it has", out, Claimed{Occurrence: o, Grant: Refused, By: "a"})

	for _, c := range []struct {
		name string
		b    func(b *Table)
		want Grant
	}{
		{"nobody has taken it", func(b *Table) { b.Learn([]Mark{{Occurrence: o, Member: "a", Phase: exchange.Taken}}, noon) }, Granted},
		{"b has taken it again", func(b *Table) { b.Ask(o, true, nil, noon) }, Refused},
		{"b is taking it again", func(b *Table) { b.Ask(o, true, []string{"c"}, noon) }, Granted},
	} {
		a, b := New("a", DefaultLimits), New("b", DefaultLimits)
		a.claimAlone(o)
		c.b(b)
		q, _ := a.Ask(o, false, []string{"b"}, noon)
		out, _ := a.Receive("b", b.Answer("a", q, noon), noon)
		want(t, c.name, out.Grant, c.want)
		want(t, c.name+": taken by a", a.claimAlone(o).Grant == Granted, c.want == Granted)
		q, out = b.Ask(o, false, []string{"a"}, noon)
		if out.Grant == Undecided {
			out, _ = b.Receive("a", a.Answer("b", q, noon), noon)
		}
		want(t, c.name+": goes to b", out.Grant == Granted, c.want != Granted)
	}
}

// TestOrphansOfAMemberThatWasStartedAnewAreClaimed: it is there, and yet has
// nothing of what it took.
func TestOrphansOfAMemberThatWasStartedAnewAreClaimed(t *testing.T) {
	r, x, o := New("a", DefaultLimits), New("x", DefaultLimits), due(1, 0)
	r.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Taken}}, noon)
	r.Lose("x")
	r.Regain("x")
	q, _ := r.Ask(o, true, []string{"x"}, noon)
	out, _ := r.Receive("x", x.Answer("a", q, noon), noon)
	want(t, "outcome", out, Claimed{Occurrence: o, Grant: Granted})
	want(t, "mark", r.ownMark(o), Mark{Occurrence: o, Member: "a", Generation: 1, Phase: exchange.Taken})
}

// TestWhoLivesHoldsAgainstAnOrphan: of two marks of one generation that of a
// member that was not gone counts, and is an orphan when that one goes too.
func TestWhoLivesHoldsAgainstAnOrphan(t *testing.T) {
	r, o := New("c", DefaultLimits), due(1, 0)
	r.Learn([]Mark{{Occurrence: o, Member: "a", Phase: exchange.Taken}}, noon)
	r.Lose("a")
	r.Regain("a")
	b := Mark{Occurrence: o, Member: "b", Phase: exchange.Taken}
	r.Learn([]Mark{b}, noon)
	want(t, "orphans of b", r.Lose("b"), reports(b))
}

func TestAgainAsksForTheNextGeneration(t *testing.T) {
	r, o := New("a", DefaultLimits), due(1, 0)
	r.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Taken}}, noon)
	r.Lose("x")
	q, _ := r.Ask(o, true, []string{"b"}, noon)
	want(t, "question", q, Question{Occurrence: o, Serial: 1, Generation: 1, Phase: exchange.Taken})

	// b has recorded that x began it.
	b := New("b", DefaultLimits)
	b.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Begun, Run: 5}}, noon)
	a := b.Answer("a", q, noon)
	begun := Mark{Occurrence: o, Member: "x", Phase: exchange.Begun, Run: 5}
	want(t, "answer", a, Answer{Occurrence: o, Serial: 1, Reply: Known, Mark: begun})
	out, news := r.Receive("b", a, noon)
	want(t, "outcome", out, Claimed{Occurrence: o, Grant: Refused, By: "x"})
	want(t, "news", news, Changes{Orphans: reports(begun)})

	// A member that reruns it claims it with its newer records.
	q, _ = r.Ask(o, true, []string{"b"}, noon)
	want(t, "second question", q, Question{Occurrence: o, Serial: 2, Generation: 1, Phase: exchange.Begun})
	out, _ = r.Receive("b", b.Answer("a", q, noon), noon)
	want(t, "second outcome", out, Claimed{Occurrence: o, Grant: Granted})
	want(t, "mark", r.ownMark(o), Mark{Occurrence: o, Member: "a", Generation: 1, Phase: exchange.Taken})

	// x was unreachable for a moment, and its own table has no start.
	x := New("x", DefaultLimits)
	x.claimAlone(o)
	want(t, "news of x", x.Learn([]Mark{r.ownMark(o)}, noon), Changes{Yielded: reports(r.ownMark(o))})
}

// TestLostAndTakenAgainIsNoDouble, but what ended well after all is.
func TestLostAndTakenAgainIsNoDouble(t *testing.T) {
	o := due(1, 0)
	for _, lost := range []bool{true, false} {
		x, a := New("x", DefaultLimits), New("a", DefaultLimits)
		was, _ := x.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Over, Vanished: lost, Attempt: 1, Run: 1}, noon)
		a.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Begun, Run: 1}}, noon)
		a.Lose("x")
		a.Ask(o, true, nil, noon)
		rerun, news := a.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 2}, noon)
		want(t, "news of the rerun", news, Changes{})
		doubled := func(m Mark) (news Changes) {
			if !lost {
				news.Doubled = reports(m)
			}
			return news
		}
		want(t, "what a hears of x", a.Learn([]Mark{was}, noon), doubled(was))
		want(t, "what a hears again", a.Learn([]Mark{was}, noon), Changes{})
		want(t, "what x hears of a", x.Learn([]Mark{rerun}, noon), doubled(rerun))
	}
}

// TestDoubleOfARunThatSeemedLost: a takes the occurrence of x over, because x is cut off. For a, the
// attempt on x may be lost. x knows that it is not.
func TestDoubleOfARunThatSeemedLost(t *testing.T) {
	o := due(1, 0)
	x, a := New("x", DefaultLimits), New("a", DefaultLimits)
	x.claimAlone(o)
	a.Learn([]Mark{x.ownMark(o)}, noon)
	first, _ := x.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 1}, noon)
	want(t, "orphans of x", len(a.Lose("x")), 1)
	a.Ask(o, true, nil, noon)
	second, news := a.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 2}, noon)
	want(t, "news of the run on a", news, Changes{})
	want(t, "what a learns of the run on x", a.Learn([]Mark{first}, noon), Changes{})
	want(t, "what x learns of the run on a", x.Learn([]Mark{second}, noon), Changes{Doubled: reports(second)})
	want(t, "what x reports to a", a.LearnDoubles([]Mark{first}, noon), Changes{Doubled: reports(first)})
	want(t, "what x reports again", a.LearnDoubles([]Mark{first}, noon), Changes{})
}

func TestAnswerOfAnotherQuestionCountsNothing(t *testing.T) {
	r, o := New("a", DefaultLimits), due(1, 0)
	r.Ask(o, false, []string{"b", "c"}, noon)
	old := Answer{Occurrence: o, Serial: 1, Reply: Free}
	r.Receive("b", Answer{Occurrence: o, Serial: 1, Reply: Busy}, noon)
	r.Ask(o, false, []string{"b", "c"}, noon)
	r.Receive("b", Answer{Occurrence: o, Serial: 2, Reply: Free}, noon)
	out, _ := r.Receive("c", old, noon)
	want(t, "old answer", out, Claimed{})
	out, _ = r.Receive("d", Answer{Occurrence: o, Serial: 2, Reply: Known, Mark: Mark{Member: "d"}}, noon)
	want(t, "answer of who was not asked", out, Claimed{})
	out, _ = r.Receive("c", Answer{Occurrence: o, Serial: 2, Reply: Silent}, noon)
	want(t, "silence of the last", out.Grant, Granted)
}

func TestNewest(t *testing.T) {
	r := New("a", DefaultLimits)
	r.claimAlone(due(1, time.Minute))
	r.Learn([]Mark{
		{Occurrence: due(1, 2*time.Minute), Member: "b", Phase: exchange.Over},
		{Occurrence: due(2, 48*time.Hour), Member: "b", Phase: exchange.Over}, // too old to be kept, and it counts
		{Occurrence: due(3, -time.Hour), Member: "b", Phase: exchange.Taken},  // no member may claim a future occurrence
	}, noon)
	r.Advance([]Mark{{Occurrence: due(4, time.Hour), Member: "c"}, {Occurrence: due(5, -time.Hour), Member: "c"}}, noon.Add(time.Second))
	want(t, "all", r.Newest(time.Time{}), []Mark{{Occurrence: due(2, 48*time.Hour), Member: "b"}, {Occurrence: due(4, time.Hour), Member: "c"}, {Occurrence: due(1, time.Minute), Member: "a"}})
	want(t, "the newest of it", r.Newest(noon.Add(time.Second)), []Mark{{Occurrence: due(4, time.Hour), Member: "c"}})
	want(t, "marks", r.Marks(time.Time{}, 10), []Mark{
		{Occurrence: due(1, time.Minute), Member: "a", Phase: exchange.Taken},
		{Occurrence: due(1, 2*time.Minute), Member: "b", Phase: exchange.Over},
	})
	want(t, "marks of no room", len(r.Marks(time.Time{}, 0)), 0)
}

// TestMemoryIsBounded forgets the oldest, and does not grant what it may have
// forgotten.
func TestMemoryIsBounded(t *testing.T) {
	r := New("a", Limits{Marks: 100, Keys: 10, Age: time.Hour})
	for i := range 1000 {
		r.Learn([]Mark{{Occurrence: due(uint64(i%20), time.Duration(1000-i)*time.Second), Member: "b", Phase: exchange.Over}}, noon)
	}
	want(t, "entries", len(r.entries), 100)
	want(t, "heap", len(*r.oldest[""]), 100)
	if len(r.newest) > 10 {
		t.Errorf("%d jobs are remembered, want at most 10", len(r.newest))
	}
	forgotten := due(3, 500*time.Second)
	want(t, "reply of what was forgotten", r.Answer("b", Question{Occurrence: forgotten}, noon).Reply, Old)
	want(t, "claim of what was forgotten", r.claimAlone(forgotten), Claimed{Occurrence: forgotten, Grant: Refused})
	want(t, "reply of a job that nobody took", r.Answer("b", Question{Occurrence: due(77, 0)}, noon).Reply, Free)

	r.Learn([]Mark{{Occurrence: due(1, 0), Member: "b", Phase: exchange.Taken}}, noon)
	later := noon.Add(2 * time.Hour)
	r.Learn([]Mark{{Occurrence: exchange.Occurrence{Key: numbered(1), Due: later.UnixNano()}, Member: "b", Phase: exchange.Taken}}, later)
	want(t, "entries two hours later", len(r.entries), 1)
	want(t, "heap two hours later", len(*r.oldest[""]), 1)
	for range 3 * maxDead {
		r.Lose("x")
	}
	if len(r.dead) > maxDead {
		t.Errorf("%d members are remembered as gone, want at most %d", len(r.dead), maxDead)
	}
}

// TestUserDropsOnlyOwnOccurrences has a job of ann run every second, until it needs many times the
// space of the table.
func TestUserDropsOnlyOwnOccurrences(t *testing.T) {
	const anns, bobs, strangers = 1, 2, 3
	owners := map[job.Key]string{numbered(anns): "ann", numbered(bobs): "bob"}
	r := New("a", Limits{Marks: 100, Keys: 10, Age: time.Hour, Owner: func(key job.Key) string { return owners[key] }})
	begun, over, never, strange := due(bobs, 50*time.Minute), due(bobs, 40*time.Minute), due(bobs, 45*time.Minute), due(strangers, 50*time.Minute)
	r.Learn([]Mark{
		{Occurrence: begun, Member: "b", Phase: exchange.Begun, Attempt: 1, Run: 1}, {Occurrence: over, Member: "b", Phase: exchange.Over, Run: 2},
		{Occurrence: strange, Member: "b", Phase: exchange.Begun, Attempt: 1, Run: 3},
	}, noon)
	for i := range 2000 {
		r.Learn([]Mark{{Occurrence: due(anns, time.Duration(2000-i)*time.Second), Member: "b", Phase: exchange.Over, Run: 4}}, noon)
	}
	want(t, "entries", len(r.entries), 100)
	dropped := due(anns, 1500*time.Second)
	want(t, "claim of an occurrence of ann's that was dropped", r.claimAlone(dropped), Claimed{Occurrence: dropped, Grant: Refused})
	want(t, "reply to it", r.Answer("c", Question{Occurrence: dropped}, noon).Reply, Old)
	want(t, "claim of one of bob's that ran", r.claimAlone(over), Claimed{Occurrence: over, Grant: Refused, By: "b"})
	want(t, "reply to one of bob's that nobody took", r.Answer("c", Question{Occurrence: never}, noon).Reply, Free)
	orphans := map[exchange.Occurrence]bool{}
	for _, m := range r.Lose("b") {
		orphans[m.Occurrence] = true
	}
	want(t, "orphans", orphans, map[exchange.Occurrence]bool{begun: true, strange: true})
}

// TestUserDropsOnlyOwnJobs has ann rename a job again and again, until the jobs need many times the
// space of the table.
func TestUserDropsOnlyOwnJobs(t *testing.T) {
	const bobs, strangers, anns = 1, 2, 1000
	owner := func(key job.Key) string {
		switch key {
		case numbered(bobs):
			return "bob"
		case numbered(strangers):
			return ""
		}
		return "ann"
	}
	r := New("a", Limits{Marks: 100, Keys: 40, Age: time.Hour, Owner: owner})
	r.Advance([]Mark{{Occurrence: due(bobs, time.Hour), Member: "b"}, {Occurrence: due(strangers, time.Hour), Member: "b"}}, noon)
	for i := range uint64(1000) {
		r.Advance([]Mark{{Occurrence: due(anns+i, time.Second), Member: "b"}}, noon)
	}
	r.Advance([]Mark{{Occurrence: due(anns+999, 0), Member: "b"}}, noon)
	newest := map[exchange.Occurrence]bool{}
	for _, m := range r.Newest(noon) {
		newest[m.Occurrence] = true
	}
	if len(newest) != 40 || !newest[due(bobs, time.Hour)] || !newest[due(strangers, time.Hour)] || !newest[due(anns+999, 0)] {
		t.Errorf("got %d jobs, want 40, with those of others and the newest of ann's: %v", len(newest), newest)
	}
	old := due(anns, time.Second)
	want(t, "claim of one of ann's jobs that was dropped", r.claimAlone(old), Claimed{Occurrence: old, Grant: Refused})
	r.Advance([]Mark{{Occurrence: due(anns, 0), Member: "b"}}, noon)
	want(t, "the same after the job ran again", r.claimAlone(old), Claimed{Occurrence: old, Grant: Refused})
	want(t, "reply to one of bob's that nobody took", r.Answer("c", Question{Occurrence: due(bobs, 0)}, noon).Reply, Free)
	want(t, "reply to a new job of ann's", r.Answer("c", Question{Occurrence: due(anns+5000, 0)}, noon).Reply, Free)
}

func TestGenerationsEnd(t *testing.T) {
	r, o := New("a", DefaultLimits), due(1, 0)
	r.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Taken, Generation: lastGeneration}}, noon)
	r.Lose("x")
	q, _ := r.Ask(o, true, []string{"b"}, noon)
	want(t, "generation", q.Generation, uint8(lastGeneration))
}

func BenchmarkTakeAndEnd(b *testing.B) {
	r := New("a", DefaultLimits)
	b.ReportAllocs()
	for i := range b.N {
		now := noon.Add(time.Duration(i) * time.Millisecond)
		o := exchange.Occurrence{Key: numbered(uint64(i % 2000)), Due: now.UnixNano()}
		r.claimAlone(o)
		r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: int64(i)}, now)
		r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Over, Attempt: 1, Run: int64(i)}, now)
	}
}

func BenchmarkLearn(b *testing.B) {
	r := New("a", DefaultLimits)
	b.ReportAllocs()
	for i := range b.N {
		now := noon.Add(time.Duration(i) * time.Millisecond)
		r.Learn([]Mark{{Occurrence: exchange.Occurrence{Key: numbered(uint64(i % 2000)), Due: now.UnixNano()}, Member: "0f3e9a77c1d2b458", Phase: exchange.Taken}}, now)
	}
}

// BenchmarkFull measures the size of a full table, and the cost of losing a member.
func BenchmarkFull(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := New("a", DefaultLimits)
	for i := range DefaultLimits.Marks {
		r.Learn([]Mark{{Occurrence: due(uint64(i%2000), time.Duration(i)*time.Millisecond), Member: "0f3e9a77c1d2b458", Phase: exchange.Over}}, noon)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		r.Lose("b")
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(DefaultLimits.Marks), "B/mark")
}

// TestAgainAsksForOwn: a member that was unreachable or restarted requests a confirmation of the
// occurrences that it took, including those with a started attempt.
func TestAgainAsksForOwn(t *testing.T) {
	for _, phase := range []exchange.Phase{exchange.Taken, exchange.Begun} {
		a, b, o := New("a", DefaultLimits), New("b", DefaultLimits), due(1, 0)
		a.claimAlone(o)
		b.Learn([]Mark{a.ownMark(o)}, noon)
		if phase == exchange.Begun {
			m, _ := a.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 7}, noon)
			b.Learn([]Mark{m}, noon)
		}
		q, out := a.Ask(o, true, []string{"b"}, noon)
		want(t, "outcome before an answer", out, Claimed{})
		want(t, "question", q, Question{Occurrence: o, Serial: 1, Mine: true})
		want(t, "answer", b.Answer("a", q, noon), Answer{Occurrence: o, Serial: 1, Reply: Free})
		out, _ = a.Receive("b", Answer{Occurrence: o, Serial: 1, Reply: Free}, noon)
		if out.Grant != Granted || a.ownMark(o).Phase != phase {
			t.Errorf("phase %d: %+v, want it granted as it was", phase, out)
		}

		b.Lose("a")
		b.Ask(o, true, nil, noon)
		q, _ = a.Ask(o, true, []string{"b"}, noon)
		out, _ = a.Receive("b", b.Answer("a", q, noon), noon)
		want(t, "outcome after b took it again", out, Claimed{Occurrence: o, Grant: Refused, By: "b"})
	}
}

// TestAttemptsAreCounted over the members that had an occurrence.
func TestAttemptsAreCounted(t *testing.T) {
	o := due(1, 0)
	x, a := New("x", DefaultLimits), New("a", DefaultLimits)
	x.claimAlone(o)
	x.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 7}, noon)
	first, _ := x.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 2, Lost: 1, Run: 8}, noon)
	want(t, "mark of the second attempt", first, Mark{Occurrence: o, Member: "x", Phase: exchange.Begun, Attempt: 2, Lost: 1, Run: 8})
	a.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Begun, Attempt: 1, Run: 7}}, noon)
	a.Learn([]Mark{first}, noon)
	want(t, "orphans of x", a.Lose("x"), reports(first))
	a.Ask(o, true, nil, noon)
	want(t, "mark of who takes it again", a.ownMark(o), Mark{Occurrence: o, Member: "a", Generation: 1, Phase: exchange.Taken, Attempt: 2, Lost: 1})
	old, _ := x.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 7}, noon)
	want(t, "a word of the first attempt", old, first)
}

// TestTakenByWhoKnowsBetter is the next generation, so that the run of the member
// that is gone is not doubled by it.
func TestTakenByWhoKnowsBetter(t *testing.T) {
	r, o := New("a", DefaultLimits), due(1, 0)
	r.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Begun, Attempt: 1, Run: 7}}, noon)
	m, _ := r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Taken}, noon)
	want(t, "mark", m, Mark{Occurrence: o, Member: "a", Generation: 1, Phase: exchange.Taken, Attempt: 1})
	_, news := r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 2, Lost: 1, Run: 3}, noon)
	want(t, "news", news, Changes{})

	r = New("a", DefaultLimits)
	r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Taken, GivenUp: true}, noon)
	r.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Begun, Attempt: 1, Run: 7}}, noon)
	after, _ := r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Taken}, noon)
	want(t, "mark after it gave it up", after, m)
}

func TestOwnThatIsNotKnownIsAnOrphan(t *testing.T) {
	o := due(1, 0)
	word := func(p exchange.Phase) []Mark { return []Mark{{Occurrence: o, Member: "a", Phase: p}} }
	for _, c := range []struct {
		what   string
		before func(*Table)
		phase  exchange.Phase
		want   []Report
	}{
		{"taken before it was started anew", func(*Table) {}, exchange.Taken, reports(word(exchange.Taken)...)},
		{"begun, of which its history is gone", func(*Table) {}, exchange.Begun, nil},
		{"that it has", func(r *Table) { r.claimAlone(o) }, exchange.Taken, nil},
		{"that its history has", func(r *Table) { r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Over, Run: 3}, noon) }, exchange.Taken, nil},
		{"that it asks for", func(r *Table) { r.Ask(o, false, []string{"b"}, noon) }, exchange.Taken, nil},
		{"that another one has", func(r *Table) { r.Learn([]Mark{{Occurrence: o, Member: "b", Phase: exchange.Taken}}, noon) }, exchange.Taken, nil},
		{"that another one asks for", func(r *Table) { r.Answer("b", Question{Occurrence: o}, noon) }, exchange.Taken, nil},
	} {
		r := New("a", DefaultLimits)
		c.before(r)
		want(t, "word of what is its own, "+c.what, r.Learn(word(c.phase), noon).Orphans, c.want)
	}
	old := Mark{Occurrence: due(1, 25*time.Hour), Member: "a", Phase: exchange.Taken}
	want(t, "word of what is older than all that is remembered", New("a", DefaultLimits).Learn([]Mark{old}, noon).Orphans, reports())
}

// numbered returns a key that contains a number.
func numbered(n uint64) (k job.Key) {
	binary.BigEndian.PutUint64(k[:], n)
	return k
}

// TestGivenUpWithoutSpaceIsNoOrphan: members without space for an occurrence do not remember who tried
// to start it. They leave it to the member that gave it up, which claims it again.
func TestGivenUpWithoutSpaceIsNoOrphan(t *testing.T) {
	for space, orphans := range map[int]int{1: 0, 2: 1} {
		limits := DefaultLimits
		limits.Marks = space
		r := New("self", limits)
		r.claimAlone(due(1, time.Minute))
		given := Mark{Occurrence: due(1, time.Hour), Member: "a", Phase: exchange.Taken, GivenUp: true}
		want(t, "orphans", len(r.Learn([]Mark{given}, noon).Orphans), orphans)
	}
}

// TestGivenUpElsewhereKeepsTheAttempts: a run of this member waits for its third attempt, or was lost.
// Members that did not see it took the occurrence over, and could not start it.
func TestGivenUpElsewhereKeepsTheAttempts(t *testing.T) {
	for _, p := range []exchange.Progress{{Phase: exchange.Taken}, {Phase: exchange.Begun, Run: 8}, {Phase: exchange.Over, Vanished: true, Run: 8}} {
		r, o := New("a", DefaultLimits), due(1, 0)
		r.claimAlone(o)
		r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 1, Run: 7}, noon)
		p.Occurrence, p.Attempt, p.Lost = o, 2, 1
		r.Progress(p, noon)
		given := Mark{Occurrence: o, Member: "b", Generation: 1, Phase: exchange.Taken, GivenUp: true, Started: 9}
		orphans := r.Learn([]Mark{given}, noon).Orphans
		given.Attempt, given.Lost = 2, 1
		want(t, "orphans", orphans, []Report{{Mark: given, Tried: []string{"b"}}})
		q, _ := r.Ask(o, true, []string{"b"}, noon)
		want(t, "question", q, Question{Occurrence: o, Serial: 1, Generation: 2, Phase: exchange.Taken, Attempt: 3})
	}
}

// TestGivenUpKeepsTheAttemptsOfAThirdMember: b made attempts that c did not know when it took the occurrence
// over and gave it up. Its own attempts are those of its newest mark.
func TestGivenUpKeepsTheAttemptsOfAThirdMember(t *testing.T) {
	for by, attempts := range map[string]uint16{"b": 1, "c": 2} {
		r, o := New("a", DefaultLimits), due(1, 0)
		r.Learn([]Mark{{Occurrence: o, Member: "b", Phase: exchange.Begun, Attempt: 2, Lost: 1, Run: 7}}, noon)
		given := Mark{Occurrence: o, Member: by, Generation: 1, Phase: exchange.Taken, Attempt: 1, Lost: 1, GivenUp: true, Started: 9}
		orphans := r.Learn([]Mark{given}, noon).Orphans
		given.Attempt = attempts
		want(t, "orphans of "+by, orphans, []Report{{Mark: given, Tried: []string{by}}})
	}
}

// TestTakenBackIsAnOrphanAgain: b gave an occurrence up, and the voters granted it to b again after a restart.
// It is an orphan if b dies then, or gives it up again, but not for an older mark.
func TestTakenBackIsAnOrphanAgain(t *testing.T) {
	o := due(1, 0)
	givenUp := func(started uint32) Mark {
		return Mark{Occurrence: o, Member: "b", Phase: exchange.Taken, GivenUp: true, Started: started}
	}
	tried := func(m Mark) []Report { return []Report{{Mark: m, Tried: []string{"b"}}} }
	taken := Mark{Occurrence: o, Member: "b", Phase: exchange.Taken}
	r := New("a", DefaultLimits)
	r.Learn([]Mark{givenUp(5)}, noon)
	want(t, "orphans of a later mark", r.Learn([]Mark{givenUp(6)}, noon).Orphans, tried(givenUp(6)))
	want(t, "news of an answer to an older claim", r.TookBack(o, "b", 5), Changes{})
	if started, is := r.GaveUp(o, "b"); started != 6 || !is {
		t.Errorf("given up: got %d, %t, want it in start 6", started, is)
	}
	want(t, "news of the answer", r.TookBack(o, "b", 6), Changes{})
	if started, is := r.GaveUp(o, "b"); is {
		t.Errorf("given up in start %d after the answer", started)
	}
	want(t, "orphans of the mark that did not count", r.Learn([]Mark{givenUp(6)}, noon).Orphans, []Report(nil))
	want(t, "orphans when it dies", r.Lose("b"), tried(taken))
	want(t, "orphans of its next mark", r.Learn([]Mark{givenUp(7)}, noon).Orphans, tried(givenUp(7)))
	want(t, "news of an answer after its death", r.TookBack(o, "b", 7), Changes{Orphans: tried(taken)})
	r.Regain("b")
	r.Learn([]Mark{{Occurrence: o, Member: "b", Phase: exchange.Begun, Attempt: 1, Run: 3}}, noon)
	want(t, "orphans of an old mark, while it runs", r.Learn([]Mark{givenUp(7)}, noon).Orphans, []Report(nil))
}

// TestRestartedMemberLearnsItsGeneration: a member that was restarted gives up again what it took over and
// could not start. It learns from others in which generation that was, and then they accept its mark.
func TestRestartedMemberLearnsItsGeneration(t *testing.T) {
	r, other, o := New("a", DefaultLimits), New("b", DefaultLimits), due(1, 0)
	begun := Mark{Occurrence: o, Member: "a", Generation: 2, Phase: exchange.Begun, Attempt: 1, Run: 7}
	other.Learn([]Mark{begun}, noon)
	r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Taken, GivenUp: true}, noon)
	r.Learn([]Mark{begun}, noon)
	given := Mark{Occurrence: o, Member: "a", Generation: 2, Phase: exchange.Taken, GivenUp: true}
	want(t, "its mark", r.ownMark(o), given)
	want(t, "orphans of another member", other.Learn([]Mark{given}, noon).Orphans, []Report{{Mark: given, Tried: []string{"a"}}})
	q, _ := r.Ask(o, true, []string{"b"}, noon)
	want(t, "answer", other.Answer("a", q, noon), Answer{Occurrence: o, Serial: 1, Reply: Free})
}

// TestRestartedMemberContinuesWhatItTookOver: the run waits for its next attempt. After a restart, its member
// learns from others in which generation it took the occurrence over, and then they accept its claim.
func TestRestartedMemberContinuesWhatItTookOver(t *testing.T) {
	r, other, o := New("a", DefaultLimits), New("b", DefaultLimits), due(1, 0)
	given := Mark{Occurrence: o, Member: "c", Generation: 3, Phase: exchange.Taken, Attempt: 1, GivenUp: true, Started: 1}
	begun := Mark{Occurrence: o, Member: "a", Generation: 4, Phase: exchange.Begun, Attempt: 3, Run: 7}
	other.Learn([]Mark{given, begun}, noon)
	r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Begun, Attempt: 3, Run: 7}, noon)
	r.Learn([]Mark{given, begun}, noon)
	q, _ := r.Ask(o, true, []string{"b"}, noon)
	want(t, "question", q, Question{Occurrence: o, Serial: 1, Generation: 4, Phase: exchange.Taken, Attempt: 3, Mine: true})
	want(t, "answer", other.Answer("a", q, noon), Answer{Occurrence: o, Serial: 1, Reply: Free})
}

// TestGivenUpStaysWhenAnotherMemberTookIt: a was restarted, and gave up what it had taken over. Then it learns
// that b took it too, because the two did not see each other, and later in which generation it had it itself.
// So c learns that nobody has the occurrence after b gave it up, too.
func TestGivenUpStaysWhenAnotherMemberTookIt(t *testing.T) {
	a, c, o := New("a", DefaultLimits), New("c", DefaultLimits), due(1, 0)
	begun := func(by string) Mark {
		return Mark{Occurrence: o, Member: by, Generation: 1, Phase: exchange.Begun, Attempt: 1, Run: 7}
	}
	givenUp := func(by string) Mark {
		return Mark{Occurrence: o, Member: by, Generation: 1, Phase: exchange.Taken, GivenUp: true}
	}
	a.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Taken, GivenUp: true}, noon)
	want(t, "yielded", a.Learn([]Mark{begun("b")}, noon).Yielded, reports(begun("b")))
	a.Learn([]Mark{begun("a")}, noon)
	want(t, "mark of a", a.ownMark(o), givenUp("a"))

	c.Learn([]Mark{begun("b"), begun("a"), a.ownMark(o), begun("b")}, noon)
	given := givenUp("b")
	orphans := c.Learn([]Mark{given}, noon).Orphans
	want(t, "orphans", orphans, []Report{{Mark: given, Tried: []string{"a", "b"}}})
}

// TestGivenUpStaysAfterARefusedClaim: a member that gave an occurrence up claims it again, to record that it
// failed, and another member has it.
func TestGivenUpStaysAfterARefusedClaim(t *testing.T) {
	for _, answer := range []Answer{
		{Reply: Busy}, {Reply: Known, Mark: Mark{Occurrence: due(1, 0), Member: "b", Phase: exchange.Begun, Attempt: 1, Run: 7}},
	} {
		r, o := New("a", DefaultLimits), due(1, 0)
		given, _ := r.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Taken, GivenUp: true}, noon)
		q, _ := r.Ask(o, true, []string{"b"}, noon)
		answer.Occurrence, answer.Serial = o, q.Serial
		out, _ := r.Receive("b", answer, noon)
		want(t, "outcome", out, Claimed{Occurrence: o, Grant: Refused, By: "b"})
		want(t, "mark", r.ownMark(o), given)
	}
}

// TestGivenUpDoesNotBlockTheMemberThatTookIt: a gave up an occurrence that b had taken too, because the two
// did not see each other. All members let b keep it.
func TestGivenUpDoesNotBlockTheMemberThatTookIt(t *testing.T) {
	o := due(1, 0)
	a, b, c := New("a", DefaultLimits), New("b", DefaultLimits), New("c", DefaultLimits)
	a.claimAlone(o)
	given, _ := a.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Taken, GivenUp: true}, noon)
	c.Learn([]Mark{given}, noon)
	b.claimAlone(o)
	q, _ := b.Ask(o, true, []string{"a", "c"}, noon)
	for _, r := range []*Table{a, c} {
		want(t, "answer", r.Answer("b", q, noon), Answer{Occurrence: o, Serial: 1, Reply: Free})
	}
}

// TestReportOfARunEndsALaterClaim: a claims what x took before it died. Before the claim is decided, a receives
// that y, which did not see x, has run it.
func TestReportOfARunEndsALaterClaim(t *testing.T) {
	r, o := New("a", DefaultLimits), due(1, 0)
	r.Learn([]Mark{{Occurrence: o, Member: "x", Phase: exchange.Taken}}, noon)
	r.Lose("x")
	q, _ := r.Ask(o, true, []string{"b"}, noon)
	r.Learn([]Mark{{Occurrence: o, Member: "y", Phase: exchange.Over, Attempt: 1, Run: 3}}, noon)
	out, _ := r.Receive("b", Answer{Occurrence: o, Serial: q.Serial, Reply: Free}, noon)
	want(t, "claim", out, Claimed{Occurrence: o, Grant: Refused, By: "y"})
}

// TestTakenOverIsNoOrphanIfAnotherMemberRanIt: b saw that a was dead, took over what a was running, and could
// not start it. c sees a, which has run it.
func TestTakenOverIsNoOrphanIfAnotherMemberRanIt(t *testing.T) {
	o := due(1, 0)
	for _, vanished := range []bool{false, true} {
		r := New("c", DefaultLimits)
		begun := Mark{Occurrence: o, Member: "b", Generation: 1, Phase: exchange.Begun, Attempt: 2, Run: 4}
		given := Mark{Occurrence: o, Member: "b", Generation: 1, Phase: exchange.Taken, Attempt: 1, GivenUp: true}
		r.Learn([]Mark{{Occurrence: o, Member: "a", Phase: exchange.Over, Attempt: 1, Run: 3, Vanished: vanished}, begun}, noon)
		if orphans := r.Learn([]Mark{given}, noon).Orphans; (len(orphans) > 0) != vanished {
			t.Errorf("the run vanished: %t; orphans %+v", vanished, orphans)
		}
	}
}

// TestGivenUpHidesNoOtherMark: a and b both took an occurrence, because they did not see each other. a gave it
// up, and b, which had begun it, died. c, which knows neither, learns from a that b began it.
func TestGivenUpHidesNoOtherMark(t *testing.T) {
	a, c, o := New("a", DefaultLimits), New("c", DefaultLimits), due(1, 0)
	begun := Mark{Occurrence: o, Member: "b", Phase: exchange.Begun, Attempt: 1, Run: 7}
	a.Progress(exchange.Progress{Occurrence: o, Phase: exchange.Taken, GivenUp: true}, noon)
	want(t, "yielded", a.Learn([]Mark{begun}, noon).Yielded, reports(begun))
	q, _ := c.Ask(o, false, []string{"a"}, noon)
	answer := a.Answer("c", q, noon)
	want(t, "answer", answer, Answer{Occurrence: o, Serial: q.Serial, Reply: Known, Mark: begun})

	over := begun
	over.Phase = exchange.Over
	want(t, "yielded when b has run it", a.Learn([]Mark{over}, noon).Yielded, nil)
	want(t, "marks of a then", a.Marks(time.Time{}, 9), []Mark{over})
}

// TestOlderAnswerHidesNoGivenUp: a and b took an occurrence, and b gave it up. a checks whether it still holds
// it, and gets an answer from before b gave it up. Then no member holds the occurrence.
func TestOlderAnswerHidesNoGivenUp(t *testing.T) {
	r, o := New("a", DefaultLimits), due(1, 0)
	r.claimAlone(o)
	given := Mark{Occurrence: o, Member: "b", Phase: exchange.Taken, GivenUp: true}
	r.Learn([]Mark{given}, noon)
	q, _ := r.Ask(o, true, []string{"c"}, noon)
	begun := Mark{Occurrence: o, Member: "b", Phase: exchange.Begun, Attempt: 1, Run: 7}
	out, news := r.Receive("c", Answer{Occurrence: o, Serial: q.Serial, Reply: Known, Mark: begun}, noon)
	want(t, "outcome", out, Claimed{Occurrence: o, Grant: Refused, By: "b"})
	want(t, "orphans", news.Orphans, []Report{{Mark: given, Tried: []string{"b"}}})
}

// TestMadeUpMembersFillNoMemory: a broken member reports that thousands of members that do not exist gave one
// occurrence up, or ran it.
func TestMadeUpMembersFillNoMemory(t *testing.T) {
	r, o, ran := New("a", DefaultLimits), due(1, 0), due(2, 0)
	r.claimAlone(ran)
	r.Progress(exchange.Progress{Occurrence: ran, Phase: exchange.Begun, Attempt: 1, Run: 7}, noon)
	doubled := 0
	for i := range 10_000 {
		by := fmt.Sprintf("m%d", i)
		r.Learn([]Mark{{Occurrence: o, Member: by, Phase: exchange.Taken, GivenUp: true}}, noon)
		doubled += len(r.Learn([]Mark{{Occurrence: ran, Member: by, Phase: exchange.Begun, Attempt: 1, Run: 1}}, noon).Doubled)
	}
	if n := len(r.tried[o]); n > mostMembers {
		t.Errorf("%d members that gave it up are remembered, want at most %d", n, mostMembers)
	}
	if n := len(r.doubles[ran]); n > mostMembers || doubled > mostMembers {
		t.Errorf("%d doubles are remembered and %d reported, want at most %d", n, doubled, mostMembers)
	}
}
