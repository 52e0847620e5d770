package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// start is the start of a job, as the job itself reports it.
type start struct {
	node, job string
	due       int64 // Unix seconds
	token     uint64
	at        time.Time
}

// member is the number of the daemon that ran it.
func (s start) member() int {
	i, err := strconv.Atoi(strings.TrimPrefix(s.node, "n"))
	if err != nil {
		panic(err)
	}
	return i - 1
}

func (s start) String() string {
	return fmt.Sprintf("on %s at %s with token %d", s.node, s.at.UTC().Format("15:04:05.000"), s.token)
}

// occurrence is a scheduled time of a job, which must start once.
type occurrence struct {
	job string
	due int64
}

func (o occurrence) String() string {
	return o.job + " of " + time.Unix(o.due, 0).UTC().Format(time.TimeOnly)
}

// labJob is one job of the crontab of all members, with its interval.
type labJob struct {
	name      string
	every, at int64
	reruns    bool // if-lost=rerun
}

// line is its line of a crontab, whose zone is UTC.
func (j labJob) line(command string) string {
	minutes, seconds := "*", "*"
	switch {
	case j.every > 60:
		minutes, seconds = fmt.Sprintf("%d-59/%d", j.at/60, j.every/60), strconv.FormatInt(j.at%60, 10)
	case j.every > 1:
		seconds = fmt.Sprintf("%d-59/%d", j.at, j.every)
	}
	lost := "fail"
	if j.reruns {
		lost = "rerun"
	}
	return fmt.Sprintf("#@ name=%s sec=%s if-lost=%s\n%s * * * * %s\n", j.name, seconds, lost, minutes, command)
}

// trouble is a fault of the ring for some time.
type trouble struct {
	what             string
	from, mended, to time.Time            // to: when all members saw each other again
	side             func(member int) int // members of different sides did not see each other
}

// about is the time before a fault during which occurrences may be affected: the last candidate
// waits for three hold-offs, and afterwards members might still have to exchange their reports.
const about = 10 * time.Second

// hits reports whether an occurrence might start on two members because of it.
func (x *trouble) hits(due int64, a, b int) bool {
	at := time.Unix(due, 0)
	if at.Before(x.from.Add(-about)) || at.After(x.to.Add(about)) {
		return false
	}
	return at.After(x.mended.Add(-about)) || x.side(a) != x.side(b)
}

// each has every member on a side of its own.
func each(member int) int { return member }

// apart puts some members on one side and all others on the other.
func apart(some ...int) func(int) int {
	return func(member int) int {
		if slices.Contains(some, member) {
			return 0
		}
		return 1
	}
}

// death is a member that was killed.
type death struct {
	member int
	at     time.Time
}

// hits reports whether the member might have been about to start an occurrence, so that
// it is unknown whether it did.
func (d death) hits(due int64) bool {
	const starting = 3 * time.Second
	at := time.Unix(due, 0)
	return at.Before(d.at) && at.After(d.at.Add(-starting))
}

// tally counts the starts of each occurrence.
func (l *daemonRing) tally() map[occurrence][]start {
	by := map[occurrence][]start{}
	for _, s := range l.seen {
		o := occurrence{s.job, s.due}
		by[o] = append(by[o], s)
	}
	return by
}

// lost returns occurrences that should have started and did not, between the first start of the
// job of each second and end.
func (l *daemonRing) lost(end int64) (all []occurrence) {
	begun := l.tally()
	first := end
	for o := range begun {
		if o.job == "tick" {
			first = min(first, o.due)
		}
	}
	for _, j := range l.jobs {
		for due := first + (j.at-first%j.every+j.every)%j.every; due <= end; due += j.every {
			o := occurrence{j.name, due}
			if len(begun[o]) == 0 && (j.reruns || !l.diedWithIt(o)) {
				all = append(all, o)
			}
		}
	}
	return all
}

// diedWithIt reports whether a member that was killed was about to start an occurrence
// according to its own history, so that it is unknown whether it did.
func (l *daemonRing) diedWithIt(o occurrence) bool {
	return slices.ContainsFunc(l.deaths, func(d death) bool {
		if !d.hits(o.due) {
			return false
		}
		why, err := l.nodes[d.member].client.Why(context.Background(), o.job, time.Unix(o.due, 0))
		return err == nil && strings.Contains(why.Verdict, "it is unknown whether")
	})
}

// settle waits until all that is due before now has started, and until what would
// start twice had time to.
func (l *daemonRing) settle() (end int64) {
	l.t.Helper()
	end = time.Now().Unix()
	l.pass(8 * time.Second)
	for limit := time.Now().Add(patience); len(l.lost(end)) > 0 && time.Now().Before(limit); {
		l.next()
	}
	return end
}

// check holds all starts against what cronring-ring(7) promises for the mode.
func (l *daemonRing) check(end int64) (doubled int) {
	l.t.Helper()
	for _, o := range l.lost(end) {
		l.t.Errorf("%v is lost\n%s", o, l.printed(o))
	}
	for o, starts := range l.tally() {
		if len(starts) < 2 {
			continue
		}
		doubled++
		for i, b := range starts {
			for _, a := range starts[:i] {
				l.checkDouble(o, a, b)
			}
		}
	}
	if l.mode == api.RingStrict {
		l.checkTokens()
	}
	return doubled
}

// checkDouble looks for an excuse of two starts of an occurrence, and has their
// members say that there were two. In strict mode those alone have an excuse that
// ask for it by if-lost=rerun.
func (l *daemonRing) checkDouble(o occurrence, a, b start) {
	l.t.Helper()
	if l.wasLost(o, a, b) { // the members know of one start
		return
	}
	excused := slices.IndexFunc(l.troubles, func(x trouble) bool { return x.hits(o.due, a.member(), b.member()) })
	switch {
	case excused < 0 || l.mode == api.RingStrict && !l.reruns(o.job):
		l.t.Errorf("%v started twice: %v and %v\n%s", o, a, b, l.printed(o))
	case l.mode == api.RingStrict:
		l.t.Logf("%v started twice: %v and %v, as %s", o, a, b, l.troubles[excused].what)
	}
	for _, s := range []start{a, b} {
		l.says(s.member(), o, "that it ran twice", func(why *api.Why) bool {
			return strings.Contains(strings.Join(why.Facts, " "), "did not see each other")
		})
	}
	l.listsDouble(o, a, b)
	l.listsDouble(o, b, a)
}

// listsDouble checks that the history of the member of one start names the host of the
// other.
func (l *daemonRing) listsDouble(o occurrence, one, other start) {
	l.t.Helper()
	runs, err := l.nodes[one.member()].client.History(l.t.Context(), api.Filter{Refs: []string{o.job}, Limit: 10_000})
	if err != nil || !slices.ContainsFunc(runs.Runs, func(r job.Run) bool {
		return r.Due.Unix() == o.due && strings.HasPrefix(r.Doubled, "ran on "+other.node+" too")
	}) {
		l.t.Errorf("the history of %s does not list that %v ran on %s too (%v)", one.node, o, other.node, err)
	}
}

// wasLost reports whether one of two starts was lost with the daemon that was killed,
// and the other is in its place. With if-lost=rerun both can be in the place of a third: the
// member that was killed is back just when another one takes the occurrence over.
func (l *daemonRing) wasLost(o occurrence, a, b start) bool {
	if l.mode == api.RingStrict && !l.reruns(o.job) {
		return false
	}
	return slices.ContainsFunc(l.deaths, func(d death) bool {
		between := a.at.Before(d.at.Add(time.Second)) && b.at.After(d.at) // its running jobs continue, and it reports them later
		both := a.at.After(d.at) && d.at.Unix() >= o.due && (d.member == a.member() || d.member == b.member())
		return d.member == a.member() && between && (l.reruns(o.job) || d.hits(o.due)) || both && l.reruns(o.job)
	})
}

func (l *daemonRing) reruns(name string) bool {
	return slices.ContainsFunc(l.jobs, func(j labJob) bool { return j.name == name && j.reruns })
}

// told compares the history of an occurrence on all members.
func (l *daemonRing) printed(o occurrence) string {
	var b strings.Builder
	for i, d := range l.nodes {
		why, err := d.client.Why(context.Background(), o.job, time.Unix(o.due, 0))
		fmt.Fprintf(&b, "  n%d: %q, %q, %v\n", i+1, why.Verdict, why.Facts, err)
	}
	for _, x := range l.troubles {
		fmt.Fprintf(&b, "  %s: %s to %s\n", x.what, x.from.UTC().Format(time.TimeOnly), x.to.UTC().Format(time.TimeOnly))
	}
	for _, d := range l.deaths {
		fmt.Fprintf(&b, "  n%d was killed at %s\n", d.member+1, d.at.UTC().Format("15:04:05.000"))
	}
	return b.String()
}

// grant is the evidence of a start about the voters: they granted an occurrence to a member
// between its scheduled time and its start.
type grant struct {
	member int
	token  uint64
	reruns bool
}

// grants is porcupine's model of an occurrence's grants: the state is the newest grant. A second
// grant is valid only with if-lost=: to the same member, or with a greater token.
var grants = porcupine.Model{
	Init: func() any { return grant{} },
	Step: func(state, input, _ any) (bool, any) {
		has, next := state.(grant), input.(grant)
		return has.token == 0 || next.reruns && (next.token > has.token || next == has), next
	},
}

// early is how far before its time an occurrence may start if a clock is ahead.
const early = 3 * time.Second

// checkTokens holds the starts against the voters' word: that each occurrence was
// granted once, and that tokens grow, so that who keeps the greatest that it saw can
// refuse a run that was thought dead.
func (l *daemonRing) checkTokens() {
	l.t.Helper()
	for o, starts := range l.tally() {
		var history []porcupine.Operation
		for _, s := range starts {
			if s.token == 0 {
				l.t.Errorf("%v started without a token: %v", o, s)
			}
			history = append(history, porcupine.Operation{
				ClientId: s.member(), Input: grant{s.member(), s.token, l.reruns(s.job)},
				Call: time.Unix(s.due, 0).Add(-early).UnixNano(), Return: s.at.UnixNano(),
			})
		}
		if !porcupine.CheckOperations(grants, history) {
			l.t.Errorf("no order of grants makes the starts of %v: %v\n%s", o, starts, l.printed(o))
		}
	}
	if a, b, ok := backwardStart(slices.DeleteFunc(slices.Clone(l.seen), l.wasStopped)); ok {
		l.t.Errorf("of the starts of %s a later one has a smaller token: %v of %d, then %v of %d", a.job, a, a.due, b, b.due)
	}
	if a, b, ok := backward(l.seen); ok {
		l.t.Errorf("%s had begun %v when %s of %s was not due yet, which began %v", a.job, a, b.job, time.Unix(b.due, 0).UTC().Format(time.TimeOnly), b)
	}
}

// backward finds a start that was over before another one was due, and yet has a
// greater token.
func backward(seen []start) (a, b start, found bool) {
	byDue := slices.SortedFunc(slices.Values(seen), func(a, b start) int { return int(a.due - b.due) })
	byStart := slices.SortedFunc(slices.Values(seen), func(a, b start) int { return a.at.Compare(b.at) })
	for _, s := range byDue {
		for len(byStart) > 0 && byStart[0].at.Before(time.Unix(s.due, 0).Add(-early)) {
			if byStart[0].token > a.token {
				a = byStart[0]
			}
			byStart = byStart[1:]
		}
		if a.token > s.token {
			return a, s, true
		}
	}
	return a, b, false
}

// stop is an interval in which the daemon of a member was stopped.
type stop struct {
	member   int
	from, to time.Time
}

// wasStopped reports whether the daemon of a start was stopped after the occurrence was
// due. It might have been between grant and start, which only the token makes harmless.
func (l *daemonRing) wasStopped(s start) bool {
	return slices.ContainsFunc(l.stops, func(x stop) bool {
		return x.member == s.member() && s.due >= x.from.Unix()-int64(lineDelay/time.Second) && s.due <= x.to.Unix()
	})
}

// lineDelay is how long the shell of a job may take to write its line.
const lineDelay = 5 * time.Second

// backwardStart finds two consecutive starts of a job with decreasing tokens. A job writes its
// line some time after its grant, on a busy machine seconds later, so the order of two starts that
// are closer than lineDelay is uncertain.
func backwardStart(seen []start) (a, b start, found bool) {
	newest := map[string]start{}
	waiting := map[string][]start{}
	for _, s := range slices.SortedFunc(slices.Values(seen), func(a, b start) int { return a.at.Compare(b.at) }) {
		w := append(waiting[s.job], s)
		for len(w) > 0 && w[0].at.Before(s.at.Add(-lineDelay)) {
			if w[0].token > newest[s.job].token {
				newest[s.job] = w[0]
			}
			w = w[1:]
		}
		waiting[s.job] = w
		if before := newest[s.job]; before.token > s.token {
			return before, s, true
		}
	}
	return a, b, false
}

func TestBackwardStartFindsASmallerToken(t *testing.T) {
	at := func(job string, second int64, token uint64) start {
		return start{"n1", job, 60, token, time.Unix(second, 0)}
	}
	if _, _, found := backwardStart([]start{at("j", 60, 5), at("k", 61, 4), at("j", 62, 6), at("j", 62, 5)}); found {
		t.Error("tokens that grow in each job are found to go backward")
	}
	if a, b, found := backwardStart([]start{at("j", 60, 5), at("k", 61, 9), at("j", 70, 4)}); !found || a.token != 5 || b.token != 4 {
		t.Errorf("token 4 after 5: got %v, %v, %v", a, b, found)
	}
}

func TestGrantsModelFindsASecondGrant(t *testing.T) {
	for _, c := range []struct {
		what string
		next grant
		want bool
	}{
		{"a second start", grant{1, 8, false}, false},
		{"a second start of its own", grant{0, 7, false}, false},
		{"a rerun", grant{1, 8, true}, true},
		{"a rerun of its own", grant{0, 7, true}, true},
		{"a rerun with another member's token", grant{1, 7, true}, false},
	} {
		first := grant{0, 7, c.next.reruns}
		history := []porcupine.Operation{{Input: first, Call: 1, Return: 4}, {Input: c.next, Call: 2, Return: 3}}
		if got := porcupine.CheckOperations(grants, history); got != c.want {
			t.Errorf("%s: in order: got %v, want %v", c.what, got, c.want)
		}
	}
}

func TestBackwardFindsAnOldToken(t *testing.T) {
	at := func(due int64, token uint64) start {
		return start{"n1", "j", due, token, time.Unix(due, 0).Add(time.Second)}
	}
	if _, _, found := backward([]start{at(60, 5), at(70, 5), at(80, 9)}); found {
		t.Error("tokens that grow are found to go backward")
	}
	if a, b, found := backward([]start{at(60, 5), at(70, 9), at(80, 8)}); !found || a.token != 9 || b.token != 8 {
		t.Errorf("token 8 after 9: got %v, %v, %v, want both of them", a, b, found)
	}
}

// late is the first starts of what was due in a part of the test, the latest at the
// end.
func (l *daemonRing) late(from, to time.Time) (firsts []start) {
	for o, starts := range l.tally() {
		if o.due >= from.Unix() && o.due < to.Unix() {
			firsts = append(firsts, starts[0])
		}
	}
	slices.SortFunc(firsts, func(a, b start) int { return cmp.Compare(a.lateness(), b.lateness()) })
	return firsts
}

func (s start) lateness() time.Duration { return s.at.Sub(time.Unix(s.due, 0)) }

// figures reports how late jobs started that were due in a part of the test.
func (l *daemonRing) figures(what string, from, to time.Time) {
	l.t.Helper()
	late := l.late(from, to)
	if len(late) == 0 {
		return
	}
	part := func(percent int) start { return late[(len(late)-1)*percent/100] }
	round := func(s start) time.Duration { return s.lateness().Round(100 * time.Microsecond) }
	last := part(100)
	l.t.Logf("%s: %d occurrences, started late by p50 %v, p99 %v, at most %v (%v, on %s)",
		what, len(late), round(part(50)), round(part(99)), round(last), occurrence{last.job, last.due}, last.node)
}

// claims reports how long after its time what was due in a part of the test was its
// member's: by then that one had woken, claimed it and been granted it.
func (l *daemonRing) claims(from, to time.Time) {
	l.t.Helper()
	var took []time.Duration
	for _, d := range l.nodes {
		runs, err := d.client.History(l.t.Context(), api.Filter{Limit: 10_000})
		if err != nil {
			l.t.Fatal(err)
		}
		for _, r := range runs.Runs {
			if r.Due.After(from) && r.Due.Before(to) {
				took = append(took, r.Decided.Sub(r.Due))
			}
		}
	}
	if slices.Sort(took); len(took) > 0 {
		part := func(percent int) time.Duration { return took[(len(took)-1)*percent/100].Round(10 * time.Microsecond) }
		l.t.Logf("%d claims, granted within p50 %v, p99 %v, at most %v", len(took), part(50), part(99), part(100))
	}
}
