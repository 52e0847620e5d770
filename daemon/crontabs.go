package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/barred"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store/revision"
)

// crontabs reads the crontabs that the daemon runs.
type crontabs struct {
	host        spool.Host
	paths       spool.Paths
	source      *spool.Source
	barredUsers barred.Users

	anacron bool           // was installed when the crontabs were read before
	zone    *time.Location // of the host then

	reading sync.Mutex // held while they are read and the loop takes them; at first until firstEvents is through
	keeping sync.Mutex // held while their versions are written down, in order
	mu      sync.Mutex
	now     spool.Snapshot
}

// openCrontabs reads all crontabs for the first time. A crontab that was named on the command line
// and cannot be read is an error then, unless another daemon hands its runs over: then it is
// awaited.
func (d *shared) openCrontabs(ctx context.Context, seed uint64, takesOver bool) error {
	o := &d.options
	host := spool.ThisHost()
	host.Family, host.Calendars = o.Family, o.Config.Dates()
	places := host.Paths(o.Root)
	d.crontabs = &crontabs{
		host: host, paths: places,
		barredUsers: barred.Users{Accounts: d.accounts},
		source: spool.OpenSource(spool.SourceOptions{
			Host: host, Paths: places, Accounts: d.accounts, Seed: seed,
			LSBNames: o.Cron.LSBNames, Permissive: o.Cron.Permissive && o.Config.Permissive,
			Files: o.Files, System: o.System, NoWatch: o.Cron.NoWatch,
			Settings: o.Config.OfCrontabs(), CalendarFiles: o.Config.CalendarFiles(),
		}),
	}
	d.crontabs.reading.Lock()
	if o.host() {
		soon, cancel := context.WithTimeout(ctx, startPatience)
		defer cancel()
		ctx = soon
	}
	s := d.crontabs.read(ctx)
	d.config.look(s.Crontabs)
	if o.host() || takesOver {
		return nil
	}
	var unread []error
	for _, r := range s.Refused {
		why := r.Why
		if r.Fix != "" {
			why += ": " + r.Fix
		}
		unread = append(unread, fmt.Errorf("read crontab %s: %s", r.Path, why))
	}
	return errors.Join(unread...)
}

// startPatience is half of the maximum time that a start waits for a directory service: once for
// the owners of crontabs, once for the users that they name. Crontabs of users that are unknown by
// then are loaded later, and root's jobs run meanwhile.
const startPatience = 3 * time.Second

// awaited returns the crontabs whose users are not known yet, and whether the reason is that the
// lookup failed.
func awaited(s spool.Snapshot) map[string]bool {
	crontabs := map[string]bool{}
	for _, r := range s.Refused {
		if r.Code == spool.CodeOrphan || r.Code == spool.CodeUnchecked {
			crontabs[r.Path] = r.Code == spool.CodeUnchecked
		}
	}
	return crontabs
}

// watchCrontabs reads crontabs again whenever they changed, until ctx ends.
func (d *shared) watchCrontabs(ctx context.Context) error {
	return d.crontabs.source.Watch(ctx, func() { d.reportReloadError(ctx, d.reload(ctx, false)) })
}

// reportReloadError handles the result of reading crontabs if no caller waits for it.
func (d *shared) reportReloadError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.log.Error("the crontabs could not be read again", "error", err)
	}
}

func (t *crontabs) read(ctx context.Context) spool.Snapshot {
	s := t.source.Scan(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = s
	return s
}

func (t *crontabs) current() spool.Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// hostZone returns the current time zone of the host.
func (d *shared) hostZone() *time.Location {
	if d.crontabs != nil {
		if zone := d.crontabs.current().Zone; zone != nil {
			return zone
		}
	}
	return time.Local // nothing was read yet
}

// location returns the zone with a name that a job uses.
func (t *crontabs) location(name string) (*time.Location, error) {
	if zone := t.current().Zone; name == zone.String() {
		return zone, nil
	}
	return spool.LoadZone(name)
}

// firstEvents returns the engine's events at the start, and the changes to pass to keepFirst when
// the daemon is ready: each version costs a write to the disk, and a host may have ten thousand
// crontabs.
func (l *loop) firstEvents(ctx context.Context) ([]event.Event, []spool.Change) {
	defer l.crontabs.reading.Unlock()
	s := l.crontabs.current()
	l.anacronRemoved()
	l.announce(s)
	soon, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	barred, _ := l.findBarredUsers(soon, s.Crontabs)
	load := l.loadOf(soon, s.Crontabs)
	load.Awaited = awaited(s)
	if !l.options.host() {
		for _, r := range s.Refused {
			load.Awaited[r.Path] = false
		}
	}
	return []event.Event{event.BarUsers{Users: barred}, load}, s.Changes
}

// findBarredUsers returns the users that must not run jobs, and logs new ones.
func (d *shared) findBarredUsers(ctx context.Context, crontabs []*crontab.File) (barred map[string]event.Barred, changed bool) {
	before := d.crontabs.barredUsers.Previous
	barred, changed = d.crontabs.barredUsers.Find(ctx, crontabs, d.clock.Now().Wall)
	for _, user := range slices.Sorted(maps.Keys(barred)) {
		refusal := barred[user]
		if before[user] == refusal {
			continue
		}
		text := refusal.Detail
		if refusal.Reason == job.NoUser {
			text = "getpwnam() failed - user unknown" // cronie's words, once instead of at each start
		}
		d.logWriter.Cron(user, journal.CronLine{Who: user, Word: "ERROR", Text: text})
	}
	return barred, changed
}

// reload reads the crontabs and their users again, and waits until the loop has applied the
// changes. It reads the configuration only if all is set, because an administrator may be writing
// it.
func (d *shared) reload(ctx context.Context, all bool) error {
	t := d.crontabs
	t.reading.Lock()
	defer t.reading.Unlock()
	renewed := all && d.configure()
	d.readCalendars()
	s := t.read(ctx)
	d.config.look(s.Crontabs)
	d.announce(s)
	defer d.keepVersions(ctx, s.Changes)
	var changes []event.Event
	if barred, changed := d.findBarredUsers(ctx, s.Crontabs); changed {
		changes = append(changes, event.BarUsers{Users: barred}) // first: a new crontab may have no valid user
	}
	if s.Changed || renewed {
		if d.anacronRemoved() {
			changes = append(changes, event.Stamps{Days: spool.ReadStamps(t.paths.Stamps)})
		}
		load := d.loadOf(ctx, s.Crontabs)
		load.Saved = saved(s.Changes)
		changes = append(changes, d.view.Load().Prepare(load))
	}
	for _, e := range changes {
		if _, err := d.Ask(ctx, e); err != nil {
			return err
		}
	}
	if s.Changed {
		debug.FreeOSMemory() // reading crontabs takes several times what they are
	}
	return nil
}

// saved returns when the crontabs were saved whose text is new.
func saved(changes []spool.Change) map[string]time.Time {
	at := map[string]time.Time{}
	for _, c := range changes {
		if c.Kind == spool.Loaded || c.Kind == spool.Reloaded {
			at[c.Path] = c.Saved
		}
	}
	return at
}

// anacronRemoved reports whether anacron was removed since it was asked before.
func (d *shared) anacronRemoved() bool {
	before := d.crontabs.anacron
	d.crontabs.anacron = d.options.host() && d.crontabs.paths.AnacronInstalled()
	return before && !d.crontabs.anacron
}

// announce logs the changes of the crontabs since the last load, and of the zone of their times.
func (d *shared) announce(s spool.Snapshot) {
	if before := d.crontabs.zone; before != nil && before.String() != s.Zone.String() {
		d.log.Info("the host's time zone is another", "zone", s.Zone.String(), "before", before.String())
	}
	d.crontabs.zone = s.Zone
	entries := make(map[string]int, len(s.Crontabs))
	for _, t := range s.Crontabs {
		entries[t.Name] = len(t.Entries)
	}
	var sum loadSummary
	for _, c := range s.Changes {
		user, log := budget.Root, d.log
		if name, ok := d.crontabs.paths.IsUserCrontab(c.Path); ok {
			user, log = name, d.log.With(journal.UserKey, name)
		}
		if c.Log != "" {
			d.logWriter.Cron(user, journal.CronLine{Text: c.Log})
		}
		for _, text := range c.Errors {
			d.logWriter.Cron(user, journal.CronLine{Who: c.Who, Word: "ERROR", Text: text})
		}
		n, loaded := entries[c.Path]
		switch r := c.Refusal; {
		case r != nil:
			log.Error("a crontab is not read", "crontab", r.Path, "why", r.Why, "fix", r.Fix, "kept", r.Kept, journal.IDKey, journal.RefusedID)
		case c.Kind == spool.Gone:
			sum.add(c.Path)
			sum.gone++
		case loaded:
			warnOfErrors(log, c.Diagnostics)
			sum.add(c.Path)
			sum.entries += n
		}
	}
	if sum.count > 0 {
		d.log.Info("crontabs read", "crontabs", sum.crontabs(), "count", sum.count-sum.gone, "entries", sum.entries, "gone", sum.gone)
	}
}

// loadSummary describes the changes of a load for one line of the log, because a host can have
// thousands of crontabs.
type loadSummary struct {
	first                []string // paths of the first maxNamed crontabs
	count, gone, entries int
}

// maxNamed is the most crontabs that are named in the log line of a load.
const maxNamed = 3

func (s *loadSummary) add(path string) {
	if s.count++; s.count <= maxNamed {
		s.first = append(s.first, path)
	}
}

func (s *loadSummary) crontabs() string {
	text := strings.Join(s.first, " ")
	if more := s.count - len(s.first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxWarnings is the most errors of one crontab that are logged at a load.
const maxWarnings = 100

// warnOfErrors logs which lines are ignored, which options have no effect, and
// what to write instead.
func warnOfErrors(log *slog.Logger, diagnostics []crontab.Diagnostic) {
	n := 0
	for _, r := range diagnostics {
		if r.Severity == crontab.Error {
			if n++; n > maxWarnings && r.Code != crontab.CodeLimit {
				continue
			}
			what := "line left out"
			switch {
			case r.Code.OfOption():
				what = "option not followed"
			case r.Code == crontab.CodeMark:
				what = "byte order mark ignored"
			case r.Code == crontab.CodeLimit:
				what = "the rest of the crontab is not loaded"
			}
			log.Warn(what, "at", r.Error(), "code", r.Code, "fix", r.Fix)
		}
	}
}

// keepVersions stores changed crontabs in the history, whoever changed them, so that changes can be
// undone.
func (d *shared) keepVersions(ctx context.Context, changes []spool.Change) {
	if !d.options.host() || len(changes) == 0 {
		return
	}
	d.crontabs.keeping.Lock()
	defer d.crontabs.keeping.Unlock()
	d.keepAll(ctx, changes)
}

// keepFirst is keepVersions for those of the start, aside. What changes from
// now on comes after them.
func (d *shared) keepFirst(ctx context.Context, changes []spool.Change) (keep func()) {
	d.crontabs.keeping.Lock()
	return func() {
		defer d.crontabs.keeping.Unlock()
		if d.options.host() {
			d.keepAll(ctx, changes)
		}
	}
}

func (d *shared) keepAll(ctx context.Context, changes []spool.Change) {
	for _, c := range changes {
		if ctx.Err() != nil {
			return // the next start finds them as new
		}
		if c.Kind != spool.Loaded && c.Kind != spool.Reloaded && c.Kind != spool.Gone || c.Truncated {
			continue // a version beyond the limit could not be installed again
		}
		user, ok := d.crontabs.paths.IsUserCrontab(c.Path)
		if !ok {
			user = "root"
		}
		before, err := d.history.Revisions(ctx, revision.Filter{File: c.Path, Limit: 1})
		if err != nil && ctx.Err() == nil {
			d.log.Warn("the last version of a crontab cannot be read", "crontab", c.Path, "error", err)
		}
		id, err := d.history.SaveRevision(ctx, revision.Revision{
			File: c.Path, User: user, UID: c.UID, At: d.clock.Now().Wall, How: revision.Seen,
			Gone: c.Kind == spool.Gone, Text: []byte(d.crontabs.paths.Body(c.Path, c.Text)),
		})
		if err != nil && ctx.Err() == nil {
			d.log.Warn("a version of a crontab is not kept", "crontab", c.Path, "error", err)
		}
		if err == nil && len(before) > 0 && before[0].ID != id {
			d.auditFile(ctx, c, user, before[0].ID, id)
		}
	}
}
