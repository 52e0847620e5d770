package spawn

import (
	"context"

	"github.com/cronring/cronring/daemon/account"
)

// inquirers is how many users may be looked up at once. Each lookup is a program or a connection to
// a directory service, which may be slow or dead.
const inquirers = 4

// unresolvedUsers is the accounts that no answer is at hand for. It is guarded by
// Spawner.mu.
type unresolvedUsers struct {
	waiting map[string][]*child // by name, those asked for now among them
	names   []string            // not yet asked for, oldest first
	busy    int                 // goroutines that ask
}

// lookup is the result of looking up a user.
type lookup struct {
	account account.Account
	err     error
}

// userOf returns the user of a run, if the lookup is complete.
func (s *Spawner) userOf(c *child) (who account.Account, ok bool, err error) {
	s.mu.Lock()
	found := c.found
	s.mu.Unlock()
	if found != nil {
		return found.account, true, found.err
	}
	who, ok = s.options.Accounts.Known(c.start.Job.User)
	return who, ok, nil
}

// inquire has an account found for a run, which is queued again afterwards.
// Runs of one account wait together.
func (s *Spawner) inquire(ctx context.Context, c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := c.start.Job.User
	_, asked := s.ask.waiting[name]
	s.ask.waiting[name] = append(s.ask.waiting[name], c)
	if asked {
		return
	}
	s.ask.names = append(s.ask.names, name)
	if s.ask.busy < inquirers {
		s.ask.busy++
		s.tasks.Go(func() { s.inquireAll(ctx) })
	}
}

func (s *Spawner) inquireAll(ctx context.Context) {
	for {
		name, ok := s.nextName()
		if !ok {
			return
		}
		who, err := s.options.Accounts.Find(ctx, name)
		s.deliver(name, lookup{who, err})
	}
}

func (s *Spawner) nextName() (name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ask.names) == 0 {
		s.ask.busy--
		return "", false
	}
	name = s.ask.names[0]
	s.ask.names = s.ask.names[1:]
	return name, true
}

func (s *Spawner) deliver(name string, f lookup) {
	s.mu.Lock()
	for _, c := range s.ask.waiting[name] {
		c.found = &f
		s.queue = append(s.queue, c)
	}
	delete(s.ask.waiting, name)
	s.mu.Unlock()
	s.nudge()
}
