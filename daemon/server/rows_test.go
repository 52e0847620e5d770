package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/jobinfo"
	"github.com/cronring/cronring/daemon/server/lookup"
)

// manyOf is a system crontab with n jobs of ann.
func manyOf(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "0 0 1 1 * ann true # %d\n", i)
	}
	return text.String()
}

// intercepted is a Store that calls before with the number of each read of ended
// runs, counted from 1: the first is that of the states of all jobs, each further
// one a page of a list. The read fails if before does.
type intercepted struct {
	*world
	before func(ctx context.Context, n int32) error
	reads  atomic.Int32
}

func (i *intercepted) Numbered(ctx context.Context, ids []job.RunID, f func(job.Run)) error {
	if err := i.before(ctx, i.reads.Add(1)); err != nil {
		return err
	}
	return i.world.Numbered(ctx, ids, f)
}

func (i *intercepted) Last(ctx context.Context, f func(job.Run)) error {
	if err := i.before(ctx, i.reads.Add(1)); err != nil {
		return err
	}
	return i.world.Last(ctx, f)
}

// manyPages is more jobs than a memory requests separately, and than a socket's buffer holds.
const manyPages = 24 * jobinfo.NodesPage

// When a caller disconnects, its query stops, and its other requests, which
// wait for that one, never start.
func TestListsStopWhenCallersDisconnect(t *testing.T) {
	const stop = 2
	w := newWorld(t, manyOf(manyPages))
	stuck := make(chan struct{}, 1000)
	store := &intercepted{world: w, before: func(ctx context.Context, n int32) error {
		if n < stop {
			return nil
		}
		stuck <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	s := w.serverOf(store)
	path := w.serveServer(s)
	openDirs(t, path)
	as(t, annUID, func() {
		request := func(target string) *os.File {
			f, err := dialThread(path)
			if err != nil {
				t.Errorf("connect: %v", err)
				return nil
			}
			io.WriteString(f, "GET /v1/"+target+" HTTP/1.1\r\nHost: x\r\n\r\n")
			return f
		}
		reading := request("jobs")
		await(t, "the first page", stuck)
		var waiting []*os.File
		for _, target := range []string{"jobs", "status", "graph?all=true", "jobs?job=@failed", "metrics?jobs=true", "stats", "next", "runs"} {
			for range 5 {
				waiting = append(waiting, request(target))
			}
		}
		for _, f := range waiting {
			syscall.Shutdown(int(f.Fd()), syscall.SHUT_WR)
		}
		for _, f := range waiting { // the daemon closes its side after the request has ended
			if _, err := io.Copy(io.Discard, f); err != nil {
				t.Errorf("wait for the end of a request: %v", err)
			}
			f.Close()
		}
		reading.Close()
	})
	ended := make(chan struct{})
	go func() { s.active.Wait(); close(ended) }()
	await(t, "the end of all requests", ended)
	if n := store.reads.Load(); n != stop {
		t.Errorf("the history was read %d times, want %d", n, stop)
	}
	if n := s.queries.Users(); n != 0 {
		t.Errorf("%d users still have slots", n)
	}
}

// An error after rows have been sent must not look like a complete list.
func TestListThatFailsHalfway(t *testing.T) {
	w := newWorld(t, manyOf(manyPages))
	for _, test := range []struct {
		name string
		stop int32
		want string
	}{
		{"while states are read", 1, "disk on fire"},
		{"at the first page", 2, "disk on fire"},
		{"after rows were sent", manyPages / jobinfo.NodesPage, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := api.Dial(w.serveStore(&intercepted{world: w, before: func(_ context.Context, n int32) error {
				if n < test.stop {
					return nil
				}
				return errors.New("disk on fire")
			}}))
			defer c.Close()
			if list, err := c.List(patient(t), api.Query{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %d jobs and %v, want %q", len(list), err, test.want)
			}
		})
	}
}

// A list of rows is the document that encoding/json would make.
func TestRowsAreOneDocument(t *testing.T) {
	w := newWorld(t, manyOf(300))
	response := send(t, w.serve(), "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s, %v", response.Status, err)
	}
	var jobs api.Jobs
	if err := json.Unmarshal(text, &jobs); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(jobs)
	if err != nil || len(jobs.Jobs) != 300 || string(again)+"\n" != string(text) {
		t.Errorf("%d jobs, %v; the document is not the same when encoded again", len(jobs.Jobs), err)
	}
}

// Pages of runs come out as one list, without a run twice or missing.
func TestRunsOfManyPages(t *testing.T) {
	const n = 2*1000 + 7
	w := newWorld(t, "0 0 1 1 * ann true\n")
	var all []job.Run
	for i := range n {
		all = append(all, job.Run{ID: job.RunID(i + 1), Job: w.View().ID(0), User: "ann", State: job.RunEnded})
	}
	for i := range all {
		w.AddFacts(job.Record{Kind: job.Ended, Run: &all[i]})
	}
	c := w.client()
	for _, limit := range []int{1, 1000, lookup.RunsPage + 1, n, n + 1} {
		runs, err := c.History(patient(t), api.Filter{Limit: limit})
		if err != nil || len(runs.Runs) != min(n, limit) {
			t.Fatalf("limit %d: %d runs, %v", limit, len(runs.Runs), err)
		}
		for k, r := range runs.Runs {
			if want := job.RunID(n - k); r.ID != want {
				t.Fatalf("limit %d: run %d at place %d, want %d", limit, r.ID, k, want)
			}
		}
	}
}

// Runs with much of variables are read in smaller pages. Only a list that is not written page by page
// leaves out what exceeds lookup.Bulk.
func TestRunsWithManyVariables(t *testing.T) {
	const n = lookup.Bulk>>16 + 50
	w := newWorld(t, "0 0 1 1 * ann true\n")
	env := []string{"X=" + strings.Repeat("x", 64<<10)}
	for i := range n {
		r := job.Run{ID: job.RunID(i + 1), Job: w.View().ID(0), User: "ann", State: job.RunDropped, Attempt: 1, Decided: w.Now(), Env: env}
		w.AddFacts(job.Record{Kind: job.Dropped, Run: &r})
	}
	c := w.client()
	runs, err := c.History(patient(t), api.Filter{Limit: n + 1})
	if err != nil || len(runs.Runs) != n || len(runs.Runs[n-1].Env) != 1 {
		t.Fatalf("%d runs, %v; want %d with their variables", len(runs.Runs), err, n)
	}
	runs, err = c.History(patient(t), api.Filter{Limit: n + 1, Skipped: true})
	if err != nil || len(runs.Skipped) != n || len(runs.Skipped[0].Run.Env) != 0 {
		t.Errorf("%d skipped occurrences, %v; want %d without variables", len(runs.Skipped), err, n)
	}
	r, err := c.OneRun(patient(t), fmt.Sprintf("%s@-%d", w.View().ID(0), n))
	if err != nil || r.ID != 1 || len(r.Env) != 1 {
		t.Errorf("run %d with %d variables, %v; want 1 with one", r.ID, len(r.Env), err)
	}
}

// A caller that does not read its list delays no other user.
func TestSlowReaderOfListDelaysNobody(t *testing.T) {
	w := newWorld(t, manyOf(2*manyPages))
	path := w.serve()
	openDirs(t, path)
	var slow *os.File
	as(t, annUID, func() {
		var err error
		if slow, err = dialThread(path); err != nil {
			t.Errorf("connect: %v", err)
			return
		}
		io.WriteString(slow, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := io.ReadFull(slow, make([]byte, 1)); err != nil { // rows are being sent
			t.Errorf("read: %v", err)
		}
	})
	defer slow.Close()
	as(t, bobUID, func() {
		for range 20 {
			if _, err := statusOn(path); err != nil {
				t.Errorf("another user: %v", err)
			}
		}
	})
}
