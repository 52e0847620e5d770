package main

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/prune"
)

// BenchmarkLongHistory measures a host with 10,000 jobs and 10 million runs in its history
// (100,000 with -short): the time until the daemon is ready (goal: 1 s), compared with an empty
// history; its slowest answer, the faster of two for each request (goal: 0.3 s); and the longest
// step of pruning (goal: 50 ms). On a busy machine compare the processor time of the daemon and of
// the client, which work at the same time.
func BenchmarkLongHistory(b *testing.B) {
	h := longHistory{runs: 10_000_000, jobs: 10_000, others: 2003}
	if testing.Short() {
		h.runs = 100_000
	}
	program, file, dir := buildDaemon(b), h.crontab(b), b.TempDir()
	h.write(b, dir)
	for b.Loop() {
		h.measure(b, program, file, dir)
	}
}

func (h longHistory) measure(b *testing.B, program, file, dir string) {
	begun := time.Now()
	cmd, loaded := startDaemon(b, program, b.TempDir(), file)
	<-loaded
	b.ReportMetric(milliseconds(time.Since(begun)), "ms-ready-without-history")
	stopDaemon(b, cmd)
	begun = time.Now()
	cmd, loaded = startDaemon(b, program, dir, file)
	<-loaded
	b.ReportMetric(milliseconds(time.Since(begun)), "ms-ready")
	b.ReportMetric(milliseconds(processorOf(b, cmd.Process.Pid)), "cpu-ms-ready")
	client := api.Dial(filepath.Join(dir, "cronring.sock"))
	var slowest, costliest time.Duration
	var lines strings.Builder // b.Log would keep only ten
	for _, q := range h.questions() {
		took, daemon, own := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
		for range 2 {
			begun, daemonBegun, ownBegun := time.Now(), processorOf(b, cmd.Process.Pid), processorOf(b, os.Getpid())
			if err := q.ask(b.Context(), client); err != nil {
				b.Fatalf("%s: %v", q.name, err)
			}
			took = min(took, time.Since(begun))
			daemon, own = min(daemon, processorOf(b, cmd.Process.Pid)-daemonBegun), min(own, processorOf(b, os.Getpid())-ownBegun)
		}
		fmt.Fprintf(&lines, "%8.1f ms, processor of the daemon %6.1f ms, of the client %6.1f ms: %s\n",
			milliseconds(took), milliseconds(daemon), milliseconds(own), q.name)
		slowest, costliest = max(slowest, took), max(costliest, daemon)
	}
	fmt.Print(lines.String())
	client.Close()
	stopDaemon(b, cmd)
	b.ReportMetric(milliseconds(slowest), "ms-slowest-answer")
	b.ReportMetric(milliseconds(costliest), "cpu-ms-costliest-answer")
	b.ReportMetric(milliseconds(h.prune(b, dir)), "ms-longest-step-of-pruning")
}

// processorOf returns the processor time of a process.
func processorOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	const cpuClock = 2 // of a process: see clock_getcpuclockid(3)
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuClock), &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// prune removes a little of everything, for a minute at most, and returns how long
// the longest step took.
func (h longHistory) prune(b *testing.B, dir string) time.Duration {
	s, err := store.Open(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	perJob := h.runs / (h.jobs + h.others)
	done, err := s.Prune(ctx, time.Now(), prune.Policy{
		Age: 89*24*time.Hour - time.Minute, PerJob: perJob, DeadLetters: 10_000, Bytes: 1 << 20, Rows: perJob * h.others / 20,
	})
	if err != nil && ctx.Err() == nil {
		b.Fatal(err)
	}
	b.Logf("pruned: %+v, %v", done, err)
	return done.Longest
}

// longHistory is a generated history: of jobs that are installed, and of others
// that users had before.
type longHistory struct {
	runs, jobs, others int
}

// write generates the history in a state directory. The newest run is a minute
// old, the oldest 89 days. Of 20 runs one failed, of ten occurrences one was
// skipped, of four runs one printed something, and of 1,000 one was started by
// hand.
func (h longHistory) write(b *testing.B, dir string) {
	b.Helper()
	s, err := store.Open(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "cronring.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(text string, args ...any) {
		b.Helper()
		if _, err := db.ExecContext(b.Context(), text, args...); err != nil {
			b.Fatalf("%s: %v", text, err)
		}
	}
	for _, pragma := range []string{"journal_mode=off", "synchronous=off", "cache_size=-300000"} {
		exec("PRAGMA " + pragma)
	}
	var names, texts []string
	rows, err := db.QueryContext(b.Context(), "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('run', 'occurrence', 'output')")
	if err != nil {
		b.Fatal(err)
	}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			b.Fatal(err)
		}
		names, texts = append(names, name), append(texts, text)
	}
	if err := rows.Close(); err != nil {
		b.Fatal(err)
	}
	for _, name := range names { // an index over finished rows is written faster
		exec("DROP INDEX " + name)
	}
	newest := time.Now().Add(-time.Minute).UnixNano()
	step := int64(89*24*time.Hour) / int64(h.runs)
	all := h.jobs + h.others
	const numbers = " (WITH RECURSIVE series (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM series WHERE value < ?1) SELECT value FROM series)"
	exec(`INSERT INTO job (id, due, era) SELECT CASE WHEN value <= ?2 THEN printf('job-%05d', value)
		ELSE printf('user%d/job-%05d', value % 20, value) END, ?3, 0 FROM`+numbers, all, h.jobs, newest)
	exec(`INSERT INTO run (id, job, due, era, attempt, trigger, by, invocation, state, reason, decided, started, ended, pid, user,
			outcome, code, signal, error, verdict, cpu, memory)
		SELECT value, job, due, 0, 1, CASE WHEN value % 1000 = 0 THEN 'manual' ELSE 'clock' END, '', printf('%032x', value), 'ended', 'on-time',
			due + 1000000, due + 3000000, due + 3000000 + 1000000 * (value % 9000), 1000 + value % 30000,
			CASE WHEN job <= ?2 THEN 'root' ELSE printf('user%d', job % 20) END,
			'exited', value % 20 = 0, 0, '', CASE WHEN value % 20 = 0 THEN 'fail' ELSE 'ok' END, 1000000 * (value % 500), 4096 * (value % 5000)
		FROM (SELECT value, 1 + value % ?3 AS job, ?4 - (?1 - value) * ?5 AS due FROM`+numbers+`)`, h.runs, h.jobs, all, newest, step)
	exec(`INSERT INTO occurrence (due, job, era, count, at, decision, reason, detail, run)
		SELECT due, job, 0, 0, decided, 'run', 'on-time', '', id FROM run WHERE trigger = 'clock'`)
	exec(`INSERT INTO occurrence (due, job, era, count, at, decision, reason, detail, user)
		SELECT due + 500000, job, 0, 0, decided + 500000, 'skip', 'overlapping', '', user FROM run WHERE id % 10 = 0`)
	exec(`INSERT INTO output (run, stream, at, cut, data) SELECT id, 'stdout', started, 0, CAST('checked 17 files' AS BLOB) FROM run WHERE id % 4 = 0`)
	for _, text := range texts {
		exec(text)
	}
	exec(`INSERT INTO ledger (job, user, verdict, run, due, ended, success, bad, told)
		SELECT job, user, verdict, id, due, ended, CASE WHEN verdict = 'ok' THEN ended END, verdict <> 'ok', verdict <> 'ok' FROM run WHERE id > ? - ?`, h.runs, all)
	exec("PRAGMA optimize")
	s, err = store.Open(b.Context(), dir) // a daemon prepares statistics when some thousand runs are over
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Prune(b.Context(), time.Now(), prune.Policy{}); err != nil {
		b.Fatal(err)
	}
}

// crontabFile writes the jobs of the history that are installed. They are due once a
// day each, spread over the day.
func (h longHistory) crontab(b *testing.B) string {
	var text strings.Builder
	for n := range h.jobs {
		fmt.Fprintf(&text, "#@ name=job-%05d\n%d %d * * * :\n", n+1, n%60, n/60%24)
	}
	return crontabFile(b, text.String())
}

// question is a request of a command or of the dashboard.
type question struct {
	name string
	ask  func(context.Context, *api.Client) error
}

func ask[T any](name string, f func(context.Context, *api.Client) (T, error)) question {
	return question{name, func(ctx context.Context, c *api.Client) error {
		_, err := f(ctx, c)
		return err
	}}
}

// questions are the requests of commands and the dashboard that read the history,
// except sums of weeks: those of db size, and of a long time line.
func (h longHistory) questions() []question {
	const one = "job-00017"
	day, now := time.Now().Add(-24*time.Hour), time.Now()
	var shown []job.ID // on one page of the dashboard
	for n := range api.MaxPast {
		shown = append(shown, job.ID(fmt.Sprintf("job-%05d", n+1)))
	}
	history := func(name string, f api.Filter) question {
		return ask("history "+name, func(ctx context.Context, c *api.Client) (api.Runs, error) { return c.History(ctx, f) })
	}
	return []question{
		ask("status", func(ctx context.Context, c *api.Client) (api.Status, error) { return c.Status(ctx) }),
		ask("list", func(ctx context.Context, c *api.Client) ([]job.Status, error) { return c.List(ctx, api.Query{}) }),
		ask("list failing", func(ctx context.Context, c *api.Client) ([]job.Status, error) {
			return c.List(ctx, api.Query{States: []job.State{job.StateFailing}})
		}),
		ask("show", func(ctx context.Context, c *api.Client) (api.Job, error) { return c.Show(ctx, one) }),
		ask("timeline", func(ctx context.Context, c *api.Client) (api.Timeline, error) {
			return c.Timeline(ctx, api.TimelineQuery{})
		}),
		ask("timeline of a page", func(ctx context.Context, c *api.Client) (api.Timeline, error) {
			return c.Timeline(ctx, api.TimelineQuery{Refs: []string{"job-000*"}})
		}),
		history("", api.Filter{}),
		history("of a job", api.Filter{Refs: []string{one}}),
		history("failed", api.Filter{Failed: true}),
		history("failed of a job", api.Filter{Refs: []string{one}, Failed: true}),
		history("manual", api.Filter{Trigger: job.TriggerManual}),
		history("manual of a job", api.Filter{Refs: []string{one}, Trigger: job.TriggerManual}),
		history("boot", api.Filter{Trigger: job.TriggerBoot}),
		history("live", api.Filter{Live: true}),
		history("skipped", api.Filter{Skipped: true}),
		history("skipped of a job", api.Filter{Refs: []string{one}, Skipped: true}),
		history("since yesterday", api.Filter{Since: day}),
		history("until yesterday", api.Filter{Until: day}),
		history("failed until yesterday", api.Filter{Failed: true, Until: day}),
		history("of a job until a month ago", api.Filter{Refs: []string{one}, Until: now.Add(-30 * 24 * time.Hour)}),
		ask("failures", func(ctx context.Context, c *api.Client) (api.Failures, error) { return c.Failures(ctx, time.Time{}) }),
		ask("failures of a year", func(ctx context.Context, c *api.Client) (api.Failures, error) {
			return c.Failures(ctx, now.Add(-365*24*time.Hour))
		}),
		ask("why", func(ctx context.Context, c *api.Client) (api.Why, error) { return c.Why(ctx, one, time.Time{}) }),
		ask("why yesterday", func(ctx context.Context, c *api.Client) (api.Why, error) { return c.Why(ctx, one, day) }),
		ask("past", func(ctx context.Context, c *api.Client) ([]api.JobPast, error) { return c.Past(ctx, shown, 0) }),
		{"board", func(ctx context.Context, c *api.Client) error {
			for u, err := range c.Board(ctx) {
				if err != nil || u.Complete {
					return err
				}
			}
			return nil
		}},
		ask("run", func(ctx context.Context, c *api.Client) (job.Run, error) { return c.OneRun(ctx, one+"@last") }),
		ask("dead", func(ctx context.Context, c *api.Client) ([]api.DeadLetter, error) {
			return c.Dead(ctx, api.DeadLetterQuery{})
		}),
		ask("graph", func(ctx context.Context, c *api.Client) (api.Graph, error) { return c.Graph(ctx, api.Query{}, false) }),
		ask("next", func(ctx context.Context, c *api.Client) (api.Coming, error) { return c.Coming(ctx, api.ComingQuery{}) }),
		ask("explain", func(ctx context.Context, c *api.Client) (api.Explanation, error) {
			return c.Explain(ctx, one, time.Time{})
		}),
		ask("clashes", func(ctx context.Context, c *api.Client) (api.Clashes, error) { return c.Clashes(ctx, api.ClashQuery{}) }),
		ask("stats of a job", func(ctx context.Context, c *api.Client) (api.Stats, error) {
			return c.Stats(ctx, api.StatsQuery{Refs: []string{one}})
		}),
		ask("stats", func(ctx context.Context, c *api.Client) (api.Stats, error) { return c.Stats(ctx, api.StatsQuery{}) }),
		ask("stats of hours", func(ctx context.Context, c *api.Client) (api.Stats, error) {
			return c.Stats(ctx, api.StatsQuery{By: "hour"})
		}),
		ask("metrics", func(ctx context.Context, c *api.Client) ([]byte, error) { return c.Metrics(ctx, api.MetricsQuery{}) }),
		ask("metrics of jobs", func(ctx context.Context, c *api.Client) ([]byte, error) {
			return c.Metrics(ctx, api.MetricsQuery{Jobs: true})
		}),
	}
}
