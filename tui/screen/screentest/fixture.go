// Package screentest owns the data for tests of screens, such as jobs in every state, a daemon that
// answers with them, and golden screens.
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
	"github.com/cronring/cronring/tui/settings"
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

var (
	_ screen.Daemon = (*api.Client)(nil)
	_ screen.Daemon = (*Daemon)(nil)
)

// NewWorld is a world with the jobs of one host.
func NewWorld(t testing.TB) *screen.World {
	t.Helper()
	board, head := board.New(), *host().board.Head
	board.Apply(api.BoardUpdate{Now: Now, Rows: Rows(), Complete: true})
	return &screen.World{
		Now: Now, Commands: Commands{}, Board: board, Keys: keys.Default(), Glyphs: canvas.GlyphsOf(canvas.Full), Local: berlin(),
		Link: screen.Link{Live: true, Tried: true, Socket: "/run/cronring/cronring.sock"}, Status: head, Settings: settings.Open(""),
	}
}

// jobs are those of the host that most tests ask, in the order of Rows.
var jobs = []job.ID{
	"etl-orders", "certbot-renew", "geoip-update", "invoice-export", "cache-warm", "zfs-scrub", "report-daily", "apt-daily",
	"postgres/db-vacuum", "logrotate", "mail-flush", "metrics-push", "ntp-check", "pg-backup", "sitemap", "tmp-clean",
}

// Rows are jobs in every state: see busyHost.
func Rows() []api.Row {
	rows := slices.Clone(host().board.Rows)
	slices.SortFunc(rows, func(a, b api.Row) int { return slices.Index(jobs, a.Job) - slices.Index(jobs, b.Job) })
	return rows
}

// Daemon answers as Real does, except where a test has put in an answer. It notes what should be
// changed, and changes nothing. Without Real, what is missing is an error.
type Daemon struct {
	Real      screen.Daemon
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
	OnStats   func(q api.StatsQuery) (api.Stats, error)
	OnComing  func(q api.ComingQuery) (api.Coming, error)
	Planned   int      // how many occurrences a backfill has
	Asked     []string // what was changed: "run etl-orders"

	OnCrontabFiles func() ([]api.CrontabFile, error)
	OnCrontabText  func(file, user string) (api.CrontabText, error)
	OnInstall      func(r api.CrontabFileRequest) (api.Installed, error)
	OnRevisions    func(q api.RevisionQuery) ([]api.Revision, error)
	OnRevision     func(id int64) (api.Revision, error)
	OnList         func(q api.Query) ([]job.Status, error)
	OnRing         func() api.Ring
}

var ErrNotFaked = errors.New("the test's daemon does not know this")

// missing answers each request with ErrNotFaked.
var missing = NoServer(ErrNotFaked)

// real returns the daemon that answers where a test has put in no answer.
func (d *Daemon) real() screen.Daemon {
	if d.Real == nil {
		return missing
	}
	return d.Real
}

// ask returns the answer that a test has put in, else that of Real.
func ask[Q, T any](ctx context.Context, d *Daemon, on func(Q) (T, error), real func(screen.Daemon, context.Context, Q) (T, error), q Q) (answer T, err error) {
	if on != nil {
		return on(q)
	}
	return real(d.real(), ctx, q)
}

func (d *Daemon) Status(ctx context.Context) (api.Status, error) { return d.real().Status(ctx) }

func (d *Daemon) Ring(ctx context.Context) (api.Ring, error) {
	if d.OnRing == nil {
		return d.real().Ring(ctx)
	}
	return d.OnRing(), nil
}

func (d *Daemon) Board(ctx context.Context) iter.Seq2[api.BoardUpdate, error] {
	return d.real().Board(ctx)
}

func (d *Daemon) Show(ctx context.Context, ref string) (api.Job, error) {
	return ask(ctx, d, d.OnShow, screen.Daemon.Show, ref)
}

func (d *Daemon) Why(ctx context.Context, ref string, at time.Time) (api.Why, error) {
	if d.OnWhy == nil {
		return d.real().Why(ctx, ref, at)
	}
	return d.OnWhy(ref, at)
}

func (d *Daemon) History(ctx context.Context, f api.Filter) (api.Runs, error) {
	return ask(ctx, d, d.OnHistory, screen.Daemon.History, f)
}

func (d *Daemon) Failures(ctx context.Context, since time.Time) (api.Failures, error) {
	return ask(ctx, d, d.OnFailed, screen.Daemon.Failures, since)
}

func (d *Daemon) OneRun(ctx context.Context, ref string) (job.Run, error) {
	return ask(ctx, d, d.OnOneRun, screen.Daemon.OneRun, ref)
}

func (d *Daemon) Output(ctx context.Context, run string, follow bool) iter.Seq2[api.Event, error] {
	if d.OnOutput == nil {
		return d.real().Output(ctx, run, follow)
	}
	return func(yield func(api.Event, error) bool) {
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

func (d *Daemon) Past(ctx context.Context, jobs []job.ID, n int) ([]api.JobPast, error) {
	if d.OnPast == nil {
		return d.real().Past(ctx, jobs, n)
	}
	return d.OnPast(jobs, n)
}

func (d *Daemon) Timeline(ctx context.Context, q api.TimelineQuery) (api.Timeline, error) {
	return ask(ctx, d, d.OnLine, screen.Daemon.Timeline, q)
}

func (d *Daemon) Clashes(ctx context.Context, q api.ClashQuery) (api.Clashes, error) {
	return ask(ctx, d, d.OnClashes, screen.Daemon.Clashes, q)
}

func (d *Daemon) Stats(ctx context.Context, q api.StatsQuery) (api.Stats, error) {
	return ask(ctx, d, d.OnStats, screen.Daemon.Stats, q)
}

func (d *Daemon) Coming(ctx context.Context, q api.ComingQuery) (api.Coming, error) {
	return ask(ctx, d, d.OnComing, screen.Daemon.Coming, q)
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

func (d *Daemon) JobConfig(ctx context.Context, ref string) (api.JobConfig, error) {
	return ask(ctx, d, d.OnConfig, screen.Daemon.JobConfig, ref)
}

func (d *Daemon) CrontabFiles(ctx context.Context) ([]api.CrontabFile, error) {
	if d.OnCrontabFiles == nil {
		return d.real().CrontabFiles(ctx)
	}
	return d.OnCrontabFiles()
}

func (d *Daemon) CrontabText(ctx context.Context, file, user string) (api.CrontabText, error) {
	if d.OnCrontabText == nil {
		return d.real().CrontabText(ctx, file, user)
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

func (d *Daemon) Revisions(ctx context.Context, q api.RevisionQuery) ([]api.Revision, error) {
	return ask(ctx, d, d.OnRevisions, screen.Daemon.Revisions, q)
}

func (d *Daemon) Revision(ctx context.Context, id int64) (api.Revision, error) {
	return ask(ctx, d, d.OnRevision, screen.Daemon.Revision, id)
}

func (d *Daemon) List(ctx context.Context, q api.Query) ([]job.Status, error) {
	return ask(ctx, d, d.OnList, screen.Daemon.List, q)
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

// Draw draws a screen and the heading that the shell draws for it.
func Draw(s screen.Screen, v canvas.View, w *screen.World) {
	if m, ok := s.(screen.Modal); ok {
		v.PutCut(1, 0, v.Width()-1, m.Heading(w), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Title, Bold: true})
	}
	s.Draw(v.In(0, 1, v.Width(), v.Height()-2), w)
}

// GoOffline has the daemon be away for 14 seconds.
func GoOffline(w *screen.World) {
	w.Link = screen.Link{Tried: true, Socket: w.Link.Socket, Since: Now.Add(-14 * time.Second), Retry: 2 * time.Second}
	for _, w.Link.Err = range Ended().Board(context.Background()) {
	}
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

// NewDaemon answers as the host of NewWorld does.
func NewDaemon() *Daemon { return &Daemon{Real: host().client} }

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

// FilesDaemon answers as NewDaemon does, except about the text of crontabs: the daemon reads only
// files whose owner is right, which a test cannot set without being root.
func FilesDaemon() *Daemon {
	return &Daemon{
		Real:           host().client,
		OnCrontabFiles: func() ([]api.CrontabFile, error) { return SomeCrontabs(), nil },
		OnRevisions:    someRevisions,
		OnCrontabText:  func(string, string) (api.CrontabText, error) { return ETLCrontab(), nil },
		OnRevision: func(id int64) (api.Revision, error) {
			return api.Revision{ID: id, Text: []byte(strings.Replace(ETLText, "--since auto", "", 1))}, nil
		},
	}
}
