package crontab

import "time"

// Options is what the #@ directives above an entry say, after defaults. Its
// zero value is not the default: see DefaultOptions.
type Options struct {
	Name    string // "" when derived
	Enabled bool

	Overlap  Overlap
	Catchup  Catchup
	MaxMade  int           // for CatchupAll: at most so many, the newest
	Grace    time.Duration // lateness that still counts as on time
	Deadline time.Duration // never start later than this; 0 means no limit
	Timeout  time.Duration // 0 means no limit

	Retry       int // further attempts
	Backoff     Backoff
	RetryJitter int // percent by which waits are spread

	Held     string   // not "": the entry must not run, and this is why
	Degraded string   // not "": the entry runs, but something it asks for has no effect
	Items    []Option // as written and in effect, defaults first
}

// Option is one key=value item as written.
type Option struct {
	Key, Value string
	Line       int
	Column     int
	Maybe      bool // written ?key=value: older versions may ignore it
	Default    bool // from a #@ default line
}

// Overlap says what an occurrence does while a run of its job lives.
type Overlap uint8

// The overlap rules.
const (
	OverlapAllow    Overlap = iota // start
	OverlapSkip                    // drop the new one
	OverlapQueue                   // hold one, drop further ones
	OverlapQueueAll                // hold all
	OverlapReplace                 // stop the old run with TERM, then start
	OverlapKill                    // stop the old run with KILL, then start
)

// Catchup says what becomes of an occurrence noticed later than Grace.
type Catchup uint8

// The catch-up rules.
const (
	CatchupCron Catchup = iota // the newest, if at most 5 minutes old; fixed-time entries 180
	CatchupSkip                // none
	CatchupOnce                // the newest
	CatchupAll                 // each, oldest first, at most MaxMade newest
)

// Backoff is the wait between attempts: Min, then times Factor each time, at
// most Max.
type Backoff struct {
	Min, Max time.Duration
	Factor   float64
}

// DefaultOptions is what holds for an entry without directives.
func DefaultOptions() *Options {
	return &Options{
		Enabled:     true,
		Grace:       time.Minute,
		MaxMade:     100,
		Backoff:     Backoff{Min: time.Second, Max: 5 * time.Minute, Factor: 2},
		RetryJitter: 10,
	}
}
