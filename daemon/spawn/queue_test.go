package spawn

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/command"
)

// A user whose runs, if= commands and mail are due in large numbers delays none of root's, and those of
// another user by one at a time.
func TestQueueOfAUserDoesNotDelayOthers(t *testing.T) {
	s := New(Options{})
	last := job.RunID(0)
	startOf := func(user string) effect.Start {
		last++
		return effect.Start{Job: job.Job{User: user}, Run: job.Run{ID: last}}
	}
	submit := func(cred *syscall.Credential) {
		t.Helper()
		if err := s.submit(&child{tool: &toolRun{command: command.Command{Cred: cred}}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		s.Check(effect.Check{Start: startOf("alice"), Command: "true"})
	}
	s.Start(startOf("bob"))
	submit(&syscall.Credential{Uid: 1000})
	s.Start(startOf("root"))
	s.Start(startOf("bob"))
	s.Start(startOf("root"))
	submit(&syscall.Credential{Uid: 0})
	submit(nil)
	var got []string
	for c := s.next(); c != nil; c = s.next() {
		name := fmt.Sprint(c.user, " ", c.run)
		if c.tool != nil {
			name = "tool of " + c.tool.queueUser()
		}
		got = append(got, name)
	}
	want := []string{"tool of root", "tool of root", "root 5", "root 7", "tool of 1000", "alice 1", "bob 4", "alice 2", "bob 6", "alice 3"}
	if !slices.Equal(got, want) {
		t.Errorf("began %q, want %q", got, want)
	}
}

// The same holds for runs that need a control group.
func TestGroupsOfAUserDoNotDelayThoseOfRoot(t *testing.T) {
	s := New(Options{})
	s.groups.busy = prepareCallers // so that nothing takes them
	for _, user := range []string{"alice", "alice", "root"} {
		s.prepare(t.Context(), &child{user: user})
	}
	if c, ok := s.nextToPrepare(); !ok || c.user != "root" {
		t.Errorf("the first group is made for %+v, want root", c)
	}
}
