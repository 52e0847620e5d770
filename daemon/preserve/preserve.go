// Package preserve owns the copies on disk of the output of running jobs, which survive a power
// failure.
package preserve

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Preserver copies the output of running jobs from memory to disk, so that it survives a power failure.
// The output of a run is first copied after an Interval, so that short runs cause no disk access. If
// copying fails, the run is not affected.
type Preserver struct {
	from, to string           // directories
	young    map[string]bool  // runs that were seen once, and are copied next time
	copied   map[string]int64 // bytes of each copy
}

// Interval is how much of the output of running jobs a power failure can lose, as time, and
// mostPreserved the maximum bytes that are copied in that time. Runs with little to copy come
// first.
const (
	Interval      = 15 * time.Second
	mostPreserved = 16 << 20
)

// New returns a Preserver that knows the copies of a previous daemon.
func New(runs, state string) *Preserver {
	p := &Preserver{from: runs, to: filepath.Join(state, "output"), young: map[string]bool{}, copied: map[string]int64{}}
	for name, size := range recordings(p.to) {
		p.copied[name] = size
	}
	return p
}

// recordings returns the files of runs in a directory, with their sizes.
func recordings(dir string) map[string]int64 {
	files := map[string]int64{}
	entries, _ := os.ReadDir(dir) // there may be none
	for _, e := range entries {
		info, err := e.Info()
		if _, bad := strconv.ParseUint(e.Name(), 10, 64); bad == nil && err == nil && info.Mode().IsRegular() {
			files[e.Name()] = info.Size()
		}
	}
	return files
}

// Run copies once in each interval, and a last time when ctx ends.
func (p *Preserver) Run(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.step(false)
		case <-ctx.Done():
			p.step(true)
			return nil
		}
	}
}

// step copies the new output of runs, and removes the copies of runs that have ended.
func (p *Preserver) step(last bool) {
	files := recordings(p.from)
	for name := range p.copied {
		if _, ok := files[name]; !ok {
			_ = os.Remove(filepath.Join(p.to, name)) // the next start tries again
			delete(p.copied, name)
		}
	}
	young := map[string]bool{}
	var due []string
	for name, size := range files {
		_, known := p.copied[name]
		switch {
		case !known && !p.young[name] && !last:
			young[name] = true
		case size != p.copied[name]:
			due = append(due, name)
		}
	}
	p.young = young
	slices.SortFunc(due, func(a, b string) int { return cmp.Compare(files[a]-p.copied[a], files[b]-p.copied[b]) })
	left := int64(mostPreserved)
	for _, name := range due {
		if files[name] < p.copied[name] { // the copy is of another run with this number
			p.copied[name] = 0
		}
		if left -= files[name] - p.copied[name]; left < 0 {
			return
		}
		if n, err := copyFrom(p.from, p.to, name, p.copied[name]); err == nil {
			p.copied[name] += n
		}
	}
}

// copyFrom completes the copy of a file, of which done bytes exist.
func copyFrom(from, to, name string, done int64) (n int64, err error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return 0, err
	}
	in, err := os.OpenFile(filepath.Join(from, name), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(to, name), os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	if err := out.Truncate(done); err != nil {
		return 0, err
	}
	if n, err = io.Copy(io.NewOffsetWriter(out, done), io.NewSectionReader(in, done, mostPreserved)); err != nil {
		return 0, err
	}
	return n, out.Sync()
}

// Restore puts the copy of the output of a run back, if the original is gone.
func (p *Preserver) Restore(run job.RunID) {
	name := run.String()
	if _, ok := p.copied[name]; !ok || p.from == "" {
		return
	}
	if _, err := os.Lstat(filepath.Join(p.from, name)); err == nil {
		return
	}
	_, _ = copyFrom(p.to, p.from, name, 0) // without it the output is lost
}
