package exchange

import (
	"cmp"
	"math"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Occurrence identifies an occurrence of a ring job in the same way on every member. If
// clocks differ, it starts at another time, but it remains one occurrence.
type Occurrence struct {
	Key job.Key // of the job's ID and its user
	Due int64   // nanoseconds since 1970
}

// OccurrenceOf returns the occurrence of a job that is due at an instant.
func OccurrenceOf(key job.Key, due time.Time) Occurrence { return Occurrence{key, due.UnixNano()} }

// Time returns when the occurrence is due, in UTC.
func (o Occurrence) Time() time.Time { return time.Unix(0, o.Due).UTC() }

// Compare orders occurrences by due time.
func (o Occurrence) Compare(x Occurrence) int {
	return cmp.Or(cmp.Compare(o.Due, x.Due), o.Key.Compare(x.Key))
}

// Phase is the progress of an occurrence that a member took.
type Phase uint8

// The phases, in order. An undecided claim has no phase.
const (
	Taken Phase = iota + 1 // the member will run or skip it
	Begun                  // its process exists
	Over                   // it ended, or was skipped
)

// Progress is the new progress of this member with an occurrence that it took.
type Progress struct {
	Occurrence
	Phase    Phase
	Vanished bool   // the process of the latest attempt disappeared, and its exit status is unknown
	Attempt  uint16 // number of the latest attempt that began, on any member; 0: none
	Lost     uint8  // number of attempts that were made because the process of the previous one vanished
	Run      int64  // ID of the run on this member; 0: none yet, or it was skipped
	GivenUp  bool   // Taken, and this member never begins it
}

// ProgressOf returns the progress of a run of this member. It does not count the attempt of
// a run that is still waiting.
func ProgressOf(r *job.Run, phase Phase) Progress {
	attempt := r.Attempt
	if phase == Taken {
		attempt--
	}
	p := Progress{Occurrence: OccurrenceOf(job.KeyOf(r.Job, r.User), r.Due), Phase: phase}
	p.Attempt = uint16(min(max(attempt, 0), math.MaxUint16))
	p.Lost = uint8(min(max(r.Lost, 0), int(p.Attempt), math.MaxUint8))
	if phase != Taken {
		p.Vanished = r.Verdict == job.VerdictLost || r.Verdict == job.VerdictLeft || r.Outcome.Kind == job.Lost
	}
	if phase != Taken && r.State != job.RunDropped {
		p.Run = int64(r.ID)
	}
	return p
}
