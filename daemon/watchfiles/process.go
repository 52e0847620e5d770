package watchfiles

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/unixconn"
	"github.com/cronring/cronring/daemon/wake"
)

// Limits of a user's process.
const (
	maxPause    = 5 * time.Minute        // before it is started again
	maxSilence  = 3 * time.Minute        // before it counts as hanging
	orderTime   = 10 * time.Second       // for it to read an order
	reportPause = time.Millisecond       // after each of its reports
	bytePause   = time.Microsecond       // after each byte of its reports
	burstPause  = 900 * time.Millisecond // between two bursts of a job; an honest process sends at most one a second
)

// process is the daemon's side of a user's process. Its goroutine outlives the process and starts the
// next one only after this one has ended. A process that hangs in a dead file system cannot be
// killed, so starting another one would add a second hanging process.
type process struct {
	w       *Watcher
	user    string
	changed chan struct{} // jobs was replaced

	// Guarded by Watcher.mu.
	served     bool // its goroutine runs
	jobs       map[job.Owned]*watched
	last       int       // the highest ID that was given
	down       string    // why no process runs, or ""
	lastReport time.Time // time of its start, or of its last report that it has looked at all directories
}

// watched is a job whose files are watched.
type watched struct {
	id    int // 0: limit keeps it from being watched
	limit string
	fault string // as the process reports it
	globs []string
	since time.Time
	burst time.Time // when the last one was delivered
}

func newProcess(w *Watcher, user string) *process {
	return &process{w: w, user: user, changed: make(chan struct{}, 1), jobs: map[job.Owned]*watched{}}
}

// replace replaces the jobs. Watcher.mu is held.
func (p *process) replace(watches []Watch) {
	watches = slices.Clone(watches)
	slices.SortFunc(watches, func(x, y Watch) int { return x.Job.Compare(y.Job) }) // so that the same jobs exceed the limit each time
	jobs, count, same := map[job.Owned]*watched{}, 0, len(watches) == len(p.jobs)
	for _, watch := range watches {
		limit := limitGlobs(watch.Globs, count)
		if limit == "" {
			count += len(watch.Globs)
		}
		before := p.jobs[watch.Job]
		if before != nil && before.limit == limit && slices.Equal(before.globs, watch.Globs) {
			before.since = later(before.since, watch.Since)
			jobs[watch.Job] = before
			continue
		}
		same = false
		next := &watched{limit: limit, globs: watch.Globs, since: watch.Since}
		if limit == "" {
			p.last++
			next.id = p.last
		}
		jobs[watch.Job] = next
	}
	p.jobs = jobs
	if !same {
		wake.Up(p.changed)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// faults returns why files of jobs cannot be watched. Watcher.mu is held.
func (p *process) faults(now time.Time) map[job.Owned]string {
	all := map[job.Owned]string{}
	down := p.down
	if down == "" && !p.lastReport.IsZero() && now.Sub(p.lastReport) > maxSilence {
		down = fmt.Sprintf("the process that watches files of %s does not answer; a file system may not answer it, or it was stopped", p.user)
	}
	for id, j := range p.jobs {
		if why := cmp.Or(j.limit, down, j.fault); why != "" {
			all[id] = why
		}
	}
	return all
}

// order returns what the process should watch, or nil if there are no jobs.
func (p *process) order() *order {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	var o *order
	for _, j := range p.jobs {
		if j.id == 0 {
			continue
		}
		if o == nil {
			o = &order{}
		}
		next := ordered{ID: j.id, Since: j.since}
		for _, glob := range j.globs {
			next.Globs = append(next.Globs, []byte(glob))
		}
		o.Watches = append(o.Watches, next)
	}
	return o
}

// run keeps a process running as long as there are jobs.
func (p *process) run(ctx context.Context) {
	for pause := p.w.options.Pause; ; pause = min(2*pause, maxPause) {
		began := time.Now()
		err := p.serve(ctx)
		if ctx.Err() != nil || err == nil && p.leave() {
			return
		}
		if err == nil || time.Since(began) > maxPause {
			pause = p.w.options.Pause
		}
		if err != nil {
			p.fail(err)
			_ = wake.Sleep(ctx, pause)
		}
	}
}

// leave ends the process's goroutine, unless there are jobs to watch.
func (p *process) leave() bool {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	for _, j := range p.jobs {
		if j.id != 0 {
			return false
		}
	}
	if p.served = false; len(p.jobs) == 0 {
		delete(p.w.users, p.user)
	}
	return true
}

// begin notes that a process is started.
func (p *process) begin() {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.lastReport = time.Now()
}

// fail sets why no process runs.
func (p *process) fail(err error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.down = fmt.Sprintf("the process that watches files of %s does not run: %v", p.user, err)
	for _, j := range p.jobs {
		j.fault = ""
	}
}

// serve runs one process and returns when it has ended: with nil if no job is left, otherwise with
// the reason.
func (p *process) serve(ctx context.Context) error {
	if p.order() == nil {
		return nil
	}
	tool, err := p.tool(ctx)
	if err != nil {
		return err
	}
	p.w.awaitStart(ctx)
	conn, stdin, err := connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	tool.Stdin = stdin
	failed := make(chan error, 2)
	p.begin()
	running, kill := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		err := p.exec(running, tool)
		stdin.Close() // so that the end of the process closes the connection
		failed <- err
	})
	tasks.Go(func() {
		failed <- p.listen(running, conn)
		drain(ctx, conn)
	})
	if err = p.direct(ctx, conn, failed); err != nil {
		p.fail(err) // before its end, which may take long
	}
	kill()
	tasks.Wait()
	return err
}

// program is this program, which calls Main.
const program = "/proc/self/exe"

// tool returns the program. It has the rights of the user, and shares nothing with the daemon but
// the connection.
func (p *process) tool(ctx context.Context) (spawn.Tool, error) {
	tool := spawn.Tool{
		Argv: []string{program, flag}, Env: []string{"GOMAXPROCS=1", "GOTRACEBACK=none", "LC_ALL=C"}, NoOutput: true,
	}
	if p.w.options.AsSelf {
		return tool, nil
	}
	who, err := p.w.options.Find(ctx, p.user)
	tool.As = &who
	return tool, err
}

func (p *process) exec(ctx context.Context, tool spawn.Tool) error {
	done, err := p.w.options.Exec(ctx, tool)
	if err != nil {
		return err
	}
	return fmt.Errorf("it ended (%s)", done.Outcome)
}

// direct sends orders until no job is left, or something fails.
func (p *process) direct(ctx context.Context, conn net.Conn, failed <-chan error) error {
	for wake.Up(p.changed); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return err
		case <-p.changed:
		}
		o := p.order()
		if o == nil {
			return nil
		}
		text, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("write order: %w", err)
		}
		_ = conn.SetWriteDeadline(time.Now().Add(orderTime))
		if _, err := conn.Write(append(text, '\n')); err != nil {
			return errors.New("it does not read its orders")
		}
	}
}

// listen takes reports until one is not valid or the connection is closed.
func (p *process) listen(ctx context.Context, conn io.Reader) error {
	for lines := bufio.NewReader(conn); ; {
		line, err := readLine(lines)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		var r report
		if json.Unmarshal(line, &r) != nil {
			return errors.New("it sent what is not a report")
		}
		if err := p.take(ctx, &r); err != nil {
			return err
		}
		_ = wake.Sleep(ctx, reportPause+time.Duration(len(line))*bytePause)
	}
}

func readLine(from *bufio.Reader) (line []byte, err error) {
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxReport:
			return nil, errors.New("it sent a report that is too long")
		case err == nil:
			return line, nil
		case err != bufio.ErrBufferFull:
			return nil, errors.New("it closed its connection")
		}
	}
}

// drain reads slowly until the connection is closed, which happens when the process has ended.
func drain(ctx context.Context, conn io.Reader) {
	for buf := make([]byte, 64<<10); ; {
		if _, err := conn.Read(buf); err != nil {
			return
		}
		_ = wake.Sleep(ctx, time.Second)
	}
}

// take handles a report.
func (p *process) take(ctx context.Context, r *report) error {
	if err := r.check(); err != nil {
		return err
	}
	switch {
	case r.Fault != nil && r.ID == 0:
		return errors.New(diagnostic.Harmless(*r.Fault))
	case r.Ready:
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		p.down, p.lastReport = "", time.Now()
		return nil
	}
	owned, j := p.find(r.ID)
	switch {
	case j == nil: // it is no longer watched
	case r.Fault != nil:
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		j.fault = diagnostic.Harmless(*r.Fault)
	case r.isBurst():
		p.deliver(ctx, owned, j, r)
	}
	return nil
}

func (p *process) find(id int) (job.Owned, *watched) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	for owned, j := range p.jobs {
		if j.id == id && id != 0 {
			return owned, j
		}
	}
	return job.Owned{}, nil
}

// deliver passes a burst to the daemon. Further reports of the user wait until it has.
func (p *process) deliver(ctx context.Context, owned job.Owned, j *watched, r *report) {
	_ = wake.Sleep(ctx, time.Until(j.burst.Add(burstPause)))
	b := Burst{Job: owned, Paths: slices.Compact(slices.Sorted(slices.Values(r.Paths))), More: r.More, Newest: r.Newest}
	if now := time.Now(); b.Newest.After(now) {
		b.Newest = now
	}
	if !p.w.options.Deliver(ctx, b) {
		return
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	j.since, j.burst = later(j.since, b.Newest), time.Now()
}

// connect returns the two ends of a connection.
func connect() (ours unixconn.Conn, theirs *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ours, nil, fmt.Errorf("open connection: %w", err)
	}
	file := os.NewFile(uintptr(ends[0]), "connection")
	defer file.Close()
	theirs = os.NewFile(uintptr(ends[1]), "connection")
	conn, err := net.FileConn(file)
	if err != nil {
		return ours, nil, errors.Join(fmt.Errorf("open connection: %w", err), theirs.Close())
	}
	return unixconn.Conn{UnixConn: conn.(*net.UnixConn)}, theirs, nil
}
