package cgroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/option"
)

// Unit is a part of the tree that systemd has delegated.
type Unit struct {
	Group string // its path, below each hierarchy's top
	PID   int    // of its holder
}

// Options say where groups are made.
type Options struct {
	// Delegate makes systemd delegate a part of the tree in a slice. nil: no systemd.
	Delegate func(ctx context.Context, slice string) (Unit, error)

	Name string // of the group of all runs without systemd; "" is cronring-runs
}

// Tree makes groups. Its methods may be called concurrently.
type Tree struct {
	options Options
	host    hierarchies

	mu     sync.Mutex
	places map[string]place // by slice
	silent map[string]openFailure
}

// openFailure records why a place could not be opened. The request is not repeated for silenceTime, so
// that runs that can start without a place do not all wait.
type openFailure struct {
	err   error
	until time.Time
}

// silenceTime is the time before a failed request is repeated.
const silenceTime = 10 * time.Second

// Open examines the host. It makes nothing before the first use.
func Open(options Options) (*Tree, error) {
	if options.Name == "" {
		options.Name = "cronring-runs"
	}
	host, err := look()
	if err != nil {
		return nil, err
	}
	return &Tree{options: options, host: host, places: map[string]place{}, silent: map[string]openFailure{}}, nil
}

// Needs reports whether a group is needed for the limits of a run.
func Needs(r *option.Resources) bool { return r != nil && (r.Slice != "" || len(needed(r)) > 0) }

// Missing returns why the limits of a run cannot be enforced here: "" if they can, or if that is
// unknown now. It may wait.
func (t *Tree) Missing(ctx context.Context, r *option.Resources) string {
	if !Needs(r) {
		return ""
	}
	if why := t.never(r); why != "" {
		return why
	}
	p, err := t.place(ctx, r.Slice)
	switch {
	case errors.Is(err, errUnfit):
		return err.Error()
	case err != nil:
		return ""
	}
	return p.missing(r)
}

// errUnfit reports that a host has no control groups for the daemon, and will have none.
var errUnfit = errors.New("the daemon cannot use control groups on this host")

func (t *Tree) never(r *option.Resources) string {
	if r.Slice != "" && t.options.Delegate == nil {
		return "slice= needs systemd, which is not running here"
	}
	return ""
}

// Make makes the group of a run, with its limits set. It may wait for systemd, the first time for
// each slice. The error describes what failed, why, and what to do.
func (t *Tree) Make(ctx context.Context, name string, r *option.Resources) (*Group, error) {
	slice := ""
	if r != nil {
		slice = r.Slice
		if why := t.never(r); why != "" {
			return nil, errors.New(why)
		}
	}
	for again := true; ; again = false {
		p, err := t.place(ctx, slice)
		if err != nil {
			return nil, err
		}
		if why := p.missing(r); why != "" {
			return nil, errors.New(why)
		}
		g, err := p.make(name, r)
		if again && errors.Is(err, fs.ErrNotExist) { // the unit was stopped
			t.drop(slice)
			continue
		}
		return g, err
	}
}

func (t *Tree) drop(slice string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.places, slice)
}

// place returns where the groups of a slice are made. The lock is held during the request to
// systemd, so that it is sent once.
func (t *Tree) place(ctx context.Context, slice string) (place, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, ok := t.places[slice]; ok {
		return p, nil
	}
	if s, ok := t.silent[slice]; ok && time.Now().Before(s.until) {
		return nil, s.err
	}
	delete(t.silent, slice)
	p, err := t.open(ctx, slice)
	if err != nil {
		t.silent[slice] = openFailure{err, time.Now().Add(silenceTime)}
		return nil, err
	}
	t.places[slice] = p
	return p, nil
}

// Close removes the empty groups of runs, and their place if none is left. With systemd it does
// nothing.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, ok := t.places[""]; ok && t.options.Delegate == nil && !p.sweep() {
		for _, dir := range p {
			removeTree(dir)
		}
	}
}

// ownSlice returns the slice of the daemon's own unit.
func (t *Tree) ownSlice() string {
	for _, name := range []string{v2, "name=systemd"} {
		for path := t.host[name].own; len(path) > 1; path = filepath.Dir(path) {
			if strings.HasSuffix(path, ".slice") {
				return filepath.Base(path)
			}
		}
	}
	return "system.slice"
}

func (t *Tree) open(ctx context.Context, slice string) (place, error) {
	if t.options.Delegate == nil {
		return t.openHere()
	}
	unit, err := t.options.Delegate(ctx, cmp.Or(slice, t.ownSlice()))
	if err != nil {
		return nil, fmt.Errorf("ask systemd for control groups: %w", err)
	}
	p := t.host.at(unit.Group)
	if err := t.addFreezer(p, unit.Group); err != nil {
		return nil, err
	}
	return p, p.prepare(unit.PID)
}

// addFreezer makes the place's group in the freezer hierarchy, which systemd does not use, if
// version 2 cannot kill a group.
func (t *Tree) addFreezer(p place, group string) error {
	h, ok := t.host[freezer]
	if !ok || p.kills() {
		return nil
	}
	p[freezer] = h.dir(group)
	if err := os.MkdirAll(p[freezer], 0o755); err != nil {
		return fmt.Errorf("make control group: %w", err)
	}
	return nil
}

// holderGroup is the group of a place's holder, or of the daemon without systemd: a group that
// delegates controllers must not contain processes.
const holderGroup = "cronring-holder"

// prepare moves the holder to its own group, and enables controllers for the groups of runs.
func (p place) prepare(holder int) error {
	dir := p[v2]
	if dir == "" {
		return nil
	}
	aside := filepath.Join(dir, holderGroup)
	if err := os.Mkdir(aside, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make control group: %w", err)
	}
	if err := write(aside, procs, fmt.Sprint(holder)); err != nil {
		return fmt.Errorf("move the holder of control groups: %w", err)
	}
	return handOn(dir)
}

// handOn enables the controllers of a group in the groups below it.
func handOn(dir string) error {
	var all []string
	for name := range strings.FieldsSeq(read(dir, "cgroup.controllers")) {
		if slices.Contains(controllers, name) {
			all = append(all, "+"+name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := write(dir, "cgroup.subtree_control", strings.Join(all, " ")); err != nil {
		return fmt.Errorf("enable controllers in %s: %w", dir, err)
	}
	return nil
}

// openHere makes a group beside the daemon's own, without systemd.
func (t *Tree) openHere() (place, error) {
	p := place{}
	for _, name := range append(slices.Clone(used), freezer) {
		h, ok := t.host[name]
		if !ok || name == freezer && p.kills() {
			continue
		}
		own := strings.TrimSuffix(h.dir(h.own), "/"+holderGroup)
		dir := filepath.Join(own, t.options.Name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			continue // read-only, or not ours
		}
		p[name] = dir
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("%w: none can be made as uid %d; run it as a service of systemd, or in a container with a writable cgroup file system", errUnfit, os.Geteuid())
	}
	p.sweep()
	if dir := p[v2]; dir != "" {
		if err := errors.Join(handOnOwn(filepath.Dir(dir)), handOn(dir)); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnfit, err)
		}
	}
	return p, nil
}

// kills reports whether version 2 can end all of a group in one operation: since Linux 5.14.
func (p place) kills() bool { return p[v2] != "" && exists(p[v2], "cgroup.kill") }

// handOnOwn enables controllers below the daemon's own group. In a container whose first process is
// the daemon, it first moves all processes to a group of their own.
func handOnOwn(dir string) error {
	err := handOn(dir)
	if !errors.Is(err, syscall.EBUSY) || os.Getpid() != 1 {
		return err
	}
	aside := filepath.Join(dir, holderGroup)
	if err := os.Mkdir(aside, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make control group: %w", err)
	}
	for _, pid := range strings.Fields(read(dir, procs)) {
		if err := write(aside, procs, pid); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("move process %s: %w", pid, err)
		}
	}
	return handOn(dir)
}

// sweep removes the groups of ended runs, and reports whether any is left.
func (p place) sweep() (left bool) {
	for _, dir := range p {
		for _, top := range []string{dir, filepath.Join(dir, unlimited)} {
			below, _ := os.ReadDir(top)
			for _, entry := range below {
				if name := entry.Name(); entry.IsDir() && name != holderGroup && name != unlimited {
					left = !removeTree(filepath.Join(top, name)) || left
				}
			}
		}
	}
	return left
}

// unlimited contains the groups of runs that need no limits, but must be killed as a whole. In
// version 2 it enables no controllers, so that these groups cost little.
const unlimited = "unlimited"

// make makes a group. An existing group of that name belongs to a start that failed.
func (p place) make(name string, r *option.Resources) (*Group, error) {
	limits := needed(r)
	g := &Group{place{}}
	watch := v2
	if p[freezer] != "" {
		watch = freezer
	}
	if p[watch] != "" {
		g.dirs[watch] = p.dir(watch, name, len(limits) > 0)
	}
	for _, l := range limits {
		hierarchy, _ := p.of(l)
		g.dirs[hierarchy] = p.dir(hierarchy, name, true)
	}
	err := g.make()
	for _, l := range limits {
		if err == nil {
			hierarchy, files := p.of(l)
			err = set(g.dirs[hierarchy], l, files)
		}
	}
	if err != nil {
		g.Remove()
		return nil, err
	}
	return g, nil
}

func (p place) dir(hierarchy, name string, limited bool) string {
	if limited || hierarchy != v2 {
		return filepath.Join(p[hierarchy], name)
	}
	return filepath.Join(p[hierarchy], unlimited, name)
}

func (g *Group) make() error {
	for _, dir := range g.dirs {
		if filepath.Base(filepath.Dir(dir)) == unlimited {
			_ = os.Mkdir(filepath.Dir(dir), 0o755) // the next line finds out
		}
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make control group: %w", err)
		}
	}
	return nil
}
