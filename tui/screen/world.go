package screen

import (
	"cmp"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/settings"
)

// World is the data that all screens share. Only the shell changes it, except for
// Query and At.
type World struct {
	Now    time.Time // the daemon's clock; frozen while Link is not live
	Status api.Status
	Board  *board.Board
	Crons  map[string]bool // hosts of a merged board that run cron and no daemon
	Link   Link
	Keys   *keys.Map
	Glyphs *canvas.Glyphs

	Local    *time.Location // where the person is
	Zone     ZoneMode
	Clock    display.Clock
	Absolute bool     // times are shown as such, not by their distance
	Still    bool     // nothing moves by itself: animation is off
	ReadOnly string   // why nothing may be changed; empty: it may
	Commands Commands // of the command line
	Hosts    Hosts    // other ones; nil: none can be reached
	Reach    []string // flags with which a command connects to the same daemon; none: the defaults do
	Remote   string   // the host that is shown, as ssh knows it; empty: this one

	Settings *settings.File
	Theme    string            // of the environment, which overrides the settings; empty: none
	Columns  []settings.Column // of the jobs, unless others were chosen; none: the usual ones

	Width int         // of the terminal, as drawn last
	Query board.Query // what lists of jobs go by: the same jobs on all screens
	At    job.ID      // the job that was under the cursor of one of them last

	Answer func(Area) // adds a part of the frame that answers to the mouse; nil: none does

	// Busy reports that the user moved the cursor within the last two seconds, so
	// that lists are not sorted again under the cursor.
	Busy bool

	zones map[string]*time.Location // by name, as far as they were shown
}

// CronKeeps is what is known of runs on a host that still runs cron.
const CronKeeps = "cron logs starts; it keeps no output, and no history of how jobs ended"

// NeedsDaemon is why an action does nothing on a host that still runs cron.
const NeedsDaemon = "it needs cronringd, which does not run on this host; what it would change: cronring import"

// Link is the state of the connection to the daemon.
type Link struct {
	Live   bool
	Socket string
	Since  time.Time     // since when it is not live
	Err    error         // why
	Retry  time.Duration // until the next attempt
	Tried  bool          // an attempt has ended; before the first one nothing is known
}

// ZoneMode selects the zone of the times on the screen.
type ZoneMode uint8

// The zone modes. A key selects them in this order.
const (
	ZoneLocal ZoneMode = iota
	ZoneJob
	ZoneUTC
)

// KeyOf returns the first key of an action, or its name in the settings if it has none.
func (w *World) KeyOf(a keys.Action) string { return cmp.Or(w.Keys.Key(a), string(a)) }

// IsOfCron reports whether cron runs a job, on a host without a daemon. The outcomes of such runs are not
// known.
func (w *World) IsOfCron(r *api.Row) bool { return w.Status.NoDaemon != "" || w.Crons[r.Node] }

// Frozen reports whether lists stay as they are: while the person moves in them, and
// while the first jobs are still coming.
func (w *World) Frozen() bool {
	if !w.Board.Complete() {
		return w.Link.Live
	}
	return w.Busy
}
