package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/barred"
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

	anacron bool           // was installed when the tables were read before
	zone    *time.Location // of the host then

	reading sync.Mutex // held while they are read and the loop takes them; at first until firstEvents is through
	keeping sync.Mutex // held while their versions are written down, in order
	mu      sync.Mutex
	now     spool.Snapshot
}

// openCrontabs reads all crontabs for the first time. A crontab that was named on the command line
// and cannot be read is an error then, unless another daemon hands its runs over: then it is
// awaited.
func (l *loop) openCrontabs(ctx context.Context, seed uint64, takesOver bool) error {
	o := &l.options
	host := spool.ThisHost()
	host.Family, host.Calendars = o.Family, o.Config.Dates()
	places := host.Paths(o.Root)
	l.crontabs = &crontabs{
		host: host, paths: places,
		barredUsers: barred.Users{Accounts: l.accounts},
		source: spool.OpenSource(spool.SourceOptions{
			Host: host, Paths: places, Accounts: l.accounts, Seed: seed,
			LSBNames: o.Cron.LSBNames, Permissive: o.Cron.Permissive && o.Config.Permissive,
			Files: o.Files, System: o.System, NoWatch: o.Cron.NoWatch, Sidecar: o.Config.Sidecar, Channels: o.Config.ChannelUsers(), RingUsers: o.Config.RingUsers(), PingHosts: o.Config.PingHosts,
			MaxEntries: o.Config.EntriesPerUser(), CalendarFiles: o.Config.CalendarFiles(),
		}),
	}
	l.crontabs.reading.Lock()
	if o.host() {
		soon, cancel := context.WithTimeout(ctx, startPatience)
		defer cancel()
		ctx = soon
	}
	s := l.crontabs.read(ctx)
	l.config.look(s.Crontabs)
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

// watchCrontabs reads tables again whenever they changed, until ctx ends.
func (l *loop) watchCrontabs(ctx context.Context) error {
	return l.crontabs.source.Watch(ctx, func() { l.reportReloadError(ctx, l.reload(ctx, false)) })
}

// reportReloadError handles the result of reading crontabs if no caller waits for it.
func (l *loop) reportReloadError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		l.log.Error("the crontabs could not be read again", "error", err)
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
func (l *loop) hostZone() *time.Location {
	if l.crontabs != nil {
		if zone := l.crontabs.current().Zone; zone != nil {
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
func (l *loop) findBarredUsers(ctx context.Context, crontabs []*crontab.File) (barred map[string]event.Barred, changed bool) {
	before := l.crontabs.barredUsers.Previous
	barred, changed = l.crontabs.barredUsers.Find(ctx, crontabs, l.clock.Now().Wall)
	for _, user := range slices.Sorted(maps.Keys(barred)) {
		bar := barred[user]
		if before[user] == bar {
			continue
		}
		text := bar.Detail
		if bar.Reason == job.NoUser {
			text = "getpwnam() failed - user unknown" // cronie's words, once instead of at each start
		}
		l.logWriter.Cron(journal.CronLine{Who: user, Word: "ERROR", Text: text})
	}
	return barred, changed
}

// reload reads the crontabs and their users again, and waits until the loop has applied the
// changes. It reads the configuration only if all is set, because an administrator may be writing
// it.
func (l *loop) reload(ctx context.Context, all bool) error {
	t := l.crontabs
	t.reading.Lock()
	defer t.reading.Unlock()
	renewed := all && l.configure()
	l.readCalendars()
	s := t.read(ctx)
	l.config.look(s.Crontabs)
	l.announce(s)
	defer l.keepVersions(ctx, s.Changes)
	var changes []event.Event
	if barred, changed := l.findBarredUsers(ctx, s.Crontabs); changed {
		changes = append(changes, event.BarUsers{Users: barred}) // first: a new crontab may have no valid user
	}
	if s.Changed || renewed {
		if l.anacronRemoved() {
			changes = append(changes, event.Stamps{Days: spool.ReadStamps(t.paths.Stamps)})
		}
		load := l.loadOf(ctx, s.Crontabs)
		load.Saved = saved(s.Changes)
		changes = append(changes, l.view.Load().Prepare(load))
	}
	for _, e := range changes {
		if _, err := (backend{&l.shared}).Ask(ctx, e); err != nil {
			return err
		}
	}
	if s.Changed {
		debug.FreeOSMemory() // reading tables takes several times what they are
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
func (l *loop) anacronRemoved() bool {
	before := l.crontabs.anacron
	l.crontabs.anacron = l.options.host() && l.crontabs.paths.AnacronInstalled()
	return before && !l.crontabs.anacron
}

// announce logs the changes of the crontabs since the last load, and of the zone of their times.
func (l *loop) announce(s spool.Snapshot) {
	if before := l.crontabs.zone; before != nil && before.String() != s.Zone.String() {
		l.log.Info("the host's time zone is another", "zone", s.Zone.String(), "before", before.String())
	}
	l.crontabs.zone = s.Zone
	entries := make(map[string]int, len(s.Crontabs))
	for _, t := range s.Crontabs {
		entries[t.Name] = len(t.Entries)
	}
	var sum loadSummary
	for _, c := range s.Changes {
		if c.Log != "" {
			l.logWriter.Cron(journal.CronLine{Text: c.Log})
		}
		for _, text := range c.Errors {
			l.logWriter.Cron(journal.CronLine{Who: c.Who, Word: "ERROR", Text: text})
		}
		n, loaded := entries[c.Path]
		switch r := c.Refusal; {
		case r != nil:
			l.log.Error("a crontab is not read", "crontab", r.Path, "why", r.Why, "fix", r.Fix, "kept", r.Kept, journal.IDKey, journal.RefusedID)
		case c.Kind == spool.Gone:
			sum.add(c.Path)
			sum.gone++
		case loaded:
			l.warnOfErrors(c.Diagnostics)
			sum.add(c.Path)
			sum.entries += n
		}
	}
	if sum.count > 0 {
		l.log.Info("crontabs read", "crontabs", sum.crontabs(), "count", sum.count-sum.gone, "entries", sum.entries, "gone", sum.gone)
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
func (l *loop) warnOfErrors(diagnostics []crontab.Diagnostic) {
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
			l.log.Warn(what, "at", r.Error(), "code", r.Code, "fix", r.Fix)
		}
	}
}

// keepVersions stores changed crontabs in the history, whoever changed them, so that changes can be
// undone.
func (l *loop) keepVersions(ctx context.Context, changes []spool.Change) {
	if !l.options.host() || len(changes) == 0 {
		return
	}
	l.crontabs.keeping.Lock()
	defer l.crontabs.keeping.Unlock()
	l.keepAll(ctx, changes)
}

// keepFirst is keepVersions for those of the start, aside. What changes from
// now on comes after them.
func (l *loop) keepFirst(ctx context.Context, changes []spool.Change) (keep func()) {
	l.crontabs.keeping.Lock()
	return func() {
		defer l.crontabs.keeping.Unlock()
		if l.options.host() {
			l.keepAll(ctx, changes)
		}
	}
}

func (l *loop) keepAll(ctx context.Context, changes []spool.Change) {
	for _, c := range changes {
		if ctx.Err() != nil {
			return // the next start finds them as new
		}
		if c.Kind != spool.Loaded && c.Kind != spool.Reloaded && c.Kind != spool.Gone || c.Truncated {
			continue // a version beyond the limit could not be installed again
		}
		user, ok := l.crontabs.paths.IsUserCrontab(c.Path)
		if !ok {
			user = "root"
		}
		before, err := l.history.Revisions(ctx, revision.Filter{File: c.Path, Limit: 1})
		if err != nil && ctx.Err() == nil {
			l.log.Warn("the last version of a crontab cannot be read", "crontab", c.Path, "error", err)
		}
		id, err := l.history.SaveRevision(ctx, revision.Revision{
			File: c.Path, User: user, UID: c.UID, At: l.clock.Now().Wall, How: revision.Seen,
			Gone: c.Kind == spool.Gone, Text: []byte(l.crontabs.paths.Body(c.Path, c.Text)),
		})
		if err != nil && ctx.Err() == nil {
			l.log.Warn("a version of a crontab is not kept", "crontab", c.Path, "error", err)
		}
		if err == nil && len(before) > 0 && before[0].ID != id {
			l.auditFile(ctx, c, user, before[0].ID, id)
		}
	}
}
