package holders

import (
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// Limits bound the size of a Table.
type Limits struct {
	Marks int           // number of occurrences; the oldest of the user who has the most are dropped
	Keys  int           // number of jobs whose newest occurrence is remembered; likewise
	Age   time.Duration // since the scheduled time of an occurrence

	// Owner returns the user in whose crontab a job is, or "" if this host does not know the job.
	// nil means that it knows none.
	Owner func(job.Key) string
}

// DefaultLimits are sufficient for 24 hours of a thousand jobs that run every 15 minutes.
var DefaultLimits = Limits{Marks: 100_000, Keys: 1_000_000, Age: 24 * time.Hour}

// lastGeneration bounds how often an occurrence is taken over when one member after another dies.
const lastGeneration = 100

// mostMembers limits the members that are remembered for an occurrence: those that gave it up, and those that
// ran it as well.
const mostMembers = 100

// ahead limits how far in the future an occurrence may lie that another member reports as taken.
// No member takes a future occurrence, but its clock may be ahead.
const ahead = time.Minute

// Table contains the holders of occurrences, as far as one member knows. It is not safe for concurrent
// use. Its Limits bound its size.
type Table struct {
	Started uint32 // number of the start of this member's daemon, see Mark

	self    name
	limits  Limits
	entries map[exchange.Occurrence]*entry
	oldest  heapByUser // the keys of entries
	newest  map[job.Key]newest
	jobs    heapByUser       // the keys of newest, see dropJob
	dropped map[string]int64 // by user: scheduled time of the newest occurrence of the jobs dropped from newest
	claims  map[exchange.Occurrence]*claim
	dead    map[name]bool
	doubles map[exchange.Occurrence][]name // members whose runs were already reported as doubles
	tried   map[exchange.Occurrence][]giver
	horizon int64  // scheduled time of the newest occurrence that was dropped for its age
	serial  uint32 // of the latest claim
}

// name is a member ID. It is interned, because a few IDs occur many times.
type name = unique.Handle[string]

var nobody name

// giver is a member that gave an occurrence up.
type giver struct {
	member  name
	started uint32 // see Mark
}

type newest struct {
	due, changed int64
	dropped      int64 // scheduled time of the newest occurrence that was dropped for lack of space
	by           name
}

// Holder returns the member that holds an occurrence, or "".
func (r *Table) Holder(o exchange.Occurrence) string {
	if e := r.entries[o]; e != nil && e.holder().phase > 0 {
		return e.holder().member.Value()
	}
	return ""
}

// Own returns this member's own mark of an occurrence.
func (r *Table) Own(o exchange.Occurrence) (Mark, bool) {
	e := r.entries[o]
	if e == nil || e.mine.phase == 0 {
		return Mark{}, false
	}
	return mark(o, &e.mine), true
}

// New returns an empty table for a member.
func New(self string, limits Limits) *Table {
	return &Table{
		self:    unique.Make(self),
		limits:  limits,
		entries: map[exchange.Occurrence]*entry{},
		oldest:  heapByUser{},
		jobs:    heapByUser{},
		newest:  map[job.Key]newest{},
		dropped: map[string]int64{},
		claims:  map[exchange.Occurrence]*claim{},
		dead:    map[name]bool{},
		doubles: map[exchange.Occurrence][]name{},
		tried:   map[exchange.Occurrence][]giver{},
	}
}

// Progress records this member's progress with an occurrence that it took, and returns the
// mark to send to the others. There are two more uses. A member that starts reports its runs
// of the last day, so that doubles are found. In strict mode a member that the voters granted
// an occurrence reports it as Taken, even if another member holds it here.
func (r *Table) Progress(s exchange.Progress, now time.Time) (Mark, Changes) {
	o := s.Occurrence
	e := r.entry(o, now)
	if held := e.holder(); s.Phase == exchange.Taken && held.phase > 0 && held != &e.mine && (e.mine.phase == 0 || e.mine.givenUp) {
		r.take(o, next(held.generation), now)
	}
	mine := &e.mine
	attempt := max(mine.attempt, s.Attempt)
	if s.Phase == exchange.Begun && mine.phase == exchange.Taken { // the next attempt begins
		attempt = max(mine.attempt+1, s.Attempt)
	}
	switch {
	case s.GivenUp && mine.phase < exchange.Over:
		*mine = state{member: r.self, generation: mine.generation, phase: exchange.Taken, attempt: s.Attempt, lost: s.Lost, orphan: true, givenUp: true, started: r.Started}
		r.triedBy(o, e, giver{r.self, r.Started})
	case step(s.Phase, attempt) > mine.step():
		mine.member, mine.phase, mine.vanished, mine.orphan, mine.givenUp = r.self, s.Phase, s.Vanished, false, false
		mine.attempt, mine.lost, mine.started = attempt, max(mine.lost, s.Lost), 0
		if s.Run != 0 {
			mine.run = s.Run
		}
	}
	r.advance(o, r.self, now)
	var news Changes
	r.double(o, e, &e.theirs, &news)
	return mark(o, mine), news
}

// Abandon ends all claims of this member, because it leaves.
func (r *Table) Abandon() { clear(r.claims) }

// Learn applies marks from other members. A mark about this member itself is ignored, unless it
// shows an occurrence that this one took and forgot in a restart, or its generation.
func (r *Table) Learn(marks []Mark, now time.Time) Changes {
	var news Changes
	for i := range marks {
		r.learn(&marks[i], now, &news)
	}
	return news
}

// LearnDoubles applies marks of which their members report that they double runs of this one. They
// are not checked: an attempt that has ended here, and before another one, is Begun for the others,
// and so they cannot distinguish it from one that was lost.
func (r *Table) LearnDoubles(marks []Mark, now time.Time) Changes {
	var news Changes
	for i, m := range marks {
		if e := r.entries[m.Occurrence]; e != nil && e.mine.began() {
			r.reportDouble(m, e, &news)
		}
		r.learn(&marks[i], now, &news)
	}
	return news
}

func (r *Table) learn(m *Mark, now time.Time, news *Changes) {
	o := m.Occurrence
	s := state{
		member: unique.Make(m.Member), run: m.Run, generation: m.Generation, phase: m.Phase,
		vanished: m.Vanished, attempt: m.Attempt, lost: m.Lost, orphan: m.GivenUp, givenUp: m.GivenUp, started: m.Started,
	}
	if s.phase == 0 || r.tooFar(o.Due, now) {
		return
	}
	if s.member == r.self {
		if s.phase == exchange.Taken && r.cannotHaveBegun(o, now) {
			news.Orphans = append(news.Orphans, Report{Mark: *m})
		}
		if e := r.entries[o]; e != nil && e.mine.phase > 0 && s.generation > e.mine.generation { // forgotten in a restart
			e.mine.generation, e.changed = s.generation, now.UnixNano()
		}
		return
	}
	r.advance(o, s.member, now)
	if o.Due < now.Add(-r.limits.Age).UnixNano() {
		return
	}
	e := r.entry(o, now)
	r.double(o, e, &s, news)
	tried := s.givenUp && r.triedBy(o, e, giver{s.member, s.started})
	if !s.replaces(&e.theirs) {
		return
	}
	if e.holder().phase == 0 {
		news.Others = append(news.Others, o)
	}
	if s.givenUp { // the attempts of other members count, too
		for _, had := range []*state{&e.mine, &e.theirs} {
			if had.member != s.member {
				s.attempt, s.lost = max(s.attempt, had.attempt), max(s.lost, had.lost)
			}
		}
	}
	if s.member == e.theirs.member && !s.givenUp {
		s.started = e.theirs.started
	}
	hadMine := e.holder() == &e.mine
	e.theirs, e.changed = s, now.UnixNano()
	if s.generation >= e.askedIn {
		e.asked, e.lostTo = nobody, nobody
	}
	// A report ends a claim of this member if it would be a reason to refuse another member's claim.
	if c := r.claims[o]; c != nil && c.gaveWay == nobody && e.holder() == &e.theirs && s.blocks(r.self, r.self, c.Question) {
		c.gaveWay = s.member
	}
	if e.holder() != &e.theirs {
		return
	}
	if e.mine.phase == exchange.Taken && hadMine {
		e.release()
		news.Yielded = append(news.Yielded, Report{Mark: *m})
	}
	if (r.dead[s.member] || tried) && s.phase < exchange.Over && !e.ran() {
		news.Orphans = append(news.Orphans, Report{Mark: mark(o, &s), Tried: r.triedOf(o)})
	}
}

// triedBy remembers that a member gave an occurrence up, and reports false if there is no space for that.
// Then the occurrence is no orphan: it could be given up again and again, because nobody would know who tried it.
func (r *Table) triedBy(o exchange.Occurrence, e *entry, g giver) bool {
	if r.entries[o] != e {
		return false
	}
	switch i := r.findGiver(o, g.member); {
	case i >= 0:
		r.tried[o][i].started = max(r.tried[o][i].started, g.started)
	case len(r.tried[o]) < mostMembers || g.member == r.self:
		r.tried[o] = append(r.tried[o], g)
	default:
		return false
	}
	return true
}

func (r *Table) findGiver(o exchange.Occurrence, member name) int {
	return slices.IndexFunc(r.tried[o], func(g giver) bool { return g.member == member })
}

// triedOf returns the members that gave an occurrence up.
func (r *Table) triedOf(o exchange.Occurrence) (ids []string) {
	for _, g := range r.tried[o] {
		ids = append(ids, g.member.Value())
	}
	return ids
}

// GaveUp reports whether a member took an occurrence and gave it up, and in which start, see Mark.
func (r *Table) GaveUp(o exchange.Occurrence, member string) (started uint32, is bool) {
	e, by := r.entries[o], unique.Make(member)
	if e == nil {
		return 0, false
	}
	for _, s := range []*state{&e.mine, &e.theirs} {
		if s.phase > 0 && s.member == by {
			return s.started, s.givenUp
		}
	}
	if i := r.findGiver(o, by); i >= 0 {
		return r.tried[o][i].started, true
	}
	return 0, false
}

// TookBack records that the voters granted a member, after a later start, the occurrence that it gave up.
// It is an orphan if the member has died since.
func (r *Table) TookBack(o exchange.Occurrence, member string, gaveUp uint32) Changes {
	e := r.entries[o]
	if e == nil || !e.theirs.givenUp || e.theirs.member.Value() != member || e.theirs.started > gaveUp {
		return Changes{}
	}
	e.theirs.givenUp, e.theirs.orphan, e.theirs.started = false, r.dead[e.theirs.member], gaveUp
	if x, ok := r.orphan(o, e, e.theirs.member); ok && e.theirs.orphan {
		return Changes{Orphans: []Report{x}}
	}
	return Changes{}
}

// cannotHaveBegun reports whether this member cannot have begun an occurrence that others list as
// taken by it, because it was restarted before it recorded the occurrence.
func (r *Table) cannotHaveBegun(o exchange.Occurrence, now time.Time) bool {
	return r.entries[o] == nil && r.claims[o] == nil && !r.forgotten(o) && o.Due >= now.Add(-r.limits.Age).UnixNano()
}

// double reports that another member's run doubles a run of this member, if it does.
func (r *Table) double(o exchange.Occurrence, e *entry, other *state, news *Changes) {
	if !e.mine.began() || !other.began() {
		return
	}
	// If one member lost the run and the other one took it over, both behaved correctly.
	if e.mine.generation < other.generation && e.mine.vanished ||
		e.mine.generation > other.generation && (other.phase < exchange.Over || other.vanished) {
		return
	}
	r.reportDouble(mark(o, other), e, news)
}

// reportDouble reports a double once for each member, for a limited number of members.
func (r *Table) reportDouble(m Mark, e *entry, news *Changes) {
	o, member := m.Occurrence, unique.Make(m.Member)
	if slices.Contains(r.doubles[o], member) || len(r.doubles[o]) >= mostMembers {
		return
	}
	if r.entries[o] == e {
		r.doubles[o] = append(r.doubles[o], member)
	}
	news.Doubled = append(news.Doubled, Report{Mark: m})
}

// Lose records that a member died or was restarted. It returns the occurrences that the member
// took and did not finish, as far as they are known, oldest first.
func (r *Table) Lose(member string) []Report {
	lost := unique.Make(member)
	if len(r.dead) >= maxDead {
		clear(r.dead)
	}
	r.dead[lost] = true
	var orphans []Report
	for o, e := range r.entries {
		if x, ok := r.orphan(o, e, lost); ok {
			orphans = append(orphans, x)
		}
		if e.theirs.phase > 0 && e.theirs.member == lost {
			e.theirs.orphan = true
		}
	}
	slices.SortFunc(orphans, func(a, b Report) int { return a.Compare(b.Occurrence) })
	return orphans
}

// maxDead bounds the number of members that are remembered as dead.
const maxDead = 4096

// orphan returns the report of an occurrence that a lost member took. A member that claimed it, or
// won against a claim of this one, may have been granted it.
func (r *Table) orphan(o exchange.Occurrence, e *entry, lost name) (Report, bool) {
	held := e.holder()
	switch {
	case held == &e.mine || held.phase == exchange.Over || e.ran():
		return Report{}, false
	case held.phase > 0 && held.member == lost && !held.givenUp: // otherwise it is an orphan already
		return Report{Mark: mark(o, held), Tried: r.triedOf(o)}, true
	case (e.asked == lost || e.lostTo == lost) && (held.phase == 0 || held.givenUp || r.dead[held.member]):
		return Report{Asks: true, Tried: r.triedOf(o), Mark: Mark{
			Occurrence: o, Member: lost.Value(), Generation: e.askedIn, Phase: max(held.phase, exchange.Taken),
			Attempt: held.attempt, Lost: held.lost,
		}}, true
	}
	return Report{}, false
}

// Regain records that a dead member is alive again.
func (r *Table) Regain(member string) { delete(r.dead, unique.Make(member)) }

// Marks returns the marks of the occurrences that changed after since, by this member's clock. It
// returns at most limit marks, those with the latest scheduled times, newest first. It omits that a
// member gave an occurrence up if another one has decided it.
func (r *Table) Marks(since time.Time, limit int) []Mark {
	var marks []Mark
	for o, e := range r.entries {
		if e.changed < since.UnixNano() {
			continue
		}
		for _, s := range []*state{&e.mine, &e.theirs} {
			if s.phase > 0 && !(s.givenUp && e.holder().isOver()) {
				marks = append(marks, mark(o, s))
			}
		}
	}
	slices.SortFunc(marks, func(a, b Mark) int {
		if c := b.Compare(a.Occurrence); c != 0 {
			return c
		}
		return strings.Compare(a.Member, b.Member)
	})
	return marks[:min(limit, len(marks))]
}

func (r *Table) tooFar(due int64, now time.Time) bool { return due > now.Add(ahead).UnixNano() }

// entry returns the record of an occurrence that is about to change, or creates it. If the
// table is full, and the occurrence is older than all others of the user who has the most, the
// record is not kept.
func (r *Table) entry(o exchange.Occurrence, now time.Time) *entry {
	e := r.entries[o]
	if e == nil {
		e = &entry{}
		r.keep(o, e, now)
	}
	e.changed = now.UnixNano()
	return e
}
