package outbox

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

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/atomicfile"
)

// Dir is the directory of a queue: numbered files. Each is written completely and durably,
// or not at all. NNN is a waiting file, NNN.tmp a file that is being written, and
// NNN.OWNER.dead an undeliverable file. Files with other names are ignored.
type Dir string

const deadSuffix = ".dead"

// MaxDead is the maximum number of undeliverable files. They are kept for inspection.
const MaxDead = 100

// DamagedError reports an invalid file, so that a retry is useless. Why may quote the file.
type DamagedError struct{ Why string }

func (e *DamagedError) Error() string { return "damaged: " + diagnostic.Harmless(e.Why) }

// Name returns the name of a file.
func Name(number uint64) string { return fmt.Sprintf("%020d", number) }

// DeadPattern returns a pattern for all undeliverable files.
func (d Dir) DeadPattern() string { return filepath.Join(string(d), "*"+deadSuffix) }

func (d Dir) path(number uint64) string { return filepath.Join(string(d), Name(number)) }

// Write writes a file durably and atomically, and creates the directory if it is missing.
func (d Dir) Write(number uint64, parts ...[]byte) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(d.path(number), parts...)
}

// probeSize is the size of a file that Probe writes: more than most messages have.
const probeSize = 1 << 20

// Probe writes and removes a file, and returns why that fails. Scan removes the file after a crash.
func (d Dir) Probe() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	path := filepath.Join(string(d), "probe"+atomicfile.Suffix)
	if err := atomicfile.Write(path, make([]byte, probeSize)); err != nil {
		os.Remove(path) // the file may exist although the write failed
		return err
	}
	return os.Remove(path)
}

// Open opens a file for reading.
func (d Dir) Open(number uint64) (*os.File, error) {
	return os.OpenFile(d.path(number), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
}

// Remove removes a file. A missing file is not an error.
func (d Dir) Remove(number uint64) error {
	err := remove(d.path(number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// remove removes a file. Processes that have it open find it empty: a mailer, which runs as the user, had it
// as its standard input, and a user could keep any number of such files on the disk, outside of the limits.
func remove(path string) error {
	f, _ := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // it is removed in any case
	err := os.Remove(path)
	if f != nil {
		if err == nil {
			_ = f.Truncate(0)
		}
		_ = f.Close()
	}
	return err
}

// Bury sets an undeliverable file aside. owner "" is unknown. If there are more than MaxDead, Bury
// removes the oldest file of the owner with the most files.
func (d Dir) Bury(number uint64, owner string) {
	path := d.path(number)
	name := path + deadSuffix
	if owner != "" {
		name = path + "." + url.PathEscape(owner) + deadSuffix
	}
	_ = os.Rename(path, name) // if that fails, the next start finds it
	dead := d.dead()
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
	_ = remove(dead[oldest]) // or the next one tries again
	return slices.Delete(dead, oldest, oldest+1)
}

func deadOwner(path string) string {
	_, owner, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), deadSuffix), ".")
	return owner
}

// Dead returns the number of undeliverable files.
func (d Dir) Dead() int { return len(d.dead()) }

func (d Dir) dead() []string { return atomicfile.Match(string(d), "*"+deadSuffix) }

// Scan reads the directory, and makes it if it is missing: it calls examine for each file, oldest
// first, and buries damaged ones. It removes files that were being written when the daemon died.
// newest is the largest number that is or was in use.
func (d Dir) Scan(examine func(number uint64) error) (newest uint64, err error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(string(d)) // by name, which is by age
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), atomicfile.Suffix) {
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

// Patient returns a context for a delivery. It ends after limit, or grace after the end of ctx. A
// delivery that is interrupted may have succeeded nevertheless, so ctx does not end it immediately.
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
