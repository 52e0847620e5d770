package runs

import (
	"bufio"
	"bytes"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Lines of several jobs are mixed, so each has the name of its job.
func TestEventsNameTheJobOfOutput(t *testing.T) {
	var out bytes.Buffer
	a := &cli.App{Printer: cli.Printer{Out: bufio.NewWriter(&out)}}
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	event := api.Event{Chunk: &job.Chunk{Job: "etl", Run: 7, At: at, Stream: job.Stderr, Data: []byte("one\ntwo\n")}}
	if err := printEvent(a, event, &cli.Output{Choice: cli.Choice{Value: cli.FormText}}, time.UTC); err != nil {
		t.Fatal(err)
	}
	a.Out.Flush()
	if want := "08:00:00.000 err  etl  run 7  one\n08:00:00.000 err  etl  run 7  two\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
