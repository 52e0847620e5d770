package conditions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
)

// host is the file system of the host, with the files of the kernel in proc and sys.
var host = os.DirFS("/")

// patience limits the time for measuring the free space of a path, because its file system may not
// answer.
const patience = 10 * time.Second

// mostWaiting is the highest number of runs of a user that wait for a measurement. If more wait,
// the oldest are reported as not measured, and the engine requests them again if they still exist. The
// queue also contains runs that were replaced in the meantime, so a file system that does not answer
// would otherwise let it grow without limit.
const mostWaiting = 1000

// Meter measures the conditions of runs. It measures the disks of a user for one run at a time, so that
// a user with a file system that does not answer does not delay other users. Its methods may be called
// from any goroutine.
type Meter struct {
	options Options
	results chan event.Measured

	mu    sync.Mutex
	lanes map[string][]effect.Measure // by user: measurements that wait for a disk; present while a goroutine works on them
	asked map[string]bool             // users with a process that looks at a file system
}

// Options are the functions of the daemon that a Meter calls.
type Options struct {
	Find func(ctx context.Context, user string) (account.Account, error)
	Exec func(ctx context.Context, t spawn.Tool) (spawn.Result, error)
}

// New returns a Meter.
func New(options Options) *Meter {
	return &Meter{options: options, results: make(chan event.Measured), lanes: map[string][]effect.Measure{}, asked: map[string]bool{}}
}

// Results returns the channel with the results.
func (m *Meter) Results() <-chan event.Measured { return m.results }

// Measure measures the conditions of a run, until ctx is done. Only runs that need a disk wait for
// other runs of their user.
func (m *Meter) Measure(ctx context.Context, what effect.Measure) {
	if len(what.Conditions.Disks) == 0 {
		go func() { m.report(ctx, what, measure(host, what.Conditions, nil)) }()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	waiting, busy := m.lanes[what.User]
	m.lanes[what.User] = append(waiting, what)
	if !busy {
		go m.work(ctx, what.User)
	}
}

func (m *Meter) work(ctx context.Context, user string) {
	for {
		m.mu.Lock()
		waiting := m.lanes[user]
		if len(waiting) == 0 || ctx.Err() != nil {
			delete(m.lanes, user)
			m.mu.Unlock()
			return
		}
		m.lanes[user] = waiting[1:]
		m.mu.Unlock()
		what := waiting[0]
		unmet := event.Unmet{Options: "unmeasured", Detail: job.DetailUnmeasured, Skip: !what.Conditions.Waits()}
		if len(waiting) <= mostWaiting {
			unmet = measure(host, what.Conditions, func(path string) (int64, error) { return m.free(ctx, user, path) })
		}
		m.report(ctx, what, unmet)
	}
}

func (m *Meter) report(ctx context.Context, what effect.Measure, unmet event.Unmet) {
	select {
	case m.results <- event.Measured{Run: what.Run, Unmet: unmet}:
	case <-ctx.Done():
	}
}

// free measures the free space with a process of the user. The user therefore learns only what they
// can see anyway, and a file system that does not answer blocks only that process. A user has at most
// one such process, because it may be impossible to kill it.
func (m *Meter) free(ctx context.Context, user, path string) (int64, error) {
	m.mu.Lock()
	busy := m.asked[user]
	m.asked[user] = true
	m.mu.Unlock()
	if busy {
		return 0, errors.New("a file system of the user does not answer")
	}
	type answer struct {
		bytes int64
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		bytes, err := m.stat(ctx, user, path)
		m.mu.Lock()
		delete(m.asked, user)
		m.mu.Unlock()
		answered <- answer{bytes, err}
	}()
	select {
	case a := <-answered:
		return a.bytes, a.err
	case <-time.After(patience):
		return 0, fmt.Errorf("its file system did not answer within %v", patience)
	}
}

func (m *Meter) stat(ctx context.Context, user, path string) (int64, error) {
	who, err := m.options.Find(ctx, user)
	if err != nil {
		return 0, err
	}
	tool := spawn.Tool{Argv: []string{"stat", "-f", "-c", "%a %S", "--", path}, Env: []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}, As: &who, MaxOutput: 4096}
	if os.Geteuid() != 0 {
		tool.As = nil
	}
	switch done, err := m.options.Exec(ctx, tool); {
	case err != nil:
		return 0, err
	case done.Outcome != job.Outcome{Kind: job.Exited}:
		_, why, _ := strings.Cut(strings.TrimSpace(string(done.Errput)), path)
		return 0, errors.New(diagnostic.Harmless(strings.TrimLeft(why, "': ")))
	default:
		return bytesOf(string(done.Output))
	}
}

// bytesOf reads the number of free blocks and their size.
func bytesOf(text string) (int64, error) {
	var blocks, size int64
	if _, err := fmt.Sscanf(text, "%d %d", &blocks, &size); err != nil || blocks < 0 || size <= 0 {
		return 0, fmt.Errorf("stat printed %q", text)
	}
	if blocks > 1<<62/size {
		return 1 << 62, nil
	}
	return blocks * size, nil
}
