package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/spool"
)

// tables reads the crontab files that the daemon was given.
type tables struct {
	files  []string
	system bool
	host   spool.Host
	seed   uint64

	mu       sync.Mutex
	loaded   []*crontab.Table
	problems []crontab.Diagnostic
	unread   []error // files whose newest version could not be read
}

// openTables reads all files for the first time; one that cannot be read is
// an error then, as nothing is known of it.
func openTables(o Options, seed uint64) (*tables, error) {
	if len(o.Files) == 0 {
		return nil, errors.New("no crontab file is named")
	}
	t := &tables{files: o.Files, system: o.System, host: spool.ThisHost(), seed: seed}
	t.read()
	return t, errors.Join(t.unread...)
}

// read reads all files anew. A file that cannot be read keeps what it said
// before.
func (t *tables) read() {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := map[string]*crontab.Table{}
	for _, table := range t.loaded {
		before[table.Name] = table
	}
	t.loaded, t.problems, t.unread = nil, nil, nil
	cache := crontab.NewCache()
	for _, file := range t.files {
		text, err := spool.Read(file)
		if err != nil {
			t.unread = append(t.unread, fmt.Errorf("read crontab: %w", err))
			if old := before[file]; old != nil {
				t.loaded = append(t.loaded, old)
			}
			continue
		}
		c := t.host.Config(file, t.system)
		c.Seed, c.Cache = t.seed, cache
		table, problems := crontab.Parse(file, text, c)
		t.loaded = append(t.loaded, table)
		t.problems = append(t.problems, problems...)
	}
}

func (t *tables) current() []*crontab.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loaded
}

func (t *tables) diagnostics() ([]crontab.Diagnostic, []error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.problems, t.unread
}

// location finds a zone by the name that a job gives it.
func (t *tables) location(name string) (*time.Location, error) {
	if name == t.host.Zone.String() {
		return t.host.Zone, nil
	}
	return spool.LoadZone(name)
}

// reload reads the tables again and waits until the loop has taken them.
func (l *loop) reload(ctx context.Context) error {
	l.tables.read()
	l.announce()
	_, err := backend{l}.Ask(ctx, engine.Load{Tables: l.tables.current()})
	debug.FreeOSMemory()
	return err
}

// announce logs what was read.
func (l *loop) announce() {
	problems, unread := l.tables.diagnostics()
	for _, err := range unread {
		l.log.Error("a crontab cannot be read; what it said before stays", "error", err)
	}
	for _, p := range problems {
		if p.Severity == crontab.Error {
			l.log.Warn("line left out", "at", p.Error(), "code", p.Code, "fix", p.Fix)
		}
	}
	for _, table := range l.tables.current() {
		l.log.Info("crontab read", "table", table.Name, "entries", len(table.Entries))
	}
}
