package board

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// model is a board as anybody would write it.
type model struct {
	rows map[job.ID]api.Row
	seen map[job.ID]int
	n    int
}

func (m *model) apply(u api.BoardUpdate) {
	if u.Begin {
		m.n++
	}
	for _, row := range u.Rows {
		m.rows[row.Job], m.seen[row.Job] = row, m.n
	}
	for _, id := range u.Gone {
		delete(m.rows, id)
	}
	if u.Complete {
		maps.DeleteFunc(m.rows, func(id job.ID, _ api.Row) bool { return m.seen[id] != m.n })
	}
}

func (m *model) list(q Query) []job.ID {
	words := strings.Fields(strings.ToLower(q.Text))
	if strings.HasPrefix(q.Text, `"`) {
		words = []string{strings.Trim(q.Text, `"`)}
	}
	var found []api.Row
	for _, r := range m.rows {
		all := strings.ToLower(strings.Join([]string{string(r.Job), r.Schedule, r.User, r.Crontab, r.Labels, r.Command}, "\n"))
		inState := len(q.States) == 0 || slices.Contains(q.States, r.State) || r.Paused && slices.Contains(q.States, job.StatePaused)
		if inState && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(all, word) }) {
			found = append(found, r)
		}
	}
	way := 1
	if q.Reverse {
		way = -1
	}
	slices.SortFunc(found, func(a, b api.Row) int {
		return cmp.Or(way*compare(q.Order, &a, &b), cmp.Compare(a.Job, b.Job))
	})
	ids := make([]job.ID, len(found))
	for i := range found {
		ids[i] = found[i].Job
	}
	return ids
}

func compare(o Order, a, b *api.Row) int {
	none := func(t time.Time) int {
		if t.IsZero() {
			return 1
		}
		return 0
	}
	switch o {
	case ByName:
		return cmp.Compare(a.Job, b.Job)
	case ByNext:
		return cmp.Or(cmp.Compare(none(a.Next), none(b.Next)), a.Next.Compare(b.Next))
	case ByLast:
		return b.Last.Compare(a.Last)
	case ByTook:
		return cmp.Compare(b.Took, a.Took)
	case ByUser:
		return cmp.Compare(a.User, b.User)
	case ByCrontab:
		return cmp.Or(cmp.Compare(a.Crontab, b.Crontab), cmp.Compare(a.Line, b.Line))
	}
	if c := cmp.Compare(a.State.Severity(), b.State.Severity()); c != 0 || a.State != job.StateFailing {
		return c
	}
	return b.Last.Compare(a.Last)
}

func someRow(r *rand.Rand, n int) api.Row {
	when := func() time.Time {
		if r.IntN(3) == 0 {
			return time.Time{}
		}
		return noon.Add(time.Duration(r.IntN(200)-100) * time.Minute)
	}
	words := []string{"", "Etl", "backup", "Ünï", "orders\tx", "a\nb", "\xff", "ZFS"}
	word := func() string { return words[r.IntN(len(words))] }
	return api.Row{
		Job: job.ID(fmt.Sprintf("%s-%d", []string{"Job", "etl", "b"}[n%3], n)), User: word(), Crontab: "/etc/cron.d/" + word(), Labels: word(), Line: r.IntN(5), Schedule: word(),
		Zone: word(), Command: word() + " " + word(), State: job.States[r.IntN(len(job.States))], Protected: r.IntN(2) == 0, Paused: r.IntN(2) == 0, Acked: r.IntN(2) == 0, Fixed: r.IntN(2) == 0,
		Next: when(), Began: when(), Live: r.IntN(3), LastRun: job.RunID(r.IntN(100)), Last: when(), Took: time.Duration(r.IntN(5)) * time.Second,
		Ending: word(), Streak: r.IntN(3), HeldUntil: when(), Why: fmt.Sprint(word(), r.IntN(1000)),
	}
}

// TestBoardAsTheModel holds the columns and their lists to rows in a map, over
// random updates.
func TestBoardAsTheModel(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		b, m := New(), &model{rows: map[job.ID]api.Row{}, seen: map[job.ID]int{}}
		list := b.List(Query{})
		for step := range 60 {
			u := api.BoardUpdate{Begin: step == 0 || r.IntN(12) == 0, Complete: r.IntN(4) == 0}
			for range r.IntN(40) {
				u.Rows = append(u.Rows, someRow(r, r.IntN(200)))
			}
			for range r.IntN(20) {
				u.Gone = append(u.Gone, job.ID(fmt.Sprintf("etl-%d", r.IntN(200))))
			}
			b.Apply(u)
			m.apply(u)
			q := Query{
				Text:  []string{"", "", "etl", "ORDERS", "ünÏ", "-1", "crond", "zzz", "\xff", `"x y"`, "etl -1"}[r.IntN(11)],
				Order: Orders[r.IntN(len(Orders))], Reverse: r.IntN(2) == 0,
			}
			if r.IntN(3) == 0 {
				q.States = job.States[r.IntN(3):5]
			}
			if r.IntN(2) == 0 {
				list.Set(q)
			} else {
				list.Refresh(r.IntN(2) == 0)
				list.Refresh(false)
				q = list.Query()
			}
			got := make([]job.ID, list.Len())
			for i := range got {
				got[i] = list.At(i).Job
			}
			if want := m.list(q); !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d, %+v:\ngot  %v\nwant %v", seed, step, q, got, want)
			}
			compareBoards(t, b, m)
		}
	}
}

func compareBoards(t *testing.T, b *Board, m *model) {
	t.Helper()
	got := map[job.ID]api.Row{}
	counts := map[job.State]int{}
	for id := range b.Jobs() {
		row, ok := b.Job(id)
		if !ok {
			t.Fatalf("%s is on the board and not found", id)
		}
		got[id] = row
		if got[id].State != job.StatePaused {
			counts[got[id].State]++
		}
		if got[id].Paused {
			counts[job.StatePaused]++
		}
	}
	if diff := gocmp.Diff(m.rows, got); diff != "" {
		t.Fatalf("rows (-model +board):\n%s", diff)
	}
	for _, s := range job.States {
		if b.Count(s) != counts[s] {
			t.Fatalf("%d are %s, want %d", b.Count(s), s, counts[s])
		}
	}
	if b.Len() != len(m.rows) {
		t.Fatalf("%d jobs, want %d", b.Len(), len(m.rows))
	}
}

// While the order is held nothing moves but what is gone.
func TestListHeldStays(t *testing.T) {
	b := New()
	row := func(id job.ID, s job.State) api.Row { return api.Row{Job: id, State: s} }
	b.Apply(api.BoardUpdate{Begin: true, Complete: true, Rows: []api.Row{row("a", job.StateOK), row("b", job.StateOK), row("c", job.StateOK)}})
	l := b.List(Query{})
	names := func() string {
		var all []string
		for i := range l.Len() {
			all = append(all, string(l.At(i).Job))
		}
		return strings.Join(all, "")
	}
	b.Apply(api.BoardUpdate{Rows: []api.Row{row("c", job.StateFailing), row("d", job.StateFailing)}, Gone: []job.ID{"a"}})
	if l.Refresh(true); names() != "bc" || !l.Stale() {
		t.Errorf("held: %q, stale %t, want bc and stale", names(), l.Stale())
	}
	if l.Refresh(false); names() != "cdb" || l.Stale() {
		t.Errorf("let go: %q, stale %t, want cdb", names(), l.Stale())
	}
	if l.Place("d") != 1 {
		t.Errorf("d is at %d, want 1", l.Place("d"))
	}
}

// While jobs come in a held list follows when there are twice as many, and when
// they are all.
func TestListHeldWhileJobsComeIn(t *testing.T) {
	b := New()
	l := b.List(Query{})
	for i, test := range []struct {
		jobs, want int
		complete   bool
	}{{1, 1, false}, {1, 2, false}, {1, 2, false}, {1, 4, false}, {3, 4, false}, {1, 8, false}, {1, 9, true}, {1, 9, true}} {
		u := api.BoardUpdate{Complete: test.complete}
		for range test.jobs {
			u.Rows = append(u.Rows, api.Row{Job: job.ID(fmt.Sprint("job-", b.Len(), len(u.Rows))), State: job.StateOK})
		}
		b.Apply(u)
		l.Refresh(true)
		if l.Len() != test.want || l.Stale() != (i == 7) {
			t.Errorf("update %d: %d of %d jobs are listed, stale %t, want %d", i, l.Len(), b.Len(), l.Stale(), test.want)
		}
	}
}

// A dashboard of 100,000 jobs takes at most 120 MB, of which the board takes half.
func TestBoardTakesLittleMemory(t *testing.T) {
	_, rows := bigBoard()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b := New()
	apply(b, rows)
	lists := []*List{b.List(Query{}), b.List(Query{Order: ByNext})}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (after.HeapAlloc - before.HeapAlloc) / uint64(len(rows)); each > 600 {
		t.Errorf("%d bytes for each job, want 600 at most", each)
	}
	runtime.KeepAlive(lists)
	runtime.KeepAlive(rows)
}

func bigBoard() (*Board, []api.Row) {
	rows := make([]api.Row, 100_000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		rows[i] = api.Row{
			Job: job.ID(fmt.Sprintf("tenants-%d.app.%08x", i/100, int64(i)*2654435761%(1<<32))), User: "app", Crontab: fmt.Sprintf("/etc/cron.d/tenants-%d", i/100),
			Line: i % 100, Schedule: fmt.Sprintf("%d %d * * *", i%60, i%24), Zone: "Europe/Berlin",
			Command: fmt.Sprintf("/opt/app/bin/tenant-sync --tenant %d --quiet", i), State: job.StateOK,
			Next: noon.Add(time.Duration(r.IntN(86400)) * time.Second), Last: noon.Add(-time.Duration(r.IntN(86400)) * time.Second),
			Took: time.Duration(r.IntN(1e9)), LastRun: job.RunID(i),
		}
		if i%50 == 0 {
			rows[i].State, rows[i].Ending, rows[i].Why = job.StateFailing, "exit 1", "it waits"
		}
	}
	b := New()
	apply(b, rows)
	return b, rows
}

func apply(b *Board, rows []api.Row) {
	for part := range slices.Chunk(rows, 2048) {
		b.Apply(api.BoardUpdate{Rows: part})
	}
	b.Apply(api.BoardUpdate{Complete: true})
}

// BenchmarkBoard is a board of 100,000 jobs.
func BenchmarkBoard(b *testing.B) {
	var before, after runtime.MemStats
	_, rows := bigBoard()
	runtime.GC()
	runtime.ReadMemStats(&before)
	board := New()
	apply(board, rows)
	l := board.List(Query{})
	runtime.GC()
	runtime.ReadMemStats(&after)
	size := float64(after.HeapAlloc-before.HeapAlloc) / (1 << 20)
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			apply(New(), rows)
		}
		b.ReportMetric(size, "MiB")
	})
	for _, text := range []string{"t", "tenant-sync", "99999", "nowhere", "ts9", "user:app took>5m state:fail", "!sync", "/tenant-[89]/", "/[0-9]{5}$/"} {
		b.Run("filter/"+text, func(b *testing.B) {
			terms, err := parseFilter(text)
			if err != nil {
				b.Fatal(err)
			}
			var found []*line
			for b.Loop() {
				if strings.HasPrefix(text, "/") { // in another goroutine
					if _, err := board.search(terms).Run(b.Context()); err != nil {
						b.Fatal(err)
					}
					continue
				}
				found = board.matches(found[:0], terms, nil)
			}
		})
	}
	for _, order := range Orders {
		b.Run("sort/"+string(order), func(b *testing.B) {
			for b.Loop() {
				l.Set(Query{Order: order})
			}
		})
	}
	b.Run("delta", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			row := rows[n%len(rows)]
			row.State = job.States[n%len(job.States)]
			board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
			l.Refresh(false)
		}
	})
}
