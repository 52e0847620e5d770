package spawn

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
)

// prepareCallers is the number of groups that are made at once.
const prepareCallers = 2

// preparing is the runs whose groups are being made. It is guarded by
// Spawner.mu.
type preparing struct {
	all     map[*child]bool          // true: a pause waits for it
	waiting budget.RootFirst[*child] // of all, those that no goroutine works on yet
	busy    int                      // goroutines
}

// made is the result of making a group, and of reading credentials.
type made struct {
	group   Group
	secrets secrets
	err     error
}

// begin notes that a run waits for its group. It reports whether the group is already being made:
// after a hold that no other daemon followed, the run is queued a second time.
func (p *preparing) begin(c *child, pauseWaits bool) (already bool) {
	p.all[c] = pauseWaits
	already, c.preparing = c.preparing, true
	return already
}

func (s *Spawner) needsGroup(c *child) bool {
	return s.options.Groups != nil && s.options.Groups.Needs(c.start)
}

// made returns the result of making a run's group, or nil if it is not known yet.
func (s *Spawner) made(c *child) *made {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.made
}

// prepare has the group of a run made, which is queued again afterwards: a
// service manager may have to be asked.
func (s *Spawner) prepare(ctx context.Context, c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups.begin(c, true) {
		return
	}
	s.groups.waiting.Put(c.user, c)
	if s.groups.busy < prepareCallers {
		s.groups.busy++
		s.tasks.Go(func() { s.prepareAll(ctx) })
	}
}

func (s *Spawner) prepareAll(ctx context.Context) {
	for {
		c, ok := s.nextToPrepare()
		if !ok {
			return
		}
		s.prepared(c, s.makeGroup(ctx, c))
	}
}

func (s *Spawner) makeGroup(ctx context.Context, c *child) made {
	group, err := s.options.Groups.Make(ctx, c.groupName(), c.start)
	return made{group: group, err: err}
}

func (c *child) groupName() string {
	if c.check {
		return c.run.String() + "-if"
	}
	return c.run.String()
}

func (s *Spawner) nextToPrepare() (c *child, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, ok = s.groups.waiting.Take(); ok; c, ok = s.groups.waiting.Take() {
		if s.groups.all[c] {
			return c, true
		}
		c.preparing = false
	}
	s.groups.busy--
	return nil, false
}

// prepared queues a run again, unless it was given back meanwhile.
func (s *Spawner) prepared(c *child, m made) {
	s.mu.Lock()
	_, wanted := s.groups.all[c]
	delete(s.groups.all, c)
	c.preparing = false
	if wanted {
		c.made, c.secrets = &m, m.secrets
		s.queue.Put(c.user, c)
	}
	s.mu.Unlock()
	if !wanted {
		m.secrets.drop()
		if m.group != nil {
			m.group.Remove()
		}
	}
	s.loop.Wake()
}

// enter opens the directory of a group that a process can be created in.
func enter(g Group) (fd int, err error) {
	fd, err = syscall.Open(g.Dir(), syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("enter control group: %w", err)
	}
	return fd, nil
}

const groupSuffix = ".group"

// markGroup writes down which group a run has, for a daemon that comes after a
// crash. Without it that daemon cannot end the whole run, but nothing else.
func (s *Spawner) markGroup(c *child) {
	if s.options.Runs == "" || c.check {
		return
	}
	if text, err := c.group.MarshalJSON(); err == nil {
		_ = os.WriteFile(s.dir.Base(c.run)+groupSuffix, text, 0o600) // as said
	}
}

// endGroup reads the usage of the group of an ended run, and removes the group. Background
// processes continue in it, as under cron. After a stop, or after a limit ended the run, they are
// killed: what a fork bomb leaves behind is more of it.
func (s *Spawner) endGroup(c *child) (used job.Usage, limit job.Reason) {
	used = c.usage
	if c.group == nil {
		return used, ""
	}
	all := c.group.Usage()
	used = job.Usage{
		CPU: max(used.CPU, all.CPU), Memory: max(used.Memory, all.Memory),
		Read: max(used.Read, all.Read), Write: max(used.Write, all.Write),
	}
	if !c.outcome.OK() {
		limit = c.group.Limit()
	}
	if s.options.Runs != "" {
		_ = os.Remove(s.dir.Base(c.run) + groupSuffix) // not all have one
	}
	killed := c.stopped || limit != ""
	if killed {
		c.group.Kill()
	}
	if g := c.group; !g.Remove() {
		s.loop.Call(func() { s.occupied.add(occupiedGroup{g, killed}) })
	}
	return used, limit
}

// occupied holds groups in which processes are still alive. Only the process loop uses it.
type occupied struct {
	groups []occupiedGroup
	pause  time.Duration
	timer  <-chan time.Time // nil: the list is empty
}

// occupiedGroup is the group of an ended run.
type occupiedGroup struct {
	group  Group
	killed bool // its processes were killed; otherwise they are background processes that continue
}

// The pauses between two looks at groups that are not empty.
const (
	leastPause = time.Second
	mostPause  = time.Minute
)

func (l *occupied) add(g occupiedGroup) {
	l.groups = append(l.groups, g)
	if l.timer == nil || l.pause > leastPause { // otherwise a user with many runs could postpone the look for ever
		l.pause = leastPause
		l.timer = time.After(l.pause)
	}
}

// sweep removes the groups that have become empty. It calls kill for the others whose processes
// were killed: a process that was being forked at that moment can have survived.
func (l *occupied) sweep(kill func(Group)) {
	kept := l.groups[:0]
	for _, g := range l.groups {
		if g.group.Remove() {
			continue
		}
		kept = append(kept, g)
		if g.killed {
			kill(g.group)
		}
	}
	clear(l.groups[len(kept):])
	l.groups, l.timer = kept, nil
	if len(kept) > 0 {
		l.pause = min(2*l.pause, mostPause)
		l.timer = time.After(l.pause)
	}
}
