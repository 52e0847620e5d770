package daemon

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// forgetOwners converts the history to version 0.7, where the IDs of jobs had no owner.
func (h *testHost) forgetOwners(before map[job.ID]job.ID) {
	h.t.Helper()
	db, err := sql.Open("sqlite", "file:"+h.path("var/lib/cronring/cronring.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		h.t.Fatal(err)
	}
	_, err = db.Exec("UPDATE host SET owners = 0")
	for id, old := range before {
		_, failed := db.Exec("UPDATE job SET id = ? WHERE id = ?", old, id)
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		h.t.Fatal(err)
	}
}

// TestUpgradeGivesJobsOwners upgrades a daemon from before jobs had owners, once in
// place and once with a new start: what users' jobs have stays theirs, also the run
// that is running.
func TestUpgradeGivesJobsOwners(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"in place", "with a new start"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			gate := h.fifo("gate")
			const bobs = "#@ name=backup overlap=skip\n0 0 1 1 * read x <GATE; echo done\n#@ name=paused\n0 0 1 1 * true\n0 0 1 1 * echo unnamed\n"
			h.userCrontab("bob", bobID, strings.ReplaceAll(bobs, "GATE", gate.Name()))
			h.start()
			running := h.run("bob/backup")[0]
			h.do("bob/25747420")
			if _, err := h.client.Pause(h.context(), api.PauseRequest{Refs: []string{"bob/paused"}, Reason: "maintenance"}); err != nil {
				t.Fatal(err)
			}
			if _, err := h.client.SetState(h.context(), api.StateRequest{Job: "bob/backup", Key: "k", Value: []byte("v")}); err != nil {
				t.Fatal(err)
			}
			former := map[job.ID]job.ID{"bob/backup": "backup", "bob/paused": "paused", "bob/25747420": "bob.bob.25747420"}
			if how == "in place" {
				h.forgetOwners(former)
				h.renew()
			} else {
				h.open(gate, 1)
				h.ended(running.ID)
				h.stop()
				h.forgetOwners(former)
				h.start()
			}
			if runs := h.runsOf("bob/25747420"); len(runs) != 1 || runs[0].Job != "bob/25747420" {
				t.Errorf("the history of the entry without a name: %+v, want its run", runs)
			}
			if runs := h.runsOf("bob/backup"); len(runs) != 1 || runs[0].ID != running.ID {
				t.Errorf("the history of bob/backup: %+v, want run %d", runs, running.ID)
			}
			if s, err := h.client.State(h.context(), "bob/backup", "k"); err != nil || string(s.Entries[0].Value) != "v" {
				t.Errorf("bob/backup keeps %+v, %v; want v", s, err)
			}
			statuses, err := h.client.List(h.context(), api.Query{Refs: []string{"bob/*"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range statuses {
				if paused := st.Hold != nil; paused != (st.Job.ID == "bob/paused") {
					t.Errorf("%s is paused: %t", st.Job.ID, paused)
				}
				if live := len(st.Running) == 1 && st.Running[0].ID == running.ID; how == "in place" && live != (st.Job.ID == "bob/backup") {
					t.Errorf("%s runs %+v", st.Job.ID, st.Running)
				}
			}
			if how != "in place" {
				return
			}
			h.userCrontab("ann", annID, "#@ name=backup\n0 0 1 1 * true\n#@ name=paused\n0 0 1 1 * true\n")
			h.said("crontabs read", "crontabs/ann")
			if _, err := h.client.Run(h.context(), api.RunRequest{Refs: []string{"bob/backup"}}); err == nil {
				t.Error("a second run of bob/backup beside the first one, against overlap=skip")
			}
			h.open(gate, 1)
			h.wantRun(running.ID, "ok", "done\n")
		})
	}
}
