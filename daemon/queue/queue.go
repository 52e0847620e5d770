// Package queue owns directories of numbered files in which something waits to
// be handed over: written whole and for good or not at all, oldest first, and
// set aside where nobody could be made to take it.
package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Dir is such a directory. In it NNN is what waits, NNN.tmp what is being
// written, NNN.OWNER.dead what was given up. Files of other names are left alone.
type Dir string

const (
	tmpSuffix  = ".tmp"
	deadSuffix = ".dead"
)

// MaxDead is the most files that are kept for a person to look at.
const MaxDead = 100

// DamagedError tells of a file that makes no sense, which trying again does
// not mend.
type DamagedError struct{ Why string }

func (e *DamagedError) Error() string { return "damaged: " + e.Why }

// Name is the name of a file.
func Name(number uint64) string { return fmt.Sprintf("%020d", number) }

// DeadPattern is what names all that was given up.
func (d Dir) DeadPattern() string { return filepath.Join(string(d), "*"+deadSuffix) }

func (d Dir) path(number uint64) string { return filepath.Join(string(d), Name(number)) }

// Write puts a file on the disk, and makes the directory if it is missing.
func (d Dir) Write(number uint64, parts ...[]byte) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	path := d.path(number)
	err := writeFile(path+tmpSuffix, parts...)
	if err == nil {
		err = os.Rename(path+tmpSuffix, path)
	}
	if err != nil {
		os.Remove(path + tmpSuffix)
		return err
	}
	return syncDir(string(d))
}

func writeFile(path string, parts ...[]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, part := range parts {
		if _, err := f.Write(part); err != nil {
			return err
		}
	}
	return f.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Open opens a file for reading.
func (d Dir) Open(number uint64) (*os.File, error) {
	return os.OpenFile(d.path(number), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
}

// Remove removes a file. That it is gone already is no error.
func (d Dir) Remove(number uint64) error {
	err := os.Remove(d.path(number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Bury sets a file of an owner aside; "" is an unknown owner. Of too many, it
// removes the oldest of the owner who has most.
func (d Dir) Bury(number uint64, owner string) {
	path := d.path(number)
	name := path + deadSuffix
	if owner != "" {
		name = path + "." + url.PathEscape(owner) + deadSuffix
	}
	_ = os.Rename(path, name) // one that stays is found at the next start
	dead, _ := filepath.Glob(d.DeadPattern())
	slices.Sort(dead)
	for ; len(dead) > MaxDead; dead = removeOldestOfMost(dead) {
	}
}

func removeOldestOfMost(dead []string) (left []string) {
	count := map[string]int{}
	for _, path := range dead {
		count[deadOwner(path)]++
	}
	oldest := 0
	for i, path := range dead {
		if count[deadOwner(path)] > count[deadOwner(dead[oldest])] {
			oldest = i
		}
	}
	os.Remove(dead[oldest])
	return slices.Delete(dead, oldest, oldest+1)
}

func deadOwner(path string) string {
	_, owner, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), deadSuffix), ".")
	return owner
}

// Dead counts what was given up.
func (d Dir) Dead() int {
	dead, _ := filepath.Glob(d.DeadPattern())
	return len(dead)
}

// Scan reads the directory, which is made if it is missing: examine is called
// for each file, oldest first, and one that it finds damaged is buried. What
// was being written when the daemon died is removed. newest is the largest
// number that is or was in use.
func (d Dir) Scan(examine func(number uint64) error) (newest uint64, err error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(string(d)) // by name, which is by age
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), tmpSuffix) {
			os.Remove(filepath.Join(string(d), entry.Name()))
			continue
		}
		digits, dead := strings.CutSuffix(entry.Name(), deadSuffix)
		if dead {
			digits, _, _ = strings.Cut(digits, ".")
		}
		number, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || Name(number) != digits {
			continue // not ours
		}
		newest = max(newest, number)
		if dead || !entry.Type().IsRegular() {
			continue
		}
		var damaged *DamagedError
		if errors.As(examine(number), &damaged) {
			d.Bury(number, "")
		}
	}
	return newest, nil
}

// Patient is a context for handing something over: it lasts as long as that
// may take, and only a little longer than ctx. What is cut off might have been
// taken all the same.
func Patient(ctx context.Context, limit, grace time.Duration) (context.Context, context.CancelFunc) {
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() {
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-late.C:
			cancel()
		case <-timed.Done():
		}
	})
	return timed, func() { stop(); cancel() }
}
