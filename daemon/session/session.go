package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// Options set up a Manager.
type Options struct {
	// Helper is the argument list of a program that calls Become, by its
	// absolute path. Every account must be allowed to execute it.
	Helper []string
}

// Manager starts and follows units. Its methods may be called concurrently;
// Run has to run meanwhile.
type Manager struct {
	options Options
	ends    chan End
	wake    chan struct{} // tells Run that there is something to report

	dialling chan struct{} // held by who makes a connection

	mu    sync.Mutex
	bus   *bus // nil while there is no connection
	units map[string]*follow
	told  []End // not yet received from ends
}

// follow is a unit whose end somebody waits for.
type follow struct {
	over  chan struct{} // closed when the unit has ended
	state state         // the last; set before over is closed
	ended bool          // over is closed
	asked bool          // systemd was asked to start it, and has answered
	held  bool          // Start has not returned: the end is not reported yet
}

// End is how the main process of a unit ended.
type End struct {
	Unit    string
	PID     int // 0: there never was a process
	Outcome job.Outcome
	At      time.Time
	Usage   job.Usage  // of all its processes, as far as systemd tells
	Limit   job.Reason // job.OverMemory, if that was its end
}

// Open connects to systemd.
func Open(ctx context.Context, options Options) (*Manager, error) {
	b, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	return &Manager{
		options:  options,
		ends:     make(chan End),
		wake:     make(chan struct{}, 1),
		dialling: make(chan struct{}, 1),
		bus:      b,
		units:    make(map[string]*follow),
	}, nil
}

// Ends are the ends of units that were started or adopted. That of a unit may
// be received before its Start has returned in another goroutine.
func (m *Manager) Ends() <-chan End { return m.ends }

// Run follows the units until ctx is done; those that run then go on. When the
// connection is lost, as it is whenever systemd executes itself again, Run
// makes a new one and looks at all units.
func (m *Manager) Run(ctx context.Context) error {
	var last *bus
	for {
		b, err := m.connected(ctx)
		if err != nil {
			return nil // ctx is done
		}
		if b != last {
			m.lookAtAll(ctx, b) // signals of before are lost
			last = b
		}
		out, end := m.next()
		select {
		case <-ctx.Done():
			m.lost(b)
			return nil
		case out <- end:
			m.received()
		case <-m.wake:
		case signal, ok := <-b.signals:
			if !ok {
				m.lost(b)
				continue
			}
			if unit := unitOf(signal); m.follows(unit) {
				m.look(ctx, b, unit)
			}
		}
	}
}

// The time between two attempts to reach systemd.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 5 * time.Second
)

// connected gives the connection, and makes one where there is none: whoever
// needs it first, so that nobody waits for somebody who is not there yet. The
// error is that ctx is done.
func (m *Manager) connected(ctx context.Context) (*bus, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if b, err := m.connect(ctx); err == nil {
			return b, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for systemd: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

func (m *Manager) connect(ctx context.Context) (*bus, error) {
	select {
	case m.dialling <- struct{}{}:
		defer func() { <-m.dialling }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m.mu.Lock()
	b := m.bus
	m.mu.Unlock()
	if b != nil {
		return b, nil
	}
	b, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.bus = b
	m.mu.Unlock()
	return b, nil
}

// lost drops a connection that somebody has seen the end of, or that is not
// needed any more.
func (m *Manager) lost(b *bus) {
	_ = b.conn.Close() // as said
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bus == b {
		m.bus = nil
	}
}

// following are the units that systemd has, and whose end is not known.
func (m *Manager) following() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var units []string
	for unit, f := range m.units {
		if f.isOpen() {
			units = append(units, unit)
		}
	}
	return units
}

func (m *Manager) follows(unit string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.units[unit]
	return f != nil && f.isOpen()
}

// isOpen is called with Manager.mu held.
func (f *follow) isOpen() bool { return f.asked && !f.ended }

func (m *Manager) lookAtAll(ctx context.Context, b *bus) {
	for _, unit := range m.following() {
		m.look(ctx, b, unit)
	}
}

// answer is how long systemd may take to say something that it knows. It is
// silent for seconds while it reloads.
const answer = time.Minute

// look asks how a unit is. A connection that fails is dropped, and Run looks
// at all units over the next.
func (m *Manager) look(ctx context.Context, b *bus, unit string) {
	limited, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	s, err := b.observe(limited, unit)
	if err != nil {
		m.lost(b)
		return
	}
	m.note(unit, s)
}

// note takes a state, and reports it when it is the last.
func (m *Manager) note(unit string, s state) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.units[unit]
	if f == nil || f.ended || !s.hasEnded() {
		return
	}
	f.state, f.ended = s, true
	close(f.over)
	if !f.held {
		m.report(unit, f)
	}
}

// report is called once for each unit that has ended, with Manager.mu held.
func (m *Manager) report(unit string, f *follow) {
	at := f.state.exitedAt
	if at.IsZero() {
		at = time.Now().UTC()
	}
	m.told = append(m.told, End{Unit: unit, PID: f.state.pid, Outcome: f.state.outcome(), At: at, Usage: f.state.used, Limit: f.state.limit()})
	select {
	case m.wake <- struct{}{}:
	default: // it will be awake
	}
}

// next is what Run has to send; there is no channel when that is nothing.
func (m *Manager) next() (chan<- End, End) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.told) == 0 {
		return nil, End{}
	}
	return m.ends, m.told[0]
}

func (m *Manager) received() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = m.told[1:]
}

// Adopt follows units that another process has started. The end of one that
// has ended meanwhile, or of which systemd knows nothing, comes at once. After
// an error they are followed all the same, as soon as systemd answers Run.
func (m *Manager) Adopt(ctx context.Context, units ...string) error {
	m.mu.Lock()
	for _, unit := range units {
		if m.units[unit] == nil {
			m.units[unit] = &follow{over: make(chan struct{}), asked: true}
		}
	}
	m.mu.Unlock()
	for _, unit := range units {
		if err := m.lookNow(ctx, unit); err != nil {
			return fmt.Errorf("adopt %s: %w", unit, err)
		}
	}
	return nil
}

// lookNow looks at a unit from outside of Run. A signal between the two is not
// missed, as the unit is in the map already.
func (m *Manager) lookNow(ctx context.Context, unit string) error {
	for {
		b, err := m.connected(ctx)
		if err != nil {
			return err
		}
		s, err := b.observe(ctx, unit)
		switch {
		case isClosed(err):
			m.lost(b)
			continue
		case err != nil:
			return err
		}
		m.note(unit, s)
		return nil
	}
}

// ErrEnded says that a unit has no process any more.
var ErrEnded = errors.New("the process has ended")

// Kill sends a signal to the process of a unit and what it has started in its
// process group, as the end of a time limit does to other jobs. systemd's own
// way would miss what PAM has moved to another control group, and take what
// the job has left behind on purpose. It comes on top with SIGKILL, which is the
// last word: whoever left the group is not to survive that.
func (m *Manager) Kill(ctx context.Context, unit string, signal syscall.Signal) error {
	b, err := m.connected(ctx)
	if err != nil {
		return fmt.Errorf("kill %s: %w", unit, err)
	}
	g := &getter{ctx: ctx, bus: b, path: pathOf(unit)}
	pid := int(value[uint32](g, serviceInterface, "MainPID"))
	switch {
	case g.err != nil:
		return fmt.Errorf("kill %s: %w", unit, g.err)
	case pid <= 1:
		return fmt.Errorf("kill %s: %w", unit, ErrEnded)
	}
	// systemd names the process until it has reaped it, so that the number is
	// not somebody else's. The process leads a session from its first moment.
	if err := unix.Kill(-pid, signal); err != nil {
		return fmt.Errorf("kill %s: %w", unit, err)
	}
	if signal == unix.SIGKILL {
		_, _ = b.call(ctx, root, managerInterface+".KillUnit", unit, "all", int32(signal)) // refused where nothing is left
	}
	return nil
}

// Release has systemd forget a unit that has ended. It has to be called for
// each End, after that was written down: until then another daemon can learn
// of it. What the job has left running goes on.
func (m *Manager) Release(ctx context.Context, unit string) error {
	m.mu.Lock()
	delete(m.units, unit)
	m.mu.Unlock()
	b, err := m.connected(ctx)
	if err != nil {
		return fmt.Errorf("release %s: %w", unit, err)
	}
	b.stop(ctx, unit)
	return nil
}
