// Package memorystore owns a store that keeps the history in memory, for tests of the engine.
package memorystore

import (
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// Store contains the data that a daemon stores from the effects of its engine and passes to the next
// engine.
type Store struct {
	Holds        job.Holds
	Stamps       map[string]timetable.Day
	Marks        map[job.ID]job.Mark
	Live         map[job.RunID]job.Run
	Dead         map[job.RunID]job.Run // dead letters, including those that were run again
	Summaries    map[job.Owned]job.Summary
	Backfills    map[int64]job.Backfill // active ones
	NextRun      job.RunID
	NextBackfill int64

	roster *effect.Roster
	runs   map[job.ID][]job.Run // of all records
}

// New returns an empty store.
func New() *Store {
	return &Store{
		Holds: job.Holds{}, Stamps: map[string]timetable.Day{}, Marks: map[job.ID]job.Mark{}, Live: map[job.RunID]job.Run{},
		Dead: map[job.RunID]job.Run{}, Summaries: map[job.Owned]job.Summary{}, Backfills: map[int64]job.Backfill{}, NextRun: 1, NextBackfill: 1,
		runs: map[job.ID][]job.Run{},
	}
}

// Keep stores an effect.
func (s *Store) Keep(e effect.Effect) {
	switch e := e.(type) {
	case effect.Fact:
		s.record(e.Record)
	case effect.Roster:
		s.roster = e.After(s.roster)
	case effect.Stamp:
		s.Stamps[e.ID] = e.Day
	case effect.Summary:
		s.Summaries[job.Owned{Job: e.Summary.Job, User: e.Summary.User}] = e.Summary
	}
}

func (s *Store) record(r job.Record) {
	switch {
	case r.Kind == job.Redrove || r.Kind == job.Buried:
		return
	case r.Kind == job.Filled:
		s.NextBackfill = max(s.NextBackfill, r.Backfill.ID+1)
		if delete(s.Backfills, r.Backfill.ID); r.Backfill.State == job.BackfillGoing {
			s.Backfills[r.Backfill.ID] = *r.Backfill
		}
	case r.Kind == job.Paused:
		s.Holds.Put(r.Job, *r.Hold)
	case r.Kind == job.Resumed:
		s.Holds.Lift(r.Job, r.User)
	case r.DecidesOccurrence():
		if m := s.Marks[r.Job]; r.Era > m.Era || r.Era == m.Era && r.Due.After(m.Due) {
			s.Marks[r.Job] = job.Mark{Job: r.Job, Due: r.Due, Era: r.Era}
		}
	}
	if r.Run == nil {
		return
	}
	s.NextRun = max(s.NextRun, r.Run.ID+1)
	s.runs[r.Job] = append(s.runs[r.Job], *r.Run)
	if (r.Kind == job.Ended || r.Kind == job.Dropped) && r.Run.Verdict == job.VerdictDead {
		s.Dead[r.Run.ID] = *r.Run
	}
	if s.Live[r.Run.ID] = *r.Run; !r.Run.State.Live() {
		delete(s.Live, r.Run.ID)
	}
}

// Known returns the installed jobs.
func (s *Store) Known() []effect.Known {
	if s.roster == nil {
		return nil
	}
	return s.roster.All()
}

// Runs returns the runs in the records of a job, one for each record.
func (s *Store) Runs(id job.ID) []job.Run { return s.runs[id] }

// Handed returns the ended runs that were handed over, and that no run of the same occurrence followed.
func (s *Store) Handed() (handed []job.Run) {
	for _, all := range s.runs {
		newest := map[int64]job.Run{}
		for _, r := range all {
			if due := r.Due.UnixNano(); r.By == "" && r.Backfill == 0 && r.ID >= newest[due].ID {
				newest[due] = r
			}
		}
		for _, r := range newest {
			if r.State == job.RunEnded && r.Reason == job.HandedOver {
				handed = append(handed, r)
			}
		}
	}
	return handed
}

// RanIn returns the verdicts of the occurrences of a job in a range, by their newest runs.
func (s *Store) RanIn(id job.ID, from, to time.Time) map[int64]job.Verdict {
	ran := map[int64]job.Verdict{}
	for _, r := range s.runs[id] {
		if !r.Due.Before(from) && !r.Due.After(to) && r.State != job.RunDropped {
			ran[r.Due.UnixNano()] = r.Verdict
		}
	}
	return ran
}

// RanInBackfills returns RanIn of the range of each active backfill, by ID.
func (s *Store) RanInBackfills() map[int64]map[int64]job.Verdict {
	ran := map[int64]map[int64]job.Verdict{}
	for id, b := range s.Backfills {
		ran[id] = s.RanIn(b.Job, b.From, b.To)
	}
	return ran
}
