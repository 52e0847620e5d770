package daemon

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/conditions"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/handover"
	"github.com/cronring/cronring/daemon/sandbox"
)

// configuration is the configuration in force.
type configuration struct {
	dir string // "": no configuration to read again

	mu      sync.Mutex
	now     config.Config
	waiting []string             // keys that were changed and count from the next start
	refused []crontab.Diagnostic // of a newer version, which is not taken for this
	unused  []crontab.Diagnostic // parts that are for no entry of the crontabs
}

// openConfiguration starts with the configuration that was read at the start. If that is invalid
// after a replacement by exec, the previous daemon's configuration stays in force.
func openConfiguration(o *Options, before *handover.Handover) *configuration {
	c := &configuration{dir: o.ConfigDir, now: o.Config}
	if before != nil && before.Config != nil && o.Config.Err() != nil {
		c.now, c.refused = *before.Config, o.Config.Diagnostics
		c.now.ReadTokens()
		c.now.ReadCalendars() // the previous daemon hands over their files only
		o.Config = c.now
	}
	return c
}

func (c *configuration) current() config.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// readAgain reads the configuration again. If it is invalid, all of the previous one stays in
// force. It reports whether the configuration in force has changed. Unchanged parts keep their
// values, so that the crontabs that they concern need not be parsed again.
func (c *configuration) readAgain() (changed bool) {
	if c.dir == "" {
		return false
	}
	next := config.Read(c.dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	if next.Err() != nil {
		c.refused = next.Diagnostics
		return false
	}
	c.refused = nil
	c.waiting = next.KeepStarted(&c.now)
	if reflect.DeepEqual(next.Sidecar, c.now.Sidecar) {
		next.Sidecar = c.now.Sidecar
	}
	if reflect.DeepEqual(next.Calendars, c.now.Calendars) {
		next.Calendars = c.now.Calendars
	}
	changed = !reflect.DeepEqual(next, c.now)
	c.now = next
	return changed
}

// readCalendars reads the files of calendars again.
func (c *configuration) readCalendars() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.ReadCalendars()
}

// look finds out which parts are for no entry of the crontabs.
func (c *configuration) look(crontabs []*crontab.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unused = nil
	if c.now.Sidecar != nil {
		c.unused = crontab.UnusedInSidecar(c.now.Sidecar, crontabs)
	}
}

// diagnostics returns all diagnostics of the configuration.
func (c *configuration) diagnostics() []crontab.Diagnostic {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(c.now.Diagnostics, c.refused, c.unused)
}

// problems returns the parts that are not in force as problems, and others worth knowing as
// notices.
func (c *configuration) problems() (problems, notices []api.Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.now.Err(); err != nil {
		problems = append(problems, api.Problem{What: "part of the configuration does not count", Why: oneLine(err), Fix: "cronring config check"})
	}
	if len(c.refused) > 0 {
		broken := config.Config{Diagnostics: c.refused}
		problems = append(problems, api.Problem{
			What: "the configuration is not taken; what it said before holds", Why: oneLine(broken.Err()), Fix: "cronring config check",
		})
	}
	if len(c.waiting) > 0 {
		notices = append(notices, api.Problem{
			What: "changed in the configuration, and in force from the next start: " + strings.Join(c.waiting, ", "), Fix: "systemctl reload cronring",
		})
	}
	for _, d := range c.unused {
		notices = append(notices, api.Problem{What: d.Error(), Fix: d.Fix})
	}
	return problems, notices
}

// oneLine returns the text of an error that has one line for each of several errors.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// configure reads the configuration again and reports whether the one in force has changed. An
// invalid one is reported in the log, and in the status until it is fixed.
func (d *shared) configure() (changed bool) {
	before := d.config.current()
	changed = d.config.readAgain()
	inForce := d.config.current()
	if changed {
		d.auditConfiguration(d.life, before.Rows(), inForce.Rows())
	}
	d.crontabs.source.Configure(inForce.OfCrontabs())
	d.notices.Configure(inForce.Channels)
	if changed {
		d.log.Info("configuration read", "directory", d.config.dir)
	}
	if err := d.ring.Reread(d.life); err != nil {
		d.log.Error("the ring's keys are not read again", "why", err)
	}
	problems, _ := d.config.problems()
	for _, p := range problems {
		d.log.Error(p.What, "why", p.Why, "fix", p.Fix)
	}
	return changed
}

// readCalendars reads the files of calendars again. Unlike the configuration they
// count as soon as they are changed.
func (d *shared) readCalendars() {
	d.config.readCalendars()
	inForce := d.config.current()
	d.crontabs.source.SetCalendars(inForce.Dates(), inForce.CalendarFiles())
}

// loadOf returns the crontabs with the host's settings.
func (d *shared) loadOf(ctx context.Context, crontabs []*crontab.File) event.Load {
	c := d.config.current()
	unfit := d.groups.Unfit(ctx, crontabs)
	for _, t := range crontabs {
		for i := range t.Entries {
			o := t.Entries[i].Options()
			if why := cmp.Or(unfit[o], sandbox.Unfit(o, d.spawner.MissingCredentials), conditions.Unfit(o)); why != "" {
				unfit[o] = why
			}
		}
	}
	return event.Load{
		Crontabs: crontabs, Limits: c.Limits, Blackouts: c.HostBlackouts(d.hostZone()), Node: c.Ring.Node(), Labels: c.Ring.Labels, Ring: d.ring.Mode(), Unfit: unfit, CatchupRate: c.CatchupRate,
	}
}

// Configuration returns the configuration in force, without secrets.
func (b backend) Configuration() api.Config {
	c := b.config.current()
	answer := api.Config{Directory: b.config.dir, Settings: []api.Setting{}}
	for _, row := range c.Rows() {
		s := api.Setting{Key: row.Key, Value: row.Value, Origin: "built-in", File: row.At.File, Line: row.At.Line}
		if s.File != "" {
			s.Origin = "configuration"
		}
		answer.Settings = append(answer.Settings, s)
	}
	return answer
}
