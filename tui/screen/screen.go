package screen

import (
	"context"
	"iter"
	"os/exec"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
)

// Screen is one of the dashboard's screens. Its methods are called by the shell,
// one at a time.
type Screen interface {
	// Scope names the screen, and where its keys stand in the table.
	Scope() keys.Scope
	// Open is called when it comes to the front, also when it comes back.
	Open(w *World) []Effect
	// Act answers to a key of List, of Subject that the shell left to it, or of
	// its own scope, and to keys.Back before the shell leaves it. ok is false for
	// an action that it does not know, and for Back where nothing is to be cleared.
	Act(w *World, a keys.Action) (effects []Effect, ok bool)
	// Take receives what came of an Ask or a Follow of this screen.
	Take(w *World, a Answer) []Effect
	// Refresh is called after the board, the status or the link have changed,
	// and once a second.
	Refresh(w *World) []Effect
	// Draw draws everything but the shell's first and last line.
	Draw(v canvas.View, w *World)
	// Subject is what is selected.
	Subject(w *World) Subject
	// Refuses says why an action does nothing now; empty: it does something. The
	// key is shown dim, and pressing it shows the reason.
	Refuses(w *World, a keys.Action) string
}

// Typist is a screen with a place to type in. While Typing, keys come here
// first.
type Typist interface {
	Typing() bool
	// Type answers to a key. ok is false for one that means nothing to text: it
	// is looked up in the table then.
	Type(w *World, k Key) (effects []Effect, ok bool)
}

// Modal is a screen with a heading of its own in place of the line of screens.
type Modal interface {
	Heading(w *World) string
}

// Headed is a Modal whose heading also narrow screens have, as nothing else there
// says what is shown.
type Headed interface {
	Modal
	Headed()
}

// Clicker is a screen that answers to a click of the mouse on a cell of what it
// has drawn.
type Clicker interface {
	Click(w *World, x, y int) []Effect
}

// Foot is a screen that chooses the keys of its last line; otherwise the shell
// does.
type Foot interface {
	Foot(w *World) []keys.Action
}

// Key is a key as Bubble Tea names it, and the text that it types, if any.
type Key struct {
	Name string
	Text string
}

// Subject is what an action is about.
type Subject struct {
	Jobs   []job.ID  // the marked ones, or the one under the cursor
	Marked bool      // Jobs are marked, be it one
	Run    job.RunID // 0: the newest of the job
	At     time.Time // an occurrence; zero: none
	File   string
	Line   int
}

// Answer is what came of an Ask, or one of the things that came of a Follow.
type Answer struct {
	Slot  string
	Value any
	Err   error
	Done  bool // nothing more comes
}

// Effect is what a screen wants done. The list is closed.
type Effect interface{ effect() }

// Ask asks the daemon. A newer one of the same screen and slot replaces it: its
// answer is dropped then.
type Ask struct {
	Slot string
	Call func(ctx context.Context, d Daemon) (any, error)
}

// Follow asks for what comes again and again, until the slot is asked anew,
// the screen is left, or the end.
type Follow struct {
	Slot string
	Call func(ctx context.Context, d Daemon) iter.Seq2[any, error]
}

// Forget ends what a slot waits for.
type Forget struct{ Slot string }

// Goto brings another screen to the front. Back leaves the front one.
type Goto struct{ Screen Screen }

// Show brings the screen to the front that a key opens about a subject, such as the
// output of a run.
type Show struct {
	Action  keys.Action
	Subject Subject
}

// Back goes back to the screen before.
type Back struct{}

// Do changes something. It stands on the confirm ladder by its class, in the
// command log, and can be undone if its Undo is set.
type Do struct {
	Class    Class
	Question string   // for the strip; for Undoable what the toast says was done
	Detail   []string // more lines: what exactly, what stays
	Count    int      // to be typed where the class wants it
	Name     string   // of a protected job, to be typed
	Command  []string // the shell command that does the same, as arguments
	Call     func(ctx context.Context, d Daemon) (said string, err error)
	Watch    func(w *World) []Effect                               // for "run and watch"; nil: there is none
	Preview  func(w *World) []Effect                               // for "dry run"; nil: there is none
	Learn    func(ctx context.Context, d Daemon) ([]string, error) // what else there is to know, which the daemon is asked for; nil: nothing
	Undo     *Do                                                   // what takes it back; nil: nothing does
	Slot     string                                                // the screen is told the end under this name, too; empty: it is not
}

// Class is how far an action reaches, and so how it is confirmed.
type Class uint8

// The classes of the ladder.
const (
	Undoable  Class = iota // done at once; a toast tells how to undo it
	Effects                // y
	Kills                  // y, with what it means
	Removes                // type the count
	Protected              // type the name
)

// Press has the shell do what a key of Subject does, to a subject that the
// screen names: what is proposed to do about a run that did not come.
type Press struct {
	Action  keys.Action
	Subject Subject
}

// Execute gives the terminal to a program, a pager or an editor, and tells the
// screen when it has ended.
type Execute struct {
	Slot    string
	Program func() *exec.Cmd
}

// Clip puts text on the clipboard. Say shows a line for a while.
type Clip struct{ Text, What string }

// Say tells the person something for a few seconds.
type Say struct {
	Text string
	Bad  bool // it is about something that went wrong
}

func (Ask) effect()     {}
func (Follow) effect()  {}
func (Forget) effect()  {}
func (Goto) effect()    {}
func (Show) effect()    {}
func (Back) effect()    {}
func (Do) effect()      {}
func (Press) effect()   {}
func (Execute) effect() {}
func (Clip) effect()    {}
func (Say) effect()     {}

// Daemon is what screens ask; api.Client is one.
type Daemon interface {
	Status(ctx context.Context) (api.Status, error)
	Show(ctx context.Context, ref string) (api.Job, error)
	Why(ctx context.Context, ref string, at time.Time) (api.Why, error)
	History(ctx context.Context, f api.Filter) (api.Runs, error)
	OneRun(ctx context.Context, ref string) (job.Run, error)
	Output(ctx context.Context, run string, follow bool) iter.Seq2[api.Event, error]
	Run(ctx context.Context, r api.RunRequest) ([]job.Run, error)
	Stop(ctx context.Context, r api.StopRequest) ([]job.Run, error)
	Pause(ctx context.Context, r api.PauseRequest) ([]job.ID, error)
	Resume(ctx context.Context, r api.ResumeRequest) ([]job.ID, error)
	Reload(ctx context.Context) ([]api.Diagnostic, error)
	Past(ctx context.Context, jobs []job.ID, n int) ([]api.JobPast, error)
	Timeline(ctx context.Context, q api.TimelineQuery) (api.Timeline, error)
	Clashes(ctx context.Context, q api.ClashQuery) (api.Clashes, error)
	Backfill(ctx context.Context, r api.BackfillRequest) (api.Backfill, error)
	Retry(ctx context.Context, r api.RetryRequest) ([]job.Run, error)
	Undo(ctx context.Context, r api.UndoRequest) (api.Installed, error)
	Ack(ctx context.Context, r api.AckRequest) ([]job.ID, error)
	JobConfig(ctx context.Context, ref string) (api.JobConfig, error)
	Tables(ctx context.Context) ([]api.Table, error)
	Table(ctx context.Context, file, user string) (api.TableText, error)
	InstallTable(ctx context.Context, r api.TableRequest) (api.Installed, error)
	Revisions(ctx context.Context, q api.RevisionQuery) ([]api.Revision, error)
	Revision(ctx context.Context, id int64) (api.Revision, error)
	List(ctx context.Context, q api.Query) ([]job.Status, error)
	Ring(ctx context.Context) (api.Ring, error)
}

// Seeker is a screen whose cursor can be put on a job.
type Seeker interface {
	Seek(w *World, id job.ID) []Effect
}
