package command

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// familyPath is the PATH of jobs whose crontab sets none.
func familyPath(family crontab.Family) string {
	if family == crontab.RHEL {
		return "/usr/bin:/bin:/usr/sbin:/sbin"
	}
	return "/usr/bin:/bin"
}

// environment is a process environment in which each name occurs once. Shells disagree about which
// of two values counts.
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

func (e *environment) setAll(entries []string) {
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		e.set(name, value)
	}
}

func (e *environment) get(name string) string {
	i, ok := e.index[name]
	if !ok {
		return ""
	}
	return e.vars[i][len(name)+1:]
}

// environ builds a job's environment. In order: the host's variables, cron's, the crontab's, those
// of this run, and last those that none of these may forge. PATH is always among cron's, so PATH in
// /etc/environment has no effect, as in other crons. The daemon's own environment is not used.
func (m *Maker) environ(start *effect.Start, who account.Account, base []string) environment {
	n := len(base) + len(start.Job.Env) + len(start.Run.Env) + 20
	e := environment{vars: make([]string, 0, n), index: make(map[string]int, n)}
	e.setAll(base)
	e.set("SHELL", "/bin/sh")
	e.set("HOME", who.Home)
	e.set("PATH", cmp.Or(m.Path, familyPath(m.Family)))
	if m.Socket != "" {
		e.set("CRONRING_SOCKET", m.Socket)
	}
	e.setAll(start.Job.Env)
	e.setAll(start.Run.Env)
	e.set("LOGNAME", who.Name)
	e.set("USER", who.Name)
	m.describeRun(&e, start)
	return e
}

// describeRun sets the variables that describe the run.
func (m *Maker) describeRun(e *environment, start *effect.Start) {
	run := &start.Run
	e.set("CRONRING_JOB", string(start.Job.ID))
	e.set("CRONRING_INVOCATION_ID", run.Invocation)
	e.set("CRONRING_RUN_ID", run.ID.String())
	e.set("CRONRING_DUE", run.Due.UTC().Format(time.RFC3339))
	if zone, err := m.Location(start.Job.Zone); err == nil {
		e.set("CRONRING_DUE_LOCAL", run.Due.In(zone).Format(time.RFC3339))
	}
	e.set("CRONRING_ATTEMPT", strconv.Itoa(run.Attempt))
	e.set("CRONRING_TRIGGER", string(run.Trigger))
	e.set("CRONRING_NODE", m.Node)
	e.set("CRONRING_SHARD", strconv.Itoa(start.Job.Shard))
	e.set("CRONRING_SHARDS", strconv.Itoa(max(start.Job.Shards, 1)))
	if run.Token != 0 {
		e.set("CRONRING_FENCING_TOKEN", strconv.FormatUint(run.Token, 10))
	}
	e.set("CRONRING_LAST_SUCCESS", instant(start.LastSuccess))
	e.set("CRONRING_PARENTS", parents(run.Parents))
	e.set("TRACEPARENT", traceparent(m.Node, run))
	if m.hasNotify(start) {
		e.set("NOTIFY_SOCKET", m.Notify(run.ID))
		e.set("WATCHDOG_USEC", strconv.FormatInt(OptionsOf(start).Watchdog.Microseconds(), 10))
	}
}

// watchdogNames are systemd's variables for signs of life. WATCHDOG_PID, which names the only process
// that should give them, is not set: the process of a run is a shell.
var watchdogNames = []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}

// hasNotify reports whether a run has a socket for signs of life.
func (m *Maker) hasNotify(start *effect.Start) bool {
	return m.Notify != nil && OptionsOf(start).Watchdog > 0
}

// instant is empty for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// mostParents bounds a variable: the kernel takes none of 128 KiB.
const mostParents = 64 << 10

// parents is name:outcome:run-id of each, with a comma between. Without an
// outcome the run had not ended, and with 0 for its number none came.
func parents(all []job.Parent) string {
	var b strings.Builder
	for _, p := range all {
		if b.Len() > mostParents {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(p.Job) + ":" + string(p.Verdict) + ":" + p.Run.String())
	}
	return b.String()
}

// traceparent is the header of W3C's Trace Context: a trace for an occurrence,
// a span for each attempt of each host. Neither is ever zero, as that is no
// identity there.
func traceparent(node string, run *job.Run) string {
	span := sha256.Sum256([]byte(node + "\x00" + run.ID.String()))
	span[0] |= 1
	return "00-" + run.Invocation + "-" + hex.EncodeToString(span[:8]) + "-01"
}
