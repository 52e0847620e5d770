package main

import (
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// addEdges adds what is wrong with after= and on= of the entries of all tables
// together. A name that none of them has may be in a file that lint was not
// given; all tells that there is no such file.
func (l *linted) addEdges(tables []*crontab.Table, all bool) {
	var entries []*crontab.Entry
	var edged []int32
	for _, table := range tables {
		for i := range table.Entries {
			if o := table.Entries[i].Options(); len(o.After)+len(o.On) > 0 {
				edged = append(edged, int32(len(entries)))
			}
			entries = append(entries, &table.Entries[i])
		}
	}
	if len(edged) == 0 {
		return
	}
	entry := func(i int32) *crontab.Entry { return entries[i] }
	names := namesOf(entries)
	for _, d := range crontab.Connect(edged, entry, func(name string) []int32 { return names[name] }, nil).Remarks(entry) {
		if d.Code == crontab.CodeNobody && !all {
			d.Severity = crontab.Warning
			d.Message = strings.TrimSuffix(d.Message, ": the entry is held") + " in these files: if none is elsewhere, the entry is held"
		}
		l.remarks = append(l.remarks, d)
	}
}

// namesOf is the entries by the names that they have in the daemon.
func namesOf(entries []*crontab.Entry) map[string][]int32 {
	names := map[string][]int32{}
	for i, e := range entries {
		name := e.Options().Name
		for twin := 1; name == "" || e.Options().Name == "" && len(names[name]) > 0; twin++ {
			name = string(job.DeriveID(e.Table().Name, e.User(), e.Command(), twin))
		}
		names[name] = append(names[name], int32(i))
	}
	return names
}
