package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with testdata/NAME.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if it should: go test ./daemon/server -update\n%s", path, diff)
	}
}

// The documents are part of the product's interface: fields may be added,
// never renamed.
func TestDocuments(t *testing.T) {
	w := newWorld(t, etlCrontab)
	w.To("2026-11-20T02:00:00Z")
	for _, r := range w.AllRuns() {
		w.Start(r.ID)
		if r.Job == "etl-orders" {
			w.End(r.ID, int(r.ID%2))
		}
	}
	w.To("2026-11-20T02:30:00Z")
	w.Step(event.Pause{Job: "certbot", Hold: job.Hold{By: "ann", Reason: "new key", Until: instant(t, "2026-11-21T00:00:00Z")}})
	w.Problems = []api.Problem{{What: "history cannot be written", Why: "no space left on device", Fix: "make room"}}
	w.AddDiagnostic(crontab.Diagnostic{File: "/etc/cron.d/etl", Line: 5, Column: 1, Severity: crontab.Warning, Code: "B999", Message: "a remark on the line"})
	w.Chunks[1] = []job.Chunk{{Run: 1, Job: "etl-orders", Stream: job.Stderr, At: w.Now(), Data: []byte("timeout\n"), Cut: 12}}
	for name, target := range map[string]string{
		"status": "/v1/status", "jobs": "/v1/jobs?job=etl-nightly&job=certbot", "job": "/v1/job?job=etl:5",
		"runs": "/v1/runs?limit=2", "skipped": "/v1/runs?skipped=true&job=etl-nightly", "run": "/v1/run?run=1",
		"output": "/v1/output?run=1&follow=true", "why": "/v1/why?job=etl-nightly", "diagnostics": "/v1/diagnostics",
		"error":    "/v1/job?job=etl",
		"failures": "/v1/failures",
		"past":     "/v1/past?job=etl-nightly&n=3", "timeline": "/v1/timeline?job=etl-nightly&from=2026-11-20T00:00:00Z&to=2026-11-20T06:00:00Z&cells=12",
		"clashes": "/v1/clashes?limit=2&suggest=daily", "stats": "/v1/stats?by=hour&job=etl-orders",
		"next": "/v1/next?job=etl-*&limit=3", "explain": "/v1/explain?job=etl-nightly",
	} {
		t.Run(name, func(t *testing.T) {
			path := w.serve()
			response := send(t, path, "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			var text bytes.Buffer
			for d := json.NewDecoder(response.Body); d.More(); {
				var document json.RawMessage
				if err := d.Decode(&document); err != nil {
					t.Fatal(err)
				}
				json.Indent(&text, document, "", "  ")
				text.WriteByte('\n')
			}
			golden(t, name+".json", text.String())
		})
	}
}

// TestWhy runs stories, and records the explanations of why.
func TestWhy(t *testing.T) {
	var all strings.Builder
	for _, s := range whyStories {
		w := newWorld(t, s.crontab)
		s.happens(w)
		query := "job=j"
		if s.at != "" {
			query += "&at=" + strings.ReplaceAll(s.at, "+", "%2B")
		}
		status, text := w.walk(0, "GET", "/v1/why", walked{query: query})
		var why api.Why
		if err := json.Unmarshal([]byte(text), &why); err != nil || status != 200 || len(why.Steps) < 8 || len(why.Steps) > 10 {
			t.Fatalf("%s: status %d, %v, %s", s.name, status, err, text)
		}
		fmt.Fprintf(&all, "# %s\n%s\n", s.name, inWords(why))
	}
	golden(t, "why.txt", all.String())
}

func inWords(w api.Why) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s (ran: %v)\n%s\n", w.Job, w.At.Format("2006-01-02T15:04:05Z07:00"), w.Ran, w.Verdict)
	sign := map[api.StepState]string{api.Passed: "+", api.Crossed: "X", api.NotReached: "-"}
	for _, s := range w.Steps {
		fmt.Fprintf(&b, "  %s %-9s %s\n", sign[s.State], s.Name, s.Fact)
	}
	for _, f := range w.Facts {
		fmt.Fprintf(&b, "  fact: %s\n", f)
	}
	for _, r := range w.Remedies {
		fmt.Fprintf(&b, "  do: %s: %s\n", r.What, r.Command)
	}
	return b.String()
}

// parentCrontab has a job that waits for another.
const parentCrontab = "#@ name=d\n15 2 * * * root dump\n#@ name=j after=d\n15 3 * * * root run\n"

const retryCrontab = "#@ name=j retry=1 backoff=1m..1m retry-jitter=0\n0 2 * * * ann run\n"

// whyStories cover each step as the first cross, and each way to pass.
var whyStories = []struct {
	name, crontab string
	happens       func(w *world)
	at            string // "": the newest
}{
	{"ran well", "#@ name=j\n0,30 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:30:00Z")
		w.Start(1)
		w.End(1, 0)
		w.To("2026-11-20T02:40:00Z")
	}, "2026-11-20T02:00:00Z"},
	{"ran and failed", "#@ name=j tz=Europe/Berlin\n0 3 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.To("2026-11-20T02:05:00Z")
		w.End(1, 3)
	}, ""},
	{"is running", "#@ name=j\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.To("2026-11-20T02:05:00Z")
	}, ""},
	{"asked for", "#@ name=j\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T01:00:00Z")
		w.Step(event.RunNow{Job: "j", By: "ann"})
		w.Start(1)
		w.End(1, 0)
	}, ""},
	{"to come", "#@ name=j\n0 2 * * * ann run\n", func(*world) {}, ""},
	{"never was and never comes", "#@ name=j\n0 0 31 2 * ann run\n", func(*world) {}, ""},
	{"schedule: ended by until=", "#@ name=j tz=Europe/Berlin until=2026-11-18\n0 3 * * * ann run\n", func(*world) {}, ""},
	{"schedule: at= of a time that clocks skip, in the past", "#@ name=j tz=Europe/Berlin at=2026-03-29T02:30\n* * * * * ann run\n", func(*world) {}, ""},
	{"schedule: in its blackout", "#@ name=j blackout=02:00-03:00\n30 * * * * ann run\n", func(*world) {}, "2026-11-20T02:30:00Z"},
	{"overlap: once-per=", "#@ name=j once-per=day\n0,30 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.To("2026-11-20T02:40:00Z")
	}, "2026-11-20T02:30:00Z"},
	{"entry: the crontab was changed since", "0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T03:00:00Z")
		w.Load("#@ name=j\n0 2 * * * ann run\n")
		w.To("2026-11-20T04:00:00Z")
	}, "2026-11-20T02:00:00Z"},
	{"enabled: disabled", "#@ name=j enabled=no\n0 2 * * * ann run\n", func(w *world) { w.To("2026-11-20T02:10:00Z") }, ""},
	{"enabled: disabled, to come", "#@ name=j enabled=no\n0 2 * * * ann run\n", func(w *world) {}, "2026-11-21T02:00:00Z"},
	{"enabled: held", "#@ name=j overlap=maybe\n0 2 * * * ann run\n", func(w *world) { w.To("2026-11-20T02:10:00Z") }, ""},
	{"enabled: paused", "#@ name=j\n0 2 * * * ann run\n", func(w *world) {
		w.Step(event.Pause{Job: "j", Hold: job.Hold{By: "bob", Reason: "moving house"}})
		w.To("2026-11-20T02:10:00Z")
	}, ""},
	{"enabled: broken", "#@ name=j breaker=1/2d\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:10:00Z")
		w.Start(1)
		w.End(1, 1)
		w.To("2026-11-21T02:10:00Z")
	}, ""},
	{"enabled: paused, to come", "#@ name=j\n0 2 * * * ann run\n", func(w *world) {
		w.Step(event.Pause{Job: "j", Hold: job.Hold{By: "bob", Until: instant(w.t, "2026-11-22T00:00:00Z")}})
	}, "2026-11-21T02:00:00Z"},
	{"schedule: minute and hour differ", "#@ name=j\n0,30 2 * * * ann run\n", func(*world) {}, "2026-11-20T03:31:00Z"},
	{"schedule: day or weekday", "#@ name=j\n0 2 13 * 5 ann run\n", func(*world) {}, "2026-11-19T02:00:00Z"},
	{"schedule: weekday alone, and month", "#@ name=j\n0 2 * 1-6 mon ann run\n", func(*world) {}, "2026-11-19T02:00:00Z"},
	{"schedule: nickname", "#@ name=j\n@daily ann run\n", func(*world) {}, "2026-11-19T02:00:00Z"},
	{"schedule: fixed period", "#@ name=j every=7m\n* * * * * ann run\n", func(*world) {}, "2026-11-20T02:01:00Z"},
	{"schedule: second pass", "#@ name=j tz=Europe/Berlin\n30 2 * * * ann run\n", func(*world) {}, "2026-10-25T01:30:00Z"},
	{"schedule: moved by spread", "#@ name=j spread=20m\n30 2 * * * ann run\n", func(*world) {}, "2026-11-20T02:30:00Z"},
	{"schedule: gap moved it", "#@ name=j tz=Europe/Berlin\n30 2 * * * ann run\n", func(w *world) {
		w.Jump("2027-03-28T00:00:00Z")
		w.To("2027-03-28T01:00:00Z")
		w.Start(1)
	}, "2027-03-28T01:00:00Z"},
	{"clock: set forward over it", "#@ name=j catchup=skip\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T01:00:00Z")
		w.Jump("2026-11-20T04:00:00Z")
	}, ""},
	{"daemon: down", "#@ name=j catchup=skip\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T01:00:00Z")
		w.Down("2026-11-22T12:00:00Z")
	}, "2026-11-21T02:00:00Z"},
	{"daemon: down, made up", "#@ name=j catchup=once\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T01:00:00Z")
		w.Down("2026-11-20T12:00:00Z")
		w.Start(1)
		w.End(1, 0)
	}, ""},
	{"daemon: down, to be caught up", "#@ name=j catchup=once window=02:00-03:00 outside=wait\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T01:00:00Z")
		w.Down("2026-11-22T12:00:00Z")
	}, ""},
	{"daemon: down, and a newer one to be caught up", "#@ name=j catchup=once deadline=7d window=02:00-03:00 outside=wait\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T01:00:00Z")
		w.Down("2026-11-22T12:00:00Z")
	}, "2026-11-21T02:00:00Z"},
	{"daemon: asleep", "#@ name=j catchup=skip\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T01:00:00Z")
		w.Set(w.Now(), 3*time.Hour)
		w.Jump("2026-11-20T04:00:00Z")
	}, ""},
	{"overlap: skipped", "#@ name=j overlap=skip\n0,30 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.To("2026-11-20T02:41:00Z")
		w.End(1, 0)
	}, "2026-11-20T02:30:00Z"},
	{"overlap: late, not lost", "#@ name=j overlap=queue\n0,30 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.To("2026-11-20T02:41:00Z")
	}, "2026-11-20T02:30:00Z"},
	{"overlap: queued, then ran", "#@ name=j overlap=queue\n0,30 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.To("2026-11-20T02:41:00Z")
		w.End(1, 0)
		w.Start(2)
		w.End(2, 0)
	}, "2026-11-20T02:30:00Z"},
	{"overlap: queue full", "#@ name=j overlap=queue\n0,20,40 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.To("2026-11-20T02:41:00Z")
	}, "2026-11-20T02:40:00Z"},
	{"attempts: the next one waits", retryCrontab, func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.End(1, 1)
	}, ""},
	{"attempts: no time for another", "#@ name=j retry=9 backoff=1m retry-jitter=0 retry-for=30s\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.End(1, 3)
	}, ""},
	{"attempts: the last one failed", retryCrontab, func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.End(1, 1)
		w.To("2026-11-20T02:01:00Z")
		w.Start(2)
		w.End(2, 3)
	}, "2026-11-20T02:00:00Z"},
	{"check: refused", "#@ name=j if='test -e /srv'\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Step(event.Checked{Run: 1, Outcome: job.Outcome{Kind: job.Exited, Code: 1}})
	}, ""},
	{"check: not answered yet", "#@ name=j if='test -e /srv'\n0 2 * * * ann run\n", func(w *world) { w.To("2026-11-20T02:00:00Z") }, ""},
	{"parents: ran after them", parentCrontab, func(w *world) {
		w.To("2026-11-20T02:15:00Z")
		w.Start(1)
		w.To("2026-11-20T03:40:00Z")
		w.End(1, 0)
		w.Start(2)
		w.End(2, 0)
	}, "2026-11-20T03:15:00Z"},
	{"parents: waits for them", parentCrontab, func(w *world) { w.To("2026-11-20T03:40:00Z") }, ""},
	{"parents: one failed", parentCrontab, func(w *world) {
		w.To("2026-11-20T02:15:00Z")
		w.Start(1)
		w.To("2026-11-20T02:40:00Z")
		w.End(1, 1)
		w.To("2026-11-20T03:40:00Z")
	}, ""},
	{"parents: did not come", "#@ name=d enabled=no\n15 2 * * * root dump\n#@ name=j after=d wait=1h\n15 3 * * * root run\n", func(w *world) { w.To("2026-11-20T04:40:00Z") }, ""},
	{"parents: held in a circle", "#@ name=d after=j\n15 2 * * * root dump\n#@ name=j after=d wait=1h\n15 3 * * * root run\n", func(w *world) { w.To("2026-11-20T04:40:00Z") }, ""},
	{"started by the end of another", "#@ name=d\n15 2 * * * root dump\n#@ name=j on=job:d:fail\n0 0 1 1 * root run\n", func(w *world) {
		w.To("2026-11-20T02:15:00Z")
		w.Start(1)
		w.To("2026-11-20T02:40:00Z")
		w.End(1, 1)
		w.Start(2)
		w.To("2026-11-20T04:40:00Z")
	}, ""},
	{"gate: not started", "#@ name=j\n0 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Step(event.Ended{Run: 1, Outcome: job.Outcome{Kind: job.NotStarted, Error: "no such user: ann"}})
	}, ""},
	{"ran: was stopped, with an environment of its own", "#@ name=j\n0 2 1 1 * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Step(event.RunNow{Job: "j", By: "ann", Env: []string{"FULL=yes", "A=b c"}})
		w.Start(1)
		w.To("2026-11-20T02:01:00Z")
		w.Step(event.Stop{Run: 1, By: "bob", Signal: syscall.SIGHUP, Grace: 90 * time.Second})
		w.To("2026-11-20T02:02:00Z")
		w.Step(event.Ended{Run: 1, Outcome: job.Outcome{Kind: job.Signalled, Signal: 1}})
	}, ""},
	{"gate: stopped while it was queued", "#@ name=j overlap=queue\n0,30 2 * * * ann run\n", func(w *world) {
		w.To("2026-11-20T02:00:00Z")
		w.Start(1)
		w.To("2026-11-20T02:31:00Z")
		w.Step(event.Stop{Run: 2, By: "ann"})
	}, "2026-11-20T02:30:00Z"},
}
