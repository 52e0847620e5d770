package runlog

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
)

// steps keeps a clock that is set again and again from flooding the log. After one step was
// logged, the next is logged when stepsApart is over, with the number of steps in between.
type steps struct {
	wait      <-chan time.Time // readable when a step may be logged again; nil: now
	newest    *job.Record      // that was not logged
	unwritten int
}

const stepsApart = time.Minute

// take reports whether to log a step now.
func (s *steps) take(r *job.Record) bool {
	if s.wait != nil {
		s.newest = r
		s.unwritten++
		return false
	}
	s.wait = time.After(stepsApart)
	return true
}

// writeUnwritten logs the newest step, if it was not logged, so that the log ends with the current time.
func (v *Writer) writeUnwritten() {
	last, more := v.steps.newest, v.steps.unwritten-1
	v.steps = steps{}
	if last == nil {
		return
	}
	v.steps.wait = time.After(stepsApart)
	said := &journal.Entry{
		At: last.At, Level: slog.LevelWarn, Message: stepWords(last),
		Attrs: []journal.Attr{{Key: journal.IDKey, Value: journal.SteppedID}, {Key: "kind", Value: string(last.Kind)}},
	}
	if more > 0 {
		said.Message = fmt.Sprintf("%d times that the clock was set are left out here; then %s", more, said.Message)
		said.Attrs = append(said.Attrs, journal.Attr{Key: "count", Value: strconv.Itoa(more)})
	}
	v.sink.Log(said)
	v.sink.Flush()
}

// stepWords describes how the clock was set, and the consequences, in the terms of
// cronring-time(7).
func stepWords(r *job.Record) string {
	then := "the skipped occurrences are late, and catchup= decides"
	switch back := r.Was.Sub(r.At); {
	case back >= agenda.Correction:
		then = "all entries follow the new time, and occurrences that come again run again"
	case back > 0:
		then = "entries with fixed times of day do not run until the clock reaches the time that it had before; " +
			"entries that follow the clock run again"
	}
	return fmt.Sprintf("%s, from %s to %s: %s", r.Detail, r.Was.UTC().Format(time.RFC3339), r.At.UTC().Format(time.RFC3339), then)
}
