package demo

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// TestServe checks what a client sees, and that the demo ends when its input ends.
func TestServe(t *testing.T) {
	in, closeIn := io.Pipe()
	out, outWriter := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(in, outWriter) }()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	client := api.Through("the demo", func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimSpace(address))
	})
	defer client.Close()
	status, err := client.Status(t.Context())
	if err != nil || status.Crontabs != len(crontabs) {
		t.Errorf("got %d crontabs, error %v, want %d", status.Crontabs, err, len(crontabs))
	}
	ring, err := client.Ring(t.Context())
	if err != nil || len(ring.Members) != 3 {
		t.Errorf("got a ring of %d, error %v, want 3", len(ring.Members), err)
	}
	owned := 0
	for _, m := range ring.Members {
		if m.Owns == 0 {
			t.Errorf("%s owns no job", m.Name)
		}
		owned += m.Owns
	}
	if ring.Jobs == 0 || owned != ring.Jobs {
		t.Errorf("the members own %d of %d jobs, want all", owned, ring.Jobs)
	}
	checkDay(t, client, status)
	checkRingJobs(t, client)
	checkOutputs(t, client)
	past, err := client.Past(t.Context(), []job.ID{"etl-orders", "pg-backup"}, 60)
	if err != nil || len(past) != 2 {
		t.Fatalf("got the past of %d jobs, error %v, want 2", len(past), err)
	}
	if etl := past[0]; etl.Failed == 0 || etl.OK == 0 {
		t.Errorf("etl-orders: got %d failed and %d good runs, want some of both", etl.Failed, etl.OK)
	}
	if backup := past[1]; backup.Runs != 30 {
		t.Errorf("pg-backup: got %d runs, want 30: one each night, also in that with 02:30 twice", backup.Runs)
	}
	if _, err := client.CrontabFiles(t.Context()); err == nil || !strings.Contains(err.Error(), "this host is invented") {
		t.Errorf("files: got the error %v, want that there are none", err)
	}
	done, err := client.Run(t.Context(), api.RunRequest{Refs: []string{"sitemap"}})
	if err != nil || len(done) != 1 {
		t.Errorf("run: got %+v, error %v, want a run", done, err)
	}
	closeIn.Close()
	if err := <-ended; err != nil {
		t.Errorf("got the end %v", err)
	}
}

// checkDay checks that the totals of the last 24 hours count the runs of that time.
func checkDay(t *testing.T, client *api.Client, status api.Status) {
	t.Helper()
	day, err := client.History(t.Context(), api.Filter{Since: status.Now.Add(-24 * time.Hour), Limit: 10_000})
	ok, failed := 0, 0
	for _, r := range day.Runs {
		switch {
		case r.OK():
			ok++
		case r.Failed() && r.Verdict != job.VerdictRetry:
			failed++
		}
	}
	if d := status.Day; err != nil || d == nil || d.OK != ok || d.Failed != failed || d.LagP99 == 0 {
		t.Errorf("got the totals %+v, error %v, want %d ok, %d failed, and a lag", d, err, ok, failed)
	}
}

// checkRingJobs checks that this host ran the occurrences that it owns, and reports the owner of others.
func checkRingJobs(t *testing.T, client *api.Client) {
	t.Helper()
	jobs, err := client.List(t.Context(), api.Query{Crontab: "ring"})
	if err != nil || len(jobs) == 0 {
		t.Fatalf("got %d ring jobs, error %v", len(jobs), err)
	}
	for _, j := range jobs {
		if j.Node == "" || j.Last == nil && j.Elsewhere == nil {
			t.Errorf("%s: got the owner %q, the last run %v here and %v elsewhere, want an owner and a last run", j.Job.ID, j.Node, j.Last, j.Elsewhere)
		}
	}
}

// checkOutputs checks that no running job has printed anything in the future.
func checkOutputs(t *testing.T, client *api.Client) {
	t.Helper()
	running, err := client.List(t.Context(), api.Query{States: []job.State{job.StateRunning}})
	if err != nil || len(running) == 0 {
		t.Fatalf("got %d running jobs, error %v", len(running), err)
	}
	for _, j := range running {
		lines := 0
		for e, err := range client.Output(t.Context(), j.Running[0].ID.String(), false) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Chunk == nil {
				continue
			}
			lines++
			if status, err := client.Status(t.Context()); err != nil || e.Chunk.At.After(status.Now) {
				t.Errorf("%s printed %q at %s, error %v; now it is %s", j.Job.ID, e.Chunk.Data, e.Chunk.At, err, status.Now)
			}
		}
		if lines == 0 {
			t.Errorf("%s has printed nothing", j.Job.ID)
		}
	}
}

func BenchmarkHistory(b *testing.B) {
	for b.Loop() {
		newWorld()
	}
}
