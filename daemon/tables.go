package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
)

// tables reads the crontab files that the daemon was given.
type tables struct {
	files  []string
	system bool
	owner  string
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
	t := &tables{files: o.Files, system: o.System, owner: ownAccount(), seed: seed}
	t.read()
	return t, errors.Join(t.unread...)
}

// ownAccount is the name of the account that the daemon runs as, or its
// number where the system knows no name, as in many containers.
func ownAccount() string {
	uid := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return uid
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
		text, err := readText(file)
		if err != nil {
			t.unread = append(t.unread, fmt.Errorf("read crontab: %w", err))
			if old := before[file]; old != nil {
				t.loaded = append(t.loaded, old)
			}
			continue
		}
		table, problems := crontab.Parse(file, text, t.config(file, cache))
		t.loaded = append(t.loaded, table)
		t.problems = append(t.problems, problems...)
	}
}

func (t *tables) config(file string, cache *crontab.Cache) crontab.Config {
	c := crontab.Config{
		Format: crontab.User, Owner: t.owner, Privileged: os.Geteuid() == 0,
		Local: time.Local, Zone: time.LoadLocation, Seed: t.seed, Cache: cache,
	}
	if t.system || SystemFile(file) {
		c.Format = crontab.System
	}
	return c
}

// SystemFile reports whether a file is known by its place to have a column
// for the account.
func SystemFile(path string) bool {
	return path == "/etc/crontab" || filepath.Dir(path) == "/etc/cron.d"
}

// readText reads a file into one string, in one allocation.
func readText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		b.Grow(int(min(info.Size(), crontab.MaxText)))
	}
	_, err = io.Copy(&b, io.LimitReader(f, crontab.MaxText+1))
	return b.String(), err
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

// location finds a zone by the name that crontab.Zone gives it.
func (t *tables) location(name string) (*time.Location, error) {
	if name == time.Local.String() {
		return time.Local, nil
	}
	return time.LoadLocation(name)
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
