package runlog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func piece(run job.RunID, of job.Stream, text string) job.Chunk {
	return job.Chunk{Run: run, Job: "j", Stream: of, At: noon, Data: []byte(text)}
}

func TestPiecesBecomeLines(t *testing.T) {
	var out bytes.Buffer
	v := New(journal.NewText(&out), false)
	v.Chunk(piece(1, job.Stdout, "one\ntw"))
	v.Chunk(piece(2, job.Stdout, "other\r\n"))
	v.Chunk(piece(1, job.Stderr, "err"))
	v.Chunk(piece(1, job.Stdout, "o\n\nthree"))
	v.Record(&job.Record{At: noon, Kind: job.Ended, Job: "j", Run: &job.Run{
		ID: 1, Started: noon, Ended: noon.Add(time.Second), Outcome: job.Outcome{Kind: job.Exited, Code: 3},
	}})
	v.WriteAll()
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

func TestLineWithoutEndIsCut(t *testing.T) {
	var out bytes.Buffer
	v := New(journal.NewText(&out), false)
	for range 100 {
		v.Chunk(piece(1, job.Stdout, strings.Repeat("x", 1000)))
	}
	v.WriteAll()
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
func TestLostItemsAreCounted(t *testing.T) {
	var out bytes.Buffer
	v := New(journal.NewText(&out), false)
	for i := range maxRecords + 7 {
		v.Record(&job.Record{At: noon, Kind: job.Paused, Job: job.ID(fmt.Sprint(i))})
	}
	v.WriteAll()
	if got := out.String(); !strings.Contains(got, " 7 items are left out here") {
		t.Errorf("the end of what was said: %q", got[len(got)-200:])
	}
}

func TestRecordsInWords(t *testing.T) {
	for want, r := range map[string]job.Record{
		"skipped: The job was paused (by ann).": {Kind: job.Decided, Decision: job.DecideSkip, Reason: job.IsPaused, Detail: "by ann"},
		"skipped 5 times up to 2026-11-20T12:00:00Z: It was noticed too late, and catchup= does not cover an occurrence this old.": {
			Kind: job.Decided, Decision: job.DecideSkip, Reason: job.Late, Count: 5, Due: noon},
		"decided: It is waiting for an earlier run of the same job to end.":     {Kind: job.Decided, Decision: job.DecideHold, Reason: job.WaitsForRun},
		"queued: The attempt failed, and the next one is waiting for its time.": {Kind: job.Queued, Reason: job.WaitsForRetry},
		"dropped: It was queued, and a newer occurrence replaced it.":           {Kind: job.Dropped, Reason: job.Replaced},
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

// heard is a sink that keeps what it is told.
type heard struct {
	journal.Sink // Flush and Close
	said         []string
}

func (h *heard) Line(l *journal.Line) {
	h.said = append(h.said, fmt.Sprintf("line %s %s", l.Text, of(l.About)))
}

func (h *heard) Record(r *journal.Record) {
	h.said = append(h.said, fmt.Sprintf("%s %s", r.Kind, of(r.About)))
}

func (h *heard) Cron(l *journal.CronLine) { h.said = append(h.said, "cron "+l.Word) }

func (h *heard) Log(e *journal.Entry) { h.said = append(h.said, "log "+e.Message) }

func of(r *journal.Run) string {
	if r == nil {
		return "of nothing known"
	}
	return fmt.Sprintf("of %s line %d, process %d, quiet %t, printed %t, stamp %q", r.Crontab, r.Line, r.PID, r.Quiet, r.Printed, r.Anacron)
}

// What the loop tells of a run reaches the sink with all that the run does,
// and is forgotten with it.
func TestRunsAreKnownUntilTheyEnd(t *testing.T) {
	h := &heard{Sink: journal.NewText(io.Discard)}
	v := New(h, false)
	j := &job.Job{ID: "j", Crontab: "/etc/crontab", Line: 7, User: "bob", Command: "true"}
	v.Begin(&job.Run{ID: 1, Job: "j"}, j, lineOfCrontab(t, "-* * * * * root true"))
	v.BeginAnacron(&job.Run{ID: 2, Job: "j"}, j, "cron.daily")
	v.Chunk(piece(1, job.Stdout, "early\n"))
	v.Record(&job.Record{At: noon, Kind: job.Started, Job: "j", Run: &job.Run{ID: 1, PID: 4711}})
	v.Cron("root", journal.CronLine{Word: "RELOAD"}, journal.CronLine{})
	v.Chunk(piece(1, job.Stdout, "begun"))
	v.Log(&journal.Entry{Message: "ready"})
	v.Record(&job.Record{At: noon, Kind: job.Ended, Job: "j", Run: &job.Run{ID: 1}})
	v.Chunk(piece(1, job.Stdout, "late\n"))
	v.Chunk(piece(2, job.Stdout, "never started\n"))
	v.Record(&job.Record{At: noon, Kind: job.Ended, Job: "j", Run: &job.Run{ID: 2}})
	v.WriteAll()
	const known = "of /etc/crontab line 7, process 4711, quiet true, printed "
	want := []string{
		"started " + known + `false, stamp ""`, "line early " + known + `true, stamp ""`, "cron RELOAD", "log ready", "line begun " + known + `true, stamp ""`,
		"ended " + known + `true, stamp ""`, "line late of nothing known",
		`line never started of /etc/crontab line 7, process 0, quiet false, printed true, stamp "cron.daily"`,
		`ended of /etc/crontab line 7, process 0, quiet false, printed true, stamp "cron.daily"`,
	}
	if !slices.Equal(h.said, want) {
		t.Errorf("said:\n%s\nwant:\n%s", strings.Join(h.said, "\n"), strings.Join(want, "\n"))
	}
	if len(v.runs)+len(v.begun)+len(v.early.of)+v.early.size > 0 {
		t.Errorf("%d runs, %d lines, %d bytes are kept for ever", len(v.runs), len(v.begun), v.early.size)
	}
}

// Output that waits for word of a start is bounded.
func TestOutputBeforeAStartIsBounded(t *testing.T) {
	h := &heard{Sink: journal.NewText(io.Discard)}
	v := New(h, false)
	v.Begin(&job.Run{ID: 1}, &job.Job{}, lineOfCrontab(t, "* * * * * root true"))
	const lines = 2 * maxEarly / 1000
	for i := range lines {
		v.Chunk(piece(1, job.Stdout, fmt.Sprintf("%0999d\n", i)))
		v.WriteAll()
	}
	if v.early.size > maxEarly {
		t.Errorf("%d bytes wait", v.early.size)
	}
	v.Record(&job.Record{Kind: job.Started, Run: &job.Run{ID: 1, PID: 1}})
	v.WriteAll()
	h.said = slices.DeleteFunc(h.said, func(s string) bool { return !strings.HasPrefix(s, "line ") })
	if len(h.said) != lines || !slices.IsSorted(h.said) {
		t.Errorf("%d lines of %d, in order: %t", len(h.said), lines, slices.IsSorted(h.said))
	}
}

// A run whose end there was no room for is forgotten all the same.
func TestRunsWhoseEndIsLostAreForgotten(t *testing.T) {
	v := New(&heard{Sink: journal.NewText(io.Discard)}, false)
	v.Begin(&job.Run{ID: 1}, &job.Job{}, lineOfCrontab(t, "* * * * * root true"))
	v.Chunk(piece(1, job.Stdout, "begun"))
	for range maxRecords {
		v.Record(&job.Record{Kind: job.Paused})
	}
	v.Record(&job.Record{Kind: job.Ended, Run: &job.Run{ID: 1}})
	v.WriteAll()
	if len(v.runs)+len(v.begun) > 0 {
		t.Errorf("%d runs and %d lines are kept for ever", len(v.runs), len(v.begun))
	}
}

// TestLogInTheJournal follows one run from the loop to the journal's
// socket, with the loop and the reader of output at work at once.
func TestLogInTheJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(hosttest.Patience))
	sink, mode, err := journal.Open(journal.Options{Mode: journal.ModeJournal, Journal: path})
	if err != nil || mode != journal.ModeJournal {
		t.Fatal(mode, err)
	}
	v := New(sink, false)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()

	v.Begin(&job.Run{ID: 12, Job: "backup"}, &job.Job{ID: "backup", User: "bob", Command: "tar c /"}, lineOfCrontab(t, "* * * * * root true"))
	v.Record(&job.Record{At: noon, Kind: job.Started, Job: "backup", Run: &job.Run{ID: 12, PID: 4711}})
	v.Chunk(job.Chunk{Run: 12, Job: "backup", Stream: job.Stdout, Data: []byte("one\ntwo")})
	slog.New(journal.NewHandler(v.Log, nil)).Info("ready")
	v.Record(&job.Record{At: noon, Kind: job.Ended, Job: "backup", Run: &job.Run{ID: 12, Outcome: job.Outcome{Kind: job.Exited}, Started: noon, Ended: noon}})
	for _, want := range []string{
		"MESSAGE=(bob) CMD (tar c /)\nPRIORITY=6\nSYSLOG_FACILITY=9\nSYSLOG_IDENTIFIER=CRON\nSYSLOG_PID=4711\nCRONRING_JOB=backup\nCRONRING_RUN=12\n",
		"MESSAGE=one\nPRIORITY=6\nSYSLOG_FACILITY=9\nSYSLOG_IDENTIFIER=backup\n", "MESSAGE=ready\n", "MESSAGE=two\n", "MESSAGE=backup[12]: ok in 0s\n",
	} {
		b := make([]byte, 1<<16)
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(b[:n]); !strings.HasPrefix(got, want) {
			t.Errorf("got\n%s\nwant\n%s...", got, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// lineOfCrontab is the entry of one line, below its directives, in a crontab of root's.
func lineOfCrontab(t *testing.T, text string) *crontab.Entry {
	t.Helper()
	file, diagnostics := crontab.Parse("test", text+"\n", crontab.Config{Format: crontab.System, Privileged: true})
	if len(file.Entries) != 1 {
		t.Fatalf("%s: %v", text, diagnostics)
	}
	return &file.Entries[0]
}

func TestOutputThatGoesElsewhereIsNotLogged(t *testing.T) {
	for directive, want := range map[string]bool{"": true, "#@ log=journal\n": true, "#@ log=none\n": false, "#@ log=file:/x\n": false} {
		var said bytes.Buffer
		v := New(journal.NewText(&said), false)
		v.Begin(&job.Run{ID: 1, PID: 7}, &job.Job{}, lineOfCrontab(t, directive+"* * * * * root true"))
		v.Chunk(piece(1, job.Stdout, "printed\n"))
		v.Chunk(piece(1, job.System, "the daemon's word\n"))
		v.Close()
		if got := strings.Contains(said.String(), "printed"); got != want {
			t.Errorf("%q: the log says %q; output in it: %t, want %t", directive, said.String(), got, want)
		}
		if !strings.Contains(said.String(), "the daemon's word") {
			t.Errorf("%q: the log says %q, want the daemon's own words", directive, said.String())
		}
	}
}
