package daemon

import (
	"errors"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/spool"
)

// lockStamp takes anacron's lock for a run of one of its jobs. It returns false if another process
// runs that job. A stamp that cannot be locked for another reason does not prevent the run.
func (l *loop) lockStamp(entry *crontab.Entry) bool {
	p := entry.Options().Period
	if p == nil {
		return true
	}
	lock, err := spool.LockStamp(l.crontabs.places.Stamps, p.ID)
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
func (l *loop) stamp(s engine.Stamp) {
	lock := l.locks[s.ID]
	delete(l.locks, s.ID)
	l.chores.Go(func() {
		var err error
		if lock != nil {
			err = errors.Join(lock.Write(s.Day), lock.Close())
		} else {
			err = spool.WriteStamp(l.crontabs.places.Stamps, s.ID, s.Day)
		}
		if err != nil {
			l.log.Warn("anacron's timestamp cannot be written", "period", s.ID, "error", err)
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
