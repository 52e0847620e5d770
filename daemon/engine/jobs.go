package engine

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// jobs is what is installed: the entries of all tables, numbered through as
// slots. It is immutable. A host may hold a million entries, so it keeps
// a key for each beside the entry itself and makes the rest when asked.
type jobs struct {
	tables []*crontab.Table

	ownerless bool // IDs are as in version 0.7; see Renames

	first  []int           // slot of each table's first entry
	sheets []*sheet        // what is rare in each table; nil: nothing
	keys   []job.Key       // per slot: the key of its ID alone; see idKey
	twins  map[int]twin    // by slot, but for the first of entries alike
	taken  map[int]int     // slots whose name= an earlier slot of the same owner has
	once   []int           // slots of entries that run once in a period
	daily  map[string]bool // IDs of periods that an anacrontab asks about each day
	wide   []int           // slots of entries that ask for more than one slot of a pool
	short  map[int]string  // of them, those that ask for more than there is, and why; see judgePools
	watch  []int           // slots with expect=, or of whose hold channels want to know
	groups []group         // all slots by schedule; see agenda
	unfit  map[*crontab.Options]string
	faulty map[cron.Schedule]bool // schedules that cannot be followed; see holdFaulty
	family *family                // whom after= and on= connect; nil: nobody

	watched map[job.Key]int // watch, by key

	ring     RingMode
	held     []Holding       // those of shared that may run; see holdings
	shared   []int           // slots of scope=ring, by ring key
	ringKeys map[int]job.Key // of them, as all members of the ring have it: it includes the user
	clans    map[int]*clan   // of them, those that family connects
	toll     int             // what to look at an occurrence costs beyond its effects: 1 if any is shared
}

// twin is an entry that is not the first one of its ID.
type twin struct {
	ordinal int
	natural job.Key // its key if it were
}

// called is what the slots that were settled before are called by.
type called struct {
	slots map[job.Key]int
	twins map[job.ID]int // the newest ordinal among entries alike, by the ID that the second of them would have
}

// sheet is the entries of a table that more is to be asked about than when they
// are due, by place in the table. It is immutable, and as long good as the table.
type sheet struct {
	once, wide, watch, edged, shared []int

	names  []job.Key // of the names that those of edged name
	shards []shard   // the jobs of entries with shards=, but for the first of each: their places are behind those of the entries
	excess []int     // entries of which there would be too many
}

// shard is one of the jobs that shards= makes of an entry.
type shard struct {
	entry int // its place in the table
	index int // from 1
}

// mostShards is how many jobs shards= may add to those of a table.
const mostShards = 100_000

func newSheet(t *crontab.Table) *sheet {
	var s sheet
	for k := range t.Entries {
		o := t.Entries[k].Options()
		s.list(k, o)
		switch more := o.Shards - 1; {
		case more <= 0:
		case len(s.shards)+more > mostShards:
			s.excess = append(s.excess, k)
		default:
			for n := range more {
				s.shards = append(s.shards, shard{k, n + 1})
			}
		}
	}
	for at, x := range s.shards {
		s.list(len(t.Entries)+at, t.Entries[x.entry].Options())
	}
	if len(s.once)+len(s.wide)+len(s.watch)+len(s.edged)+len(s.shared)+len(s.shards)+len(s.excess) == 0 {
		return nil
	}
	s.names = namedBy(t, s.edged)
	return &s
}

// list puts a job where it belongs.
func (s *sheet) list(k int, o *crontab.Options) {
	if o.Period != nil {
		s.once = append(s.once, k)
	}
	if o.Pool != "" && o.Slots > 1 {
		s.wide = append(s.wide, k)
	}
	if o.Expect > 0 || tells(o, crontab.NoticeHeld) {
		s.watch = append(s.watch, k)
	}
	if len(o.After)+len(o.On) > 0 {
		s.edged = append(s.edged, k)
	}
	if o.Scope == crontab.ScopeRing {
		s.shared = append(s.shared, k)
	}
}

// namedBy returns the keys of the names that entries of a table name, in order.
func namedBy(t *crontab.Table, edged []int) []job.Key {
	names := map[job.Key]bool{}
	read := map[*crontab.Edge]bool{} // a default may name a thousand jobs above very many entries
	for _, k := range edged {
		if k >= len(t.Entries) { // a shard, whose entry was there before
			break
		}
		o := t.Entries[k].Options()
		for _, edges := range [][]crontab.Edge{o.After, o.On} {
			if len(edges) == 0 || read[&edges[0]] {
				continue
			}
			read[&edges[0]] = true
			for _, edge := range edges {
				for _, id := range candidates(t.Owner(), edge.Job) {
					names[idKey(id)] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(names), job.Key.Compare)
}

// candidates are the IDs of the jobs that a reference in a crontab of an owner
// can mean; see crontab.Connect.
func candidates(owner, reference string) []job.ID {
	if id, full := job.ParseID(reference); full {
		return []job.ID{id}
	}
	return []job.ID{job.NewID(owner, reference), job.ID(reference)}
}

// newJobs numbers the entries of tables. What before knows of a table that has
// not changed is used again.
func newJobs(tables []*crontab.Table, before *jobs) *jobs {
	s := &jobs{tables: tables, daily: map[string]bool{}}
	stays := s.number(before)
	if !s.settleNew(stays) {
		s.settle(stays)
		stays = nil
	}
	edged, shared := s.gather()
	if s.family = s.connect(edged, stays); len(shared) > 0 {
		s.part()
		s.share(shared)
	}
	return s
}

// stay is which tables were there before, by place: -1 is nowhere.
type stay struct {
	before   *jobs
	from, to []int
	touched  map[job.Key]bool // keys and natural keys of those that came or went; see settleNew
}

func (s *stay) isTouched(key job.Key) bool { return s.touched[key] }

// number gives slots to all entries, and finds the tables that stay.
func (s *jobs) number(before *jobs) *stay {
	n := len(s.tables)
	s.first, s.sheets = make([]int, n), make([]*sheet, n)
	stays := &stay{before: before, from: make([]int, n), to: make([]int, len(before.tables)), touched: map[job.Key]bool{}}
	for at := range stays.to {
		stays.to[at] = -1
	}
	places := before.places()
	slots := 0
	for i, t := range s.tables {
		s.first[i] = slots
		if at, same := places[t]; same {
			stays.from[i], stays.to[at], s.sheets[i] = at, i, before.sheets[at]
		} else {
			stays.from[i], s.sheets[i] = -1, newSheet(t)
		}
		slots += s.size(i)
	}
	s.keys = make([]job.Key, slots)
	return stays
}

// size is how many jobs a table has.
func (s *jobs) size(table int) int {
	n := len(s.tables[table].Entries)
	if sheet := s.sheets[table]; sheet != nil {
		n += len(sheet.shards)
	}
	return n
}

// now is the slot that an entry of before has, if it stays.
func (s *jobs) now(slot int, stays *stay) (now int, ok bool) {
	at := stays.before.table(slot)
	if stays.to[at] < 0 {
		return 0, false
	}
	return slot - stays.before.first[at] + s.first[stays.to[at]], true
}

// gather lists what the sheets list, and returns the slots with edges and those
// of scope=ring.
func (s *jobs) gather() (edged, shared []int) {
	for i, sheet := range s.sheets {
		if sheet == nil {
			continue
		}
		slots := func(to, places []int) []int {
			for _, k := range places {
				to = append(to, s.first[i]+k)
			}
			return to
		}
		s.once, s.wide, s.watch = slots(s.once, sheet.once), slots(s.wide, sheet.wide), slots(s.watch, sheet.watch)
		edged, shared = slots(edged, sheet.edged), slots(shared, sheet.shared)
		for _, k := range sheet.once {
			e := s.entry(s.first[i] + k)
			id := e.Options().Period.ID
			s.daily[id] = s.daily[id] || anacronLine(e)
		}
	}
	return edged, shared
}

// settle settles the identity of all slots.
func (s *jobs) settle(stays *stay) {
	s.twins, s.taken = map[int]twin{}, map[int]int{}
	c := &called{make(map[job.Key]int, len(s.keys)), map[job.ID]int{}}
	for i := range s.tables {
		for k := range s.size(i) {
			var natural job.Key
			if at := stays.from[i]; at >= 0 {
				natural = stays.before.natural(stays.before.first[at] + k)
			}
			s.name(s.first[i]+k, natural, c)
		}
	}
}

// settleNew does what settle does, but settles only what is new, and lets
// identities that were settled before stand. It reports whether it could: not
// if any of those that stay has something to do with one that comes or goes.
// Who takes his ordinal asks for no keys but those of his own kind, and they
// are all in touched: if none of them is another's, both kinds would have been
// settled as they are without the other.
func (s *jobs) settleNew(stays *stay) bool {
	before, from, touched := stays.before, stays.from, stays.touched
	last := -1
	for _, at := range from {
		if at < 0 {
			continue
		}
		if at <= last { // another order
			return false
		}
		last = at
	}
	if last < 0 {
		return false
	}
	for at, i := range stays.to {
		if i >= 0 {
			continue
		}
		for k := range before.size(at) {
			before.touch(before.first[at]+k, touched)
		}
	}
	s.twins, s.taken = map[int]twin{}, map[int]int{}
	c := &called{map[job.Key]int{}, map[job.ID]int{}}
	for i := range s.tables {
		if from[i] >= 0 {
			continue
		}
		for k := range s.size(i) {
			s.name(s.first[i]+k, job.Key{}, c)
			s.touch(s.first[i]+k, touched)
		}
	}
	for i, at := range from {
		if at < 0 {
			continue
		}
		kept := before.keys[before.first[at]:][:s.size(i)]
		for _, key := range kept {
			if touched[key] {
				return false
			}
		}
		copy(s.keys[s.first[i]:], kept)
	}
	return s.keepTwins(stays)
}

// touch notes what a slot is called by.
func (s *jobs) touch(slot int, touched map[job.Key]bool) {
	touched[s.keys[slot]], touched[s.natural(slot)] = true, true
	if s.entry(slot).Options().Shards > 1 {
		touched[idKey(s.stem(slot))] = true
	}
}

// keepTwins takes over those of before who stay, unless one of those that are
// touched is their natural key.
func (s *jobs) keepTwins(stays *stay) bool {
	for old, twin := range stays.before.twins {
		slot, ok := s.now(old, stays)
		switch {
		case !ok:
			continue
		case stays.touched[twin.natural]:
			return false
		}
		s.twins[slot] = twin
		if other, ok := stays.before.taken[old]; ok {
			s.taken[slot], _ = s.now(other, stays) // it stays too: its key is the natural one
		}
	}
	return true
}

// carried is, for each slot, the one that the same entry of the same table had
// before, under the same key, or -1.
func (s *jobs) carried(before *jobs) []int {
	from := make([]int, s.len())
	known := before.places()
	for i, t := range s.tables {
		at, same := known[t]
		for k := range s.size(i) {
			slot := s.first[i] + k
			if from[slot] = -1; same && s.keys[slot] == before.keys[before.first[at]+k] {
				from[slot] = before.first[at] + k
			}
		}
	}
	return from
}

// places is where each table stands.
func (s *jobs) places() map[*crontab.Table]int {
	at := make(map[*crontab.Table]int, len(s.tables))
	for i, t := range s.tables {
		at[t] = i
	}
	return at
}

// natural is the key of a slot as if it had no twin.
func (s *jobs) natural(slot int) job.Key {
	if t, ok := s.twins[slot]; ok {
		return t.natural
	}
	return s.keys[slot]
}

// name settles the identity of a slot: its key, the ordinal of a twin, or that
// another entry has its name already. natural is its key without that, or zero
// where it is not known.
func (s *jobs) name(slot int, natural job.Key, c *called) {
	if natural == (job.Key{}) {
		natural = idKey(s.id(slot))
	}
	other, dup := c.slots[natural]
	if !dup {
		c.slots[natural], s.keys[slot] = slot, natural
		return
	}
	if s.entry(slot).Options().Name != "" {
		s.taken[slot] = other
	}
	s.keys[slot] = s.nameTwin(slot, natural, c)
	c.slots[s.keys[slot]] = slot
}

// nameTwin gives a twin its ordinal, the first one that is free, and returns
// its key. A table may hold very many entries alike: none of them asks again
// for the ordinals of those before it.
func (s *jobs) nameTwin(slot int, natural job.Key, c *called) job.Key {
	s.twins[slot] = twin{2, natural}
	second := s.id(slot)
	key := idKey(second)
	for ordinal := max(2, c.twins[second]+1); ; ordinal++ {
		if ordinal > 2 {
			s.twins[slot] = twin{ordinal, natural}
			key = idKey(s.id(slot))
		}
		if _, dup := c.slots[key]; !dup {
			c.twins[second] = ordinal
			return key
		}
	}
}

func (s *jobs) len() int { return len(s.keys) }

func (s *jobs) entry(slot int) *crontab.Entry {
	t, k, _ := s.at(slot)
	return &s.tables[t].Entries[k]
}

// at is the table of a slot, the place of its entry there, and which of the
// entry's shards it is.
func (s *jobs) at(slot int) (table int, k, index int) {
	table = s.table(slot)
	k = slot - s.first[table]
	if n := len(s.tables[table].Entries); k >= n {
		x := s.sheets[table].shards[k-n]
		return table, x.entry, x.index
	}
	return table, k, 0
}

// table is the place of the table that a slot is of.
func (s *jobs) table(slot int) int {
	return sort.Search(len(s.first), func(i int) bool { return s.first[i] > slot }) - 1
}

func (s *jobs) id(slot int) job.ID {
	stem := s.stem(slot)
	if s.entry(slot).Options().Shards <= 1 {
		return stem
	}
	_, _, index := s.at(slot)
	return stem + job.ID("#"+strconv.Itoa(int(index)))
}

// stem is what all shards of an entry are called.
func (s *jobs) stem(slot int) job.ID {
	e := s.entry(slot)
	owner := e.Table().Owner()
	if s.ownerless {
		owner = "root"
	}
	if name := e.Options().Name; name != "" && s.twins[slot].ordinal == 0 {
		return job.NewID(owner, name)
	}
	return job.DeriveID(owner, e.Table().Name, e.User(), e.Command(), s.twins[slot].ordinal)
}

// shardsOf is the slots of all shards of the entry whose first one a slot is.
func (s *jobs) shardsOf(slot int) []int {
	t, k, index := s.at(slot)
	if index > 0 || s.entry(slot).Options().Shards <= 1 {
		return []int{slot}
	}
	all := []int{slot}
	shards := s.sheets[t].shards
	at, _ := slices.BinarySearchFunc(shards, k, func(x shard, k int) int { return cmp.Compare(x.entry, k) })
	for ; at < len(shards) && shards[at].entry == k; at++ {
		all = append(all, s.first[t]+len(s.tables[t].Entries)+at)
	}
	return all
}

// scheduleFault says why a job is held whose schedule cannot be followed.
func (s *jobs) scheduleFault(slot int) string {
	if len(s.faulty) == 0 || !s.faulty[s.entry(slot).Schedule] {
		return ""
	}
	return "its schedule does not name a later time as the next one. That is a fault of cronring: report it with the time fields and options of the entry"
}

// options are the entry's own. An entry whose name is taken, or whose edges are
// at fault, is held.
func (s *jobs) options(slot int) *crontab.Options {
	o := s.entry(slot).Options()
	if why := cmp.Or(s.family.fault(slot), s.short[slot], s.unfit[o], s.scheduleFault(slot), shardFault(o), ringFault(s.entry(slot), o, s.ring)); why != "" && o.Held == "" {
		held := *o
		held.Held = why
		return &held
	}
	if other, ok := s.taken[slot]; ok && o.Held == "" {
		held := *o
		held.Held = "the name " + o.Name + " is taken by an entry of " + s.entry(other).Table().Name
		return &held
	}
	return o
}

func (s *jobs) find(id job.ID) (slot int, ok bool) {
	key := idKey(id)
	for i, x := range s.keys {
		if x == key {
			return i, true
		}
	}
	return 0, false
}

// named returns the slots of the jobs with that name, of all owners.
func (s *jobs) named(name string) []int {
	wanted := map[job.Key]bool{}
	for _, t := range s.tables {
		wanted[idKey(job.NewID(t.Owner(), name))] = true
	}
	var slots []int
	for i, key := range s.keys {
		if wanted[key] {
			slots = append(slots, i)
		}
	}
	return slots
}

func (s *jobs) job(slot int) job.Job { return describe(s.id(slot), s.entry(slot), s.options(slot)) }

// Describe makes the job of an entry. It is for who keeps the entry of a run,
// which is small, rather than the Job that came with its Start.
func Describe(id job.ID, e *crontab.Entry) job.Job { return describe(id, e, e.Options()) }

func describe(id job.ID, e *crontab.Entry, o *crontab.Options) job.Job {
	stdin, _ := e.Stdin()
	j := job.Job{
		ID: id, Table: e.Table().Name, Line: e.Line(), User: e.User(),
		Schedule: e.Spec(), Zone: e.Zone().String(), Command: e.Command(), Stdin: stdin, Dir: e.Dir(), Env: e.Env(),
		Disabled: !o.Enabled, Held: o.Held, Degraded: o.Degraded,
	}
	if o.Shards > 1 {
		_, index, _ := strings.Cut(id.Name(), "#")
		j.Shard, _ = strconv.Atoi(index)
		j.Shards = o.Shards
	}
	if len(o.Items) > 0 {
		j.Options = make(map[string]string, len(o.Items))
		for _, it := range o.Items {
			j.Options[it.Key] = it.Value
		}
	}
	return j
}

// idKey returns the key of an ID alone: it identifies a job on this host, whoever
// it runs as.
func idKey(id job.ID) job.Key { return job.KeyOf(id, "") }

// hash is FNV-1a, 64 bits. It is for texts whose collisions harm nobody but the
// author of both.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
