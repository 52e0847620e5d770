package demo

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"

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

func BenchmarkHistory(b *testing.B) {
	for b.Loop() {
		newWorld()
	}
}
