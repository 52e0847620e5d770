package spool

import (
	"cmp"
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/wake"
)

// Accounts finds accounts by name; account.Directory is one.
type Accounts interface {
	Find(ctx context.Context, name string) (account.Account, error)
}

// SourceOptions select the crontabs that a Source reads.
type SourceOptions struct {
	Host       Host
	Paths      Paths    // of the host's crontabs; the zero value means Host.Paths("")
	Accounts   Accounts // finds the users of the spool's crontabs; nil reads the host's files
	Seed       uint64   // of random choices; see crontab.Config
	LSBNames   bool     // accepts the file names that Debian's cron accepts with -l
	Permissive bool     // cronie's -p: trust every file that can be read

	NoWatch bool // cronie's -i: look for changes only once a minute

	// Files are read instead of the host's crontabs, whoever owns them. System means that they have
	// a user column.
	Files  []string
	System bool

	Settings
	CalendarFiles []string // to watch

	// AnacronInstalled is called at each scan. While it returns true, anacron runs the anacrontab, and
	// the Source ignores it. nil looks for the program.
	AnacronInstalled func() bool
}

// Settings are those settings of the configuration that change the meaning of crontabs. A Source does not change
// what they refer to.
type Settings struct {
	Sidecar    *sidecar.Sidecar    // settings of entries; nil: none
	Channels   map[string][]string // that crontabs may name, and their users; see crontab.Config
	RingUsers  []string            // whose crontabs may have scope=ring; see crontab.Config
	PingHosts  []string            // that ping= of users' crontabs may name; see crontab.Config
	MaxEntries int                 // of each user's crontab; 0: no limit
}

// Source reads the crontabs of a host, or a few files, and follows their changes. Its methods may be
// called concurrently.
type Source struct {
	options SourceOptions
	trust   trust
	fresh   time.Duration // see freshness; shorter in tests
	open    func() (watcher, error)
	// crontab.Parse, except in tests
	parseText func(name, text string, c crontab.Config) (*crontab.File, []crontab.Diagnostic)
	replan    chan struct{} // the set of watched files has changed

	mu         sync.Mutex
	files      map[string]*file
	zone       hostZone
	standIn    bool
	generation int // increases when all crontabs must be parsed again
	cache      *crontab.Cache
	parsed     int // files and entries parsed with the cache
	cacheOf    int // generation
	shown      *time.Location
	notice     string
	targets    []string // the targets of crontabs that are symbolic links
}

// Snapshot is the result of one scan. It is immutable and shares unchanged crontabs with earlier
// snapshots.
type Snapshot struct {
	Crontabs    []*crontab.File      // /etc/crontab, cron.d, users, anacrontab; each directory by name
	Diagnostics []crontab.Diagnostic // on their lines, in the same order
	Refused     []Refusal            // the crontabs that are refused now, not only new ones
	Ignored     []Ignored            // because of their names
	Changes     []Change             // since the previous scan
	Changed     bool                 // the crontabs or the zone differ from those of the previous scan
	Zone        *time.Location       // of the host
	Notice      string               // why changes are noticed only once a minute, or ""
}

// ChangeKind is the kind of a file's change.
type ChangeKind string

// The kinds of changes.
const (
	Loaded   ChangeKind = "loaded"   // it is new
	Reloaded ChangeKind = "reloaded" // its text has changed
	Gone     ChangeKind = "gone"     // its entries end, but runs that have started continue
	Refused  ChangeKind = "refused"  // also if the reason has changed
	Accepted ChangeKind = "accepted" // no longer refused, and its text is unchanged
)

// Change is a change of one file since the previous scan. The effects of a new zone of the host are not
// changes of files.
type Change struct {
	Kind        ChangeKind
	Path        string
	UID         uint32               // the user of a user's crontab, if known
	Who         string               // the user of a user's crontab, *system*NAME or root; "" for SourceOptions.Files
	Text        string               // the whole text, if it was loaded or reloaded
	Saved       time.Time            // when the text was saved
	Diagnostics []crontab.Diagnostic // about the text

	Truncated bool     // the text exceeds the limits of a user, and only its beginning is loaded
	Errors    []string // for cron's log, as "(WHO) ERROR (TEXT)": one for each ignored line
	Refusal   *Refusal // nil: it was not refused
	Log       string   // the line that cron would log: RELOAD or a refusal; "": none
}

// OpenSource makes a Source. It reads nothing yet.
func OpenSource(o SourceOptions) *Source {
	o.Paths = o.paths()
	if o.Accounts == nil {
		o.Accounts = account.New(account.Options{})
	}
	if o.AnacronInstalled == nil {
		o.AnacronInstalled = o.Paths.AnacronInstalled
	}
	return &Source{
		options:   o,
		trust:     trust{family: o.Host.Family, permissive: o.Permissive},
		fresh:     freshness,
		open:      opener(o.NoWatch),
		parseText: crontab.Parse,
		replan:    make(chan struct{}, 1),
		files:     map[string]*file{},
		zone:      hostZone{localtime: o.Paths.Localtime, timezone: o.Paths.Timezone},
		cache:     crontab.NewCache(),
	}
}

// Configure replaces the settings of the configuration. At the next scan all crontabs are parsed again,
// unless the settings are the same.
func (s *Source) Configure(settings Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !reflect.DeepEqual(s.options.Settings, settings) {
		s.options.Settings = settings
		s.generation++
	}
}

// SetCalendars replaces the calendars and the files to watch for them. At the next
// scan all crontabs are parsed again, unless the calendars are the same.
func (s *Source) SetCalendars(calendars map[string]timetable.Calendar, files []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.options.CalendarFiles, files) {
		s.options.CalendarFiles = files
		wake.Up(s.replan)
	}
	if !reflect.DeepEqual(s.options.Host.Calendars, calendars) {
		s.options.Host.Calendars = calendars
		s.generation++
	}
}

// patience limits the time for looking up all users of one scan, because a directory service may not
// answer. asksAtOnce is the highest number of concurrent look-ups.
const (
	patience   = 6 * time.Second
	asksAtOnce = 8
)

// Scan reads what changed since the previous scan. If a newer version is refused or cannot be read,
// the last good version stays loaded, even if another user may have written the file: good versions
// stay, and possibly forged ones are never loaded. If a file or its user no longer exists, its
// entries end.
func (s *Source) Scan(ctx context.Context) Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.refreshHost(time.Now())
	scan := s.look()
	owners := s.askOwners(ctx, scan)
	var changes []Change
	var order []*file
	moved := false
	for _, found := range scan.found {
		f := s.files[found.path]
		if f == nil {
			f = &file{candidate: found.candidate, again: true}
			s.files[found.path] = f
		}
		if f.scan == scan {
			continue // named twice
		}
		before := f.file
		changes = s.refresh(f, found.look, owners, changes)
		moved = moved || f.file != before
		f.scan, order = scan, append(order, f)
	}
	order, changes, ended := s.forget(scan, order, changes)
	return s.snapshot(scan, order, changes, moved || ended)
}

// refreshHost checks whether the zone or anacron has changed, so that all crontabs must be parsed again.
func (s *Source) refreshHost(now time.Time) {
	standIn := s.options.Files == nil && !s.options.AnacronInstalled()
	if s.zone.refresh(now) || standIn != s.standIn {
		s.generation++
	}
	s.standIn = standIn
	// A cache never shrinks, and its zones never change. Crontabs that are not parsed again keep the
	// schedules of their old cache.
	if s.parsed > 1000+2*s.installed() || s.cacheOf != s.generation {
		s.cache, s.parsed, s.cacheOf = crontab.NewCache(), 0, s.generation
	}
}

// installed counts the files and their entries.
func (s *Source) installed() int {
	n := len(s.files)
	for _, f := range s.files {
		if f.file != nil {
			n += len(f.file.Entries)
		}
	}
	return n
}

// look lists the files that may be crontabs, in the order of a snapshot.
func (s *Source) look() *scanned {
	scan := &scanned{}
	if s.options.Files != nil {
		for _, path := range s.options.Files {
			l, _ := lookAt(unix.AT_FDCWD, path) // reading the file reports errors
			scan.found = append(scan.found, found{candidate{namedCrontab, path, path}, l})
		}
		return scan
	}
	p := s.options.Paths
	scan.file(candidate{systemCrontab, p.Crontab, ""}, s.trust)
	scan.directory(systemCrontab, p.CronD, s.trust, s.options.LSBNames)
	scan.directory(userCrontab, p.Users, s.trust, false)
	if s.standIn {
		scan.file(candidate{anacrontab, p.Anacrontab, filepath.Base(p.Anacrontab)}, s.trust)
	}
	return scan
}

// refresh reads the file if it may have changed, and appends to changes.
func (s *Source) refresh(f *file, l pathFingerprint, owners map[string]owner, changes []Change) []Change {
	other := f.kind == userCrontab && f.takeOwner(owners[f.name])
	if other || f.again || f.look != l || s.isStale(f) && f.file.Truncated() {
		return s.read(f, l, changes)
	}
	s.renew(f)
	return changes
}

// forget removes files that the scan did not find, except in places that it could not read.
func (s *Source) forget(scan *scanned, order []*file, changes []Change) ([]*file, []Change, bool) {
	if len(order) == len(s.files) {
		return order, changes, false
	}
	ended, kept := false, false
	for path, f := range s.files {
		switch {
		case f.scan == scan:
		case slices.ContainsFunc(scan.failed, func(r *Refusal) bool { return path == r.Path || filepath.Dir(path) == r.Path }):
			s.renew(f)
			order, kept = append(order, f), true
		default:
			delete(s.files, path)
			if f.file != nil {
				changes, ended = append(changes, s.change(Gone, f)), true
			}
		}
	}
	if kept {
		slices.SortFunc(order, byPlace)
	}
	if ended {
		slices.SortStableFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	}
	return order, changes, ended
}

// byPlace is the order of a snapshot.
func byPlace(a, b *file) int {
	rank := func(f *file) int {
		switch {
		case f.kind == systemCrontab && f.name == "":
			return 0
		case f.kind == systemCrontab:
			return 1
		case f.kind == userCrontab && f.name == "root":
			return 2
		case f.kind == userCrontab:
			return 3
		}
		return 4
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.path, b.path))
}

func (s *Source) snapshot(scan *scanned, order []*file, changes []Change, moved bool) Snapshot {
	snap := Snapshot{
		Ignored: scan.ignored, Changes: changes, Changed: moved || s.shown != s.zone.location,
		Zone: s.zone.location, Notice: s.notice,
		Crontabs: make([]*crontab.File, 0, len(order)),
	}
	s.shown = s.zone.location
	for _, r := range scan.failed {
		snap.Refused = append(snap.Refused, *r)
	}
	var targets []string
	for _, f := range order {
		if f.target != "" {
			targets = append(targets, f.target)
		}
		if f.file != nil {
			snap.Crontabs = append(snap.Crontabs, f.file)
			snap.Diagnostics = append(snap.Diagnostics, f.diagnostics...)
		}
		switch {
		case f.temporary():
			snap.Ignored = append(snap.Ignored, Ignored{f.path, "ignored: a temporary file of crontab(1)"})
		case f.refusal != nil:
			snap.Refused = append(snap.Refused, *f.refusal)
		}
	}
	if !slices.Equal(targets, s.targets) {
		s.targets = targets
		wake.Up(s.replan)
	}
	return snap
}

func (o SourceOptions) paths() Paths {
	if o.Paths == (Paths{}) {
		return o.Host.Paths("")
	}
	return o.Paths
}
