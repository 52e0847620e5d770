package catalog

import (
	"slices"
	"strconv"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// twin is a job whose ID an earlier job uses already. Its own ID contains an ordinal.
type twin struct {
	ordinal int
	natural job.Key // the key that it would have without the earlier job
}

// KeyOf returns the key of an ID alone. It identifies a job on this host, regardless of
// the job's user.
func KeyOf(id job.ID) job.Key { return job.KeyOf(id, "") }

// identify assigns each job its identity, in order.
func (c *Catalog) identify(before *Catalog) {
	c.byKey = make(map[job.Key]int, len(c.jobs))
	c.twins, c.taken = map[int]twin{}, map[int]int{}
	last := map[job.ID]int{}
	places := before.places()
	for t, file := range c.crontabs {
		first, past := c.Of(t)
		place, known := places[file]
		for i := first; i < past; i++ {
			if known {
				c.name(i, before.natural(before.first[place]+i-first), last)
			} else {
				c.name(i, KeyOf(c.ID(i)), last)
			}
		}
	}
}

// natural returns the key that a job would have if it had no twin.
func (c *Catalog) natural(i int) job.Key {
	if len(c.twins) > 0 {
		if t, ok := c.twins[i]; ok {
			return t.natural
		}
	}
	return c.jobs[i].key
}

// name assigns a job its key, and an ordinal if an earlier job has its ID. If the ID
// comes from name=, the name is taken. last contains the newest ordinal among identical
// entries, by the ID that the second of them would have.
func (c *Catalog) name(i int, natural job.Key, last map[job.ID]int) {
	key := natural
	if other, ok := c.byKey[natural]; ok {
		if c.Entry(i).Options().Name != "" {
			c.taken[i] = other
		}
		key = c.nameTwin(i, natural, last)
	}
	c.jobs[i].key, c.byKey[key] = key, i
}

// nameTwin assigns a twin the first free ordinal, and returns its key. A crontab can have
// very many identical entries, so the search begins where it ended for the entry before.
func (c *Catalog) nameTwin(i int, natural job.Key, last map[job.ID]int) job.Key {
	c.twins[i] = twin{2, natural}
	second := c.ID(i)
	for ordinal := max(2, last[second]+1); ; ordinal++ {
		c.twins[i] = twin{ordinal, natural}
		key := KeyOf(c.ID(i))
		if _, used := c.byKey[key]; !used {
			last[second] = ordinal
			return key
		}
	}
}

// ID returns the ID of a job.
func (c *Catalog) ID(i int) job.ID {
	x := c.jobs[i]
	o, ordinal := x.entry.Options(), c.twins[i].ordinal
	owner := x.entry.File().Owner()
	if c.ownerless {
		owner = "root"
	}
	var id job.ID
	if o.Name != "" && ordinal == 0 {
		id = job.NewID(owner, o.Name)
	} else {
		id = job.DeriveID(owner, x.entry.File().Name, x.entry.User(), x.entry.Command(), ordinal)
	}
	if o.Shards > 1 {
		id += job.ID("#" + strconv.Itoa(x.shard))
	}
	return id
}

// Key returns the key of a job's ID alone.
func (c *Catalog) Key(i int) job.Key { return c.jobs[i].key }

// Find returns the job with an ID.
func (c *Catalog) Find(id job.ID) (i int, ok bool) { return c.FindKey(KeyOf(id)) }

// FindKey returns the job with a key, as Key returns it.
func (c *Catalog) FindKey(key job.Key) (i int, ok bool) {
	i, ok = c.byKey[key]
	return i, ok
}

// Named returns the jobs with a name, at most one of each owner, in order.
func (c *Catalog) Named(name string) []int {
	var jobs []int
	for _, t := range c.crontabs {
		if i, ok := c.Find(job.NewID(t.Owner(), name)); ok {
			jobs = append(jobs, i)
		}
	}
	slices.Sort(jobs)
	return slices.Compact(jobs)
}

// Renames returns the jobs of crontabs whose IDs were different in version 0.7,
// when an ID did not contain the owner of the crontab. The keys in the roster are
// translated by FormerKey.
func Renames(crontabs []*crontab.File) *job.Renames {
	identities := func(ownerless bool) *Catalog {
		c := &Catalog{crontabs: crontabs, ownerless: ownerless}
		c.install()
		c.identify(&Catalog{})
		return c
	}
	now, before := identities(false), identities(true)
	var all []job.Rename
	for i := range now.Len() {
		if id, old := now.ID(i), before.ID(i); id != old {
			all = append(all, job.Rename{Old: old, New: id, User: now.Entry(i).User()})
		}
	}
	return job.NewRenames(all)
}
