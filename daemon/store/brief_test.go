package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// manyKinds is a history of two jobs: one run of each per minute, and skips of
// the first.
func manyKinds(t *testing.T) *Store {
	s := open(t, t.TempDir())
	var facts []job.Record
	for i := range 10 {
		at := noon.Add(time.Duration(i) * time.Minute)
		for k, name := range []job.ID{"a", "b"} {
			r := job.Run{
				ID: job.RunID(2*i + k + 1), Job: name, User: "ann", Due: at, Decided: at, Started: at.Add(time.Millisecond), Ended: at.Add(time.Second),
				Attempt: 1, Trigger: job.TriggerClock, State: job.RunEnded, Reason: job.OnTime,
				Outcome: job.Outcome{Kind: job.Exited, Code: i % 2}, Verdict: job.VerdictFail, Usage: job.Usage{CPU: time.Second, Memory: 7},
			}
			facts = append(facts, job.Record{At: at, Kind: job.Ended, Job: name, Run: &r})
		}
		facts = append(facts, job.Record{
			At: at, Kind: job.Decided, Job: "a", Due: at.Add(30 * time.Second), First: at.Add(20 * time.Second), Count: 2,
			Decision: job.DecideSkip, Reason: job.Overlapping,
		})
	}
	commit(t, s, Batch{At: noon, Records: facts})
	return s
}

func TestBriefRuns(t *testing.T) {
	s := manyKinds(t)
	var got []string
	note := func(r *job.Run) { got = append(got, fmt.Sprint(r.Job, r.ID)) }
	names, err := s.JobNumbers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sample := func(r *statistics.Sample) { got = append(got, fmt.Sprint(names[r.Number], r.ID)) }
	a, all := []job.ID{"a", "never"}, []job.ID{"a", "b"}
	from, to := noon.Add(2*time.Minute), noon.Add(5*time.Minute)
	for _, q := range []struct {
		name, want string
		ask        func() error
	}{
		{"Newest", "a17 a19", func() error { return s.Newest(t.Context(), a, 2, note) }},
		{"Between", "b10 a9 b8 a7 b6 a5", func() error { return s.Between(t.Context(), all, from, to, 100, note) }},
		{"Between of one", "a9 a7 a5", func() error { return s.Between(t.Context(), a, from, to, 100, note) }},
		{"Between of few", "b10 a9", func() error { return s.Between(t.Context(), all, from, to, 2, note) }},
		{"Samples of one", "a9 a7 a5", func() error { return s.Samples(t.Context(), a, from, to, 100, sample) }},
		{"Samples of few", "b10 a9", func() error { return s.Samples(t.Context(), all, from, to, 2, sample) }},
		{"LastBefore", "a3", func() error { return s.LastBefore(t.Context(), a, from, note) }},
		{"LastBefore all", "", func() error { return s.LastBefore(t.Context(), a, noon, note) }},
	} {
		got = nil
		if err := q.ask(); err != nil || strings.Join(got, " ") != q.want {
			t.Errorf("%s: %v, %v, want %s", q.name, got, err, q.want)
		}
	}
	for user, want := range map[string]string{"": "[2 4]", "ann": "[2 4]", "bob": "[0 0]"} {
		if starts, err := s.Starts(t.Context(), user, noon.Add(3*time.Minute+30*time.Second), noon.Add(6*time.Minute+30*time.Second), 2); err != nil || fmt.Sprint(starts) != want {
			t.Errorf("starts of %q: %v, %v, want %s", user, starts, err, want)
		}
	}
	err = s.Newest(t.Context(), a, 1, func(r *job.Run) {
		want, _, err := s.Run(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		want.Attempt, want.Invocation, want.Era, want.PID = 0, "", 0, 0
		same(t, "run", *r, want)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBriefSkips(t *testing.T) {
	s := manyKinds(t)
	var got []time.Duration
	note := func(r job.Record) {
		if r.Job != "a" || r.Count != 2 || r.Reason != job.Overlapping || r.Due.Sub(r.First) != 10*time.Second {
			t.Errorf("got %+v", r)
		}
		got = append(got, r.Due.Sub(noon))
	}
	if err := s.Skips(t.Context(), []job.ID{"a", "b"}, noon, noon.Add(5*time.Minute), 2, note); err != nil {
		t.Fatal(err)
	}
	want := []time.Duration{4*time.Minute + 30*time.Second, 3*time.Minute + 30*time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("Skips: %v, want %v", got, want)
	}
	got = nil
	if err := s.SkipsBetween(t.Context(), noon, noon.Add(2*time.Minute), 10, note); err != nil || len(got) != 2 {
		t.Errorf("SkipsBetween: %v, %v, want two", got, err)
	}
}

// Statistics count a limited number of skips, and report the start of the counted time.
func TestSamplesOfSkips(t *testing.T) {
	s := manyKinds(t)
	for n, want := range map[int]int{20: 10, 10: 10, 4: 4, 0: 0} {
		end := noon.Add(time.Hour)
		from, err := s.SkipsFrom(t.Context(), noon, end, n)
		if err != nil || n >= 10 && !from.Equal(noon) {
			t.Errorf("%d skips are from %s on, %v", n, from, err)
		}
		var got []int64
		err = s.SkipSamples(t.Context(), from, end, func(r *statistics.SkipSample) {
			if r.Number != 1 || r.Count != 2 || r.At < from.UnixNano() || r.At >= end.UnixNano() {
				t.Errorf("got %+v", r)
			}
			got = append(got, r.Due)
		})
		if err != nil || len(got) != want || want > 0 && got[0] != noon.Add(9*time.Minute+30*time.Second).UnixNano() {
			t.Errorf("the newest %d skips are %v, %v, want %d", n, got, err, want)
		}
	}
}
