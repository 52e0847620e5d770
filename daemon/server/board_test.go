package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/server/overview"
	"github.com/cronring/cronring/daemon/store"
)

const boardCrontab = `
#@ name=orders retry=2 backoff=90s grace=30s
*/2 * * * * ann orders
#@ name=nightly overlap=queue grace=1m
*/3 * * * * bob nightly
#@ name=broken breaker=2/5m max-late=1s
* * * * * root broken
#@ name=old enabled=no
* * * * * root true
#@ name=hand trigger=manual protect=yes labels=team:ops,tier:1
0 0 1 1 * ann by hand
#@ name=child after=orders:done wait=1h
*/2 * * * * ann child
* * * * * bob unnamed
`

// reader keeps the board of one account as the updates make it.
type reader struct {
	t     testing.TB
	w     *world
	s     *Server
	uid   uint32
	board *overview.Board
	rows  map[job.ID]api.Row
	order []job.ID // the order in which rows arrived last
	head  *api.Status
	whole int // times that the board was complete
	sent  int
	sees  func(*api.BoardUpdate) // sees each update first; may be nil
}

func (w *world) reader(s *Server, uid uint32) *reader {
	w.t.Helper()
	r := &reader{t: w.t, w: w, s: s, uid: uid, rows: map[job.ID]api.Row{}}
	name, _ := users.Name(uid)
	p := call.Peer{UID: uid, Name: name, Admin: s.keeps(uid)}
	if w.grant != nil {
		p.Grant = w.grant(context.Background(), name)
	}
	watch := s.states.Watch(p)
	w.t.Cleanup(func() { s.states.Unwatch(watch) })
	r.board = overview.NewBoard(s.overview, p, watch, r.take)
	return r
}

func (r *reader) take(u *api.BoardUpdate) error {
	r.sent++
	if r.sees != nil {
		r.sees(u)
	}
	for _, id := range u.Gone {
		if _, ok := r.rows[id]; !ok {
			r.t.Errorf("%s is gone, and was never there", id)
		}
		delete(r.rows, id)
	}
	for _, row := range u.Rows {
		r.rows[row.Job] = row
		r.order = append(r.order, row.Job)
	}
	if u.Head != nil {
		r.head = u.Head
	}
	if u.Complete {
		r.whole++
	}
	return nil
}

func (r *reader) round() {
	r.t.Helper()
	if err := r.board.Round(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	r.board.Wait()
}

// check compares the board with what list and status say at the same moment.
func (r *reader) check(when string) {
	r.t.Helper()
	c := r.w.call(r.s, r.uid)
	jobs := c.Visible()
	all, err := jobstate.Collect(r.s.states.Statuses(context.Background(), c, jobs))
	if err != nil {
		r.t.Fatal(err)
	}
	states := map[job.State]int{}
	want := map[job.ID]api.Row{}
	for _, st := range all {
		ended := r.w.recent(r.s, r.uid, st.Job.ID)
		if (st.Last == nil) != (len(ended) == 0) || st.Last != nil && st.Last.ID != ended[0].ID {
			r.t.Errorf("%s: %s: the newest ended run is %+v, want the first of %+v", when, st.Job.ID, st.Last, ended)
		}
		if bad := r.w.Summary(st.Job.ID, st.Job.User).Bad; st.Streak != bad {
			r.t.Errorf("%s: %s: a streak of %d failures, want %d", when, st.Job.ID, st.Streak, bad)
		}
		states[st.State]++
		row := api.NewRow(&st.Status)
		row.Fixed = !c.Peer.Admin
		want[st.Job.ID] = row
	}
	if diff := cmp.Diff(want, r.rows); diff != "" {
		r.t.Fatalf("%s, board of %s (-list +board):\n%s", when, c.Peer, diff)
	}
	if r.head == nil || !maps.Equal(r.head.States, states) || r.head.Jobs != len(jobs) {
		r.t.Fatalf("%s, board of %s: head %+v, want %d jobs with %v", when, c.Peer, r.head, len(jobs), states)
	}
}

// recent returns the newest runs of a job as its page shows them.
func (w *world) recent(s *Server, uid uint32, id job.ID) []job.Run {
	w.t.Helper()
	var answer api.Job
	if status, text := w.walkOn(s, uid, "GET", "/v1/job", walked{query: url.Values{"job": {id.Full()}}.Encode()}); json.Unmarshal([]byte(text), &answer) != nil {
		w.t.Fatalf("job %s: status %d, %s", id, status, text)
	}
	return answer.Recent
}

// call returns the request of a user.
func (w *world) call(s *Server, uid uint32) *call.Call {
	name, _ := users.Name(uid)
	return call.Of(call.Peer{UID: uid, Name: name, Admin: s.keeps(uid)}, w.View(), w.Now())
}

// happen lets something happen, by chance.
func (w *world) happen(r *rand.Rand, s *Server) string {
	ids := []job.ID{"orders", "nightly", "broken", "old", "hand", "child"}
	id := ids[r.IntN(len(ids))]
	v := w.View()
	runs := v.Runs()
	pick := func(states ...job.RunState) (job.RunID, bool) {
		runs := slices.DeleteFunc(slices.Clone(runs), func(run job.Run) bool { return !slices.Contains(states, run.State) })
		if len(runs) == 0 {
			return 0, false
		}
		return runs[r.IntN(len(runs))].ID, true
	}
	switch n := r.IntN(16); n {
	case 0, 1, 2:
		if run, ok := pick(job.RunDecided); ok {
			w.Start(run)
			return fmt.Sprint("run ", run, " started")
		}
	case 3, 4, 5, 6:
		if run, ok := pick(job.RunRunning, job.RunDecided); ok {
			w.End(run, max(0, r.IntN(4)-1))
			return fmt.Sprint("run ", run, " ended")
		}
	case 7:
		w.Step(event.RunNow{Job: id, By: "ann", Force: r.IntN(2) == 0})
		return "run " + string(id)
	case 8:
		h := job.Hold{By: "ann", Reason: "why"}
		if r.IntN(2) == 0 {
			h.Until = w.Now().Add(time.Duration(r.IntN(600)) * time.Second)
		}
		w.Step(event.Pause{Job: id, Hold: h})
		return "pause " + string(id)
	case 9:
		w.Step(event.Resume{Job: id, By: "ann"})
		return "resume " + string(id)
	case 10:
		w.Step(event.Stop{Job: id, By: "ann"})
		return "stop " + string(id)
	case 11:
		if i, ok := v.Find(id); ok {
			w.Step(event.Ack{Job: v.ID(i), Seen: job.Ack{Run: job.RunID(r.IntN(40)), By: "ann"}})
			return "ack " + string(id)
		}
	case 12:
		w.Step(event.Unack{Job: id, By: "ann"})
		return "unack " + string(id)
	case 13:
		file := boardCrontab
		if r.IntN(2) == 0 {
			file = strings.Replace(file, "* * * * * bob unnamed\n", "#@ name=more\n* * * * * ann more\n", 1)
		}
		if r.IntN(4) == 0 {
			file = "0 0 * * * bob other\n" + file
		}
		if r.IntN(4) == 0 { // names pass to others, and back
			file = strings.NewReplacer("bob nightly", "ann nightly", "ann orders", "bob orders").Replace(file)
		}
		if r.IntN(4) == 0 {
			file = strings.Replace(file, "name=broken", "name=renamed", 1)
		}
		w.Load(file)
		return "load"
	case 14:
		if r.IntN(8) == 0 {
			w.Step(event.BarUsers{Users: map[string]event.Barred{"bob": {Reason: job.NoUser, Detail: "gone"}}})
			return "bar bob"
		}
		w.Step(event.BarUsers{})
		return "bar nobody"
	}
	d := time.Duration(r.IntN(180)) * time.Second
	if r.IntN(20) == 0 {
		back := time.Duration(r.IntN(3600)) * time.Second
		w.Set(w.Now().Add(-back), time.Second)
		w.Step()
		return fmt.Sprint("set the clock back by ", back)
	}
	w.Pass(d)
	w.Step()
	return fmt.Sprint("wait ", d)
}

// TestBoardSaysWhatListSays holds the board to the list after each of many
// random happenings, for readers who came at different times.
func TestBoardSaysWhatListSays(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := newWorld(t, boardCrontab)
			s := w.server()
			var readers []*reader
			for i := range 150 {
				what := fmt.Sprintf("seed %d, step %d: %s", seed, i, w.happen(r, s))
				if i%40 == 5 {
					readers = append(readers, w.reader(s, []uint32{0, annUID, bobUID, noneUID}[len(readers)%4]))
				}
				for _, reader := range readers {
					if r.IntN(3) > 0 { // others read later
						reader.round()
						reader.check(what)
					}
				}
			}
		})
	}
}

// A board of a user with a role has the jobs of others, also after the crontabs change.
func TestBoardOfARole(t *testing.T) {
	w := newWorld(t, boardCrontab)
	w.grant = grantBob(call.View)
	r := w.reader(w.server(), bobUID)
	r.round()
	r.sees = func(u *api.BoardUpdate) {
		if len(u.Gone) > 0 || len(u.Rows) > 1 {
			t.Errorf("after a new job: %d rows, and %v are gone", len(u.Rows), u.Gone)
		}
	}
	w.Load(boardCrontab + "0 0 * * * ann other\n")
	r.round()
	if len(r.rows) != 8 {
		t.Errorf("got %d rows, want 8", len(r.rows))
	}
}

// The same while things happen: boards are read, the history is asked and
// crontabs are loaded all at once, and in the end nothing is missing.
func TestBoardWhileThingsHappen(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t, boardCrontab)
		s := w.server()
		readers := []*reader{w.reader(s, 0), w.reader(s, annUID), w.reader(s, bobUID)}
		var reading sync.WaitGroup
		over := make(chan struct{})
		for _, reader := range readers {
			reading.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
						if err := reader.board.Round(context.Background()); err != nil {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		for range 300 {
			w.happen(r, s)
		}
		close(over)
		reading.Wait()
		for _, reader := range readers {
			for range 2 { // crontabs that are loaded meanwhile end a round
				reader.round()
			}
			reader.check(fmt.Sprintf("seed %d", seed))
		}
	}
}

func TestBoardComesWorstFirst(t *testing.T) {
	var file strings.Builder
	for i := range 200 {
		fmt.Fprintf(&file, "#@ name=job-%03d\n0 0 1 1 * root true\n", 199-i)
	}
	w := newWorld(t, file.String())
	for _, id := range []job.ID{"job-150", "job-007"} {
		w.Step(event.RunNow{Job: id, By: "root"})
		runs := w.View().Runs()
		w.Start(runs[len(runs)-1].ID)
		w.End(runs[len(runs)-1].ID, 1)
	}
	w.Step(event.RunNow{Job: "job-100", By: "root"})
	w.Step(pauseOf("job-050"))
	s := w.server()
	r := w.reader(s, 0)
	var pages []int
	r.sees = func(u *api.BoardUpdate) {
		pages = append(pages, len(u.Rows))
		if len(pages) == 1 && (u.Head == nil || u.Head.States[job.StateFailing] != 2) {
			t.Errorf("the first page has the head %+v, want one with two that fail", u.Head)
		}
	}
	r.round()
	if want := []int{overview.FirstPage, 200 - overview.FirstPage}; !slices.Equal(pages, want) || r.whole != 1 {
		t.Errorf("pages of %v rows, complete %d times, want %v and once", pages, r.whole, want)
	}
	want := []job.ID{"job-007", "job-150", "job-100", "job-050", "job-000", "job-001"}
	if got := r.order[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("rows begin with %v, want %v", got, want)
	}
	r.check("at once")
}

// An update with 2,048 of the longest commands would take 268 MB.
func TestBoardCutsUpdatesWithLongCommands(t *testing.T) {
	w := newWorld(t, strings.Repeat("0 0 1 1 * root true "+strings.Repeat("x", 20_000)+"\n", 700))
	r := w.reader(w.server(), 0)
	largest := 0
	r.sees = func(u *api.BoardUpdate) {
		size := 0
		for i := range u.Rows {
			size += len(u.Rows[i].Command)
		}
		largest = max(largest, size)
	}
	r.round()
	if len(r.rows) != 700 || largest > 1<<20+256*20_010 {
		t.Errorf("%d rows came, of 700; the commands of an update take %d bytes", len(r.rows), largest)
	}
}

// What does not change is not sent, and what changes is sent alone.
func TestBoardSendsChangesAlone(t *testing.T) {
	w := newWorld(t, boardCrontab)
	s := w.server()
	r := w.reader(s, 0)
	r.round()
	r.round() // the totals
	sent, rows := r.sent, len(r.order)
	r.round()
	if r.sent != sent {
		t.Errorf("%d updates though nothing happened", r.sent-sent)
	}
	w.Step(pauseOf("hand"))
	r.round()
	if got := r.order[rows:]; !slices.Equal(got, []job.ID{"hand"}) || r.sent != sent+1 {
		t.Errorf("after a pause %v came in %d updates, want hand alone", got, r.sent-sent)
	}
	if row := r.rows["hand"]; row.Why != "paused by root" || row.State != job.StatePaused {
		t.Errorf("the row is %+v, want one that is held, and why", row)
	}
	w.Load(boardCrontab + "#@ name=new\n0 0 * * * root new\n")
	rows = len(r.order)
	r.round()
	if got := r.order[rows:]; !slices.Equal(got, []job.ID{"new"}) {
		t.Errorf("after a load %v came, want new alone", got)
	}
}

// A waiting run is late when its grace is over, although no event reports it.
func TestBoardSeesTimeGoBy(t *testing.T) {
	w := newWorld(t, "#@ name=slow overlap=queue grace=2m\n* * * * * root true\n")
	w.To("2026-11-20T00:01:00Z")
	w.Start(1)
	w.To("2026-11-20T00:02:00Z")
	s := w.server()
	r := w.reader(s, 0)
	r.round()
	if row := r.rows["slow"]; row.State != job.StateRunning || row.Live != 2 || !strings.Contains(row.Why, "an earlier run") {
		t.Errorf("the row is %+v, want one that runs and waits", row)
	}
	if want := instant(t, "2026-11-20T00:03:00Z"); !r.board.Soonest().Equal(want) {
		t.Errorf("it looks again at %s, want the next occurrence, %s", r.board.Soonest(), want)
	}
	w.Set(instant(t, "2026-11-20T00:04:01Z"), 0)
	r.round()
	if row := r.rows["slow"]; row.State != job.StateLate {
		t.Errorf("the row is %+v, want one that is late", row)
	}
}

// A run that has no process is late when its grace is over, in lists and on boards.
func TestDecidedRunIsLate(t *testing.T) {
	w := newWorld(t, "#@ name=slow grace=2m\n* * * * * root true\n")
	w.To("2026-11-20T00:01:00Z")
	w.Set(instant(t, "2026-11-20T00:03:01Z"), 0)
	r := w.reader(w.server(), 0)
	r.round()
	r.check("late")
	if row := r.rows["slow"]; row.State != job.StateLate || row.Why != "it is decided, but not started yet" {
		t.Errorf("the row is %+v, want one that is late, and why", row)
	}
}

// The daemon sends by itself, and ends the stream when it ends.
func TestBoardOverTheSocket(t *testing.T) {
	w := newWorld(t, boardCrontab)
	path := w.serve()
	c := api.Dial(path)
	defer c.Close()
	states := map[job.ID]job.State{}
	paused := false
	for u, err := range c.Board(patient(t)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range u.Rows {
			states[row.Job] = row.State
		}
		switch {
		case u.Complete && !paused:
			if len(states) != 7 || u.Now.IsZero() {
				t.Fatalf("%d jobs at %s, want 7", len(states), u.Now)
			}
			paused = true
			w.Step(pauseOf("hand"))
		case states["hand"] == job.StatePaused:
			return
		}
	}
	t.Error("the stream ended before the pause came")
}

func TestBoardOfAHistoryThatCannotBeRead(t *testing.T) {
	w := newWorld(t, boardCrontab)
	w.Broken = context.DeadlineExceeded
	var last error
	for _, err := range w.client().Board(patient(t)) {
		last = err
	}
	if last == nil || api.KindOf(last) != api.Internal {
		t.Errorf("got %v, want an internal error", last)
	}
}

// BenchmarkBoard opens a board of 100,000 jobs in 1,000 crontabs that have run
// once each, over a socket: until the first page and until the whole is on the
// client. "first" is the time that the history is asked as well.
func BenchmarkBoard(b *testing.B) {
	w, path := bigWorld(b)
	open := func() (page, whole time.Duration) {
		c := api.Dial(path)
		defer c.Close()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		begin := time.Now()
		rows := 0
		for u, err := range c.Board(ctx) {
			if err != nil {
				b.Fatal(err)
			}
			if rows == 0 {
				page = time.Since(begin)
			}
			if rows += len(u.Rows); u.Complete {
				break
			}
		}
		if rows != w.View().Len() {
			b.Fatalf("%d rows, want %d", rows, w.View().Len())
		}
		return page, time.Since(begin)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	firstPage, firstWhole := open()
	runtime.GC()
	runtime.ReadMemStats(&after)
	var pages, wholes []time.Duration
	for b.Loop() {
		page, whole := open()
		pages, wholes = append(pages, page), append(wholes, whole)
	}
	slices.Sort(pages)
	slices.Sort(wholes)
	b.ReportMetric(milliseconds(firstPage), "ms-first-page")
	b.ReportMetric(milliseconds(firstWhole), "ms-first-whole")
	b.ReportMetric(milliseconds(pages[len(pages)/2]), "ms-page")
	b.ReportMetric(milliseconds(wholes[len(wholes)/2]), "ms-whole")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(w.View().Len()), "B/job")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// bigWorld serves 100,000 jobs whose newest runs are in a real history.
func bigWorld(b *testing.B) (*world, string) {
	w := emptyWorld(b)
	var crontabs []*crontab.File
	for i := range 1000 {
		var text strings.Builder
		for k := range 100 {
			fmt.Fprintf(&text, "%d %d * * * root /usr/local/bin/tenant-sync --tenant %d-%d\n", k%60, i%24, i, k)
		}
		parsed, _ := crontab.Parse(fmt.Sprintf("/etc/cron.d/tenants-%d", i), text.String(), crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
		crontabs = append(crontabs, parsed)
	}
	w.Step(event.Load{Crontabs: crontabs})
	history, err := store.Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { history.Close() })
	v := w.View()
	batch := store.Batch{At: w.Now()}
	for i := range v.Len() {
		id := v.ID(i)
		run := job.Run{
			ID: job.RunID(i + 1), Job: id, User: "root", State: job.RunEnded, Trigger: job.TriggerManual, Attempt: 1, Decided: w.Now(),
			Started: w.Now(), Ended: w.Now().Add(time.Second), Outcome: job.Outcome{Kind: job.Exited, Code: max(0, i%50-48)},
		}
		batch.Records = append(batch.Records, job.Record{At: w.Now(), Kind: job.Ended, Job: id, Run: &run})
	}
	if err := history.Commit(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	return w, w.serveStore(history)
}

// BenchmarkTimeline draws the 50 jobs of a screen, of 100,000 jobs, and the load of all; "new"
// counts the starts again each time.
func BenchmarkTimeline(b *testing.B) {
	w, path := bigWorld(b)
	c := api.Dial(path)
	defer c.Close()
	v := w.View()
	q := api.TimelineQuery{}
	var ids []job.ID
	for i := range 50 {
		ids = append(ids, v.ID(i*1999))
		q.Refs = append(q.Refs, string(v.ID(i*1999)))
	}
	for _, bench := range []struct {
		name string
		ask  func(n int) error
	}{
		{"past", func(int) error { _, err := c.Past(b.Context(), ids, 12); return err }},
		{"line", func(int) error { _, err := c.Timeline(b.Context(), q); return err }},
		{"new", func(n int) error {
			q := q
			q.To = w.Now().Add(12*time.Hour + time.Duration(n)*time.Minute)
			_, err := c.Timeline(b.Context(), q)
			return err
		}},
		{"clashes", func(int) error {
			_, err := c.Clashes(b.Context(), api.ClashQuery{Suggest: "daily"})
			return err
		}},
		{"stats", func(int) error { _, err := c.Stats(b.Context(), api.StatsQuery{}); return err }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n++
				if err := bench.ask(n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
