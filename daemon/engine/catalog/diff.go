package catalog

// Diff maps the jobs of a catalog to those of the previous catalog.
type Diff struct {
	From    []int   // by job: the job before with the same entry and the same key; -1: none
	To      []int   // by job before: the job with the same key now; -1: none
	Fresh   []Fresh // the jobs that have no From
	Changed bool    // jobs came or went, or their times changed
}

// Fresh is a job whose entry is new, or had another key before.
type Fresh struct {
	Job  int
	Was  int  // the job before with the same key; -1: none
	Same bool // at the same times
}

// Compare maps the jobs of c to those of before. Crontabs that are in both are compared
// by address.
func (c *Catalog) Compare(before *Catalog) Diff {
	d := Diff{From: make([]int, c.Len()), To: make([]int, before.Len()), Changed: c.Len() != before.Len()}
	for old := range d.To {
		d.To[old] = -1
	}
	specs, places := Specs{}, before.places()
	for t, file := range c.crontabs {
		first, past := c.Of(t)
		place, kept := places[file]
		for i := first; i < past; i++ {
			if kept {
				if old := before.first[place] + i - first; before.jobs[old].key == c.jobs[i].key {
					d.From[i], d.To[old] = old, i
					continue
				}
			}
			f := Fresh{Job: i, Was: -1}
			if old, ok := before.byKey[c.jobs[i].key]; ok {
				f.Was, d.To[old] = old, i
				f.Same = specs.Of(before.Entry(old).Schedule) == specs.Of(c.Entry(i).Schedule)
			}
			d.From[i], d.Changed = -1, d.Changed || !f.Same
			d.Fresh = append(d.Fresh, f)
		}
	}
	return d
}
