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

// environ builds a job's environment. In order: the host's variables, cron's, the crontab's, those
// of this run, and last those that none of these may forge. PATH is always among cron's, so PATH in
// /etc/environment has no effect, as in other crons. The daemon's own environment is not used.
func (m *Maker) environ(start *effect.Start, who account.Account, base []string) job.Environment {
	n := len(base) + len(start.Job.Env) + len(start.Run.Env) + 20
	e := job.Environment{List: make([]string, 0, n)}
	e.Set(base...)
	e.Set("SHELL=/bin/sh")
	e.Set("HOME=" + who.Home)
	e.Set("PATH=" + cmp.Or(m.Path, familyPath(m.Family)))
	if m.Socket != "" {
		e.Set("CRONRING_SOCKET=" + m.Socket)
	}
	e.Set(start.Job.Env...)
	e.Set(start.Run.Env...)
	e.Set("LOGNAME=" + who.Name)
	e.Set("USER=" + who.Name)
	m.describeRun(&e, start)
	return e
}

// describeRun sets the variables that describe the run.
func (m *Maker) describeRun(e *job.Environment, start *effect.Start) {
	run := &start.Run
	e.Set("CRONRING_JOB=" + string(start.Job.ID))
	e.Set("CRONRING_INVOCATION_ID=" + run.Invocation)
	e.Set("CRONRING_RUN_ID=" + run.ID.String())
	e.Set("CRONRING_DUE=" + run.Due.UTC().Format(time.RFC3339))
	if zone, err := m.Location(start.Job.Zone); err == nil {
		e.Set("CRONRING_DUE_LOCAL=" + run.Due.In(zone).Format(time.RFC3339))
	}
	e.Set("CRONRING_ATTEMPT=" + strconv.Itoa(run.Attempt))
	e.Set("CRONRING_TRIGGER=" + string(run.Trigger))
	e.Set("CRONRING_NODE=" + m.Node)
	e.Set("CRONRING_SHARD=" + strconv.Itoa(start.Job.Shard))
	e.Set("CRONRING_SHARDS=" + strconv.Itoa(max(start.Job.Shards, 1)))
	if run.Token != 0 {
		e.Set("CRONRING_FENCING_TOKEN=" + strconv.FormatUint(run.Token, 10))
	}
	e.Set("CRONRING_LAST_SUCCESS=" + instant(start.LastSuccess))
	e.Set("CRONRING_PARENTS=" + parents(run.Parents))
	e.Set("TRACEPARENT=" + traceparent(m.Node, run))
	if m.hasNotify(start) {
		e.Set("NOTIFY_SOCKET=" + m.Notify(run.ID))
		e.Set("WATCHDOG_USEC=" + strconv.FormatInt(OptionsOf(start).Watchdog.Microseconds(), 10))
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
