package daemon

import (
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/member"
	"github.com/cronring/cronring/daemon/server"
)

// openRing makes this host's part in the ring that the configuration names. What
// keeps it out keeps no other job from running: it is a problem of the status, and
// ring jobs are held.
func (l *loop) openRing() {
	c := l.config.current().Ring
	if c.Name == "" {
		return
	}
	l.ring, l.ringless = member.New(member.Options{
		Config: c, State: l.options.State, Version: l.options.Version, Log: l.log,
		Up: func() time.Duration { return l.clock.Now().Up },
	})
	if l.ringless != nil {
		l.ring = nil
		l.log.Error("cannot take part in the ring", "ring", c.Name, "error", l.ringless)
	}
}

// ringProblems returns the problems of this host in the ring.
func (b backend) ringProblems() []api.Problem {
	switch {
	case b.ringless != nil:
		return []api.Problem{{
			What: "this host is not in the ring of its configuration, and its ring jobs are held",
			Why:  b.ringless.Error(), Fix: "mend it, then: systemctl restart cronring",
		}}
	case b.ring == nil:
		return nil
	}
	return b.ring.Problems(b.View())
}

// Ring is the ring that the daemon is a member of, or nil.
func (b backend) Ring() server.Ring {
	if b.ring == nil {
		return nil
	}
	return member.Requests{Member: b.ring, View: b.View}
}
