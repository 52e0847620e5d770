package board

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// listed returns the IDs of a list in their order.
func listed(b *Board, q Query) []job.ID {
	var ids []job.ID
	l := b.List(q)
	for i := range l.Len() {
		ids = append(ids, l.At(i).Job)
	}
	return ids
}

// twoHosts is a merged board with the same job on two hosts, and one more on the second.
func twoHosts() *Board {
	b := NewMerged()
	b.ApplyHost("web-1", api.BoardUpdate{Begin: true, Complete: true, Rows: []api.Row{{Job: "backup", State: job.StateOK}}})
	b.ApplyHost("db-01", api.BoardUpdate{Begin: true, Complete: true, Rows: []api.Row{
		{Job: "backup", State: job.StateFailing}, {Job: "ann@corp/mail", State: job.StateOK},
	}})
	return b
}

func TestMergedBoardListsTheJobsOfAllHosts(t *testing.T) {
	b := twoHosts()
	for _, x := range []struct {
		query Query
		want  []job.ID
	}{
		{Query{}, []job.ID{"backup@db-01", "ann@corp/mail@db-01", "backup@web-1"}},
		{Query{Order: ByHost}, []job.ID{"ann@corp/mail@db-01", "backup@db-01", "backup@web-1"}},
		{Query{Order: ByName}, []job.ID{"ann@corp/mail@db-01", "backup@db-01", "backup@web-1"}},
		{Query{Text: "host:web"}, []job.ID{"backup@web-1"}},
		{Query{Text: "job:db-01"}, nil},
		{Query{Text: "job:corp/mail"}, []job.ID{"ann@corp/mail@db-01"}},
		{Query{Text: "db-01", Order: ByName}, []job.ID{"ann@corp/mail@db-01", "backup@db-01"}},
		{Query{Text: "bakcup host:web"}, []job.ID{"backup@web-1"}},
	} {
		if got := listed(b, x.query); !slices.Equal(got, x.want) {
			t.Errorf("%+v: got %q, want %q", x.query, got, x.want)
		}
	}
	if b.Count(job.StateOK) != 2 || b.Count(job.StateFailing) != 1 || b.Len() != 3 {
		t.Errorf("counts: %d ok, %d failing of %d", b.Count(job.StateOK), b.Count(job.StateFailing), b.Len())
	}
}

// A stream that begins again removes the jobs that it no longer has, but none of another host.
func TestMergedBoardSweepsOneHost(t *testing.T) {
	b := twoHosts()
	b.ApplyHost("web-1", api.BoardUpdate{Begin: true, Rows: []api.Row{{Job: "new"}}})
	if b.Len() != 4 {
		t.Errorf("%d jobs before the stream is complete, want 4", b.Len())
	}
	b.ApplyHost("web-1", api.BoardUpdate{Complete: true})
	b.ApplyHost("db-01", api.BoardUpdate{Gone: []job.ID{"backup"}})
	want := []job.ID{"ann@corp/mail@db-01", "new@web-1"}
	if got := listed(b, Query{Order: ByName}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSplitHostUndoesOnHost(t *testing.T) {
	for _, id := range []job.ID{"backup", "ann/backup", "ann@corp/backup", ""} {
		for _, host := range []string{"db-01", "ops@db-01", "[::1]", ""} {
			if gotID, gotHost := SplitHost(OnHost(id, host)); gotID != id || gotHost != host {
				t.Errorf("%q on %q: got %q on %q", id, host, gotID, gotHost)
			}
		}
	}
}

// BenchmarkMerged lists 100 hosts with 1,000 jobs each again after the jobs of one have changed.
func BenchmarkMerged(b *testing.B) {
	board := NewMerged()
	rows := make([]api.Row, 1000)
	for i := range rows {
		rows[i] = api.Row{Job: job.ID(fmt.Sprintf("tenant-%04d-sync", i)), Command: fmt.Sprintf("/opt/tenants/bin/sync --tenant %05d --quiet", i), User: "root", State: job.States[i%len(job.States)]}
	}
	for h := range 100 {
		board.ApplyHost(fmt.Sprintf("web-%03d", h), api.BoardUpdate{Begin: true, Complete: true, Rows: rows})
	}
	l := board.List(Query{})
	for b.Loop() {
		board.ApplyHost("web-042", api.BoardUpdate{Rows: rows[:10]})
		l.Refresh(false)
	}
	if l.Len() != 100_000 {
		b.Fatalf("%d jobs are listed", l.Len())
	}
}
