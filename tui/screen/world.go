package screen

import (
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
)

// World is what all screens see. The shell alone changes it, but for
// Query and At.
type World struct {
	Now    time.Time // the daemon's clock; frozen while Link is not live
	Status api.Status
	Board  *board.Board
	Link   Link
	Keys   *keys.Map
	Glyphs *canvas.Glyphs

	Local    *time.Location // where the person is
	Zone     ZoneMode
	Absolute bool     // times are shown as such, not by their distance
	Still    bool     // nothing moves by itself: animation is off
	ReadOnly string   // why nothing may be changed; empty: it may
	Reach    []string // flags with which a command finds the daemon that is shown here; none: it does by itself

	Width int         // of the terminal, as drawn last
	Query board.Query // what lists of jobs go by: the same jobs on all screens
	At    job.ID      // the job that was under the cursor of one of them last

	// Busy says that the person moved within the last two seconds, so that
	// lists do not re-sort under the cursor.
	Busy bool

	zones map[string]*time.Location // by name, as far as they were shown
}

// Link is how the daemon can be reached.
type Link struct {
	Live   bool
	Socket string
	Since  time.Time     // since when it is not live
	Err    error         // why
	Retry  time.Duration // until the next attempt
	Tried  bool          // an attempt has ended; before the first one nothing is known
}

// ZoneMode is the zone in which times are shown.
type ZoneMode uint8

// The zone modes, in the order in which a key goes through them.
const (
	ZoneLocal ZoneMode = iota
	ZoneJob
	ZoneUTC
)

// Frozen reports whether lists stay as they are: while the person moves in them, and
// while the first jobs are still coming.
func (w *World) Frozen() bool {
	if !w.Board.Complete() {
		return w.Link.Live
	}
	return w.Busy
}
