package runlog

import (
	"bytes"
	"fmt"
	"log/slog"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
)

// WriteAll writes what waits. It must be called by the goroutine of Run, or when that does not run.
func (v *Writer) WriteAll() {
	items, lost, over := v.takeAll()
	for _, item := range items {
		switch item := item.(type) {
		case job.Chunk:
			if !v.wait(item) {
				v.writeChunk(item)
			}
		case *job.Record:
			v.writeRecord(item)
		case *journal.CronLine:
			v.sink.Cron(item)
		case *journal.Entry:
			v.sink.Log(item)
		}
	}
	for _, id := range over {
		v.writeEarly(id)
		v.forget(id)
	}
	if lost > 0 {
		v.sink.Log(&journal.Entry{At: time.Now(), Level: slog.LevelWarn, Message: fmt.Sprintf("%d items are left out here: %s", lost, v.slow)})
	}
	v.sink.Flush()
}

// wait lays output aside until its run is known to have started.
func (v *Writer) wait(c job.Chunk) bool {
	about := v.about(c.Run)
	if about == nil || about.PID != 0 {
		return false
	}
	before := v.early.of[c.Run]
	long := len(before) > 0 && c.At.Sub(before[0].At) > patience // the start was lost
	if long || v.early.size+len(c.Data) > maxEarly {
		v.writeEarly(c.Run)
		return false
	}
	v.early.of[c.Run] = append(before, c)
	v.early.size += len(c.Data)
	return true
}

// writeEarly writes the output that was stored for a run.
func (v *Writer) writeEarly(id job.RunID) {
	chunks := v.early.of[id]
	delete(v.early.of, id)
	for _, c := range chunks {
		v.early.size -= len(c.Data)
		v.writeChunk(c)
	}
}

func (v *Writer) writeChunk(c job.Chunk) {
	key := stream{c.Run, c.Stream}
	line := journal.Line{At: c.At, Job: c.Job, Run: c.Run, Stream: c.Stream, About: v.about(c.Run)}
	if line.About != nil && c.Stream != job.System {
		line.About.Printed = true
		if line.About.NoOutput {
			return
		}
	}
	text := append(v.begun[key], c.Data...)
	for {
		first, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole && len(text) < maxLine {
			break
		}
		if len(first) > maxLine {
			first, rest = text[:maxLine], text[maxLine:]
		}
		v.writeLine(line, first)
		text = rest
	}
	if len(text) == 0 {
		delete(v.begun, key)
		return
	}
	v.begun[key] = bytes.Clone(text)
}

func (v *Writer) writeLine(line journal.Line, text []byte) {
	line.Text = bytes.TrimSuffix(text, []byte{'\r'})
	v.sink.Line(&line)
}

func (v *Writer) writeRecord(r *job.Record) {
	said := journal.Record{Record: r, Words: recordWords(r)}
	if r.Kind == job.Stepped && !v.steps.take(r) {
		said.Words = ""
	}
	if r.Run != nil {
		said.About = v.about(r.Run.ID)
		said.Written = v.isWritten(r.Run.ID)
	}
	switch {
	case r.Kind == job.Started && said.About != nil:
		said.About.PID = r.Run.PID
	case r.Kind == job.Ended:
		v.writeEarly(r.Run.ID)
		v.writeRest(r, said.About)
	}
	v.sink.Record(&said)
	switch r.Kind {
	case job.Started:
		v.writeEarly(r.Run.ID)
	case job.Ended:
		v.forget(r.Run.ID)
	}
}

// writeRest writes the run's last, incomplete lines, and how much of its output was not logged.
func (v *Writer) writeRest(r *job.Record, about *journal.Run) {
	line := journal.Line{At: r.At, Job: r.Job, Run: r.Run.ID, About: about}
	for _, line.Stream = range []job.Stream{job.Stdout, job.Stderr, job.System} {
		if text := v.begun[stream{line.Run, line.Stream}]; len(text) > 0 {
			v.writeLine(line, text)
		}
	}
	if rest := v.notLogged(line.Run); rest.bytes > 0 {
		v.writeLine(line, fmt.Appendf(nil, "%d more bytes of output (%d lines) are not logged: see cronring logs %s", rest.bytes, rest.lines, line.Run))
	}
}

func (v *Writer) notLogged(run job.RunID) amount {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.limit == nil {
		return amount{}
	}
	return v.limit.takeDropped(run)
}

// forget drops all data of a run.
func (v *Writer) forget(id job.RunID) {
	for _, of := range []job.Stream{job.Stdout, job.Stderr, job.System} {
		delete(v.begun, stream{id, of})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.runs, id)
	delete(v.wrote, id)
	if v.limit != nil {
		v.limit.forget(id)
	}
}

// recordWords describes a record about a job, or the clock, in a few words.
func recordWords(r *job.Record) string {
	switch {
	case r.Decision == job.DecideSkip && r.Count > 1:
		return fmt.Sprintf("skipped %d times up to %s: %s", r.Count, r.Due.Format(time.RFC3339), r.Reason.With(r.Detail))
	case r.Decision == job.DecideSkip:
		return "skipped: " + r.Reason.With(r.Detail)
	case r.Decision == job.DecideHold, r.Kind == job.Queued, r.Kind == job.Dropped, r.Kind == job.Stopping:
		return string(r.Kind) + ": " + r.Reason.With(r.Detail)
	case r.Decision == job.DecideRun, r.Kind == job.Ready: // said before it prints anything
		return starting(r.Run)
	case r.Kind == job.Ended && r.Run.Started.IsZero():
		return r.Run.Ending()
	case r.Kind == job.Ended:
		return fmt.Sprintf("%s in %s", r.Run.Ending(), r.Run.Length().Round(time.Millisecond))
	case r.Kind == job.Redrove:
		return "it was run again " + r.Detail.Words()
	case r.Kind == job.Buried:
		return "the dead letter was dropped " + r.Detail.Words()
	case r.Kind == job.Doubled:
		return r.Words()
	case r.Kind == job.Paused, r.Kind == job.Resumed:
		return string(r.Kind)
	case r.Kind == job.Stepped:
		return stepWords(r)
	case r.Kind == job.Acked:
		return "failure acknowledged"
	case r.Kind == job.Unacked:
		return "failure no longer acknowledged"
	case r.Kind == job.Filled && r.Backfill.State != job.BackfillGoing:
		return fmt.Sprintf("backfill %d %s: %d started, %d left out, %d failed",
			r.Backfill.ID, r.Backfill.State, r.Backfill.Started, r.Backfill.Skipped, r.Backfill.Failed)
	case r.Kind == job.Filled && r.Detail != "":
		return fmt.Sprintf("backfill %d begun %s", r.Backfill.ID, r.Detail)
	}
	return ""
}

func starting(r *job.Run) string {
	if r.Trigger == job.TriggerClock {
		return "starting"
	}
	return "starting (" + string(r.Trigger) + ")"
}
