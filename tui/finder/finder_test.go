package finder

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func newFinder(t testing.TB) *Finder {
	w := screentest.NewWorld(t)
	return &Finder{
		World: w, Commands: w.Commands.All(), Screens: []Screen{{keys.ShowJobs, "Jobs"}, {keys.ShowRuns, "Runs"}},
		Files: []api.CrontabFile{{File: "/etc/cron.d/etl"}, {File: "/var/spool/cron/crontabs/ann", User: "ann"}},
		Hosts: []string{"db-01", "db-02"}, Views: []screen.View{{Name: "failing backups"}}, Recent: []string{"pause zfs-scrub"},
	}
}

func TestFinderOffers(t *testing.T) {
	for _, tc := range []struct{ typed, want string }{ // the first that are offered
		{"", "pause zfs-scrub (recent), run (verb)"},
		{"pgb", "pg-backup (job)"},
		{"etl", "etl-orders (job), /etc/cron.d/etl (file)"},
		{"etlodrers", "etl-orders (job)"},
		{"crtbot", "certbot-renew (job)"},
		{"psue", "pause (verb)"},
		{"psue etl", "pause etl-orders (verb)"},
		{"paus etlord", "pause etl-orders (verb)"},
		{"report e", "report events (command)"},
		{"repot stats", "report stats (command)"},
		{"rpst", "report stats (command)"},
		{"run 12", "run 12 (command)"},
		{"run @failed", "run @failed (command)"},
		{"run --force etl", "run --force etl (command), run --force etl-orders (command)"},
		{"resume cert", "resume certbot-renew (command)"},
		{"resume nothing-like-it", "resume nothing-like-it (command)"},
		{"resume etl-orders", "resume etl-orders (command)"},
		{"resume certbot-renew etl", "resume certbot-renew etl-orders (command)"},
		{"edit cron.d/e", "edit /etc/cron.d/etl (verb)"},
		{"edit --user ann", "edit --user ann (verb)"},
		{"edit --user bob", "edit --user bob: no crontab of bob is known (verb)"},
		{"edit --editor vi /etc/x", "edit --editor vi /etc/x: E on a crontab file opens $EDITOR (verb)"},
		{"ann", "/var/spool/cron/crontabs/ann (file)"},
		{"db02", "host db-02 (host)"},
		{"host", "host (command), hosts (verb)"},
		{"host ", "host db-01 (host), host db-02 (host)"},
		{"host 02", "host db-02 (host)"},
		{"host db2", "host db-02 (host)"},
		{"host web", "host web: no host is called web; a [[host]] of the settings makes it known (host)"},
		{"failbck", "failing backups (view)"},
		{"run", "run (verb)"},
		{"runs", "Runs (screen)"},
		{"qwertyuiop", ""},
	} {
		var got []string
		for _, c := range newFinder(t).Find(tc.typed) {
			text := c.Text()
			if c.Refusal != "" {
				text += ": " + c.Refusal
			}
			got = append(got, text+" ("+string(c.Kind)+")")
		}
		n := strings.Count(tc.want, "), ") + 1
		if first := strings.Join(got[:min(n, len(got))], ", "); first != tc.want {
			t.Errorf("%q: got %q, want %q first", tc.typed, got[:min(6, len(got))], tc.want)
		}
	}
}

// A verb is offered with all marked jobs if it takes several, else with the first of them.
func TestFinderOffersMarkedJobs(t *testing.T) {
	f := newFinder(t)
	f.About = screen.Subject{Jobs: []job.ID{"pg-backup", "etl-orders"}, Marked: true}
	for typed, want := range map[string]string{"pause": "pause pg-backup etl-orders", "why": "why pg-backup", "files": "files"} {
		c := f.Find(typed)[0]
		if c.Kind != KindVerb || c.Text() != want || c.Verb.About == SomeJobs && !slices.Equal(c.Subject().Jobs, f.About.Jobs) {
			t.Errorf("%s: got %s about %v, want %s", typed, c.Text(), c.Subject().Jobs, want)
		}
	}
	f.About = screen.Subject{}
	if c := f.Find("pause")[0]; c.Text() != "pause" || !c.Incomplete() {
		t.Errorf("without a job: got %s, want pause without its job", c.Text())
	}
}

// What has the name of a job as it was typed is the job, whatever else is like it.
func TestFinderMarksLetters(t *testing.T) {
	for _, typed := range []string{"pgb", "run pgb", "resume pgb", "edit etl", "edit cron.d/e", "host db2", "db2"} {
		c := newFinder(t).Find(typed)[0]
		var letters strings.Builder
		for _, x := range c.Letters {
			letters.WriteByte(c.Text()[x])
		}
		word := typed[strings.LastIndexByte(typed, ' ')+1:]
		if letters.String() != word {
			t.Errorf("%q: got the letters %q of %q marked, want %q", typed, &letters, c.Text(), word)
		}
	}
}

// FuzzFind: any text is safe, and every mark is in the text.
func FuzzFind(f *testing.F) {
	for _, text := range []string{"run etl", "edit --user", "report stats --by 'x", "edit ", "-", "logs 1 2", "psue \xff", "resume @ :"} {
		f.Add(text)
	}
	finder := newFinder(f)
	finder.World.Board.Apply(api.BoardUpdate{Rows: []api.Row{{Job: "İstanbul-\x1b[2J"}, {Job: "a b"}}})
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range finder.Find(text) {
			for _, x := range c.Letters {
				if x >= len(c.Text()) {
					t.Fatalf("%q: letter %d of %q", text, x, c.Text())
				}
			}
			_ = c.HelpText()
		}
	})
}

// BenchmarkFind types into the finder of 100,000 jobs.
func BenchmarkFind(b *testing.B) {
	f := newFinder(b)
	f.World.Board = board.New()
	rows := make([]api.Row, 100_000)
	for i := range rows {
		rows[i] = api.Row{Job: job.ID(fmt.Sprintf("tenants-%d.app.%08x-sync", i/100, int64(i)*2654435761%(1<<32))), Command: "/opt/app/bin/tenant-sync"}
	}
	f.World.Board.Apply(api.BoardUpdate{Rows: rows, Complete: true})
	f.Find("x") // puts them in order
	for _, text := range []string{"", "t", "sync", "ts9", "tenatn", "1a2b3c4d", "zzzzzz", "run tens", "psue tenants-99c"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				f.Find(text)
			}
		})
	}
}
