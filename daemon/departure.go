package daemon

import (
	"context"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// departure is how the loop ends.
type departure int

const (
	staying departure = iota
	waiting           // when no job runs
	parting           // immediately: jobs keep running, and the next start of the daemon takes them over
	renewal           // immediately: the program is executed again in this process
)

// mayEnd reports whether the loop may end.
func (l *loop) mayEnd() bool {
	switch l.leaving {
	case staying:
		return false
	case waiting:
		return l.engine.Idle()
	}
	return l.spawnerPaused && len(l.owed) == 0 && len(l.spawner.Events()) == 0
}

// nextSignals first returns the signals that the previous daemon did not handle.
func (l *loop) nextSignals() <-chan os.Signal {
	if len(l.handedSignals) > 0 {
		return l.handedSignals
	}
	return l.options.Signals
}

// expectSignal has a signal heeded next.
func (l *loop) expectSignal(s os.Signal) {
	next := make(chan os.Signal, len(l.handedSignals)+1)
	next <- s
	for len(l.handedSignals) > 0 {
		next <- <-l.handedSignals
	}
	l.handedSignals = next
}

// handleSignal handles a signal and returns the departure that it begins, if any.
func (l *loop) handleSignal(s os.Signal, in *inbox) departure {
	if s == syscall.SIGHUP && l.options.HungUp != nil && l.options.HungUp() {
		s = syscall.SIGTERM
	}
	switch {
	case s == syscall.SIGHUP:
		return staying // the next daemon reads all files anyway
	case s == syscall.SIGUSR2 && (l.leaving != staying || l.leaveSignal != nil):
		return staying // it is about to end
	case s == syscall.SIGUSR2:
		l.manager.Reloading()
		return l.drain(in, renewal)
	case l.leaving == staying && l.leaveSignal == nil && l.ring != nil:
		l.leaveSignal, l.left = s, l.ring.Depart(l.life)
		return staying
	case l.leaving == staying && l.manager.Present():
		l.manager.Stopping()
		return l.drain(in, parting)
	case l.leaving == staying:
		return l.drain(in, waiting)
	case l.leaving == renewal:
		l.pendingSignals = append(l.pendingSignals, s)
		return staying
	case l.leaving == parting:
		return staying // jobs are left alone, even after repeated signals
	}
	l.abandon(in)
	return staying
}

// abandon ends the running jobs.
func (l *loop) abandon(in *inbox) {
	in.events = append(in.events, event.Abandon{})
	if l.killed == nil {
		l.killed = time.After(killTime)
	}
}

// leaveKilled stops waiting for killed jobs that have not ended. The next start of the daemon takes
// them over.
func (l *loop) leaveKilled() <-chan []effect.Start {
	l.log.Warn("some runs were killed and have not ended; stopping without them")
	l.leaving = parting
	return l.pauseSpawner()
}

// drain begins the end.
func (l *loop) drain(in *inbox, how departure) departure {
	l.leaving = how
	in.events = append(in.events, event.Drain{})
	switch how {
	case waiting:
		l.log.Info("stopping, no further job is started", "grace", l.options.Grace.String())
	case parting:
		l.log.Info("stopping; running jobs continue, and the next start takes them over")
	case renewal:
		l.log.Info("replacing the daemon by the program on disk; running jobs continue")
	}
	return how
}

// holdTime bounds how long starts that are under way may delay the departure of
// the daemon, and toolTime how long programs may that it runs for itself, such
// as sendmail. A user can let both take that long, and nothing else is started
// during toolTime. killTime is how long the daemon waits for jobs after it began to end them.
// It is limited because a process that traces a job, or a file system that does not answer,
// can hide the job's end.
const (
	holdTime = 10 * time.Second
	toolTime = 3 * time.Second
	killTime = 10 * time.Second
)

// pauseSpawner pauses the spawner. Its remaining events arrive before the channel is readable.
func (l *loop) pauseSpawner() <-chan []effect.Start {
	d := l.shared
	close(d.away)
	parted := make(chan []effect.Start, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), toolTime)
		defer cancel()
		starts, err := d.spawner.Hold(ctx)
		if err != nil {
			d.log.Error("cannot leave running jobs in good order", "error", err)
		}
		parted <- starts
	}()
	return parted
}

// starting reports whether runs are about to begin. A daemon that stops begins them first: a shim
// cannot, and the next start may be far off.
func (d *shared) starting() bool {
	return slices.ContainsFunc(d.view.Load().Runs(), func(r job.Run) bool { return r.State == job.RunDecided })
}

// refuseUnstarted fails the runs that did not begin within holdTime, unless a successor will start
// them.
func (l *loop) refuseUnstarted() {
	if l.leaving != parting {
		return
	}
	for _, s := range l.unstarted {
		l.failToStart(s, "the daemon was stopped before it came to it", false)
	}
	l.unstarted = nil
}
