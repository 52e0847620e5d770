package register

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/cronring/cronring/daemon/job"
)

// Occurrence names an occurrence: the key of its job and when it is due, in
// nanoseconds since 1970.
type Occurrence struct {
	Key job.Key
	Due int64
}

// Phase is how far an occurrence is that a member took, with the numbers that the
// engine has for it.
type Phase uint8

// The phases, in order. Before them, in a Register alone, a member has asked.
const (
	Taken Phase = iota + 1 // it is that member's to run or to skip
	Begun                  // its process exists
	Over                   // it ended, or was skipped
)

// Mark says that a member took an occurrence, and how far it is.
type Mark struct {
	Occurrence
	Member     string
	Generation uint8 // how often it was taken before, by members that were gone
	Phase      Phase
	Vanished   bool   // the process of the newest attempt did: it ended in no other way
	Attempt    uint16 // the newest that began, also with members before; 0: none
	Lost       uint8  // of the attempts, those that were made as the one before vanished
	Run        int64  // of that member's runs; 0: none yet, or it was skipped
}

// Step is how far a member is with an occurrence that it took.
type Step struct {
	Phase    Phase
	Vanished bool
	Attempt  uint16
	Lost     uint8
	Run      int64 // 0: none began
}

// Grant is what became of a claim.
type Grant uint8

// The grants.
const (
	Undecided Grant = iota // more has to be heard
	Granted
	Refused
	Postponed // it is not due yet by the clock of a member: it can be claimed again
)

// Outcome is what became of a claim.
type Outcome struct {
	Grant Grant
	By    string // who has it, if it was refused, or "" if that is forgotten; of Postponed: that member
	Mark  Mark   // if it was granted: what the others are to be told
}

// Question asks another member for an occurrence.
type Question struct {
	Occurrence
	Serial     uint32 // of the asker's claims, so that no answer counts for another
	Generation uint8
	Phase      Phase  // how far it is at most in the generation before, as the asker knows; in the first: 0
	Attempt    uint16 // of Phase
	Mine       bool   // the asker took it, and asks whether it still has it
}

// Reply is the kind of an Answer.
type Reply uint8

// The replies.
const (
	Free   Reply = iota + 1 // nothing is known against it
	Busy                    // who answers claims it too, and comes first
	Known                   // Mark has it
	Old                     // it is older than what is remembered, and its job is further
	Early                   // it is not due yet by the clock of who answers
	Silent                  // there was no answer; never sent
)

// Answer is what a member says to a Question.
type Answer struct {
	Occurrence
	Serial uint32 // the question's
	Reply  Reply
	Mark   Mark // of Known
}

// News is what changed by what was learned from others.
type News struct {
	Others   []Occurrence // taken by others, which was not known
	Orphans  []Mark       // taken and not over, by members that are gone, or by this one before it was started anew
	Doubled  []Mark       // runs of others of what ran here too
	Deprived []Mark       // of others that took what was taken here and has not begun: it must not
}

// Limits bound what is remembered.
type Limits struct {
	Marks int           // occurrences, the newest
	Keys  int           // jobs whose newest occurrence is known
	Age   time.Duration // of occurrences, past due
}

// DefaultLimits are enough for a day of a thousand jobs a quarter of an hour.
var DefaultLimits = Limits{Marks: 100_000, Keys: 1_000_000, Age: 24 * time.Hour}

// lastGeneration ends what dying members could go on with for ever.
const lastGeneration = 100

// ahead is how far from now on an occurrence may be that another member took: its
// clock may be ahead, but nobody takes what lies in the future.
const ahead = time.Minute

// Register is one member's. It has one owner; its size is bounded by its Limits.
type Register struct {
	self    name
	limits  Limits
	entries map[Occurrence]*entry
	oldest  dues // of entries
	newest  map[job.Key]newest
	claims  map[Occurrence]*claim
	gone    map[name]bool
	doubles map[Occurrence][]name // whose runs were said to double ours
	horizon int64                 // of what was forgotten, the newest
	serial  uint32                // of the newest claim
}

// name is an ID, of which there are few, and mentions many.
type name = unique.Handle[string]

var nobody name

// Newest is the newest occurrence of a job that some member took, and that member.
type Newest struct {
	Occurrence
	Member string
}

type newest struct {
	due, changed int64
	by           name
}

// entry is what is known of an occurrence.
type entry struct {
	mine, theirs state
	asked        name  // who was answered Free last, or nobody
	lostTo       name  // who came before a claim of this member, or nobody
	askedIn      uint8 // newest generation of both
	changed      int64
}

type state struct {
	member     name
	run        int64
	attempt    uint16
	generation uint8
	phase      Phase // 0: nobody took it
	lost       uint8
	vanished   bool
	orphan     bool // its member was gone since it said so
}

// step orders how far a member is: an attempt begins, the next one waits and begins, and so
// on, until it is over.
func step(p Phase, attempt uint16) int {
	switch p {
	case Taken:
		return 2*int(attempt) + 1
	case Begun:
		return 2 * int(max(attempt, 1))
	case Over:
		return math.MaxInt
	}
	return 0
}

func (s *state) step() int { return step(s.phase, s.attempt) }

func (s *state) began() bool { return s.phase >= Begun && s.run != 0 }

// beats tells whether of two marks of an occurrence, by different members, s holds.
func (s *state) beats(other *state) bool {
	switch {
	case s.phase == 0 || other.phase == 0:
		return s.phase > 0
	case s.generation != other.generation:
		return s.generation > other.generation
	case (s.phase == Taken) != (other.phase == Taken):
		return other.phase == Taken
	case s.orphan != other.orphan:
		return other.orphan
	}
	return s.member.Value() < other.member.Value()
}

// holder is the mark that holds, or one of phase 0.
func (e *entry) holder() *state {
	if e.mine.beats(&e.theirs) {
		return &e.mine
	}
	return &e.theirs
}

// Holder is the member that has an occurrence, or "".
func (r *Register) Holder(o Occurrence) string {
	if e := r.entries[o]; e != nil && e.holder().phase > 0 {
		return e.holder().member.Value()
	}
	return ""
}

// Own is what this member has of an occurrence.
func (r *Register) Own(o Occurrence) (Mark, bool) {
	e := r.entries[o]
	if e == nil || e.mine.phase == 0 {
		return Mark{}, false
	}
	return mark(o, &e.mine), true
}

// ran tells whether this member ran it to its end, whatever others took it for that
// did not know.
func (e *entry) ran() bool { return e.mine.phase == Over && e.mine.run != 0 && !e.mine.vanished }

// yield lets go what this member took and has not begun.
func (e *entry) yield() {
	if e != nil && e.mine.phase == Taken {
		e.mine = state{}
	}
}

func mark(o Occurrence, s *state) Mark {
	return Mark{
		Occurrence: o, Member: s.member.Value(), Generation: s.generation, Phase: s.phase,
		Vanished: s.vanished, Attempt: s.attempt, Lost: s.lost, Run: s.run,
	}
}

// New returns the register of a member, which knows nothing.
func New(self string, limits Limits) *Register {
	return &Register{
		self:    unique.Make(self),
		limits:  limits,
		entries: map[Occurrence]*entry{},
		newest:  map[job.Key]newest{},
		claims:  map[Occurrence]*claim{},
		gone:    map[name]bool{},
		doubles: map[Occurrence][]name{},
	}
}

// Progress notes how far this member is with an occurrence that it took, and
// returns what the others are to be told. It is also how a member that starts tells
// of its runs of the last day, so that doubles are found, and how one tells of what
// it was granted by who knows better than all members: that it is Taken again.
func (r *Register) Progress(o Occurrence, s Step, now time.Time) (Mark, News) {
	e := r.entry(o, now)
	if held := e.holder(); s.Phase == Taken && held.phase > 0 && e.mine.phase == 0 {
		r.take(o, next(held.generation), now)
	}
	mine := &e.mine
	attempt := max(mine.attempt, s.Attempt)
	if s.Phase == Begun && mine.phase == Taken { // the next one
		attempt = max(mine.attempt+1, s.Attempt)
	}
	if step(s.Phase, attempt) > mine.step() {
		mine.member, mine.phase, mine.vanished = r.self, s.Phase, s.Vanished
		mine.attempt, mine.lost = attempt, max(mine.lost, s.Lost)
		if s.Run != 0 {
			mine.run = s.Run
		}
	}
	r.advance(o, r.self, now)
	var news News
	r.double(o, e, &e.theirs, &news)
	return mark(o, mine), news
}

// Abandon ends all claims of this member, as it leaves.
func (r *Register) Abandon() { clear(r.claims) }

// Learn takes marks from others. What they say of this member it knows better.
func (r *Register) Learn(marks []Mark, now time.Time) News {
	var news News
	for i := range marks {
		r.learn(&marks[i], now, &news)
	}
	return news
}

func (r *Register) learn(m *Mark, now time.Time, news *News) {
	o := m.Occurrence
	s := state{
		member: unique.Make(m.Member), run: m.Run, generation: m.Generation, phase: m.Phase,
		vanished: m.Vanished, attempt: m.Attempt, lost: m.Lost,
	}
	if s.phase == 0 || r.tooFar(o.Due, now) {
		return
	}
	if s.member == r.self {
		if s.phase == Taken && r.knowsNothing(o, now) {
			news.Orphans = append(news.Orphans, *m)
		}
		return
	}
	r.advance(o, s.member, now)
	if o.Due < now.Add(-r.limits.Age).UnixNano() {
		return
	}
	e := r.entry(o, now)
	r.double(o, e, &s, news)
	if !s.replaces(&e.theirs) {
		return
	}
	if e.holder().phase == 0 {
		news.Others = append(news.Others, o)
	}
	e.theirs, e.changed = s, now.UnixNano()
	if s.generation >= e.askedIn {
		e.asked, e.lostTo = nobody, nobody
	}
	if c := r.claims[o]; c != nil && c.gaveWay == nobody && s.generation >= c.generation && e.holder() == &e.theirs {
		c.gaveWay = s.member
	}
	if e.holder() != &e.theirs {
		return
	}
	if e.mine.phase == Taken {
		e.mine = state{}
		news.Deprived = append(news.Deprived, *m)
	}
	if r.gone[s.member] && s.phase < Over && !e.ran() {
		news.Orphans = append(news.Orphans, *m)
	}
}

// knowsNothing tells whether this member cannot have begun an occurrence that
// others have it take: it was started anew before it wrote down that it did.
func (r *Register) knowsNothing(o Occurrence, now time.Time) bool {
	return r.entries[o] == nil && r.claims[o] == nil && !r.forgotten(o) && o.Due >= now.Add(-r.limits.Age).UnixNano()
}

// replaces tells whether a mark from others is more than what is known of them.
func (s *state) replaces(known *state) bool {
	if s.member != known.member || known.phase == 0 {
		return s.beats(known)
	}
	return cmp.Or(cmp.Compare(s.generation, known.generation), cmp.Compare(s.step(), known.step())) > 0
}

// double notes that a run of another member doubles ours, once for each member.
func (r *Register) double(o Occurrence, e *entry, other *state, news *News) {
	if !e.mine.began() || !other.began() || slices.Contains(r.doubles[o], other.member) {
		return
	}
	// What was lost with one member and taken again by the other ran as it should.
	if e.mine.generation < other.generation && e.mine.vanished ||
		e.mine.generation > other.generation && (other.phase < Over || other.vanished) {
		return
	}
	if r.entries[o] == e {
		r.doubles[o] = append(r.doubles[o], other.member)
	}
	news.Doubled = append(news.Doubled, mark(o, other))
}

// Lose notes that a member is gone, or was started anew, and
// returns what it took and has not ended, as far as is known, oldest first.
func (r *Register) Lose(member string) []Mark {
	lost := unique.Make(member)
	if len(r.gone) >= mostGone {
		clear(r.gone)
	}
	r.gone[lost] = true
	var orphans []Mark
	for o, e := range r.entries {
		if m, ok := r.orphan(o, e, lost); ok {
			orphans = append(orphans, m)
		}
		if e.theirs.phase > 0 && e.theirs.member == lost {
			e.theirs.orphan = true
		}
	}
	slices.SortFunc(orphans, func(a, b Mark) int { return compare(a.Occurrence, b.Occurrence) })
	return orphans
}

// mostGone bounds the members that are remembered as gone.
const mostGone = 4096

// orphan finds what a lost member took. One that
// asked, or whose claim came before ours, may have been granted it.
func (r *Register) orphan(o Occurrence, e *entry, lost name) (Mark, bool) {
	held := e.holder()
	switch {
	case held == &e.mine || held.phase == Over || e.ran():
		return Mark{}, false
	case held.phase > 0 && held.member == lost:
		return mark(o, held), true
	case (e.asked == lost || e.lostTo == lost) && (held.phase == 0 || r.gone[held.member]):
		return Mark{
			Occurrence: o, Member: lost.Value(), Generation: e.askedIn, Phase: max(held.phase, Taken),
			Attempt: held.attempt, Lost: held.lost,
		}, true
	}
	return Mark{}, false
}

// Regain notes that a member that was gone is there.
func (r *Register) Regain(member string) { delete(r.gone, unique.Make(member)) }

// Marks returns what was learned or done since an instant of this member's
// clock: the newest limit of it by due instant, newest first.
func (r *Register) Marks(since time.Time, limit int) []Mark {
	var marks []Mark
	for o, e := range r.entries {
		if e.changed < since.UnixNano() {
			continue
		}
		for _, s := range []*state{&e.mine, &e.theirs} {
			if s.phase > 0 {
				marks = append(marks, mark(o, s))
			}
		}
	}
	slices.SortFunc(marks, func(a, b Mark) int {
		if c := compare(b.Occurrence, a.Occurrence); c != 0 {
			return c
		}
		return strings.Compare(a.Member, b.Member)
	})
	return marks[:min(limit, len(marks))]
}

// Newest returns, of each job of which some member took an occurrence, the newest
// one, if it was learned since an instant of this member's clock.
func (r *Register) Newest(since time.Time) []Newest {
	var list []Newest
	for key, n := range r.newest {
		if n.changed >= since.UnixNano() {
			list = append(list, Newest{Occurrence{key, n.due}, n.by.Value()})
		}
	}
	slices.SortFunc(list, func(a, b Newest) int { return compare(a.Occurrence, b.Occurrence) })
	return list
}

// Advance takes what another member's Newest says.
func (r *Register) Advance(list []Newest, now time.Time) {
	for _, n := range list {
		if !r.tooFar(n.Due, now) {
			r.advance(n.Occurrence, unique.Make(n.Member), now)
		}
	}
}

func (r *Register) advance(o Occurrence, by name, now time.Time) {
	known, ok := r.newest[o.Key]
	if !ok && len(r.newest) >= r.limits.Keys || ok && known.due >= o.Due {
		return
	}
	r.newest[o.Key] = newest{o.Due, now.UnixNano(), by}
}

func (r *Register) tooFar(due int64, now time.Time) bool { return due > now.Add(ahead).UnixNano() }

func compare(a, b Occurrence) int {
	return cmp.Or(cmp.Compare(a.Due, b.Due), a.Key.Compare(b.Key))
}

// entry finds or makes what is known of an occurrence, as it is about to change.
// One that is older than all that there is room for is not kept.
func (r *Register) entry(o Occurrence, now time.Time) *entry {
	e := r.entries[o]
	if e == nil {
		e = &entry{}
		r.keep(o, e, now)
	}
	e.changed = now.UnixNano()
	return e
}

func (r *Register) keep(o Occurrence, e *entry, now time.Time) {
	for len(r.oldest) > 0 && r.oldest[0].Due < now.Add(-r.limits.Age).UnixNano() {
		r.forget()
	}
	if len(r.oldest) >= r.limits.Marks {
		if compare(o, r.oldest[0]) < 0 {
			return
		}
		r.forget()
	}
	r.entries[o] = e
	heap.Push(&r.oldest, o)
}

func (r *Register) forget() {
	o := heap.Pop(&r.oldest).(Occurrence)
	delete(r.entries, o)
	delete(r.doubles, o)
	r.horizon = max(r.horizon, o.Due)
}

// dues is a heap of occurrences, the oldest on top.
type dues []Occurrence

func (d dues) Len() int           { return len(d) }
func (d dues) Less(i, j int) bool { return compare(d[i], d[j]) < 0 }
func (d dues) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *dues) Push(x any)        { *d = append(*d, x.(Occurrence)) }
func (d *dues) Pop() any {
	last := len(*d) - 1
	o := (*d)[last]
	*d = (*d)[:last]
	return o
}
