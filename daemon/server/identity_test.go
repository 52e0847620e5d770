package server

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// owners is a world in which root, ann and bob each have a job named backup. Another of root's
// jobs, report, runs as ann.
func owners(t *testing.T) *world {
	w := emptyWorld(t)
	parse := func(name, text string, c crontab.Config) *crontab.File {
		c.Zone = time.LoadLocation
		file, diagnostics := crontab.Parse(name, text, c)
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		return file
	}
	w.Step(event.Load{Crontabs: []*crontab.File{
		parse("/etc/cron.d/etl", "#@ name=backup\n0 1 * * * root true\n#@ name=report\n0 1 * * * ann true\n", crontab.Config{Format: crontab.System}),
		parse("/var/spool/cron/crontabs/ann", "#@ name=backup\n0 2 * * * true\n#@ name=own\n0 2 * * * true\n0 3 * * * unnamed\n", crontab.Config{Owner: "ann"}),
		parse("/var/spool/cron/crontabs/bob", "#@ name=backup\n0 2 * * * true\n#@ name=both\n0 2 * * * true\n", crontab.Config{Owner: "bob"}),
		parse("/var/spool/cron/crontabs/cat", "#@ name=both\n0 2 * * * true\n", crontab.Config{Owner: "cat"}),
	}})
	return w
}

func TestReferencesMeanTheCallersOwnJobFirst(t *testing.T) {
	w := owners(t)
	for _, c := range []struct {
		uid  uint32
		ref  string
		want string // IDs of jobs, or after "error: " a part of an error
	}{
		{annUID, "backup", "ann/backup"},
		{bobUID, "backup", "bob/backup"},
		{0, "backup", "backup"},
		{0, "ann/backup", "ann/backup"},
		{0, "root/backup", "backup"},
		{annUID, "ann/backup", "ann/backup"},
		{annUID, "report", "report"},
		{annUID, "root/report", "report"},
		{0, "own", "ann/own"}, // the only one of that name
		{0, "both", "error: bob/both, cat/both"},
		{bobUID, "both", "bob/both"},
		{bobUID, "own", "error: no such job"},
		{bobUID, "ann/own", "error: no such job"},
		{bobUID, "root/backup", "error: no such job"},
		{bobUID, "ann/nothing", "error: no such job"},
		{annUID, "backup*", "ann/backup"},
		{0, "backup*", "ann/backup backup bob/backup"},
		{0, "*/backup", "ann/backup backup bob/backup"},
		{0, "root/*", "backup report"},
		{0, "ann/*", "ann/backup ann/e882bcaa ann/own"},
		{bobUID, "ann/*", "error: no such job"},
	} {
		status, text := w.walk(c.uid, "GET", "/v1/jobs", walked{query: "job=" + url.QueryEscape(c.ref)})
		if part, refused := strings.CutPrefix(c.want, "error: "); refused || status != 200 {
			if !refused || status == 200 || !strings.Contains(text, part) {
				t.Errorf("uid %d asks for %q: got status %d, %s; want %q", c.uid, c.ref, status, text, c.want)
			}
			continue
		}
		var answer struct{ Jobs []job.Status }
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, j := range answer.Jobs {
			ids = append(ids, string(j.Job.ID))
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("uid %d asks for %q: got %q, want %q", c.uid, c.ref, got, c.want)
		}
	}
}

// TestDecisionsStayWithTheUser has root give a job of ann's to bob: bob must not
// read why it was not run before.
func TestDecisionsStayWithTheUser(t *testing.T) {
	w := newWorld(t, "#@ name=payroll\n* * * * * ann true\n")
	w.Step(event.Asked{Question: event.Pause{Job: "payroll", Hold: job.Hold{By: "ann", Reason: "ann-secret"}}, Token: 1})
	w.To("2026-11-20T00:05:00Z")
	for _, give := range []struct {
		uid   uint32
		user  string
		reads bool
	}{{annUID, "ann", true}, {bobUID, "bob", false}, {0, "root", true}} {
		w.Load("#@ name=payroll\n* * * * * " + give.user + " true\n")
		for path, query := range map[string]string{
			"/v1/runs":     "job=payroll&skipped=true",
			"/v1/why":      "job=payroll&at=2026-11-20T00:03:00Z",
			"/v1/stats":    "job=payroll&since=2026-11-20T00:00:00Z",
			"/v1/timeline": "job=payroll&from=2026-11-20T00:00:00Z&to=2026-11-20T00:05:00Z",
			"/v1/past":     "job=payroll",
		} {
			status, text := w.walk(give.uid, "GET", path, walked{query: query})
			if status != 200 {
				t.Errorf("GET %s?%s: %d %s", path, query, status, text)
			}
			tells := strings.Contains(text, "ann-secret") || strings.Contains(text, `"reason":"paused"`) || strings.Contains(text, `"kind":"skipped"`) || strings.Contains(text, `"skipped":5`)
			if tells != give.reads {
				t.Errorf("GET %s tells %s of ann's decisions: %t, want %t\n%s", path, give.user, tells, give.reads, text)
			}
		}
	}
}
