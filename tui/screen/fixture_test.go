package screen

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/safe"
)

var update = flag.Bool("update", false, "write the golden screens of testdata/tui anew")

// sizes are those that every screen is drawn at.
var sizes = []struct{ width, height int }{{40, 15}, {80, 24}, {120, 40}, {160, 48}}

// checkScreens compares what draw shows with testdata/tui/NAME.txtar at every
// size and tier: the text, which colours say nothing beyond, the roles of its
// cells, and the text in ASCII. Each line must be as wide as the screen.
func checkScreens(t *testing.T, name string, draw func(v canvas.View, w *World)) {
	t.Helper()
	var got txtar.Archive
	for _, size := range sizes {
		for _, tier := range []canvas.Tier{canvas.Full, canvas.ASCII} {
			w := newWorld(t)
			w.Glyphs = canvas.GlyphsOf(tier)
			c := canvas.New(size.width, size.height)
			draw(c.View(), w)
			title := fmt.Sprintf("%dx%d", size.width, size.height)
			checkWidths(t, name+" "+title, c.Text(), size.width)
			if tier == canvas.ASCII {
				title += " ascii"
				checkASCII(t, name+" "+title, c.Text())
			}
			got.Files = append(got.Files, txtar.File{Name: title, Data: []byte(ends(c.Text()))})
			if tier == canvas.Full {
				got.Files = append(got.Files, txtar.File{Name: title + " roles", Data: []byte(ends(c.Mask()))})
			}
		}
	}
	compareGolden(t, name, txtar.Format(&got))
}

// ends marks the end of each line, so that blanks there are seen in a diff.
func ends(text string) string { return strings.ReplaceAll(text, "\n", "|\n") }

func checkWidths(t *testing.T, name, text string, want int) {
	t.Helper()
	for y, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if got := safe.Width(line); got != want {
			t.Errorf("%s: line %d is %d cells wide, want %d: %q", name, y+1, got, want, line)
		}
	}
}

func checkASCII(t *testing.T, name, text string) {
	t.Helper()
	for i, r := range text {
		if r > '~' {
			t.Errorf("%s: %q at byte %d is not ASCII", name, r, i)
			return
		}
	}
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "..", "testdata", "tui", name+".txtar")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./tui/screen -update writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s differs (-want +got; go test ./tui/screen -update writes it anew):\n%s", path, diff)
	}
}

// now is Friday, 20 November 2026, 18:02:11 in Berlin.
var now = time.Date(2026, 11, 20, 17, 2, 11, 0, time.UTC)

var (
	_ Daemon = (*api.Client)(nil)
	_ Daemon = (*fakeDaemon)(nil)
)

// newWorld is a world with the jobs of one host.
func newWorld(t *testing.T) *World {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w := &World{
		Now: now, Board: board.New(), Keys: keys.Default(), Glyphs: canvas.GlyphsOf(canvas.Full), Local: berlin,
		Link: Link{Live: true, Tried: true, Socket: "/run/cronring/cronring.sock"},
		Status: api.Status{
			Health: api.Health{V: api.Version, Version: "1.4.2", Host: "db-01", Zone: "Europe/Berlin", Started: now.AddDate(0, 0, -17)},
			Now:    now, Loaded: 16, Jobs: 16, Tables: 9,
			Next: &api.Upcoming{Job: "mail-flush", At: now.Add(49 * time.Second)},
			Day:  &api.Totals{Runs: 8912, OK: 8841, Failed: 71, Skipped: 4, LagP99: 6 * time.Millisecond},
		},
	}
	w.Board.Apply(api.BoardUpdate{Now: now, Rows: fixtureRows(), Complete: true})
	return w
}

// fixtureRows are jobs in every state.
func fixtureRows() []api.Row {
	at := func(ago string) time.Time {
		d, err := time.ParseDuration(ago)
		if err != nil {
			panic(err)
		}
		return now.Add(-d)
	}
	in := func(d string) time.Time { return at("-" + d) }
	row := func(state job.State, name, schedule, user, table string, line int, next, last time.Time, took time.Duration) api.Row {
		r := api.Row{
			Job: job.ID(name), User: user, Table: table, Line: line, Schedule: schedule, Zone: "Europe/Berlin",
			Command: "/opt/" + name + "/run --all", State: state, Next: next, Last: last, Took: took,
		}
		if !last.IsZero() {
			r.LastRun = 4000 + job.RunID(line)
		}
		return r
	}
	rows := []api.Row{
		row(job.StateFailing, "etl-orders", "*/5 * * * *", "etl", "/etc/cron.d/etl", 14, in("2m49s"), at("2m11s"), 12400*time.Millisecond),
		row(job.StateFailing, "certbot-renew", "17 3 * * *", "root", "/etc/cron.d/letsencrypt", 3, in("9h14m49s"), at("14h45m11s"), 3100*time.Millisecond),
		row(job.StateFailing, "geoip-update", "0 4 * * 3", "root", "/etc/cron.d/geoip", 2, in("105h57m49s"), at("62h2m11s"), 30*time.Second),
		row(job.StateLate, "invoice-export", "0 18 * * 1-5", "billing", "/var/spool/cron/crontabs/billing", 1, at("2m11s"), at("24h2m11s"), 0),
		row(job.StateRunning, "cache-warm", "*/10 * * * *", "www", "/var/spool/cron/crontabs/www", 2, in("7m49s"), at("10m11s"), 14*time.Second),
		row(job.StateRunning, "zfs-scrub", "0 6 * * 5", "root", "/etc/cron.d/zfsutils", 6, in("155h57m49s"), at("156h2m11s"), 13*time.Hour),
		row(job.StateHeld, "report-daily", "0 7 * * *", "rep", "/var/spool/cron/crontabs/rep", 1, in("60h57m49s"), at("11h2m11s"), 41*time.Second),
		row(job.StateOK, "apt-daily", "H 6 * * *", "root", "/etc/cron.d/apt", 2, in("12h31m"), at("11h29m"), 22*time.Second),
		row(job.StateOK, "db-vacuum", "15 1 * * 0", "postgres", "/var/spool/cron/crontabs/postgres", 1, in("31h12m49s"), at("136h47m"), 192*time.Second),
		row(job.StateOK, "logrotate", "25 6 * * *", "root", "/etc/cron.d/logrotate", 1, in("12h22m49s"), at("11h37m11s"), 800*time.Millisecond),
		row(job.StateOK, "mail-flush", "* * * * *", "mail", "/var/spool/cron/crontabs/mail", 1, in("49s"), at("11s"), 200*time.Millisecond),
		row(job.StateOK, "metrics-push", "*/2 * * * *", "www", "/var/spool/cron/crontabs/www", 3, in("1m49s"), at("11s"), 400*time.Millisecond),
		row(job.StateOK, "ntp-check", "@hourly", "root", "/var/spool/cron/crontabs/root", 1, in("57m49s"), at("2m11s"), 100*time.Millisecond),
		row(job.StateOK, "pg-backup", "30 2 * * *", "postgres", "/var/spool/cron/crontabs/postgres", 2, in("8h27m49s"), at("15h32m11s"), 62*time.Second),
		row(job.StateOK, "sitemap", "5 */4 * * *", "www", "/var/spool/cron/crontabs/www", 5, in("2h2m49s"), at("1h57m11s"), 9700*time.Millisecond),
		row(job.StateNew, "tmp-clean", "0 5 * * *", "root", "/var/spool/cron/crontabs/root", 2, in("10h57m49s"), time.Time{}, 0),
	}
	rows[0].Ending, rows[0].Streak, rows[0].LastRun, rows[0].Command = "exit 1", 2, 4213, "/opt/etl/run orders --since auto"
	rows[1].Ending, rows[1].Streak = "exit 1", 3
	rows[2].Ending, rows[2].Streak = "timed out", 1
	rows[3].Why = `"max 2 running for user billing": 2 run`
	rows[4].Began, rows[4].Live = at("11s"), 1
	rows[5].Began, rows[5].Live = at("12h2m11s"), 1
	rows[6].HeldUntil, rows[6].Why = in("60h57m49s"), "paused by ann: until the auditors are gone"
	rows[13].Protected = true
	return rows
}

// fakeDaemon answers with what a test has put into it, and counts nothing: what
// is missing is an error.
type fakeDaemon struct {
	show    func(ref string) (api.Job, error)
	why     func(ref string, at time.Time) (api.Why, error)
	history func(f api.Filter) (api.Runs, error)
	oneRun  func(ref string) (job.Run, error)
	output  func(run string) []api.Event
	past    func(jobs []job.ID, n int) ([]api.JobPast, error)
	line    func(q api.TimelineQuery) (api.Timeline, error)
	config  func(ref string) (api.JobConfig, error)
	clashes func(q api.ClashQuery) (api.Clashes, error)
	planned int      // how many occurrences a backfill has
	asked   []string // what was changed: "run etl-orders"

	tables    func() ([]api.Table, error)
	table     func(file, user string) (api.TableText, error)
	install   func(r api.TableRequest) (api.Installed, error)
	revisions func(q api.RevisionQuery) ([]api.Revision, error)
	revision  func(id int64) (api.Revision, error)
	list      func(q api.Query) ([]job.Status, error)
	ring      func() api.Ring // nil: the host is in none
}

var errNotFaked = errors.New("the test's daemon does not know this")

func (d *fakeDaemon) Status(context.Context) (api.Status, error) { return api.Status{}, errNotFaked }

func (d *fakeDaemon) Ring(context.Context) (api.Ring, error) {
	if d.ring == nil {
		return api.Ring{Members: []api.Member{}}, nil
	}
	return d.ring(), nil
}

func (d *fakeDaemon) Show(_ context.Context, ref string) (api.Job, error) {
	if d.show == nil {
		return api.Job{}, errNotFaked
	}
	return d.show(ref)
}

func (d *fakeDaemon) Why(_ context.Context, ref string, at time.Time) (api.Why, error) {
	if d.why == nil {
		return api.Why{}, errNotFaked
	}
	return d.why(ref, at)
}

func (d *fakeDaemon) History(_ context.Context, f api.Filter) (api.Runs, error) {
	if d.history == nil {
		return api.Runs{}, errNotFaked
	}
	return d.history(f)
}

func (d *fakeDaemon) OneRun(_ context.Context, ref string) (job.Run, error) {
	if d.oneRun == nil {
		return job.Run{}, errNotFaked
	}
	return d.oneRun(ref)
}

func (d *fakeDaemon) Output(_ context.Context, run string, _ bool) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		if d.output == nil {
			yield(api.Event{}, errNotFaked)
			return
		}
		for _, e := range d.output(run) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (d *fakeDaemon) Run(_ context.Context, r api.RunRequest) ([]job.Run, error) {
	d.note("run", r.Refs...)
	return []job.Run{{ID: 4231, Job: job.ID(r.Refs[0])}}, nil
}

func (d *fakeDaemon) Stop(_ context.Context, r api.StopRequest) ([]job.Run, error) {
	d.note("stop", r.Refs...)
	return nil, nil
}

func (d *fakeDaemon) Pause(_ context.Context, r api.PauseRequest) ([]job.ID, error) {
	d.note("pause", r.Refs...)
	return nil, nil
}

func (d *fakeDaemon) Resume(_ context.Context, r api.ResumeRequest) ([]job.ID, error) {
	d.note("resume", r.Refs...)
	return nil, nil
}

func (d *fakeDaemon) Reload(context.Context) ([]api.Diagnostic, error) {
	d.note("reload")
	return nil, nil
}

func (d *fakeDaemon) Past(_ context.Context, jobs []job.ID, n int) ([]api.JobPast, error) {
	if d.past == nil {
		return nil, errNotFaked
	}
	return d.past(jobs, n)
}

func (d *fakeDaemon) Timeline(_ context.Context, q api.TimelineQuery) (api.Timeline, error) {
	if d.line == nil {
		return api.Timeline{}, errNotFaked
	}
	return d.line(q)
}

func (d *fakeDaemon) Clashes(_ context.Context, q api.ClashQuery) (api.Clashes, error) {
	if d.clashes == nil {
		return api.Clashes{}, errNotFaked
	}
	return d.clashes(q)
}

func (d *fakeDaemon) Backfill(_ context.Context, r api.BackfillRequest) (api.Backfill, error) {
	if r.DryRun {
		return api.Backfill{Plan: &api.BackfillPlan{Count: d.planned, First: []time.Time{now}}}, nil
	}
	d.note("backfill", r.Ref, r.From+".."+r.To)
	return api.Backfill{Backfill: job.Backfill{ID: 3}}, nil
}

func (d *fakeDaemon) Retry(_ context.Context, r api.RetryRequest) ([]job.Run, error) {
	d.note("retry", r.Refs...)
	return []job.Run{{ID: 4232, Job: "etl-orders"}}, nil
}

func (d *fakeDaemon) Undo(context.Context, api.UndoRequest) (api.Installed, error) {
	d.note("undo")
	return api.Installed{File: "/etc/cron.d/etl"}, nil
}

func (d *fakeDaemon) Ack(_ context.Context, r api.AckRequest) ([]job.ID, error) {
	d.note("ack", r.Refs...)
	return nil, nil
}

func (d *fakeDaemon) JobConfig(_ context.Context, ref string) (api.JobConfig, error) {
	if d.config == nil {
		return api.JobConfig{}, errNotFaked
	}
	return d.config(ref)
}

func (d *fakeDaemon) Tables(context.Context) ([]api.Table, error) {
	if d.tables == nil {
		return nil, errNotFaked
	}
	return d.tables()
}

func (d *fakeDaemon) Table(_ context.Context, file, user string) (api.TableText, error) {
	if d.table == nil {
		return api.TableText{}, errNotFaked
	}
	return d.table(file, user)
}

func (d *fakeDaemon) InstallTable(_ context.Context, r api.TableRequest) (api.Installed, error) {
	d.note("install", r.File)
	if d.install == nil {
		return api.Installed{File: r.File, Before: 31, Entries: 3}, nil
	}
	return d.install(r)
}

func (d *fakeDaemon) Revisions(_ context.Context, q api.RevisionQuery) ([]api.Revision, error) {
	if d.revisions == nil {
		return nil, errNotFaked
	}
	return d.revisions(q)
}

func (d *fakeDaemon) Revision(_ context.Context, id int64) (api.Revision, error) {
	if d.revision == nil {
		return api.Revision{}, errNotFaked
	}
	return d.revision(id)
}

func (d *fakeDaemon) List(_ context.Context, q api.Query) ([]job.Status, error) {
	if d.list == nil {
		return nil, errNotFaked
	}
	return d.list(q)
}

func (d *fakeDaemon) note(verb string, refs ...string) {
	d.asked = append(d.asked, strings.Join(append([]string{verb}, refs...), " "))
}

// settle carries out the effects of a screen that ask, and those that come of
// their answers, until nothing is asked any more. It gives the others.
func settle(t testing.TB, s Screen, w *World, d Daemon, effects []Effect) []Effect {
	t.Helper()
	var rest []Effect
	for n := 0; len(effects) > 0; n++ {
		if n > 10_000 {
			t.Fatal("a screen asks without end")
		}
		e := effects[0]
		effects = effects[1:]
		switch e := e.(type) {
		case Ask:
			value, err := e.Call(t.Context(), d)
			effects = append(effects, s.Take(w, Answer{Slot: e.Slot, Value: value, Err: err, Done: true})...)
		case Follow:
			for value, err := range e.Call(t.Context(), d) {
				effects = append(effects, s.Take(w, Answer{Slot: e.Slot, Value: value, Err: err})...)
			}
			effects = append(effects, s.Take(w, Answer{Slot: e.Slot, Done: true})...)
		default:
			rest = append(rest, e)
		}
	}
	return rest
}
