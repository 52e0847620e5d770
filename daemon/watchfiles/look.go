package watchfiles

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// maxDirs is the highest number of directories of a user, each counted once for each glob.
const maxDirs = 50_000

var errTooMany = fmt.Errorf("the globs of the user match more than %d directories", maxDirs)

// look finds and watches the directories that globs match now.
type look struct {
	tree  *tree
	dirs  map[string]*dir
	count int
}

// follow adds the directories of a glob, for the jobs that wait for it. If a directory is missing, it
// adds the nearest parent that exists.
func (l *look) follow(glob string, ids []int) error {
	return l.walk("/", elements(glob), target{glob: glob, ids: ids})
}

// walk continues in a directory with the rest of a glob. It returns the first error, and watches
// what it can.
func (l *look) walk(path string, rest []string, f target) error {
	if l.count++; l.count > maxDirs {
		return errTooMany
	}
	first, rest := rest[0], rest[1:]
	if len(rest) == 0 {
		d, err := l.watch(path, fileEvents)
		if err == nil {
			f.pattern = first
			d.files = append(d.files, f)
		}
		return l.ignoreMissing(err)
	}
	if hasWildcard(first) {
		return l.walkAll(path, first, rest, f)
	}
	next := filepath.Join(path, first)
	there, err := isDir(next)
	if err == nil && !there {
		if err = l.await(path, first); err == nil {
			there, err = isDir(next) // it may have been made before the watch
		}
	}
	if !there {
		return err
	}
	return l.walk(next, rest, f)
}

func (l *look) walkAll(path, pattern string, rest []string, f target) error {
	if err := l.await(path, pattern); err != nil {
		return err
	}
	return l.ignoreMissing(eachName(path, func(name string) error {
		if !matches(pattern, name) {
			return nil
		}
		next := filepath.Join(path, name)
		there, err := isDir(next)
		if there {
			err = l.walk(next, rest, f)
		}
		if errors.Is(err, unix.EACCES) {
			return nil // as in a shell, wildcards match what the user can read
		}
		return err
	}))
}

// await watches a directory for a directory in it.
func (l *look) await(path, pattern string) error {
	d, err := l.watch(path, dirEvents)
	if err == nil && !slices.Contains(d.awaited, pattern) {
		d.awaited = append(d.awaited, pattern)
	}
	return l.ignoreMissing(err)
}

// ignoreMissing ignores the error of a directory that has just been removed: the globs are searched again.
func (l *look) ignoreMissing(err error) error {
	if isMissing(err) {
		l.tree.changed = true
		return nil
	}
	return err
}

// watch never reduces the events of a directory that is watched already, because some could be lost
// until it is known which ones are needed.
func (l *look) watch(path string, mask uint32) (*dir, error) {
	d := l.dirs[path]
	if d != nil && d.mask&mask == mask {
		return d, nil
	}
	if before := l.tree.dirs[path]; before != nil {
		mask |= before.mask
	}
	number, err := l.tree.events.add(path, mask)
	switch {
	case errors.Is(err, unix.ENOSPC):
		return nil, errors.New("the user's limit fs.inotify.max_user_watches is reached")
	case err != nil:
		return nil, fmt.Errorf("cannot watch %s: %w", path, err)
	case d == nil:
		d = &dir{path: path}
		l.dirs[path] = d
	}
	d.number, d.mask = number, mask
	return d, nil
}

func isDir(path string) (bool, error) {
	var status unix.Stat_t
	err := unix.Stat(path, &status)
	switch {
	case isMissing(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot enter %s: %w", path, err)
	}
	return status.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}

// eachName calls a function for each name in a directory, also after errors, and returns the first
// error.
func eachName(path string, do func(name string) error) error {
	f, err := os.OpenFile(path, unix.O_DIRECTORY, 0) // a pipe that has replaced it would wait for a writer
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", path, errors.Unwrap(err))
	}
	defer f.Close()
	for {
		names, end := f.Readdirnames(1000)
		for _, name := range names {
			if failed := do(name); err == nil {
				err = failed
			}
		}
		switch {
		case end == io.EOF:
			return err
		case end != nil:
			return fmt.Errorf("cannot read %s: %w", path, end)
		case errors.Is(err, errTooMany):
			return err
		}
	}
}

// scan reads a directory for files that have arrived.
type scan struct {
	tree  *tree
	dir   *dir
	now   time.Time
	parts []scanPart
}

// scanPart is a pattern of files that a job waits for if they changed after a time.
type scanPart struct {
	pattern string
	id      int
	since   time.Time
}

func (s *scan) add(pattern string, id int, since time.Time) {
	s.parts = append(s.parts, scanPart{pattern, id, since})
}

// run finds the files. Errors do not matter: a directory that cannot be read could not be watched.
func (s *scan) run() {
	if len(s.parts) > 0 {
		_ = eachName(s.dir.path, func(name string) error { s.find(name); return nil })
	}
}

func (s *scan) find(name string) {
	var changed time.Time
	var ids []int
	path := filepath.Join(s.dir.path, name)
	for _, p := range s.parts {
		if !matches(p.pattern, name) {
			continue
		}
		if changed.IsZero() {
			var status unix.Stat_t
			if unix.Lstat(path, &status) != nil || !isRegular(&status) {
				return
			}
			if changed = changeTime(&status); changed.After(s.now.Add(s.tree.ahead)) {
				return
			}
		}
		if changed.After(p.since) && !s.tree.arrivals.has(path, p.id, changed) {
			ids = append(ids, p.id)
		}
	}
	if len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if !s.tree.arrivals.touch(path, ids, found, s.now) {
		s.tree.arrivals.count(ids, changed, s.now)
	}
}
