package daemon

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func piece(run job.RunID, of job.Stream, text string) job.Chunk {
	return job.Chunk{Run: run, Job: "j", Stream: of, At: noon, Data: []byte(text)}
}

func TestVoiceJoinsPiecesToLines(t *testing.T) {
	var out bytes.Buffer
	v := newVoice(Options{Stdout: &out})
	v.chunk(piece(1, job.Stdout, "one\ntw"))
	v.chunk(piece(2, job.Stdout, "other\r\n"))
	v.chunk(piece(1, job.Stderr, "err"))
	v.chunk(piece(1, job.Stdout, "o\n\nthree"))
	v.record(&job.Record{At: noon, Kind: job.Ended, Job: "j", Run: &job.Run{
		ID: 1, Started: noon, Ended: noon.Add(time.Second), Outcome: job.Outcome{Kind: job.Exited, Code: 3},
	}})
	v.sayAll()
	const want = `2026-11-20T12:00:00Z j[1] out: one
2026-11-20T12:00:00Z j[2] out: other
2026-11-20T12:00:00Z j[1] out: two
2026-11-20T12:00:00Z j[1] out: 
2026-11-20T12:00:00Z j[1] out: three
2026-11-20T12:00:00Z j[1] err: err
2026-11-20T12:00:00Z j[1] sys: exit 3 in 1s
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if len(v.begun) > 0 {
		t.Errorf("%d begun lines are kept for ever", len(v.begun))
	}
}

func TestVoiceCutsLinesWithoutEnd(t *testing.T) {
	var out bytes.Buffer
	v := newVoice(Options{Stdout: &out})
	for range 100 {
		v.chunk(piece(1, job.Stdout, strings.Repeat("x", 1000)))
	}
	v.sayAll()
	for line := range strings.Lines(out.String()) {
		if len(line) > maxLine+100 {
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
	if got := strings.Count(out.String(), "x"); got < 6*maxLine-100 {
		t.Errorf("%d bytes were written of 100000", got)
	}
}

// A reader that does not read costs lines, never the loop's time, and the
// number of what is missing is said.
func TestVoiceCountsWhatIsLeftOut(t *testing.T) {
	var out bytes.Buffer
	v := newVoice(Options{Stdout: &out})
	for i := range maxRecords + 7 {
		v.record(&job.Record{At: noon, Kind: job.Paused, Job: job.ID(fmt.Sprint(i))})
	}
	v.sayAll()
	if got := out.String(); !strings.Contains(got, " 7 items are left out here") {
		t.Errorf("the end of what was said: %q", got[len(got)-200:])
	}
}

func TestVoiceSaysRecordsInWords(t *testing.T) {
	for want, r := range map[string]job.Record{
		"skipped: The job was paused (by ann).": {Kind: job.Decided, Decision: job.DecideSkip, Reason: job.IsPaused, Detail: "by ann"},
		"skipped 5 times up to 2026-11-20T12:00:00Z: It was noticed too late, and catchup= makes up none so old.": {
			Kind: job.Decided, Decision: job.DecideSkip, Reason: job.Late, Count: 5, Due: noon},
		"decided: It waits for an earlier run of the same job to end.":   {Kind: job.Decided, Decision: job.DecideHold, Reason: job.WaitsForRun},
		"queued: The attempt failed; the next one waits for its time.":   {Kind: job.Queued, Reason: job.WaitsForRetry},
		"dropped: It was queued, and a newer occurrence took its place.": {Kind: job.Dropped, Reason: job.Replaced},
		"starting":                  {Kind: job.Decided, Decision: job.DecideRun, Run: &job.Run{Trigger: job.TriggerClock}},
		"starting (retry)":          {Kind: job.Ready, Run: &job.Run{Trigger: job.TriggerRetry}},
		"not started: unknown user": {Kind: job.Ended, Run: &job.Run{Outcome: job.Outcome{Kind: job.NotStarted, Error: "unknown user"}}},
		"":                          {Kind: job.Started, Run: &job.Run{PID: 7}},
	} {
		if got := recordWords(&r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
