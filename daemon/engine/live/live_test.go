package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// optionsOf returns the options of an entry.
func optionsOf(t *testing.T, words string) *option.Options {
	t.Helper()
	text := "* * * * * true\n"
	if words != "" {
		text = "#@ " + words + "\n" + text
	}
	file, diagnostics := crontab.Parse("x", text, crontab.Config{Owner: "ann"})
	if len(diagnostics) > 0 {
		t.Fatalf("%s: %v", words, diagnostics[0])
	}
	return file.Entries[0].Options()
}

// ended returns a run that ended with "exit N", "timeout", "lost", "TERM" or "unstarted".
func ended(t *testing.T, options, how string) *Run {
	t.Helper()
	r := &Run{Options: optionsOf(t, options), Run: job.Run{
		ID: 7, Attempt: 1, Due: noon, Decided: noon, Started: noon, Ended: noon.Add(time.Minute), State: job.RunEnded, Invocation: "x",
	}}
	switch how {
	case "timeout":
		r.Outcome = job.Outcome{Kind: job.TimedOut}
	case "lost":
		r.Outcome = job.Outcome{Kind: job.Lost}
	case "TERM":
		r.Outcome = job.Outcome{Kind: job.Signalled, Signal: 15}
	case "unstarted":
		r.Outcome, r.Started = job.Outcome{Kind: job.NotStarted}, time.Time{}
	default:
		r.Outcome = job.Outcome{Kind: job.Exited}
		if _, err := fmt.Sscanf(how, "exit %d", &r.Outcome.Code); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		options, how string
		edit         func(*Run)
		want         job.Verdict
	}{
		{"", "exit 0", nil, job.VerdictOK},
		{"", "exit 1", nil, job.VerdictFail},
		{"ok=0,3", "exit 3", nil, job.VerdictOK},
		{"ok=3", "exit 0", nil, job.VerdictFail},
		{"skip-code=99 retry=1", "exit 99", nil, job.VerdictSkip},
		{"retry=1", "exit 1", nil, job.VerdictRetry},
		{"retry=1", "TERM", nil, job.VerdictRetry},
		{"retry=1", "unstarted", nil, job.VerdictRetry},
		{"retry=1", "exit 1", func(r *Run) { r.Attempt = 2 }, job.VerdictDead},
		{"retry=1 on-exhausted=continue", "exit 1", func(r *Run) { r.Attempt = 2 }, job.VerdictFail},
		{"retry=1", "exit 1", func(r *Run) { r.Attempt, r.Lost = 2, 1 }, job.VerdictRetry}, // a rerun is no retry
		{"retry=1", "exit 1", func(r *Run) { r.Refused = true }, job.VerdictFail},
		{"retry=1 retry-on=timeout", "exit 1", nil, job.VerdictDead},
		{"retry=1 retry-on=timeout", "timeout", nil, job.VerdictRetry},
		{"retry=1 retry-on=1,2", "exit 2", nil, job.VerdictRetry},
		{"retry=1 retry-on=1,2", "TERM", nil, job.VerdictDead},
		{"retry=1 no-retry-on=2", "exit 2", nil, job.VerdictDead},
		{"retry=1 retry-on=any no-retry-on=2", "exit 2", nil, job.VerdictDead},
		{"retry=5 retry-for=1m backoff=10s", "exit 1", nil, job.VerdictDead},
		{"retry=5 retry-for=2m backoff=10s", "exit 1", nil, job.VerdictRetry},
		{"retry=1", "lost", nil, job.VerdictLost}, // its process may still be running
		{"retry=1 retry-on=lost", "lost", nil, job.VerdictRetry},
		{"if-lost=leave", "lost", nil, job.VerdictLeft},
		{"if-lost=rerun", "lost", nil, job.VerdictRetry},
		{"if-lost=rerun", "lost", func(r *Run) { r.Attempt, r.Lost = 1+job.MaxReruns, job.MaxReruns }, job.VerdictLost},
		{"retry=1", "exit 0", func(r *Run) { r.StopReason = job.StopAsked }, job.VerdictFail},
		{"retry=1", "TERM", func(r *Run) { r.StopReason = job.DaemonStopped }, job.VerdictFail},
		{"retry=1", "TERM", func(r *Run) { r.StopReason = job.Replaced }, job.VerdictSkip},
	} {
		r := ended(t, tc.options, tc.how)
		if tc.edit != nil {
			tc.edit(r)
		}
		if got := Judge(r); got != tc.want {
			t.Errorf("%s with %q, attempt %d: got %q, want %q", tc.how, tc.options, r.Attempt, got, tc.want)
		}
	}
}

func TestJudgeDropped(t *testing.T) {
	for _, tc := range []struct {
		options string
		attempt int
		reason  job.Reason
		verdict job.Verdict
		want    job.Verdict
	}{
		{"", 1, job.Late, "", ""},
		{"", 1, job.ParentFailed, job.VerdictUpstream, job.VerdictUpstream},
		{"retry=1", 2, job.PastDeadline, "", job.VerdictDead},
		{"retry=1 on-exhausted=continue", 2, job.PastDeadline, "", job.VerdictFail},
		{"retry=1", 2, job.StopAsked, "", job.VerdictFail},
		{"retry=1", 2, job.Replaced, "", job.VerdictSkip},
		{"retry=1", 2, job.HandedOver, "", job.VerdictSkip},
	} {
		r := &Run{Options: optionsOf(t, tc.options), Run: job.Run{Attempt: tc.attempt, Reason: tc.reason, Verdict: tc.verdict, State: job.RunDropped}}
		if got := JudgeDropped(r); got != tc.want {
			t.Errorf("attempt %d dropped for %s with %q: got %q, want %q", tc.attempt, tc.reason, tc.options, got, tc.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	for _, tc := range []struct {
		options string
		attempt int
		want    time.Duration
	}{
		{"retry=9 backoff=10s retry-jitter=0%", 1, 10 * time.Second},
		{"retry=9 backoff=10s retry-jitter=0%", 5, 10 * time.Second},
		{"retry=9 backoff=10s..5m retry-jitter=0%", 3, 40 * time.Second},
		{"retry=9 backoff=10s..5m retry-jitter=0%", 9, 5 * time.Minute},
		{"retry=9 backoff=10s..5mx3 retry-jitter=0%", 3, 90 * time.Second},
		{"retry=9 backoff=0s retry-jitter=0%", 1, LeastWait},
	} {
		if got := Backoff(optionsOf(t, tc.options), "x", tc.attempt); got != tc.want {
			t.Errorf("%s after attempt %d: got %v, want %v", tc.options, tc.attempt, got, tc.want)
		}
	}
	o := optionsOf(t, "retry=9 backoff=10s retry-jitter=50%")
	a := Backoff(o, "x", 1)
	if a < 5*time.Second || a > 15*time.Second || a == Backoff(o, "y", 1) || a != Backoff(o, "x", 1) {
		t.Errorf("jitter of 50%%: got %v, and %v for another occurrence", a, Backoff(o, "y", 1))
	}
}

func TestGrace(t *testing.T) {
	for _, tc := range []struct {
		options string
		reason  job.Reason
		hurry   bool
		stop    *job.Stop
		want    time.Duration
	}{
		{"stop-grace=40s", job.OverTime, false, nil, 40 * time.Second},
		{"stop-grace=40s", job.StopAsked, false, nil, 40 * time.Second},
		{"", job.StopAsked, false, nil, option.ManualStopGrace},
		{"stop-grace=40s", job.StopAsked, false, &job.Stop{Grace: time.Second}, time.Second},
		{"stop-grace=40s", job.OverTime, true, nil, abandonGrace},
		{"stop-grace=1s", job.DaemonStopped, false, nil, time.Second},
		{"stop-grace=40s", job.DaemonStopped, false, nil, abandonGrace},
	} {
		r := &Run{Options: optionsOf(t, tc.options), StopReason: tc.reason, Hurry: tc.hurry}
		r.Run.Stop = tc.stop
		if got := r.Grace(); got != tc.want {
			t.Errorf("%q stopped for %s, hurry %t: got %v, want %v", tc.options, tc.reason, tc.hurry, got, tc.want)
		}
	}
}

func TestLate(t *testing.T) {
	for _, tc := range []struct {
		options      string
		start, lasts time.Duration
		attempt      int
		want         bool
	}{
		{"max-late=10s", 9 * time.Second, time.Hour, 1, false},
		{"max-late=10s", 10 * time.Second, 0, 1, true},
		{"max-late=10s", time.Hour, 0, 2, false},
		{"max-run=1m", time.Hour, 59 * time.Second, 1, false},
		{"max-run=1m", 0, time.Minute, 1, true},
		{"", time.Hour, time.Hour, 1, false},
	} {
		r := &Run{Options: optionsOf(t, tc.options), Run: job.Run{Due: noon, Attempt: tc.attempt, Started: noon.Add(tc.start), Ended: noon.Add(tc.start + tc.lasts)}}
		if got := r.WasLate(); got != tc.want {
			t.Errorf("%q, attempt %d, started after %v for %v: late %t", tc.options, tc.attempt, tc.start, tc.lasts, got)
		}
	}
	waits := &Run{Options: optionsOf(t, "max-late=10s"), Run: job.Run{Due: noon, Attempt: 1}}
	if waits.StartedLate(noon.Add(9*time.Second)) || !waits.StartedLate(noon.Add(10*time.Second)) {
		t.Error("a run that waits is late 10s after its time")
	}
}

// runsOf parses "USER STATE" for runs 1, 2, ...: q is queued, r runs.
func runsOf(texts ...string) (all []*Run) {
	for i, text := range texts {
		user, state, _ := strings.Cut(text, " ")
		r := &Run{Options: &option.Options{}, Run: job.Run{ID: job.RunID(i + 1), User: user, State: job.RunRunning}}
		if state == "q" {
			r.State, r.Reason = job.RunQueued, job.WaitsForRun
		}
		all = append(all, r)
	}
	return all
}

func TestNextQueued(t *testing.T) {
	for _, tc := range []struct {
		runs []string
		want job.RunID
	}{
		{nil, 0},
		{[]string{"ann r"}, 0},
		{[]string{"ann r", "ann q"}, 0},
		{[]string{"ann q", "ann q"}, 1},
		{[]string{"ann r", "ann q", "bob q"}, 3}, // the run of a user blocks no other user's
	} {
		got := job.RunID(0)
		if r := NextQueued(runsOf(tc.runs...)); r != nil {
			got = r.ID
		}
		if got != tc.want {
			t.Errorf("of %q: got run %d, want %d", tc.runs, got, tc.want)
		}
	}
}

func TestTooMany(t *testing.T) {
	o := optionsOf(t, "max-instances=2")
	for n, want := range []string{"", "", "2 of 2: run 1, 2", "3 of 2: run 1, 2, 3", "4 of 2: run 1, 2, 3, 1 more"} {
		if got := TooMany(o, runsOf(strings.Fields("a b c d")[:n]...)).Words(); got != want {
			t.Errorf("%d runs: got %q, want %q", n, got, want)
		}
	}
}

func TestUnstarted(t *testing.T) {
	c := Unstarted{}
	run := &Run{Options: optionsOf(t, "after=a,b"), Run: job.Run{User: "ann", State: job.RunWaiting}}
	c.Add(run)
	if c["ann"] != 3 {
		t.Errorf("a run that waits for two parents counts %d times, want 3", c["ann"])
	}
	c.Remove(run)
	c.Remove(run)
	long := &Run{Options: optionsOf(t, ""), Run: job.Run{User: "ann", State: job.RunWaiting, Env: []string{"A=" + strings.Repeat("x", 2<<10), "B=" + strings.Repeat("x", 2<<10)}}}
	c.Add(long)
	if c["ann"] != 5 {
		t.Errorf("a run with 4 KiB of variables counts %d times, want 5", c["ann"])
	}
	c.Remove(long)
	c.Add(&Run{Options: run.Options, Run: job.Run{User: "ann", State: job.RunRunning}})
	if len(c) != 0 {
		t.Errorf("got %v, want nothing", c)
	}
	c["ann"] = MostUnstarted
	const many = "10000 of ann, counting waiting runs, the jobs in their after=, and each KiB of their variables; 1 are of this job"
	if c.Flood("ann", 10, 1).Words() != many || c.Flood("ann", MostUnstarted+1, 1) != "" || c.Flood("bob", 10, 1) != "" {
		t.Error("a user may have 10,000 runs without a process, or queue-max, if that is more")
	}
}
