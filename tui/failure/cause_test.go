package failure

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func TestPatternKeepsWordsAndDropsWhatVaries(t *testing.T) {
	for _, lines := range [][]string{
		{"connect to 10.0.0.7:5432: timeout", "connect to 192.168.1.20:5432: timeout"},
		{"2026-11-20T17:00:12.398Z disk sda1 is 97 % full", "2026-11-21 03:00:01 disk sda2 is 99,5 % full"},
		{"Nov 20 17:00:12 host app[123]: cannot open /var/lib/a/x.db", "Nov  1 07:00:00 host app[9]: cannot open ./b"},
		{"request 0x7ffe12 of 3f2b8c1e-0000-4000-8000-123456789abc failed", "request 0x1 of 00000000-1111-2222-3333-cccccccccccc failed"},
		{"GET https://a.example/x?y=1: 503", "GET http://b.example: 502"},
		{"peer [2001:db8::1]:443 went away", "peer [fe80:0:0:0:1:2:3:4]:8443 went away"},
		{"commit 1f3870be274f6c49 is bad", "commit 0cc175b9c0f1b6a8 is bad"},
	} {
		if a, b := pattern(lines[0]), pattern(lines[1]); a != b {
			t.Errorf("%q and %q are one cause, got %q and %q", lines[0], lines[1], a, b)
		}
	}
	for _, lines := range [][]string{
		{"permission denied", "no such file"},
		{"cannot open /etc/a: permission denied", "cannot open /etc/a: no such file"},
		{"std::bad_alloc", "std::out_of_range"},
	} {
		if a, b := pattern(lines[0]), pattern(lines[1]); a == b {
			t.Errorf("%q and %q are two causes, got %q for both", lines[0], lines[1], a)
		}
	}
}

func TestErrorLineIsTheFirstComplaint(t *testing.T) {
	chunk := func(s job.Stream, text string) job.Chunk { return job.Chunk{Stream: s, Data: []byte(text)} }
	for _, tt := range []struct {
		name   string
		chunks []job.Chunk
		want   string
	}{
		{"nothing", nil, ""},
		{"only reports", []job.Chunk{chunk(job.Stdout, "starting\ndone\n")}, ""},
		{"on standard error", []job.Chunk{chunk(job.Stdout, "error on out\n"), chunk(job.Stderr, "warm up\ncon"), chunk(job.Stderr, "nection refused\n")}, "connection refused"},
		{"on standard output", []job.Chunk{chunk(job.Stdout, "a\nrsync: failed to set times\n"), chunk(job.Stderr, "")}, "rsync: failed to set times"},
		{"no word for it", []job.Chunk{chunk(job.Stderr, "\n  usage: x\n")}, "usage: x"},
		{"traceback", []job.Chunk{chunk(job.Stderr, "Traceback (most recent call last):\n  File \"x\", line 1, in f\n    raise KeyError\nKeyError: 'a'\n")}, "KeyError: 'a'"},
		{"no newline", []job.Chunk{chunk(job.Stderr, "fatal: gone")}, "fatal: gone"},
		{"attack", []job.Chunk{chunk(job.Stderr, "\x1b]0;title\x07\x1b[31merror\x1b[0m \u202egnorw\n")}, "error gnorw"},
		{"system's words are not its", []job.Chunk{chunk(job.System, "error of ours\n")}, ""},
	} {
		if got := errorLine(tt.chunks); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestErrorLineOfALongOneIsShort(t *testing.T) {
	got := errorLine([]job.Chunk{{Stream: job.Stderr, Data: []byte(strings.Repeat("error ", 1<<20))}})
	if len(got) > maxErrorLine {
		t.Errorf("got a line of %d bytes, want at most %d", len(got), maxErrorLine)
	}
}

func TestGroupCauses(t *testing.T) {
	at := func(minutes int) time.Time { return screentest.Now.Add(-time.Duration(minutes) * time.Minute) }
	causes := Group([]Failure{
		{Job: "etl", Run: 1, At: at(30), Ending: "exit 1", Line: `2026-11-20 17:00:00 ERROR: server at "pg-2" (10.0.0.7) timeout`},
		{Job: "etl", Run: 4, At: at(2), Ending: "exit 1", Line: `2026-11-20 17:30:00 ERROR: server at "pg-1" (10.0.0.8) timeout`},
		{Job: "certbot", Run: 2, At: at(20), Ending: "exit 1", Line: "DNS problem: SERVFAIL"},
		{Job: "geoip", Run: 3, At: at(10), Ending: "exit 1", Line: "DNS problem: SERVFAIL"},
		{Job: "quiet-a", Run: 5, At: at(5), Ending: "exit 1"},
		{Job: "quiet-b", Run: 6, At: at(6), Ending: "exit 1"},
		{Job: "big-a", Run: 7, At: at(7), Ending: "signal 9"},
		{Job: "big-b", Run: 8, At: at(8), Ending: "signal 9"},
	})
	var got []string
	for _, c := range causes {
		var runs []job.RunID
		for _, f := range c.Failures {
			runs = append(runs, f.Run)
		}
		got = append(got, fmt.Sprint(c.Title, " ", c.Jobs(), " ", runs))
	}
	want := []string{
		"signal 9 [big-a big-b] [7 8]",
		"DNS problem: SERVFAIL [geoip certbot] [3 2]",
		`server at "pg-1" (10.0.0.8) timeout [etl] [4 1]`,
		"exit 1 [quiet-a] [5]",
		"exit 1 [quiet-b] [6]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for room, want := range map[int]string{
		200: `3 failing jobs, 2 causes: DNS problem: SERVFAIL (geoip, certbot); server at "pg-1" (10.0.0.8) timeout (etl)`,
		102: `3 failing jobs, 2 causes: DNS problem: SERVFAIL (geoip, certbot); server at "pg-1" (10.0.0.8)... (etl)`,
		50:  `3 failing jobs, 2 causes: DNS problem: SERVFAIL (geoip, certbot); server at "pg-1" (10.0.0.8)... (etl)`,
	} {
		if line := Summary(causes[1:3], room); line != want {
			t.Errorf("in %d cells: got %q, want %q", room, line, want)
		}
	}
}
