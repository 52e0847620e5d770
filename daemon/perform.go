package daemon

import (
	"errors"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/runmail"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/spool"
)

// perform begins the acts of a step, in order. ended are the runs that ended before it.
func (l *loop) perform(effects []effect.Effect, refused map[job.RunID]bool, ended []spawn.Ended) {
	l.claims.Take(l.life)
	for _, e := range effects {
		switch e := e.(type) {
		case effect.Start:
			l.begin(e, refused[e.Run.ID])
		case effect.Check:
			l.spawner.Check(e)
		case effect.Measure:
			l.conditions.Measure(l.life, e)
		case effect.WatchFiles:
			l.watchFiles(e.Jobs)
		case effect.Kill:
			l.spawner.Kill(e)
		case effect.Stamp:
			l.stamp(e)
		case effect.Notify:
			l.notify(e.Notice, ended)
		case effect.Answer:
			if reply, ok := l.waiting[e.Token]; ok {
				reply <- e
				delete(l.waiting, e.Token)
			}
		}
	}
}

// begin passes a run to the spawner, unless it must not start.
func (l *loop) begin(s effect.Start, refused bool) {
	switch {
	case refused:
		l.failToStart(s, "this occurrence was decided before, according to the history", true)
	case !l.lockStamp(s.Entry):
		l.failToStart(s, "another anacron is at this job", false)
	default:
		l.follow(&s.Run, &s.Job, s.Entry)
		l.spawner.Start(s)
	}
}

// failToStart lets the engine know that a run has no process, and whether it is
// to have none ever.
func (l *loop) failToStart(s effect.Start, why string, refused bool) {
	l.owed = append(l.owed, event.Ended{Run: s.Run.ID, Outcome: job.Outcome{Kind: job.NotStarted, Error: why}, Refused: refused})
}

// register takes a question into a step: with a token, if the engine itself
// answers it.
func (l *loop) register(in *inbox, a request) {
	l.token++
	question, ok := a.event.(event.Question)
	if !ok {
		in.events = append(in.events, a.event)
		in.after = append(in.after, a.reply)
		return
	}
	l.waiting[l.token] = a.reply
	in.events = append(in.events, event.Asked{Question: question, Token: l.token})
}

// lockStamp takes anacron's lock for a run of one of its jobs. It returns false if another process
// runs that job. A stamp that cannot be locked for another reason does not prevent the run.
func (l *loop) lockStamp(entry *crontab.Entry) bool {
	p := entry.Options().Period
	if p == nil {
		return true
	}
	lock, err := spool.LockStamp(l.crontabs.paths.Stamps, p.ID)
	switch {
	case errors.Is(err, spool.ErrStampLocked):
		return false
	case err != nil:
		l.log.Warn("anacron's timestamp cannot be locked", "period", p.ID, "error", err)
	default:
		l.locks[p.ID] = lock
	}
	return true
}

// stamp writes down that a job of a period ran, as anacron would find it. The
// disk may be slow, so it is done aside.
func (l *loop) stamp(s effect.Stamp) {
	lock := l.locks[s.ID]
	delete(l.locks, s.ID)
	d := l.shared
	d.background.Go(func() {
		var err error
		if lock != nil {
			err = errors.Join(lock.Write(s.Day), lock.Close())
		} else {
			err = spool.WriteStamp(d.crontabs.paths.Stamps, s.ID, s.Day)
		}
		if err != nil {
			d.log.Warn("anacron's timestamp cannot be written", "period", s.ID, "error", err)
		}
	})
}

// unlockStamp releases the lock of a run that left no stamp.
func (l *loop) unlockStamp(entry *crontab.Entry) {
	if p := entry.Options().Period; p != nil && l.locks[p.ID] != nil {
		l.locks[p.ID].Close()
		delete(l.locks, p.ID)
	}
}

// deliverAll mails what the runs that ended in a step have printed.
func (l *loop) deliverAll(records []job.Record, ended []spawn.Ended) {
	out := make(map[job.RunID]spawn.Ended, len(ended))
	for _, e := range ended {
		out[e.Run] = e
	}
	var lost []runmail.LostRun
	for i := range records {
		if r := records[i].Run; records[i].Kind == job.Ended && r != nil {
			if entry := l.deliver(r, out[r.ID]); entry != nil {
				lost = append(lost, runmail.LostRun{Run: r, Entry: entry})
			}
			delete(out, r.ID)
		}
	}
	if l.mailer != nil {
		l.mailer.Lost(lost)
	}
	for _, e := range out {
		runmail.Forget(e) // of a run that the engine does not know
	}
}

// deliver mails what a run printed, if the host's cron would. For a lost run without output it
// returns the entry if the loss must be mailed.
func (l *loop) deliver(r *job.Run, out spawn.Ended) (lost *crontab.Entry) {
	entry := l.entries[r.ID]
	delete(l.entries, r.ID)
	if entry != nil {
		l.unlockStamp(entry)
	} else {
		entry = entryOf(l.view.Load(), r.Job, r.User) // the run ended before this daemon began
	}
	if l.sessions != nil && !r.Started.IsZero() {
		l.sessions.End(spawn.SessionOf(r.ID), r.Reason.IsStop())
	}
	if l.mailer == nil {
		runmail.Forget(out)
		return nil
	}
	if l.mailer.Deliver(r, entry, out) {
		return entry
	}
	return nil
}
