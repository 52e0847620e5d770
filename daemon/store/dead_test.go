package store

import (
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// dies is the record of the end of a run that becomes a dead letter.
func dies(id job.RunID, name job.ID, user string) job.Record {
	rec := concluded(id, name, noon.Add(time.Duration(id)*time.Minute), 1, job.VerdictDead)
	rec.Run.User, rec.Run.Env, rec.Detail = user, []string{"N=" + id.String()}, "after 4 attempts"
	return rec
}

func TestDeadLettersLieThereUntilTakenOff(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	deaths := []job.Record{dies(1, "a", "ann"), dies(2, "b", "bob"), dies(3, "a", "ann"), dies(4, "a", "bob")}
	deaths[2].Kind, deaths[2].Run.State = job.Dropped, job.RunDropped // its next attempt never came
	printed := []job.Chunk{{Run: 1, Job: "a", Stream: job.Stderr, At: noon, Data: []byte("no route\n")}}
	commit(t, s, Batch{Records: append(deaths, concluded(5, "a", noon, 1, job.VerdictFail)), Outputs: []Output{{1, printed}}})
	commit(t, s, Batch{Records: deaths[:1]}) // written again
	s = reopen(t, s, dir)
	letter := func(n int) DeadLetter {
		run := *deaths[n].Run
		run.Env = nil
		return DeadLetter{Run: run, At: deaths[n].At, Why: "after 4 attempts"}
	}
	letters := func(of Of, want ...DeadLetter) {
		t.Helper()
		got, err := s.DeadLetters(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "dead letters", got, want)
	}
	letters(Of{}, letter(3), letter(2), letter(1), letter(0))
	letters(Of{Limit: 1}, letter(3))
	letters(Of{User: "ann"}, letter(2), letter(0))
	letters(Of{Jobs: []job.ID{"a"}, User: "bob"}, letter(3))
	letters(Of{Jobs: []job.ID{"x"}})
	if chunks, err := s.Output(t.Context(), 1); err != nil || len(chunks) != 1 {
		t.Errorf("output of a dead letter: %v, %v", chunks, err)
	}

	off := func(kind job.RecordKind, of job.Record) job.Record {
		return job.Record{At: noon.Add(time.Hour), Kind: kind, Job: of.Job, Due: of.Run.Due, Reason: job.AskedFor, Detail: "by ann", Run: of.Run}
	}
	facts := []job.Record{off(job.Redrove, deaths[0]), off(job.Buried, deaths[3])}
	commit(t, s, Batch{Records: facts})
	letters(Of{}, letter(2), letter(1))
	for id, want := range map[job.RunID]bool{1: false, 2: true, 5: false, 99: false} {
		l, ok, err := s.DeadLetter(t.Context(), id)
		if ok != want || err != nil {
			t.Errorf("run %d is a dead letter: %t, %v; want %t", id, ok, err, want)
		}
		if ok && !slices.Equal(l.Run.Env, []string{"N=2"}) {
			t.Errorf("run %d has the variables %q", id, l.Run.Env)
		}
	}
	got, err := s.Records(t.Context(), time.Time{}, noon.Add(2*time.Hour), 10)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "facts", got, facts)
}
