package spawn

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// Options set up a Spawner. The zero value is usable.
type Options struct {
	// Live is called with each piece of output as it is read, from more than
	// one goroutine. It must be quick: while it runs, no job's output is read.
	// The chunk's Data is the receiver's to keep.
	Live func(job.Chunk)

	// Location finds a job's zone for CRONRING_DUE_LOCAL; nil is
	// time.LoadLocation.
	Location func(zone string) (*time.Location, error)

	Path   string        // PATH of jobs whose table sets none; "" is /usr/bin:/bin
	Output int           // bytes of output kept for each run; 0 is 64 KiB
	Linger time.Duration // how long output is read after a run's end; 0 is 2 s
}

// Ended is the engine's event together with what the run printed: the first
// and the last bytes, where it printed more than Options.Output.
type Ended struct {
	engine.Ended
	Output []job.Chunk
}

// Spawner starts commands and reports their ends. Its methods may be called
// from any goroutine.
type Spawner struct {
	options Options
	events  chan engine.Event
}

// New makes a Spawner. Nothing is touched before Run.
func New(options Options) *Spawner {
	return &Spawner{options: options, events: make(chan engine.Event, 256)}
}

// Events gives engine.Started and then Ended for each run, or Ended alone for
// one that could not be started. The receiver drains it until Run has
// returned; while it does not, no run is started, reaped or read.
func (s *Spawner) Events() <-chan engine.Event { return s.events }

// Start begins a run. It never blocks: the run is queued behind those that
// were given before, and Events tells what comes of it.
func (s *Spawner) Start(start engine.Start) {}

// Kill sends a signal to the process group of a run. A run that still waits to
// be started never is; one that has ended is left alone.
func (s *Spawner) Kill(kill engine.Kill) {}

// Run starts, reads and reaps until ctx is done. Then it starts no more, and
// returns once every run has ended and been reported: who wants that soon
// kills them. It is called once.
func (s *Spawner) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
