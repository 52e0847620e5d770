package daemon

import (
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// perform begins the acts of a step, in order.
func (l *loop) perform(effects []engine.Effect, refused map[job.RunID]bool) {
	if l.ring != nil {
		l.ring.take(l.life, effects)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case engine.Start:
			l.begin(e, refused[e.Run.ID])
		case engine.Check:
			l.spawner.Check(e)
		case engine.Kill:
			l.spawner.Kill(e)
		case engine.Stamp:
			l.stamp(e)
		case engine.Notify:
			l.notify(e.Notice)
		case engine.Answer:
			if reply, ok := l.waiting[e.Token]; ok {
				reply <- e
				delete(l.waiting, e.Token)
			}
		}
	}
}

// begin passes a run to the spawner, unless it must not start.
func (l *loop) begin(s engine.Start, refused bool) {
	switch {
	case refused:
		l.failToStart(s, "this occurrence was decided before, according to the history", true)
	case !l.lockStamp(s.Entry):
		l.failToStart(s, "another anacron is at this job", false)
	default:
		l.tell(&s.Run, &s.Job, s.Entry)
		l.spawner.Start(s)
	}
}

// failToStart lets the engine know that a run has no process, and whether it is
// to have none ever.
func (l *loop) failToStart(s engine.Start, why string, refused bool) {
	l.owed = append(l.owed, engine.Ended{Run: s.Run.ID, Outcome: job.Outcome{Kind: job.NotStarted, Error: why}, Refused: refused})
}

// register takes a question into a step: with a token, if the engine itself
// answers it.
func (l *loop) register(in *inbox, a request) {
	l.token++
	question, ok := a.event.(engine.Question)
	if !ok {
		in.events = append(in.events, a.event)
		in.after = append(in.after, a.reply)
		return
	}
	l.waiting[l.token] = a.reply
	in.events = append(in.events, question.With(l.token))
}
