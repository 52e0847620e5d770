package analysis

import (
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// addEdges adds errors in after= and on= across all crontabs. An unknown name may be in a
// file that lint was not given; if all is set, there is no such file.
func (l *linted) addEdges(tables []*crontab.Table, all bool) {
	var entries []*crontab.Entry
	var edged []int
	for _, table := range tables {
		for i := range table.Entries {
			if o := table.Entries[i].Options(); len(o.After)+len(o.On) > 0 {
				edged = append(edged, len(entries))
			}
			entries = append(entries, &table.Entries[i])
		}
	}
	if len(edged) == 0 {
		return
	}
	entry := func(i int) *crontab.Entry { return entries[i] }
	known := idsOf(entries)
	called := func(owner, name string) (int, bool) {
		i, ok := known[job.NewID(owner, name)]
		return i, ok
	}
	for _, d := range crontab.Connect(edged, entry, called).Remarks(entry) {
		if d.Code == crontab.CodeNobody && !all {
			d.Severity = crontab.Warning
			d.Message = strings.TrimSuffix(d.Message, ": the entry is held") + " in these files: if none is elsewhere, the entry is held"
		}
		l.diagnostics = append(l.diagnostics, d)
	}
}

// idsOf is the entries by the IDs that they have in the daemon. Of several
// entries with the same name= the first has it.
func idsOf(entries []*crontab.Entry) map[job.ID]int {
	known := map[job.ID]int{}
	for i, e := range entries {
		owner := e.Table().Owner()
		id := job.NewID(owner, e.Options().Name)
		if e.Options().Name == "" {
			id = job.DeriveID(owner, e.Table().Name, e.User(), e.Command(), 1)
			for twin := 2; taken(known, id); twin++ {
				id = job.DeriveID(owner, e.Table().Name, e.User(), e.Command(), twin)
			}
		}
		if !taken(known, id) {
			known[id] = i
		}
	}
	return known
}

func taken(known map[job.ID]int, id job.ID) bool {
	_, ok := known[id]
	return ok
}
