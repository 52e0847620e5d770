package simulated_test

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/audit"
	"github.com/cronring/cronring/daemon/store/statistics"
)

const dayCrontab = `#@ name=good
*/10 * * * * ann true
#@ name=bad retry=2 backoff=1m..1m retry-jitter=0 on-exhausted=dead
7 * * * * bob true
#@ name=slow overlap=skip
*/5 * * * * ann true
#@ name=queued overlap=queue
*/5 * * * * ann true
#@ name=codes ok=0,3 skip-code=75
3,33 * * * * root true
#@ name=child after=good
10,40 * * * * ann true
#@ name=missed catchup=skip
20 * * * * root true
#@ name=caught catchup=once
25 * * * * root true
#@ name=paused
28 * * * * ann true
#@ name=hours window=08:00-12:00
44 * * * * ann true
#@ name=hand trigger=manual
* * * * * bob true
#@ name=events on=event:ready
* * * * * ann true
`

// day is a simulated day and a real history of the same facts.
type day struct {
	*testing.T
	world   *simulated.World
	history *store.Store
	dir     string
	batch   store.Batch
}

// playDay decides how the runs of the day go.
func playDay(s effect.Start) simulated.Played {
	p := simulated.Played{Took: time.Duration(1+s.Run.ID%50) * time.Second, Outcome: job.Outcome{Kind: job.Exited}}
	p.Usage = job.Usage{CPU: p.Took / 14, Memory: int64(s.Run.ID) << 20, Read: 17, Write: 4}
	p.Output = []simulated.Print{{After: time.Millisecond, Stream: job.Stdout, Text: "begins\n"}, {After: p.Took, Stream: job.Stderr, Text: "ends\n"}}
	switch s.Job.ID {
	case "bad":
		p.Outcome.Code = 1 + s.Run.Due.Hour()%2
	case "slow", "queued":
		p.Took = 17 * time.Minute
	case "codes":
		p.Outcome.Code = []int{0, 3, 75, 4}[s.Run.ID%4]
	case "good":
		if s.Run.ID%5 == 0 {
			p.Outcome = job.Outcome{Kind: job.Signalled, Signal: 9}
		}
	case "hand":
		p.Took = 0
	}
	return p
}

// liveDay lets a day pass in which most things happen that a history can have.
func liveDay(t *testing.T) *day {
	d := &day{T: t, world: simulated.New("2026-11-20T00:00:00Z"), dir: t.TempDir()}
	d.world.Tap(func(facts []job.Record, summaries []job.Summary) {
		d.batch.Records, d.batch.Summaries = append(d.batch.Records, facts...), append(d.batch.Summaries, summaries...)
	})
	d.open()
	t.Cleanup(func() { d.history.Close() })
	d.world.Load(dayCrontab)
	if found := d.world.Diagnostics(); len(found) > 0 {
		t.Fatalf("the crontab has the diagnostics %v", found)
	}
	d.commit()
	d.play("2026-11-20T03:30:30Z")
	d.act(event.Pause{Job: "paused", Hold: job.Hold{By: "ann", Reason: "moving house"}})
	d.act(event.RunNow{Job: "hand", By: "bob", Env: []string{"A=1"}})
	d.act(event.RunNow{Job: "good", By: "root"})
	for range 2 {
		d.act(event.Emit{Name: "ready", User: "ann", By: "ann"})
		d.act(event.Emit{Name: "steady", User: "ann", By: "ann"})
	}
	d.act(event.Ack{Job: "bad", Seen: job.Ack{Run: d.lastOf("bad").ID, By: "bob", Reason: "disk is on its way"}})
	d.play("2026-11-20T06:00:30Z")
	d.act(event.Stop{Job: "hand", By: "bob"})
	letters, _ := d.world.DeadLetters(t.Context(), store.Of{Limit: 10})
	if len(letters) < 3 {
		t.Fatalf("got the dead letters %+v, want three", letters)
	}
	d.act(event.Redrive{Dead: letters[0].Run, By: "bob"})
	d.act(event.Bury{Dead: letters[1].Run, By: "bob"})
	d.act(event.Backfill{Request: job.Backfill{
		Job: "good", By: "ann", From: d.world.Now().Add(-time.Hour), To: d.world.Now(), Overlap: "queue-all", Reprocess: job.ReprocessFailed, MaxActive: 1,
	}})
	d.act(event.Backfill{Request: job.Backfill{
		Job: "bad", By: "bob", From: d.world.Now().Add(-24 * time.Hour), To: d.world.Now(), Overlap: "queue-all", Reprocess: job.ReprocessNone, MaxActive: 1,
	}})
	d.play("2026-11-20T07:00:30Z")
	d.act(event.StopBackfill{ID: 2, By: "bob"})
	d.commit()
	if err := d.history.Close(); err != nil {
		t.Fatal(err)
	}
	d.open()
	d.world.Down("2026-11-20T11:31:00Z")
	d.commit()
	d.play("2026-11-20T14:00:30Z")
	d.act(event.Resume{Job: "paused", By: "ann"})
	d.world.Jump("2026-11-20T15:01:00Z")
	d.play("2026-11-20T23:31:30Z")
	d.act(event.RunNow{Job: "hand", By: "bob"})
	doubled := job.Record{At: d.world.Now(), Kind: job.Doubled, Job: "good", Due: d.lastOf("good").Due, Detail: "ran on db-02 too, as run 7"}
	d.world.AddFacts(doubled)
	d.batch.Records = append(d.batch.Records, doubled)
	d.commit()
	d.keep()
	return d
}

func (d *day) open() {
	var err error
	if d.history, err = store.Open(d.Context(), d.dir); err != nil {
		d.Fatal(err)
	}
}

func (d *day) play(until string) {
	d.world.Play(until, playDay)
	d.commit()
}

// commit writes what happened since the last commit to the history.
func (d *day) commit() {
	d.batch.At = d.world.Now()
	if err := d.history.Commit(d.Context(), d.batch); err != nil {
		d.Fatal(err)
	}
	d.batch = store.Batch{}
}

func (d *day) act(e event.Event) {
	answer, err := d.world.Act(e, playDay)
	if err != nil || answer.Err != nil {
		d.Fatalf("%+v: %+v, %v", e, answer, err)
	}
	d.commit()
}

func (d *day) lastOf(id job.ID) job.Run {
	runs, _ := d.world.Ended(d.Context(), []job.ID{id}, 1)
	return runs[id][0]
}

// keep stores what is not among the facts: output, state and actions.
func (d *day) keep() {
	var b store.Batch
	b.At = d.world.Now()
	for run, chunks := range d.world.Chunks {
		b.Outputs = append(b.Outputs, store.Output{Run: run, Chunks: chunks})
	}
	if err := d.history.Commit(d.Context(), b); err != nil {
		d.Fatal(err)
	}
	uid := uint32(1000)
	for _, s := range []server.Store{d.world, d.history} {
		for i, key := range []string{"b", "a", "gone", "b"} {
			if err := s.SetState(d.Context(), "good", "ann", key, fmt.Append(nil, "value", i), b.At.Add(time.Duration(i))); err != nil {
				d.Fatal(err)
			}
		}
		if ok, err := s.DeleteState(d.Context(), "good", "ann", "gone"); !ok || err != nil {
			d.Errorf("delete a state: %t, %v", ok, err)
		}
		if ok, err := s.DeleteState(d.Context(), "good", "ann", "gone"); ok || err != nil {
			d.Errorf("delete a state again: %t, %v", ok, err)
		}
	}
	var actions []job.Action
	for i, who := range []string{"root", "ann", "bob", "ann"} {
		actions = append(actions, job.Action{
			At: b.At.Add(time.Duration(i) * time.Minute), Who: who, UID: &uid, From: "socket", What: []string{"run", "stop"}[i%2],
			Subject: "good", Owner: "ann", Share: audit.Share(uid),
		})
	}
	d.world.Audit(d.Context(), actions)
	if err := d.history.Record(d.Context(), 100, actions...); err != nil {
		d.Fatal(err)
	}
}

// questions are arguments for the queries.
type questions struct {
	jobs    [][]job.ID
	each    []job.ID
	runs    []job.RunID
	periods [][2]time.Time
	users   []string
	around  time.Time // soon before the daemon went down
}

func (d *day) questions() questions {
	now := d.world.Now()
	at := func(text string) time.Time {
		t, err := time.Parse(time.RFC3339, "2026-11-20T"+text+"Z")
		if err != nil {
			d.Fatal(err)
		}
		return t
	}
	q := questions{around: at("06:00:00"), users: []string{"", "ann", "bob", "nobody"}, periods: [][2]time.Time{
		{{}, now.Add(time.Hour)}, {at("00:00:00"), at("06:00:00")}, {at("05:50:00"), at("12:00:00")}, {at("09:00:00"), at("10:00:00")}, {now.Add(-24 * time.Hour), now},
	}}
	q.each = []job.ID{"good", "bad", "slow", "queued", "codes", "child", "missed", "caught", "paused", "hours", "hand", "events", "unknown"}
	q.jobs = [][]job.ID{q.each, {"bad", "slow", "unknown"}, {}}
	for id := range job.RunID(len(d.world.AllRuns()) + 2) {
		q.runs = append(q.runs, id)
	}
	return q
}

// answers collects what a query of a store returns for several arguments.
type answers struct {
	server.Store
	questions
	t     *testing.T
	ctx   context.Context
	all   []any
	found bool // one is not empty
}

func (a *answers) add(values ...any) {
	for _, v := range values {
		if err, ok := v.(error); ok {
			a.t.Fatal(err)
		}
		switch r := reflect.ValueOf(v); r.Kind() {
		case reflect.Slice, reflect.Map:
			a.found = a.found || r.Len() > 0
		case reflect.Struct, reflect.String:
			a.found = a.found || !r.IsZero()
		}
	}
	a.all = append(a.all, values)
}

// collect returns what a query passes to its function.
func collect[T any](a *answers, query func(f func(T)) error) (all []T) {
	if err := query(func(v T) { all = append(all, v) }); err != nil {
		a.t.Fatal(err)
	}
	return all
}

// pointers is collect for queries that pass pointers.
func pointers[T any](a *answers, query func(f func(*T)) error) []T {
	return collect(a, func(f func(T)) error { return query(func(v *T) { f(*v) }) })
}

func byRun(a, b job.Run) int { return cmp.Compare(a.ID, b.ID) }

func bySkip(a, b job.Record) int {
	return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Job, b.Job), a.Due.Compare(b.Due))
}

// sample is a statistics.Sample with the name of its job.
type sample struct {
	statistics.Sample
	Job  job.ID
	Kind statistics.SampleKind
}

// queries call each query of a history with many arguments. Results that have no order are sorted.
var queries = map[string]func(a *answers){
	"Run": func(a *answers) {
		for _, id := range a.runs {
			r, ok, err := a.Run(a.ctx, id)
			a.add(r, ok, err)
		}
	},
	"Runs": func(a *answers) {
		filters := []store.Filter{
			{}, {Limit: 7}, {FailedOnly: true, Limit: 1000}, {Skipped: true, Limit: 1000}, {Trigger: job.TriggerManual}, {Before: 50, Limit: 20},
			{Bulk: 1},
		}
		for _, jobs := range a.jobs {
			filters = append(filters, store.Filter{Jobs: jobs, Limit: 1000})
		}
		for _, p := range a.periods {
			filters = append(filters, store.Filter{Since: p[0], Until: p[1], Limit: 1000})
		}
		for _, f := range filters {
			runs, err := a.Runs(a.ctx, f)
			a.add(runs, err)
		}
	},
	"Numbered": func(a *answers) {
		runs := collect(a, func(f func(job.Run)) error { return a.Numbered(a.ctx, []job.RunID{1, 5, 70, 9999}, f) })
		slices.SortFunc(runs, byRun)
		a.add(runs)
	},
	"Recent": func(a *answers) {
		for _, jobs := range a.jobs {
			runs, err := a.Recent(a.ctx, jobs, 5)
			a.add(runs, err)
		}
	},
	"Ended": func(a *answers) {
		for _, jobs := range a.jobs {
			runs, err := a.Ended(a.ctx, jobs, 5)
			a.add(runs, err)
		}
	},
	"Last": func(a *answers) {
		runs := collect(a, func(f func(job.Run)) error { return a.Last(a.ctx, f) })
		slices.SortFunc(runs, byRun)
		a.add(runs)
	},
	"LastOf": func(a *answers) {
		for _, jobs := range a.jobs {
			runs := collect(a, func(f func(job.Run)) error { return a.LastOf(a.ctx, jobs, f) })
			slices.SortFunc(runs, byRun)
			a.add(runs)
		}
	},
	"LastBy": func(a *answers) {
		for _, user := range a.users {
			a.add(collect(a, func(f func(job.Run)) error { return a.LastBy(a.ctx, "bad", user, f) }))
		}
	},
	"Streaks": func(a *answers) {
		streaks := collect(a, func(f func(job.Summary)) error { return a.Streaks(a.ctx, f) })
		slices.SortFunc(streaks, func(a, b job.Summary) int { return cmp.Compare(a.Job, b.Job) })
		a.add(streaks)
	},
	"Newest": func(a *answers) {
		for _, jobs := range a.jobs {
			runs := pointers(a, func(f func(*job.Run)) error { return a.Newest(a.ctx, jobs, 9, f) })
			slices.SortFunc(runs, byRun)
			a.add(runs)
		}
	},
	"Between": func(a *answers) {
		for _, p := range a.periods {
			for _, n := range []int{3, 1000} {
				a.add(pointers(a, func(f func(*job.Run)) error { return a.Between(a.ctx, a.jobs[1], p[0], p[1], n, f) }))
			}
		}
	},
	"LastBefore": func(a *answers) {
		for _, p := range a.periods {
			runs := pointers(a, func(f func(*job.Run)) error { return a.LastBefore(a.ctx, a.each, p[1], f) })
			slices.SortFunc(runs, byRun)
			a.add(runs)
		}
	},
	"Starts": func(a *answers) {
		for _, p := range a.periods[1:] {
			for _, user := range a.users {
				starts, err := a.Starts(a.ctx, user, p[0], p[1], 7)
				a.add(starts, err)
			}
		}
	},
	"Skips": func(a *answers) {
		for _, p := range a.periods {
			for _, n := range []int{2, 1000} {
				skips := collect(a, func(f func(job.Record)) error { return a.Skips(a.ctx, a.each, p[0], p[1], n, f) })
				slices.SortFunc(skips, bySkip)
				a.add(skips)
			}
		}
	},
	"SkipsBetween": func(a *answers) {
		for _, p := range a.periods {
			skips := collect(a, func(f func(job.Record)) error { return a.SkipsBetween(a.ctx, p[0], p[1], 1000, f) })
			slices.SortFunc(skips, bySkip)
			a.add(skips)
			for _, r := range collect(a, func(f func(job.Record)) error { return a.SkipsBetween(a.ctx, p[0], p[1], 9, f) }) {
				a.add(r.At)
			}
		}
	},
	"JobNumbers": func(a *answers) {
		names, err := a.JobNumbers(a.ctx)
		slices.Sort(names)
		a.add(names, err)
	},
	"Samples": func(a *answers) {
		names, _ := a.JobNumbers(a.ctx)
		for _, p := range a.periods {
			for _, jobs := range [][]job.ID{nil, a.jobs[1]} {
				for _, n := range []int{3, 1000} {
					a.add(collect(a, func(f func(sample)) error {
						return a.Samples(a.ctx, jobs, p[0], p[1], n, func(r *statistics.Sample) {
							one := sample{*r, names[r.Number], *r.Kind}
							one.Number, one.Sample.Kind = 0, nil
							f(one)
						})
					}))
				}
			}
		}
	},
	"SkipSamples": func(a *answers) {
		names, _ := a.JobNumbers(a.ctx)
		for _, p := range a.periods {
			skips := collect(a, func(f func(job.Record)) error {
				return a.SkipSamples(a.ctx, p[0], p[1], func(r *statistics.SkipSample) {
					f(job.Record{Job: names[r.Number], Due: time.Unix(0, r.Due), At: time.Unix(0, r.At), Count: r.Count})
				})
			})
			slices.SortFunc(skips, bySkip)
			a.add(skips)
		}
	},
	"SkipsFrom": func(a *answers) {
		for _, p := range a.periods {
			for _, n := range []int{0, 10, 1000} {
				from, err := a.SkipsFrom(a.ctx, p[0], p[1], n)
				a.add(from, err)
			}
		}
	},
	"Decisions": func(a *answers) {
		for _, id := range a.each {
			for _, p := range a.periods {
				for _, n := range []int{4, 1000} {
					decisions, err := a.Decisions(a.ctx, id, p[0], p[1], n)
					a.add(decisions, err)
				}
			}
		}
	},
	"DecisionAt": func(a *answers) {
		for _, id := range a.each {
			for due := a.around; due.Before(a.around.Add(2 * time.Hour)); due = due.Add(time.Minute) {
				r, ok, err := a.DecisionAt(a.ctx, id, due)
				a.add(r, ok, err)
			}
		}
	},
	"Records": func(a *answers) {
		for _, p := range a.periods {
			for _, n := range []int{2, 1000} {
				records, err := a.Records(a.ctx, p[0], p[1], n)
				a.add(records, err)
			}
		}
	},
	"Doubles": func(a *answers) {
		for _, p := range a.periods {
			if err := a.Doubles(a.ctx, p[0], func(id job.ID, due time.Time, where job.Detail) { a.add(id, due, where) }); err != nil {
				a.add(err)
			}
		}
	},
	"Output": func(a *answers) {
		for _, id := range a.runs {
			chunks, err := a.Output(a.ctx, id)
			a.add(chunks, err)
		}
	},
	"Lives": func(a *answers) {
		for _, p := range a.periods {
			lives, err := a.Lives(a.ctx, p[0], p[1])
			a.add(lives, err)
		}
	},
	"State": func(a *answers) {
		for _, key := range []string{"a", "b", "gone"} {
			value, ok, err := a.State(a.ctx, "good", "ann", key)
			a.add(value, ok, err)
		}
	},
	"States": func(a *answers) {
		for _, user := range a.users {
			states, err := a.States(a.ctx, "good", user)
			a.add(states, err)
		}
	},
	"Emissions": func(a *answers) {
		for _, user := range a.users {
			events, err := a.Emissions(a.ctx, user)
			a.add(events, err)
		}
	},
	"DeadLetters": func(a *answers) {
		for _, of := range []store.Of{{}, {Limit: 3}, {User: "bob"}, {User: "ann"}, {Jobs: a.jobs[1]}, {Jobs: a.jobs[2]}} {
			letters, err := a.DeadLetters(a.ctx, of)
			a.add(letters, err)
		}
	},
	"DeadLetter": func(a *answers) {
		for _, id := range a.runs {
			letter, ok, err := a.DeadLetter(a.ctx, id)
			a.add(letter, ok, err)
		}
	},
	"Failures": func(a *answers) {
		for _, p := range a.periods[1:] {
			for _, of := range []statistics.FailuresOf{
				{Runs: 1000, Groups: 1000}, {Runs: 5, Groups: 1000}, {Runs: 1000, Groups: 2}, {User: "bob", Runs: 1000, Groups: 1000},
				{Sees: func(id job.ID, user string) bool { return id == "good" && user == "ann" }, Runs: 1000, Groups: 1000},
			} {
				of.From, of.To, of.Parts = p[0], p[1], 5
				var runs int
				var older bool
				groups := pointers(a, func(f func(*statistics.Failures)) (err error) {
					runs, older, err = a.Failures(a.ctx, of, f)
					return err
				})
				slices.SortFunc(groups, func(a, b statistics.Failures) int {
					return cmp.Or(byRun(a.Newest, b.Newest), cmp.Compare(a.Part, b.Part))
				})
				a.add(groups, runs, older)
			}
		}
	},
	"Totals": func(a *answers) {
		for _, p := range a.periods {
			totals, err := a.Totals(a.ctx, p[0])
			a.add(totals, err)
		}
	},
	"Backfills": func(a *answers) {
		for _, of := range []store.Of{{}, {Limit: 1}, {User: "bob"}, {Jobs: a.jobs[1]}} {
			found, err := a.Backfills(a.ctx, of)
			a.add(found, err)
		}
	},
	"Ran": func(a *answers) {
		for _, id := range a.each {
			for _, p := range a.periods {
				ran, err := a.Ran(a.ctx, id, "ann", p[0], p[1])
				a.add(ran, err)
			}
		}
	},
	"Actions": func(a *answers) {
		for _, f := range []audit.Filter{
			{}, {Limit: 1}, {What: "stop"}, {User: "ann", UID: 1000}, {User: "bob", UID: 1000}, {User: "bob", UID: 1}, {Before: 3},
			{Jobs: []job.ID{"good"}}, {Jobs: []job.ID{"bad"}}, {Since: a.periods[4][1].Add(time.Minute)}, {Until: a.periods[4][1].Add(time.Minute)},
		} {
			found, err := a.Actions(a.ctx, f)
			a.add(found, err)
		}
	},
}

// notQueries change the history, which the test of the queries does as well, or are about its file.
var notQueries = []string{"SetState", "DeleteState", "Sizes", "Bytes", "Check", "Backup"}

// The simulated store answers each query as the real one does.
func TestQueriesAnswerAsThoseOfTheHistory(t *testing.T) {
	d := liveDay(t)
	q := d.questions()
	for m := range reflect.TypeFor[server.Store]().Methods() {
		query, ok := queries[m.Name]
		switch {
		case slices.Contains(notQueries, m.Name):
			continue
		case !ok:
			t.Errorf("%s is not compared: add it to queries", m.Name)
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			ask := func(s server.Store) *answers {
				a := &answers{Store: s, questions: q, t: t, ctx: t.Context()}
				query(a)
				return a
			}
			want, got := ask(d.history), ask(d.world)
			if len(want.all) != len(got.all) || !want.found {
				t.Fatalf("got %d answers, want %d, of which one is not empty: %t", len(got.all), len(want.all), want.found)
			}
			for i := range want.all {
				if diff := gocmp.Diff(want.all[i], got.all[i], cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("answer %d differs (-history +simulated):\n%s", i, diff)
				}
			}
		})
	}
}
