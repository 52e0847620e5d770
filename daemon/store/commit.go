package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// statements are the prepared statements of a commit.
type statements struct {
	mark                     driver.Stmt
	occurrence, output       driver.Stmt
	decide, begin, goOn, run driver.Stmt
	hold, unhold, record     driver.Stmt
	summary                  driver.Stmt
	beginFill, goOnFill      driver.Stmt
	die, undie               driver.Stmt
	alive, down              driver.Stmt
	putRoster, cutRoster     driver.Stmt
	emitAgain, emit, trim    driver.Stmt
}

func (s *statements) prepare(ctx context.Context, w *database.Writer) error {
	for _, p := range []struct {
		stmt *driver.Stmt
		text string
	}{
		{&s.mark, "UPDATE job SET due = ?2, era = ?3 WHERE n = ?1 AND (due IS NULL OR (era, due) < (?3, ?2))"},
		{&s.occurrence, `INSERT INTO occurrence (due, job, era, first, count, at, decision, reason, detail, run, user)
			VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET first = excluded.first, count = excluded.count, at = excluded.at,
			decision = excluded.decision, reason = excluded.reason, detail = excluded.detail, run = excluded.run, user = excluded.user
			WHERE excluded.run IS NOT NULL AND (
				SELECT state IN ('ended', 'dropped') AND run.reason IN ('handed-over', 'other-member') FROM run
				WHERE run.job = occurrence.job AND run.id >= occurrence.run AND run.due = occurrence.due AND run.era = occurrence.era
					AND run.by = '' AND run.backfill = 0
				ORDER BY run.id DESC LIMIT 1)`}, // what another member of a ring had can come back to this one
		{&s.run, `INSERT INTO run (id, job, due, era, attempt, trigger, by, invocation, decided, user,
			state, reason, not_before, started, ended, pid, outcome, code, signal, error,
			verdict, cpu, memory, read, write, parents, backfill, lost, asked)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
			ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason,
			not_before = excluded.not_before, started = excluded.started, ended = excluded.ended, pid = excluded.pid,
			outcome = excluded.outcome, code = excluded.code, signal = excluded.signal, error = excluded.error,
			verdict = excluded.verdict, cpu = excluded.cpu, memory = excluded.memory, read = excluded.read,
			write = excluded.write, parents = excluded.parents, asked = excluded.asked`},
		{&s.decide, `INSERT INTO run (id, job, due, era, attempt, trigger, by, invocation, decided, user, state, reason,
			pid, outcome, code, signal, error) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,0,'',0,0,'') ON CONFLICT DO NOTHING`},
		{&s.begin, "UPDATE run SET state = ?2, reason = ?3, started = ?4, pid = ?5 WHERE id = ?1"},
		{&s.goOn, `UPDATE run SET state = ?2, reason = ?3, not_before = ?4, started = ?5, ended = ?6, pid = ?7,
			outcome = ?8, code = ?9, signal = ?10, error = ?11,
			verdict = ?12, cpu = ?13, memory = ?14, read = ?15, write = ?16, parents = ?17, asked = ?18 WHERE id = ?1`},
		{&s.output, "INSERT INTO output (run, stream, at, cut, data) SELECT id, ?2, ?3, ?4, ?5 FROM run WHERE id = ?1"},
		{&s.hold, "INSERT INTO hold (job, user, hold) VALUES (?, ?, ?)"},
		{&s.unhold, "DELETE FROM hold WHERE job = ?1 AND (user IN ('', ?2) OR ?2 = '')"},
		{&s.record, "INSERT INTO record (at, kind, job, era, reason, detail, due, hold, backfill, run) VALUES (?,?,?,?,?,?,?,?,?,?)"},
		{&s.summary, `INSERT INTO ledger (job, user, verdict, run, due, ended, success, bad, told, open, watched, ack, success_due, since)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (job, user) DO UPDATE SET verdict = excluded.verdict, run = excluded.run,
			due = excluded.due, ended = excluded.ended, success = excluded.success, bad = excluded.bad, told = excluded.told,
			open = excluded.open, watched = excluded.watched, ack = excluded.ack, success_due = excluded.success_due,
			since = excluded.since`},
		{&s.beginFill, "INSERT INTO backfill (id, job, user, asked, state, backfill) VALUES (?,?,?,?,?,?)"},
		{&s.goOnFill, "UPDATE backfill SET state = ?2, backfill = ?3 WHERE id = ?1"},
		{&s.die, "INSERT INTO dead (run, user, at, why) VALUES (?,?,?,?) ON CONFLICT DO NOTHING"},
		{&s.undie, "DELETE FROM dead WHERE run = ?"},
		{&s.alive, `INSERT INTO life (id, boot, era, up, seen) VALUES (?1, ?2, ?3, ?4, ?4)
			ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, era = excluded.era, seen = excluded.seen`},
		{&s.down, "UPDATE life SET down = ?2 WHERE id = ?1"},
		{&s.putRoster, "INSERT INTO roster (part, known) VALUES (?, ?) ON CONFLICT (part) DO UPDATE SET known = excluded.known WHERE known <> excluded.known"},
		{&s.emitAgain, "UPDATE event SET times = times + 1, last = ?3 WHERE user = ?1 AND name = ?2"},
		{&s.emit, "INSERT INTO event (user, name, times, last) VALUES (?, ?, 1, ?)"},
		{&s.trim, `DELETE FROM event WHERE user = ?1 AND name IN
			(SELECT name FROM event WHERE user = ?1 ORDER BY last DESC, name LIMIT -1 OFFSET ?2)`},
		{&s.cutRoster, "DELETE FROM roster WHERE part >= ? AND part < ?"},
	} {
		if err := w.Prepare(ctx, p.stmt, p.text); err != nil {
			return err
		}
	}
	return nil
}

// writer writes batches.
type writer struct {
	*database.Writer
	stmts statements
	life  int64 // this opening's row in the table life
	// changed receives the records of jobs, with the numbers of the jobs.
	changed func(n int64, r *job.Record)
}

func newWriter(ctx context.Context, w *database.Writer, changed func(n int64, r *job.Record)) (*writer, error) {
	life, err := w.Value(ctx, "SELECT coalesce(max(id), 0) + 1 FROM life")
	if err != nil {
		return nil, fmt.Errorf("count lives: %w", err)
	}
	own := &writer{Writer: w, life: life.(int64), changed: changed}
	return own, own.stmts.prepare(ctx, w)
}

// Commit writes the batch in one transaction. An error means that nothing was written and that the
// store stays usable: *DecidedError lists the decisions to leave out, IsFull recognises a full
// disk.
func (s *Store) Commit(ctx context.Context, b Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.WriteUrgent(ctx, func(*database.Writer) error { return s.write.batch(b) }); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

func (w *writer) batch(b Batch) error {
	if err := w.alive(b); err != nil {
		return err
	}
	var refused DecidedError
	for i := range b.Records {
		ok, err := w.put(&b.Records[i])
		if err != nil {
			return fmt.Errorf("%s of %s: %w", b.Records[i].Kind, b.Records[i].Job, err)
		}
		if !ok {
			refused.add(i, &b.Records[i])
		}
	}
	if len(refused.Records) > 0 {
		return &refused
	}
	for i := range b.Summaries {
		if err := w.putSummary(&b.Summaries[i]); err != nil {
			return fmt.Errorf("summary of %s: %w", b.Summaries[i].Job, err)
		}
	}
	for _, o := range b.Outputs {
		if err := w.putOutput(o); err != nil {
			return fmt.Errorf("output of run %d: %w", o.Run, err)
		}
	}
	if b.Roster != nil {
		return w.putRoster(b.Roster)
	}
	return nil
}

// alive notes that the daemon lives at the batch's time.
func (w *writer) alive(b Batch) error {
	_, err := w.Exec(w.stmts.alive, w.life, b.BootID, int64(b.Era), b.At.UnixNano())
	return err
}

// DecidedError reports that occurrences had been decided before, by another run or skip. Nothing of
// the batch was written. Records holds the indexes of the rejected decisions in Batch.Records, in
// order: the caller leaves them out, does not start their runs, and commits the rest.
type DecidedError struct {
	Records []int
	First   string // names the first of them
}

func (e *DecidedError) Error() string {
	return fmt.Sprintf("occurrence already decided: %s (%d refused)", e.First, len(e.Records))
}

func (e *DecidedError) add(i int, r *job.Record) {
	if len(e.Records) == 0 {
		e.First = fmt.Sprintf("%s at %s, era %d", r.Job, r.Due.UTC().Format(time.RFC3339), r.Era)
	}
	e.Records = append(e.Records, i)
}

// put writes one record; ok is false for an occurrence that was decided
// before.
func (w *writer) put(r *job.Record) (ok bool, err error) {
	switch {
	case r.Kind == job.Filled && r.Backfill != nil:
		return true, w.putBackfill(r)
	case r.Kind == job.Redrove && r.Run != nil, r.Kind == job.Buried && r.Run != nil:
		return true, w.takeOff(r)
	case r.Kind == job.Emitted:
		return true, w.putEmission(r)
	case r.Run == nil && r.Kind != job.Decided:
		return true, w.putRecord(r)
	}
	n, err := w.Number(r.Job)
	if err != nil {
		return false, err
	}
	w.changed(n, r)
	if r.DecidesOccurrence() {
		if ok, err := w.putOccurrence(n, r); !ok || err != nil {
			return false, err
		}
	}
	if r.Run == nil {
		return true, nil
	}
	if err := w.putRun(n, r); err != nil {
		return false, err
	}
	if (r.Kind == job.Ended || r.Kind == job.Dropped) && r.Run.Verdict == job.VerdictDead {
		return true, w.putDead(r)
	}
	return true, nil
}

func (w *writer) putOccurrence(n int64, r *job.Record) (ok bool, err error) {
	var run driver.Value
	if r.Run != nil {
		run = int64(r.Run.ID)
	}
	rows, err := w.Exec(w.stmts.occurrence, r.Due.UnixNano(), n, int64(r.Era), database.Nanos(r.First), int64(r.Count),
		r.At.UnixNano(), string(r.Decision), string(r.Reason), string(r.Detail.Short()), run, r.User)
	if err != nil || rows == 0 {
		return false, err
	}
	_, err = w.Exec(w.stmts.mark, n, r.Due.UnixNano(), int64(r.Era))
	return err == nil, err
}

// putRun writes a run as it is after a record: in the usual cases only what the
// record can have changed, which costs less. The whole is written where that
// finds no row, as records were lost on a full disk, or finds one where there
// should be none.
func (w *writer) putRun(n int64, rec *job.Record) error {
	r := rec.Run
	parents, err := parentsText(r.Parents)
	if err != nil {
		return err
	}
	asked, err := askedText(r)
	if err != nil {
		return err
	}
	var written int64
	switch {
	case isFresh(r):
		written, err = w.Exec(w.stmts.decide, int64(r.ID), n, database.Nanos(r.Due), int64(r.Era), int64(r.Attempt), string(r.Trigger),
			r.By, r.Invocation, r.Decided.UnixNano(), r.User, string(r.State), string(r.Reason))
	case rec.Kind == job.Decided, rec.Kind == job.Queued:
	case rec.Kind == job.Started:
		written, err = w.Exec(w.stmts.begin, int64(r.ID), string(r.State), string(r.Reason), database.Nanos(r.Started), int64(r.PID))
	default:
		written, err = w.Exec(w.stmts.goOn, int64(r.ID),
			string(r.State), string(r.Reason), database.Nanos(r.NotBefore), database.Nanos(r.Started), database.Nanos(r.Ended), int64(r.PID),
			string(r.Outcome.Kind), int64(r.Outcome.Code), int64(r.Outcome.Signal), cutError(r.Outcome.Error),
			string(r.Verdict), int64(r.Usage.CPU), r.Usage.Memory, r.Usage.Read, r.Usage.Write, parents, asked)
	}
	if err != nil || written > 0 {
		return err
	}
	_, err = w.Exec(w.stmts.run, int64(r.ID), n, database.Nanos(r.Due), int64(r.Era), int64(r.Attempt), string(r.Trigger),
		r.By, r.Invocation, r.Decided.UnixNano(), r.User,
		string(r.State), string(r.Reason), database.Nanos(r.NotBefore), database.Nanos(r.Started), database.Nanos(r.Ended), int64(r.PID),
		string(r.Outcome.Kind), int64(r.Outcome.Code), int64(r.Outcome.Signal), cutError(r.Outcome.Error),
		string(r.Verdict), int64(r.Usage.CPU), r.Usage.Memory, r.Usage.Read, r.Usage.Write, parents, r.Backfill, int64(r.Lost), asked)
	return err
}

// isFresh reports whether a run has only its decision to start now, like most runs when they are
// first written.
func isFresh(r *job.Run) bool {
	return r.State == job.RunDecided && r.Started.IsZero() && r.PID == 0 && r.Outcome.IsZero() &&
		r.NotBefore.IsZero() && r.Verdict == "" && r.Usage == (job.Usage{}) && len(r.Parents) == 0 && r.Backfill == 0 &&
		!hasAsked(r)
}

// asked is what few runs have: what a user requested, and other fields of job.Run.
type asked struct {
	Env      []string    `json:"env,omitempty"`
	Stop     *storedStop `json:"stop,omitempty"`
	Forced   bool        `json:"forced,omitempty"`
	First    time.Time   `json:"first,omitzero"`
	Previous time.Time   `json:"previous,omitzero"`
	Detail   string      `json:"detail,omitempty"`
	Trimmed  bool        `json:"trimmed,omitempty"` // by package prune
}

func hasAsked(r *job.Run) bool {
	return len(r.Env) > 0 || r.Stop != nil || r.Forced || !r.First.IsZero() || !r.Previous.IsZero() || r.Detail != ""
}

// askedText returns the stored form: NULL for nothing, as for nearly all runs.
func askedText(r *job.Run) (driver.Value, error) {
	if !hasAsked(r) {
		return nil, nil
	}
	text, err := json.Marshal(asked{r.Env, storedStopOf(r.Stop), r.Forced, r.First, r.Previous, string(r.Detail.Short()), r.Trimmed})
	return string(text), err
}

// parentsText returns the stored form of parents: NULL for none, as for nearly all runs.
func parentsText(parents []job.Parent) (driver.Value, error) {
	if len(parents) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(parents)
	return string(text), err
}

// putRecord writes a fact that concerns no run, and what it changes.
func (w *writer) putRecord(r *job.Record) error {
	var hold driver.Value
	switch r.Kind {
	case job.Paused, job.Resumed:
		n, err := w.Number(r.Job)
		if err != nil {
			return err
		}
		if hold, err = w.putHold(n, r); err != nil {
			return err
		}
	case job.Down:
		if _, err := w.Exec(w.stmts.down, w.life, r.At.UnixNano()); err != nil {
			return err
		}
	}
	return w.note(r, hold, nil)
}

// note stores a fact for Records.
func (w *writer) note(r *job.Record, hold, backfill driver.Value) error {
	var run driver.Value
	if r.Run != nil {
		run = int64(r.Run.ID)
	}
	_, err := w.Exec(w.stmts.record, r.At.UnixNano(), string(r.Kind), string(r.Job), int64(r.Era), string(r.Reason), string(r.Detail.Short()),
		database.Nanos(r.Due), hold, backfill, run)
	return err
}

// putHold writes the pause of a user's job, or its end, as job.Holds does.
func (w *writer) putHold(n int64, r *job.Record) (driver.Value, error) {
	if r.Hold == nil {
		_, err := w.Exec(w.stmts.unhold, n, r.User)
		return nil, err
	}
	text, err := json.Marshal(storedHold{*r.Hold, string(r.Hold.Reason)})
	if err != nil {
		return nil, err
	}
	if _, err := w.Exec(w.stmts.unhold, n, r.Hold.User); err != nil {
		return nil, err
	}
	_, err = w.Exec(w.stmts.hold, n, r.Hold.User, string(text))
	return string(text), err
}

func (w *writer) putOutput(o Output) error {
	for _, c := range o.Chunks {
		if _, err := w.Exec(w.stmts.output, int64(o.Run), string(c.Stream), database.Nanos(c.At), c.Cut, c.Data); err != nil {
			return err
		}
	}
	return nil
}
