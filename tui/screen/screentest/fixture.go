// Package screentest owns the data for tests of screens, such as jobs in every state, a daemon that
// answers with them, and golden screens.
package screentest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/settings"
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
