package spawn

import (
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/engine"
)

// environment is a process environment in which each name stands once: what
// two values of one name mean differs from shell to shell.
type environment struct {
	vars  []string
	index map[string]int
}

func (e *environment) set(name, value string) {
	entry := name + "=" + value
	if i, ok := e.index[name]; ok {
		e.vars[i] = entry
		return
	}
	e.index[name] = len(e.vars)
	e.vars = append(e.vars, entry)
}

func (e *environment) get(name string) string {
	i, ok := e.index[name]
	if !ok {
		return ""
	}
	return e.vars[i][len(name)+1:]
}

// environ builds a job's environment: cron's five variables, the table's over
// them, and then those that no table may forge. The daemon's own environment
// has no part in it, as in the crons before.
func (s *Spawner) environ(start *engine.Start, a account) environment {
	e := environment{
		vars:  make([]string, 0, len(start.Job.Env)+12),
		index: make(map[string]int, len(start.Job.Env)+12),
	}
	e.set("SHELL", "/bin/sh")
	e.set("HOME", a.home)
	e.set("PATH", s.options.Path)
	for _, entry := range start.Job.Env {
		name, value, _ := strings.Cut(entry, "=")
		e.set(name, value)
	}
	e.set("LOGNAME", a.name)
	e.set("USER", a.name)
	s.describeRun(&e, start)
	return e
}

// describeRun tells a job about itself.
func (s *Spawner) describeRun(e *environment, start *engine.Start) {
	run := &start.Run
	e.set("CRONRING_JOB", string(start.Job.ID))
	e.set("CRONRING_INVOCATION_ID", run.Invocation)
	e.set("CRONRING_RUN_ID", run.ID.String())
	e.set("CRONRING_DUE", run.Due.UTC().Format(time.RFC3339))
	if zone, err := s.options.Location(start.Job.Zone); err == nil {
		e.set("CRONRING_DUE_LOCAL", run.Due.In(zone).Format(time.RFC3339))
	}
	e.set("CRONRING_ATTEMPT", strconv.Itoa(run.Attempt))
	e.set("CRONRING_TRIGGER", string(run.Trigger))
}
