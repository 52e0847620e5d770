// Package screentest owns a dashboard's data for tests of screens: jobs in every
// state, a daemon that answers with them, and golden screens.
package screentest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

var update = flag.Bool("update", false, "update the golden screens in testdata/tui")

// size is the size of a screen in cells.
type size struct{ width, height int }

func (s size) String() string { return fmt.Sprintf("%dx%d", s.width, s.height) }

// The sizes at which screens are drawn. Every golden screen has the usual size. Those of CheckLayouts
// also have the narrow and the wide one.
var (
	usual  = size{80, 24}
	narrow = size{40, 15}
	wide   = size{160, 48}
	sizes  = []size{narrow, usual, {120, 40}, wide}
)

// Check compares what draw shows at 80x24 with testdata/tui/NAME.txtar. It draws all other sizes,
// in Unicode and ASCII, and checks their properties: see checkDrawn.
func Check(t *testing.T, name string, draw func(v canvas.View, w *screen.World)) {
	t.Helper()
	check(t, name, draw, false)
}

// CheckLayouts is Check for the main state of one kind of screen. It also keeps the roles and the
// ASCII text at 80x24, and the text at a narrow and a wide size.
func CheckLayouts(t *testing.T, name string, draw func(v canvas.View, w *screen.World)) {
	t.Helper()
	check(t, name, draw, true)
}

func check(t *testing.T, name string, draw func(v canvas.View, w *screen.World), layouts bool) {
	t.Helper()
	var got txtar.Archive
	keep := func(title, text string) {
		got.Files = append(got.Files, txtar.File{Name: title, Data: []byte(ends(text))})
	}
	for _, at := range sizes {
		for _, tier := range []canvas.Tier{canvas.Full, canvas.ASCII} {
			w := NewWorld(t)
			w.Glyphs = canvas.GlyphsOf(tier)
			c := canvas.New(at.width, at.height)
			draw(c.View(), w)
			checkDrawn(t, fmt.Sprintf("%s %s", name, at), c.Text(), at.width, tier)
			switch {
			case tier == canvas.Full && (at == usual || layouts && (at == narrow || at == wide)):
				keep(at.String(), c.Text())
				if layouts && at == usual {
					keep(at.String()+" roles", c.Mask())
				}
			case tier == canvas.ASCII && layouts && at == usual:
				keep(at.String()+" ascii", c.Text())
			}
		}
	}
	CompareGolden(t, name, txtar.Format(&got))
}

// ends marks the end of each line, so that blanks there are seen in a diff.
func ends(text string) string { return strings.ReplaceAll(text, "\n", "|\n") }

// checkDrawn checks what is true of every screen: each line is as wide as the screen, no character
// can control the terminal, and the ASCII tier has only ASCII.
func checkDrawn(t *testing.T, name, text string, width int, tier canvas.Tier) {
	t.Helper()
	CheckWidths(t, name, text, width)
	for i, r := range text {
		switch {
		case r == '\n':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			t.Errorf("%s: %q at byte %d can control a terminal", name, r, i)
			return
		case tier == canvas.ASCII && r > '~':
			t.Errorf("%s: %q at byte %d is not ASCII", name, r, i)
			return
		}
	}
}

// CheckWidths reports lines that are not as wide as the screen.
func CheckWidths(t *testing.T, name, text string, want int) {
	t.Helper()
	for y, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if got := display.Width(line); got != want {
			t.Errorf("%s: line %d is %d cells wide, want %d: %q", name, y+1, got, want, line)
		}
	}
}

// Root returns the directory of the repository.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above the working directory: %v", err)
	return ""
}

// CompareGolden compares a text with testdata/tui/NAME.txtar, or writes the file with
// -update.
func CompareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join(Root(t), "testdata", "tui", name+".txtar")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./tui/... -update writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s differs (-want +got; go test ./tui/... -update writes it again):\n%s", path, diff)
	}
}

// Now is Friday, 20 November 2026, 18:02:11 in Berlin.
var Now = time.Date(2026, 11, 20, 17, 2, 11, 0, time.UTC)

var (
	_ screen.Daemon = (*api.Client)(nil)
	_ screen.Daemon = (*Daemon)(nil)
)

// NewWorld is a world with the jobs of one host.
func NewWorld(t *testing.T) *screen.World {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w := &screen.World{
		Now: Now, Board: board.New(), Keys: keys.Default(), Glyphs: canvas.GlyphsOf(canvas.Full), Local: berlin,
		Link: screen.Link{Live: true, Tried: true, Socket: "/run/cronring/cronring.sock"},
		Status: api.Status{
			Health: api.Health{V: api.Version, Version: "1.4.2", Host: "db-01", Zone: "Europe/Berlin", Started: Now.AddDate(0, 0, -17)},
			Now:    Now, Loaded: 16, Jobs: 16, Crontabs: 9,
			Next: &api.Upcoming{Job: "mail-flush", At: Now.Add(49 * time.Second)},
			Day:  &api.Totals{Runs: 8912, OK: 8841, Failed: 71, Skipped: 4, LagP99: 6 * time.Millisecond},
		},
	}
	w.Board.Apply(api.BoardUpdate{Now: Now, Rows: Rows(), Complete: true})
	return w
}

// Rows are jobs in every state.
func Rows() []api.Row {
	at := func(ago string) time.Time {
		d, err := time.ParseDuration(ago)
		if err != nil {
			panic(err)
		}
		return Now.Add(-d)
	}
	in := func(d string) time.Time { return at("-" + d) }
	row := func(state job.State, name, schedule, user, file string, line int, next, last time.Time, took time.Duration) api.Row {
		r := api.Row{
			Job: job.ID(name), User: user, Crontab: file, Line: line, Schedule: schedule, Zone: "Europe/Berlin",
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
	rows[6].Paused = true
	rows[6].HeldUntil, rows[6].Why = in("60h57m49s"), "paused by ann: until the auditors are gone"
	rows[13].Protected = true
	return rows
}

// Daemon answers with what a test has put into it, and counts nothing: what
// is missing is an error.
type Daemon struct {
	OnShow    func(ref string) (api.Job, error)
	OnWhy     func(ref string, at time.Time) (api.Why, error)
	OnHistory func(f api.Filter) (api.Runs, error)
	OnFailed  func(since time.Time) (api.Failures, error)
	OnOneRun  func(ref string) (job.Run, error)
	OnOutput  func(run string) []api.Event
	OnPast    func(jobs []job.ID, n int) ([]api.JobPast, error)
	OnLine    func(q api.TimelineQuery) (api.Timeline, error)
	OnConfig  func(ref string) (api.JobConfig, error)
	OnClashes func(q api.ClashQuery) (api.Clashes, error)
	Planned   int      // how many occurrences a backfill has
	Asked     []string // what was changed: "run etl-orders"

	OnCrontabFiles func() ([]api.CrontabFile, error)
	OnCrontabText  func(file, user string) (api.CrontabText, error)
	OnInstall      func(r api.CrontabFileRequest) (api.Installed, error)
	OnRevisions    func(q api.RevisionQuery) ([]api.Revision, error)
	OnRevision     func(id int64) (api.Revision, error)
	OnList         func(q api.Query) ([]job.Status, error)
	OnRing         func() api.Ring // nil: the host is in none
}

var ErrNotFaked = errors.New("the test's daemon does not know this")

func (d *Daemon) Status(context.Context) (api.Status, error) { return api.Status{}, ErrNotFaked }

func (d *Daemon) Ring(context.Context) (api.Ring, error) {
	if d.OnRing == nil {
		return api.Ring{Members: []api.Member{}}, nil
	}
	return d.OnRing(), nil
}

func (d *Daemon) Show(_ context.Context, ref string) (api.Job, error) {
	if d.OnShow == nil {
		return api.Job{}, ErrNotFaked
	}
	return d.OnShow(ref)
}

func (d *Daemon) Why(_ context.Context, ref string, at time.Time) (api.Why, error) {
	if d.OnWhy == nil {
		return api.Why{}, ErrNotFaked
	}
	return d.OnWhy(ref, at)
}

func (d *Daemon) History(_ context.Context, f api.Filter) (api.Runs, error) {
	if d.OnHistory == nil {
		return api.Runs{}, ErrNotFaked
	}
	return d.OnHistory(f)
}

func (d *Daemon) Failures(_ context.Context, since time.Time) (api.Failures, error) {
	if d.OnFailed == nil {
		return api.Failures{}, ErrNotFaked
	}
	return d.OnFailed(since)
}

func (d *Daemon) OneRun(_ context.Context, ref string) (job.Run, error) {
	if d.OnOneRun == nil {
		return job.Run{}, ErrNotFaked
	}
	return d.OnOneRun(ref)
}

func (d *Daemon) Output(_ context.Context, run string, _ bool) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		if d.OnOutput == nil {
			yield(api.Event{}, ErrNotFaked)
			return
		}
		for _, e := range d.OnOutput(run) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (d *Daemon) Run(_ context.Context, r api.RunRequest) ([]job.Run, error) {
	d.note("run", r.Refs...)
	return []job.Run{{ID: 4231, Job: job.ID(r.Refs[0])}}, nil
}

func (d *Daemon) Stop(_ context.Context, r api.StopRequest) ([]job.Run, error) {
	d.note("stop", r.Refs...)
	return nil, nil
}

func (d *Daemon) Pause(_ context.Context, r api.PauseRequest) ([]job.ID, error) {
	d.note("pause", r.Refs...)
	return nil, nil
}

func (d *Daemon) Resume(_ context.Context, r api.ResumeRequest) ([]job.ID, error) {
	d.note("resume", r.Refs...)
	return nil, nil
}

func (d *Daemon) Reload(context.Context) ([]api.Diagnostic, error) {
	d.note("reload")
	return nil, nil
}

func (d *Daemon) Past(_ context.Context, jobs []job.ID, n int) ([]api.JobPast, error) {
	if d.OnPast == nil {
		return nil, ErrNotFaked
	}
	return d.OnPast(jobs, n)
}

func (d *Daemon) Timeline(_ context.Context, q api.TimelineQuery) (api.Timeline, error) {
	if d.OnLine == nil {
		return api.Timeline{}, ErrNotFaked
	}
	return d.OnLine(q)
}

func (d *Daemon) Clashes(_ context.Context, q api.ClashQuery) (api.Clashes, error) {
	if d.OnClashes == nil {
		return api.Clashes{}, ErrNotFaked
	}
	return d.OnClashes(q)
}

func (d *Daemon) Backfill(_ context.Context, r api.BackfillRequest) (api.Backfill, error) {
	if r.DryRun {
		return api.Backfill{Plan: &api.BackfillPlan{Count: d.Planned, First: []time.Time{Now}}}, nil
	}
	d.note("backfill", r.Ref, r.From+".."+r.To)
	return api.Backfill{Backfill: job.Backfill{ID: 3}}, nil
}

func (d *Daemon) Retry(_ context.Context, r api.RetryRequest) ([]job.Run, error) {
	d.note("retry", r.Refs...)
	return []job.Run{{ID: 4232, Job: "etl-orders"}}, nil
}

func (d *Daemon) Undo(context.Context, api.UndoRequest) (api.Installed, error) {
	d.note("undo")
	return api.Installed{File: "/etc/cron.d/etl"}, nil
}

func (d *Daemon) Ack(_ context.Context, r api.AckRequest) ([]job.ID, error) {
	d.note("ack", r.Refs...)
	return nil, nil
}

func (d *Daemon) JobConfig(_ context.Context, ref string) (api.JobConfig, error) {
	if d.OnConfig == nil {
		return api.JobConfig{}, ErrNotFaked
	}
	return d.OnConfig(ref)
}

func (d *Daemon) CrontabFiles(context.Context) ([]api.CrontabFile, error) {
	if d.OnCrontabFiles == nil {
		return nil, ErrNotFaked
	}
	return d.OnCrontabFiles()
}

func (d *Daemon) CrontabText(_ context.Context, file, user string) (api.CrontabText, error) {
	if d.OnCrontabText == nil {
		return api.CrontabText{}, ErrNotFaked
	}
	return d.OnCrontabText(file, user)
}

func (d *Daemon) InstallCrontabFile(_ context.Context, r api.CrontabFileRequest) (api.Installed, error) {
	d.note("install", r.File)
	if d.OnInstall == nil {
		return api.Installed{File: r.File, Before: 31, Entries: 3}, nil
	}
	return d.OnInstall(r)
}

func (d *Daemon) Revisions(_ context.Context, q api.RevisionQuery) ([]api.Revision, error) {
	if d.OnRevisions == nil {
		return nil, ErrNotFaked
	}
	return d.OnRevisions(q)
}

func (d *Daemon) Revision(_ context.Context, id int64) (api.Revision, error) {
	if d.OnRevision == nil {
		return api.Revision{}, ErrNotFaked
	}
	return d.OnRevision(id)
}

func (d *Daemon) List(_ context.Context, q api.Query) ([]job.Status, error) {
	if d.OnList == nil {
		return nil, ErrNotFaked
	}
	return d.OnList(q)
}

func (d *Daemon) note(verb string, refs ...string) {
	d.Asked = append(d.Asked, strings.Join(append([]string{verb}, refs...), " "))
}

// Settle performs the requests of a screen, and those that follow from the answers,
// until none is left. It returns the other effects.
func Settle(t testing.TB, s screen.Screen, w *screen.World, d screen.Daemon, effects []screen.Effect) []screen.Effect {
	t.Helper()
	var rest []screen.Effect
	for n := 0; len(effects) > 0; n++ {
		if n > 10_000 {
			t.Fatal("a screen sends requests forever")
		}
		e := effects[0]
		effects = effects[1:]
		switch e := e.(type) {
		case screen.Ask:
			value, err := e.Call(t.Context(), d)
			effects = append(effects, s.Take(w, screen.Answer{Slot: e.Slot, Value: value, Err: err, Done: true})...)
		case screen.Follow:
			for value, err := range e.Call(t.Context(), d) {
				effects = append(effects, s.Take(w, screen.Answer{Slot: e.Slot, Value: value, Err: err})...)
			}
			effects = append(effects, s.Take(w, screen.Answer{Slot: e.Slot, Done: true})...)
		default:
			rest = append(rest, e)
		}
	}
	return rest
}

// Overlapped is an occurrence that was skipped for the run before it.
func Overlapped() api.Why {
	at := time.Date(2026, 11, 20, 1, 30, 0, 0, time.UTC)
	return api.Why{
		V: api.Version, Job: "etl-nightly", Crontab: "/etc/cron.d/etl", Line: 15, At: at, Zone: "Europe/Berlin",
		Verdict:  `It did not start. The run before it was still going, overlap is "skip".`,
		Decision: job.DecideSkip, Reason: job.Overlapping,
		Steps: []api.Step{
			{Name: api.StepEntry, State: api.Passed, Fact: "/etc/cron.d/etl:15  0,30 2 * * *  loaded 3 Nov 09:12, revision 31"},
			{Name: api.StepEnabled, State: api.Passed, Fact: "not held, not paused by a window, not @once-spent"},
			{Name: api.StepSchedule, State: api.Passed, Fact: "minute 30, hour 2, every day"},
			{Name: api.StepClock, State: api.Passed, Fact: "02:30 exists once in Europe/Berlin that day; no step seen"},
			{Name: api.StepDaemon, State: api.Passed, Fact: "up since 3 Nov 09:12:40, ticked 02:30:00.004 (4 ms late)"},
			{Name: api.StepHost, State: api.Passed, Fact: "db-01 runs it: the entry is this host's own"},
			{Name: api.StepOverlap, State: api.Crossed, Fact: "run 4187 began 02:00:00, was running at 02:30:00, ended 02:41:07"},
			{Name: api.StepGate, State: api.NotReached, Fact: "not reached"},
		},
		Facts: []string{
			"this happened 4 times in 30 days; p95 of etl-nightly is 34 min, gap is 30 min",
			"next slot Sat 21 Nov 02:00:00 in 7h57m",
		},
		Remedies: []api.Remedy{
			{What: "queue instead of skip", Command: "cronring set etl-nightly overlap=queue"},
			{What: "widen the interval", Command: "${EDITOR:-vi} +15 /etc/cron.d/etl"},
			{What: "run it now", Command: "cronring run etl-nightly"},
		},
	}
}

// Draw draws a screen and the heading that the shell draws for it.
func Draw(s screen.Screen, v canvas.View, w *screen.World) {
	if m, ok := s.(screen.Modal); ok {
		v.PutCut(1, 0, v.Width()-1, m.Heading(w), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Title, Bold: true})
	}
	s.Draw(v.In(0, 1, v.Width(), v.Height()-2), w)
}

// GoOffline has the daemon be away for 14 seconds.
func GoOffline(w *screen.World) {
	w.Link = screen.Link{Tried: true, Socket: w.Link.Socket, Since: Now.Add(-14 * time.Second), Retry: 2 * time.Second, Err: &api.Error{
		Kind: api.Unreachable, What: "cronringd does not answer on /run/cronring/cronring.sock", Why: "connection refused",
	}}
}

// Act performs actions and the requests that follow from them. It returns the other
// effects.
func Act(t *testing.T, s screen.Screen, w *screen.World, d screen.Daemon, actions ...keys.Action) (rest []screen.Effect) {
	t.Helper()
	for _, a := range actions {
		effects, ok := s.Act(w, a)
		if why := s.Refuses(w, a); !ok && why == "" {
			t.Fatalf("%s means nothing to the screen, and is not refused", a)
		}
		rest = append(rest, Settle(t, s, w, d, effects)...)
	}
	return rest
}

// strips are the past of the fixture's jobs, a letter a run: digits are eighths
// of p95, x failed, s skipped, l late, r running.
var fixturePasts = map[job.ID]struct {
	cells string
	p95   time.Duration
}{
	"etl-orders":     {"332333233333323333333233333332333333x3333xx", 12900 * time.Millisecond},
	"certbot-renew":  {"222222222xxx", 3400 * time.Millisecond},
	"geoip-update":   {"33433343333x", 30 * time.Second},
	"invoice-export": {"55655566556l", 52 * time.Second},
	"cache-warm":     {"22322223222r", 14 * time.Second},
	"zfs-scrub":      {"778r", 13 * time.Hour},
	"report-daily":   {"444544444444", 44 * time.Second},
	"apt-daily":      {"322322272222", 31 * time.Second},
	"db-vacuum":      {"445445544454", 220 * time.Second},
	"logrotate":      {"111111111111", 1100 * time.Millisecond},
	"mail-flush":     {"111121111111", 500 * time.Millisecond},
	"metrics-push":   {"111111s11111", 600 * time.Millisecond},
	"ntp-check":      {"111111111111", 100 * time.Millisecond},
	"pg-backup":      {"555655666766", 71 * time.Second},
	"sitemap":        {"333334333333", 11 * time.Second},
}

// Past makes a past of letters.
func Past(id job.ID, n int) api.JobPast {
	f := fixturePasts[id]
	past := api.JobPast{Job: id, P95: f.p95, P50: f.p95 * 5 / 8, Max: f.p95 * 9 / 4, LagP99: 6 * time.Millisecond}
	letters := f.cells[max(len(f.cells)-n, 0):]
	for i, letter := range letters {
		due := Now.Truncate(5 * time.Minute).Add(-time.Duration(len(letters)-1-i) * 5 * time.Minute)
		c := api.Cell{Kind: api.CellOK, Due: due, Began: due, Run: job.RunID(4213 - len(letters) + 1 + i)}
		switch letter {
		case 'x':
			c.Kind, c.Took, c.Ending = api.CellFailed, f.p95, "exit 1"
			past.Failed++
		case 's':
			c = api.Cell{Kind: api.CellSkipped, Due: due, Count: 1}
		case 'l':
			c = api.Cell{Kind: api.CellLate, Due: due}
		case 'r':
			c.Kind = api.CellRunning
		default:
			c.Took = f.p95 * time.Duration(letter-'1') / 7
			past.OK++
		}
		past.Cells = append(past.Cells, c)
	}
	past.Runs = past.OK + past.Failed
	return past
}

// NewDaemon answers what the jobs of newWorld are asked about.
func NewDaemon(w *screen.World) *Daemon {
	return &Daemon{
		OnShow: func(ref string) (api.Job, error) { return fixtureJob(w, job.ID(ref)) },
		OnPast: func(jobs []job.ID, n int) ([]api.JobPast, error) {
			var all []api.JobPast
			for _, id := range jobs {
				all = append(all, Past(id, n))
			}
			return all, nil
		},
		OnOutput:  fixtureOutput,
		OnLine:    fixtureHours,
		OnHistory: fixtureHistory,
		OnConfig:  fixtureConfig,
		OnWhy:     func(string, time.Time) (api.Why, error) { return Overlapped(), nil },
		OnOneRun: func(string) (job.Run, error) {
			j, err := fixtureJob(w, "etl-orders")
			if err != nil {
				return job.Run{}, err
			}
			return *j.Last, nil
		},
	}
}

func fixtureJob(w *screen.World, id job.ID) (api.Job, error) {
	slot, ok := w.Board.Find(id)
	if !ok {
		return api.Job{}, &api.Error{What: "cannot show " + string(id), Why: "no such job", Kind: api.NotFound}
	}
	r := w.Board.Row(slot)
	j := api.Job{V: api.Version, Meaning: "every 5 minutes", Status: job.Status{
		Job: job.Job{
			ID: id, Crontab: r.Crontab, Line: r.Line, User: r.User, Schedule: r.Schedule, Zone: r.Zone, Command: r.Command,
			Options: map[string]string{"retry": "3"},
		},
		State: r.State, Next: r.Next,
	}}
	for at := r.Next; len(j.Upcoming) < 5; at = at.Add(5 * time.Minute) {
		j.Upcoming = append(j.Upcoming, at)
	}
	if r.LastRun != 0 {
		j.Last = &job.Run{
			ID: r.LastRun, Job: id, Due: r.Last, Attempt: 1, Trigger: job.TriggerClock, State: job.RunEnded,
			Started: r.Last, Ended: r.Last.Add(r.Took), Outcome: job.Outcome{Kind: job.Exited},
			Usage: job.Usage{CPU: 900 * time.Millisecond, Memory: 41 << 20, Read: 2202009},
		}
	}
	if r.Ending == "exit 1" {
		j.Last.Outcome.Code = 1
	}
	if id == "etl-orders" {
		j.Running = []job.Run{{
			ID: 4214, Job: id, Due: r.Last, Attempt: 2, Trigger: job.TriggerRetry, State: job.RunWaiting,
			Reason: job.WaitsForRetry, NotBefore: Now.Add(19 * time.Second),
		}}
	}
	return j, nil
}

func fixtureOutput(run string) []api.Event {
	began := Now.Add(-131 * time.Second)
	var events []api.Event
	say := func(after time.Duration, stream job.Stream, text string) {
		events = append(events, api.Event{Chunk: &job.Chunk{At: began.Add(after), Stream: stream, Data: []byte(text + "\n")}})
	}
	switch run {
	case "4213":
		say(4*time.Millisecond, job.Stdout, "etl orders: window 17:55..18:00")
		say(911*time.Millisecond, job.Stdout, "connect pg-1 ok (31 ms)")
		say(2112*time.Millisecond, job.Stdout, "connect pg-2 ...")
		say(12398*time.Millisecond, job.Stderr, `psql: error: connection to server at "pg-2" (10.0.0.7) failed: timeout`)
	case "4003":
		say(0, job.Stderr, "DNS problem: SERVFAIL looking up A for example.com")
	case "4002":
		say(0, job.Stderr, "DNS problem: SERVFAIL looking up A for geo.example.net")
	}
	return events
}

// fixtureHours is one job by the hour: some failures, a late one, hours without.
func fixtureHours(q api.TimelineQuery) (api.Timeline, error) {
	line := api.Timeline{V: api.Version, Now: Now, From: q.From, To: q.To, Cells: q.Cells}
	hours := api.TimelineJob{Job: job.ID(q.Refs[0])}
	for cell := range q.Cells {
		kind := api.CellOK
		at := q.From.Add(time.Duration(cell) * time.Hour)
		switch {
		case at.After(Now):
			kind = api.CellPlanned
		case Now.Sub(at) < 2*time.Hour:
			kind = api.CellFailed
		case cell == 50 || cell == 51:
			kind = api.CellSkipped
		case cell == 33:
			kind = api.CellLate
		}
		hours.Cells = append(hours.Cells, api.TimelineCell{Cell: cell, Kind: kind, Count: 12})
	}
	line.Jobs = []api.TimelineJob{hours}
	return line, nil
}

// fixtureHistory is forty runs of one job.
func fixtureHistory(f api.Filter) (api.Runs, error) {
	runs := api.Runs{V: api.Version}
	id := job.ID("etl-orders")
	if len(f.Refs) > 0 {
		id = job.ID(f.Refs[0])
	}
	past := Past(id, 40)
	for _, c := range slices.Backward(past.Cells) {
		if c.Run == 0 || c.Kind == api.CellRunning {
			continue
		}
		run := job.Run{
			ID: c.Run, Job: past.Job, Due: c.Due, Attempt: 1, Trigger: job.TriggerClock, State: job.RunEnded,
			Started: c.Began, Ended: c.Began.Add(c.Took), Outcome: job.Outcome{Kind: job.Exited},
			Usage: job.Usage{CPU: c.Took / 14, Memory: 41 << 20},
		}
		if c.Kind == api.CellFailed {
			run.Outcome.Code = 1
		}
		runs.Runs = append(runs.Runs, run)
	}
	return runs, nil
}

// Show draws a screen, answers its requests, and draws it again, because a screen
// requests only what is in view.
func Show(t *testing.T, s screen.Screen, v canvas.View, w *screen.World, d screen.Daemon, actions ...keys.Action) {
	t.Helper()
	Settle(t, s, w, d, s.Open(w))
	s.Draw(v, w)
	Settle(t, s, w, d, s.Refresh(w))
	for _, a := range actions {
		effects, _ := s.Act(w, a)
		Settle(t, s, w, d, effects)
	}
	v.Fill(" ", canvas.Style{})
	s.Draw(v, w)
}

// Inside leaves the lines of the shell blank.
func Inside(v canvas.View) canvas.View { return v.In(0, 1, v.Width(), v.Height()-2) }

// fixtureConfig is the options of a job from every kind of place.
func fixtureConfig(ref string) (api.JobConfig, error) {
	return api.JobConfig{V: api.Version, Job: job.ID(ref), Crontab: "/etc/cron.d/etl", Line: 14, Options: []api.Setting{
		{Key: "overlap", Value: "skip", Origin: "built-in"},
		{Key: "retry", Value: "3", Origin: "#@", File: "/etc/cron.d/etl", Line: 13},
		{Key: "timeout", Value: "30s", Origin: "[[match]]", File: "/etc/cronring/cronring.toml", Line: 21},
		{Key: "notify", Origin: "built-in"},
		{Key: "mailto", Value: "ops@example.com", Origin: "assignment", File: "/etc/cron.d/etl", Line: 2},
	}}, nil
}

// HostileRows are jobs whose every text is an attack. Where only ASCII can be
// drawn, so are they: other letters of a name are its owner's choice.
func HostileRows(w *screen.World) []api.Row {
	names := []string{
		"\x1b[2J\x1b[31mred", strings.Repeat("x", 300), "tab\tnew\nline", "\x00\x07\x7f", "", "%s%d",
	}
	if w.Glyphs.Tier != canvas.ASCII {
		names = append(names, "\u202etxt.exe", "日本語ジョブ日本語ジョブ日本語", "e\u0301\u0302\u0303\u0304\u0305\u0306", "\xff\xfe", "a\u200db", "🏴‍☠️", "مرحبا بالعالم")
	}
	rows := make([]api.Row, len(names))
	for i, name := range names {
		rows[i] = Rows()[0]
		r := &rows[i]
		r.Job, r.User, r.Crontab, r.Schedule, r.Command = job.ID("!"+name), name, "/etc/cron.d/"+name, name, name
		r.Zone, r.Ending, r.Why, r.LastRun = name, "exit 1 "+name, name, 0
		r.Next, r.Last, r.Streak = Now.AddDate(200, 0, 0), Now.AddDate(-200, 0, 0), 1<<30
	}
	return rows
}

const ETLText = `# what etl runs
SHELL=/bin/bash
MAILTO=ops@example.com
#@ name=orders
*/5 * * * * etl /opt/etl/run orders --since auto
#@ name=nightly overlap=skip
0,30 2 * * * etl /opt/etl/run nightly
0 0 13 * 5 etl /opt/etl/run odd
`

func ETLCrontab() api.CrontabText {
	return api.CrontabText{
		V: api.Version, CrontabFile: SomeCrontabs()[1], Text: []byte(ETLText), Sum: "sum 1",
		Format: api.FormatSystem, Family: api.FamilyDebian, Account: "root", Privileged: true, Zone: "Europe/Berlin",
	}
}

// SomeCrontabs are crontabs in every condition.
func SomeCrontabs() []api.CrontabFile {
	at := func(d time.Duration) time.Time { return Now.Add(-d) }
	const day = 24 * time.Hour
	return []api.CrontabFile{
		{File: "/etc/crontab", Owner: "root", Mode: 0o644, Entries: 4, Revision: 2, Changed: at(200 * day)},
		{File: "/etc/cron.d/etl", Owner: "root", Mode: 0o644, Entries: 6, Errors: 1, Warnings: 1, Revision: 31, Changed: at(17 * day), By: "ann"},
		{File: "/etc/cron.d/geoip", Owner: "root", Mode: 0o644, Entries: 1, Warnings: 2, Revision: 5, Changed: at(40 * day)},
		{File: "/etc/cron.d/writable", Owner: "root", Mode: 0o666, Refused: "its mode is 0666: others than the owner may write it", Fix: "chmod go-w /etc/cron.d/writable"},
		{File: "/var/spool/cron/crontabs/billing", User: "billing", Owner: "billing", Mode: 0o600, Entries: 1, Revision: 12, Changed: at(3 * day), By: "billing"},
		{File: "/var/spool/cron/crontabs/postgres", User: "postgres", Owner: "postgres", Mode: 0o600, Entries: 2, Revision: 30, Changed: at(26 * time.Hour), By: "postgres"},
		{File: "/var/spool/cron/crontabs/www", User: "www", Owner: "www", Mode: 0o600, Entries: 4, Revision: 29, Changed: at(131 * time.Second), By: "root"},
		{File: "/var/spool/cron/crontabs/root", User: "root", Missing: true},
	}
}

func someRevisions(api.RevisionQuery) ([]api.Revision, error) {
	return []api.Revision{
		{ID: 31, At: Now.Add(-17 * 24 * time.Hour), By: "ann", How: "install", Size: 412},
		{ID: 28, At: Now.Add(-18 * 24 * time.Hour), By: "root", How: "undo", Size: 389},
		{ID: 7, At: Now.Add(-200 * 24 * time.Hour), How: "seen", Size: 301},
		{ID: 6, At: Now.Add(-201 * 24 * time.Hour), By: "bob", How: "remove", Gone: true},
	}, nil
}

func FilesDaemon() *Daemon {
	return &Daemon{
		OnCrontabFiles: func() ([]api.CrontabFile, error) { return SomeCrontabs(), nil },
		OnRevisions:    someRevisions,
		OnCrontabText:  func(string, string) (api.CrontabText, error) { return ETLCrontab(), nil },
		OnRevision: func(id int64) (api.Revision, error) {
			return api.Revision{ID: id, Text: []byte(strings.Replace(ETLText, "--since auto", "", 1))}, nil
		},
	}
}
