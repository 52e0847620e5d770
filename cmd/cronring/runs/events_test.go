package runs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"
	"unicode"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
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

// FuzzEvents prints any event of a hostile daemon on another host, as an event and as output.
func FuzzEvents(f *testing.F) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for _, e := range []api.Event{
		{Chunk: &job.Chunk{Job: "etl", Run: 7, At: at, Stream: job.Stderr, Data: []byte("one\n\x1b[31mtwo\r\n"), Cut: 5}},
		{Chunk: &job.Chunk{Job: "\x1b[31m", Stream: "\x1b]0;x\a\n", Data: []byte("x\n")}},
		{Record: &job.Record{Kind: job.Ended, Job: "etl", At: at, Reason: "\x1b[31m", Detail: "a\nb", Run: &job.Run{ID: 7, Outcome: job.Outcome{Kind: job.NotStarted, Error: "\x1b[31m"}}}},
		{Notice: &job.Notice{At: at, On: "\x1b[31m", Job: "etl", Text: "a\nb"}},
		{Gap: &api.Gap{Lost: -1}},
	} {
		text, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var e api.Event
		if json.Unmarshal(text, &e) != nil {
			return
		}
		var out bytes.Buffer
		a := &cli.App{Printer: cli.Printer{Out: bufio.NewWriter(&out), Err: io.Discard, Color: cli.OneOf("never")}}
		if err := printEvent(a, e, &cli.Output{Choice: cli.Choice{Value: cli.FormText}}, time.UTC); err != nil {
			t.Fatal(err)
		}
		for _, times := range []bool{false, true} {
			p := &outputPrinter{App: a, flags: &logFlags{times: times, out: &cli.Output{}}, loc: time.UTC, cleaners: map[job.Stream]*display.Lines{}}
			if err := errors.Join(p.event(e), p.close()); err != nil {
				t.Fatal(err)
			}
		}
		a.Out.Flush()
		if at := bytes.IndexFunc(out.Bytes(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); at >= 0 {
			t.Errorf("%s is printed as %q", text, out.Bytes())
		}
		if size := 20 * (len(text) + 100); out.Len() > size {
			t.Errorf("%d bytes are printed as %d", len(text), out.Len())
		}
	})
}
