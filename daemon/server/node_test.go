package server

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// Of an occurrence of a ring job this host tells whose it is, whether it had it,
// and whether another member had it too.
func TestWhyOfRingJobs(t *testing.T) {
	w := emptyWorld(t)
	table, _ := crontab.Parse("/etc/cron.d/etl",
		"#@ name=j scope=ring\n0 * * * * ann x\n#@ name=db scope=ring need=role:db\n0 * * * * ann y\n", crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
	w.step(engine.Load{Tables: []*crontab.Table{table}, Ring: engine.Strict})
	due := w.now.Truncate(time.Hour).Add(time.Hour)
	occurrence := engine.Occurrence{Key: fnv("j"), Due: due}
	why := func(id, step string) string {
		t.Helper()
		status, text := w.walk(0, "GET", "/v1/why", walked{query: "job=" + id + "&at=" + due.Format("2006-01-02T15:04:05Z")})
		var why api.Why
		if err := json.Unmarshal([]byte(text), &why); err != nil || status != 200 {
			t.Fatalf("status %d, %v, %s", status, err, text)
		}
		for _, s := range why.Steps {
			if s.Name == api.StepNode {
				return string(s.State) + ": " + s.Fact + "\n" + strings.Join(why.Facts, "\n")
			}
		}
		t.Fatalf("no step node: %+v", why.Steps)
		return ""
	}
	says := func(id, state, want string) {
		t.Helper()
		if got := why(id, state); !strings.HasPrefix(got, state) || !strings.Contains(got, want) {
			t.Errorf("why of %s says %q, want %s with %q", id, got, state, want)
		}
	}
	says("j", string(api.Passed), "knows nothing of the other members")

	members := func(ids ...string) *engine.Membership {
		m := &engine.Membership{Self: "box"}
		for _, id := range ids {
			m.Members = append(m.Members, engine.Member{ID: id, Name: id, Weight: 1})
		}
		return m
	}
	w.step(engine.Ring{Membership: members("box", "elm")})
	says("db", string(api.Passed), "no member of the ring may run it (box: need= asks for role:db; elm: need= asks for role:db)")
	w.step(engine.Ring{Membership: members("box")})
	w.to(due.Format(time.RFC3339))
	w.step(engine.Claimed{Occurrence: occurrence, Grant: engine.Unknown})
	says("j", string(api.Crossed), "the ring has no quorum")
	w.now, w.up = w.now.Add(time.Second), w.up+time.Second
	w.step()
	w.step(engine.Claimed{Occurrence: occurrence, Grant: engine.Granted, Token: 9})
	w.started(1)
	says("j", string(api.Passed), "of the ring's members it was")
	w.step(engine.Doubled{Occurrence: occurrence, Member: "elm", Run: 7})
	says("j", string(api.Passed), "ran on elm too, as run 7: the two members did not see each other")
	if r := w.records[len(w.records)-1]; r.Kind != job.Doubled || r.Job != "j" {
		t.Errorf("the newest record is %+v, want that it was doubled", r)
	}
}

// fnv is the key of a job.
func fnv(id string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return h
}
