package runlog

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
)

func TestOutputLimitOfARun(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	for _, c := range []struct {
		name   string
		pieces []string
		logged string // of the last piece
		rest   amount
	}{
		{"small", []string{"one\n", "two"}, "two", amount{}},
		{"as many lines as are logged", []string{strings.Repeat("\n", 999), "last\n"}, "last\n", amount{}},
		{"one line more", []string{strings.Repeat("\n", 999), "last\nmore\n"}, "last\n", amount{1, 5}},
		{"after the limit", []string{strings.Repeat("\n", 1001), "a\nb"}, "", amount{2, 4}},
		{"a line across the limit", []string{strings.Repeat(line, 655), line}, line[:36] + "\n", amount{1, 64}},
		{"whole lines of too many bytes at once", []string{strings.Repeat(line, 700)}, strings.Repeat(line, 655), amount{45, 4500}},
		{"a line without end", []string{strings.Repeat("x", 100_000)}, strings.Repeat("x", 64<<10) + "\n", amount{0, 100_000 - 64<<10}},
	} {
		l := newOutputLimit()
		l.begin(1)
		var data []byte
		for _, text := range c.pieces {
			data = l.take(job.Chunk{Run: 1, User: "ann", Data: []byte(text)}, noon)
		}
		if string(data) != c.logged || l.takeDropped(1) != c.rest {
			t.Errorf("%s: logged %.20q of %d bytes, rest %+v; want %.20q of %d, %+v", c.name, data, len(data), l.takeDropped(1), c.logged, len(c.logged), c.rest)
		}
	}
}

func TestOutputLimitOfAUserInAMinute(t *testing.T) {
	l := newOutputLimit()
	now := noon
	logged := func(run job.RunID, user string) int {
		l.begin(run)
		data := l.take(job.Chunk{Run: run, User: user, Data: []byte(strings.Repeat("\n", 900))}, now)
		return len(data)
	}
	of := func(user string) (n int) {
		for run := range job.RunID(10) {
			n += logged(run, user)
		}
		return n
	}
	if n := of("ann"); n != 5000 {
		t.Errorf("%d lines of ann's are logged in a minute, want 5000", n)
	}
	if n := logged(20, "bob"); n != 900 {
		t.Errorf("%d lines of bob's are logged beside ann's, want 900", n)
	}
	// Background processes of runs that have ended count as well, and a run is
	// not logged again in the next minute.
	if data := l.take(job.Chunk{Run: 99, User: "ann", Data: []byte("late\n")}, now); len(data) > 0 {
		t.Errorf("logged %q of a background process; want nothing", data)
	}
	now = now.Add(time.Minute)
	if data := l.take(job.Chunk{Run: 9, User: "ann", Data: []byte("again\n")}, now); len(data) > 0 {
		t.Errorf("logged %q of a run after its limit", data)
	}
	if n := logged(30, "ann"); n != 900 {
		t.Errorf("%d lines are logged in the next minute, want 900", n)
	}
	for run := range job.RunID(100) {
		l.forget(run)
	}
	if len(l.runs) > 0 {
		t.Errorf("%d runs are kept for ever", len(l.runs))
	}
}

// The journal has the first lines of a flood on both streams, one line that says how
// much is not there, and each start and end beside it. Standard output has all of it.
func TestStartOfAFloodIsLogged(t *testing.T) {
	h := &heard{Sink: journal.NewText(nil)}
	v := New(h, true)
	entry := lineOfCrontab(t, "* * * * * root true")
	v.Begin(&job.Run{ID: 12, Job: "flood"}, &job.Job{User: "ann"}, entry)
	v.Record(&job.Record{Kind: job.Started, Job: "flood", Run: &job.Run{ID: 12, PID: 7, User: "ann"}})
	for i := range 3000 {
		stream := []job.Stream{job.Stdout, job.Stderr}[i%2]
		v.Chunk(job.Chunk{Run: 12, Job: "flood", User: "ann", Stream: stream, Data: fmt.Appendf(nil, "line %d\n", i)})
		if i%1000 == 0 {
			run := &job.Run{ID: job.RunID(100 + i), Job: "other", User: "bob", PID: 8}
			v.Begin(run, &job.Job{User: "bob"}, entry)
			v.Record(&job.Record{Kind: job.Started, Job: "other", Run: run})
			v.Record(&job.Record{Kind: job.Ended, Job: "other", Run: run})
		}
	}
	v.Chunk(job.Chunk{Run: 12, Job: "flood", User: "ann", Stream: job.System, Data: []byte("of the daemon\n")})
	v.Record(&job.Record{Kind: job.Ended, Job: "flood", Run: &job.Run{ID: 12, User: "ann"}})
	v.WriteAll()
	var lines, starts, ends int
	var words []string
	for _, said := range h.said {
		text, _, _ := strings.Cut(said, " of  line")
		switch {
		case strings.HasPrefix(said, "line line "):
			lines++
		case strings.HasPrefix(said, "started"):
			starts++
		case strings.HasPrefix(said, "ended"):
			ends++
		default:
			words = append(words, text)
		}
	}
	want := []string{
		"line of the daemon", "line 20000 more bytes of output (2000 lines) are not logged: see cronring logs 12",
	}
	if lines != 1000 || starts != 4 || ends != 4 || fmt.Sprint(words) != fmt.Sprint(want) {
		t.Errorf("%d lines, %d starts, %d ends, and %q; want 1000, 4, 4 and %q", lines, starts, ends, words, want)
	}
	if len(v.runs)+len(v.begun)+len(v.limit.runs) > 0 {
		t.Errorf("%d runs, %d lines, %d amounts are kept for ever", len(v.runs), len(v.begun), len(v.limit.runs))
	}
}

func TestOutputIsLimitedInSharedLogsOnly(t *testing.T) {
	for log, want := range map[string]bool{"journal": true, "syslog": true, "text": false, "json": false} {
		v, _, err := Open(journal.Options{Mode: journal.Mode(log), CMDOUT: func() bool { return false }, Stdout: io.Discard, Stderr: io.Discard, Getenv: os.Getenv})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.limit != nil; got != want {
			t.Errorf("%s: limited %t, want %t", log, got, want)
		}
	}
}
