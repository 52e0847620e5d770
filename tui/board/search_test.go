package board

import (
	"context"
	"fmt"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// manyRows are more jobs than are searched immediately.
func manyRows() []api.Row {
	rows := make([]api.Row, 3000)
	for i := range rows {
		rows[i] = api.Row{Job: job.ID(fmt.Sprintf("job-%04d", i)), Command: "sync", User: []string{"ann", "bob"}[i%2], State: job.StateOK}
	}
	return rows
}

func manyJobs() *Board {
	b := New()
	b.Apply(api.BoardUpdate{Complete: true, Rows: manyRows()})
	return b
}

// search runs the search that a list waits for, which must be there.
func search(t *testing.T, l *List) {
	t.Helper()
	s := l.Search()
	if s == nil {
		t.Fatal("the list waits for no search")
	}
	f, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Take(f)
}

// Among many jobs the list stays that of the filter before until an expression was searched.
func TestSearchAmongMany(t *testing.T) {
	l := manyJobs().List(Query{Text: "job-000"})
	l.Set(Query{Text: "/-[0-9]{3}7$/"})
	if l.Len() != 10 || !l.Searching() {
		t.Errorf("before the search: %d jobs, searching %t, want 10 and true", l.Len(), l.Searching())
	}
	search(t, l)
	if l.Len() != 300 || l.Searching() || l.Search() != nil {
		t.Errorf("after the search: %d jobs, searching %t, want 300 and false", l.Len(), l.Searching())
	}
	l.Set(Query{Text: "!/-[0-9]{3}7$/ user:ann", Order: ByUser})
	if l.Len() != 1500 || l.Searching() || l.Search() != nil {
		t.Errorf("the same expression again: %d jobs, searching %t, want 1500 and false", l.Len(), l.Searching())
	}
}

// A search follows texts that change: until then, the list has what was found before.
func TestSearchAgainAfterTextsChange(t *testing.T) {
	for name, row := range map[string]api.Row{
		"a new job":      {Job: "job-9997"},
		"a new command":  {Job: "job-0001", Command: "x-9997"},
		"a new schedule": {Job: "job-0001", Command: "sync", User: "bob", Schedule: "-9997"},
	} {
		b := manyJobs()
		l := b.List(Query{Text: "/-[0-9]{3}7$/"})
		search(t, l)
		state := manyRows()[1]
		state.State = job.StateFailing
		b.Apply(api.BoardUpdate{Rows: []api.Row{state}})
		if l.Refresh(false); l.Search() != nil {
			t.Errorf("%s: only a state has changed, and the list is searched again", name)
		}
		b.Apply(api.BoardUpdate{Rows: []api.Row{row}, Gone: []job.ID{"job-0007"}})
		if l.Refresh(false); l.Len() != 299 || l.Searching() {
			t.Errorf("%s: %d jobs, searching %t, want 299 and false", name, l.Len(), l.Searching())
		}
		if search(t, l); l.Len() != 299 || !l.Stale() {
			t.Errorf("%s: searched again: %d jobs, stale %t, want 299 and true", name, l.Len(), l.Stale())
		}
		if l.Refresh(false); l.Len() != 300 || l.Search() != nil {
			t.Errorf("%s: then %d jobs, want 300 and no other search", name, l.Len())
		}
	}
}

// What was found for a filter that has changed meanwhile does not count.
func TestSearchForAnotherFilter(t *testing.T) {
	l := manyJobs().List(Query{Text: "/0$/"})
	f, err := l.Search().Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Set(Query{Text: "/1$/"})
	if l.Take(f); !l.Searching() || l.Len() != 0 {
		t.Errorf("%d jobs, searching %t, want 0 and true", l.Len(), l.Searching())
	}
	if l.Set(Query{}); l.Search() != nil || l.Len() != 3000 {
		t.Errorf("without a filter: %d jobs, want 3000 and no search", l.Len())
	}
}

func TestSearchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := manyJobs().List(Query{Text: "/0$/"}).Search().Run(ctx); err == nil {
		t.Error("a cancelled search has a result")
	}
}
