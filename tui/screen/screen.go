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
	// Scope returns the screen's section in the table of keys.
	Scope() keys.Scope
	// Open is called when it comes to the front, also when it comes back.
	Open(w *World) []Effect
	// Act performs an action: one of lists, one on the subject that the shell does
	// not perform, or one of the screen's own scope. It also gets keys.Back before
	// the shell leaves the screen. ok is false for an unknown action, and for Back if
	// nothing was cleared.
	Act(w *World, a keys.Action) (effects []Effect, ok bool)
	// Take receives what came of an Ask or a Follow of this screen.
	Take(w *World, a Answer) []Effect
	// Refresh is called after the board, the status or the link have changed,
	// and once a second.
	Refresh(w *World) []Effect
	// Draw draws everything but the shell's first and last line.
	Draw(v canvas.View, w *World)
	// Subject returns the selection.
	Subject(w *World) Subject
	// Refuses returns why an action does nothing now, or "". The key is drawn dim,
	// and pressing it shows the reason.
	Refuses(w *World, a keys.Action) string
}

// Typist is a screen with a place to type in. While Typing, keys come here
// first.
type Typist interface {
	Typing() bool
	// Type performs a key. ok is false for a key that does not edit text; it is then
	// looked up in the table of keys.
	Type(w *World, k Key) (effects []Effect, ok bool)
}

// Modal is a screen with a heading of its own in place of the line of screens.
type Modal interface {
	Heading(w *World) string
}

// Headed is a Modal whose heading is also drawn on narrow screens, because nothing
// else there names the content.
type Headed interface {
	Modal
	Headed()
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

// KeyNamed returns a key by its name. A single letter is the text that it types.
func KeyNamed(name string) Key {
	k := Key{Name: name}
	if len(name) == 1 {
		k.Text = name
	}
	return k
}

// Subject is the selection that an action applies to.
type Subject struct {
	Jobs    []job.ID    // the marked jobs, or the job under the cursor
	Marked  bool        // Jobs are marked, be it one
	Run     job.RunID   // 0: the newest of the job
	Runs    []job.RunID // the marked runs; none: only jobs are marked
	Against job.RunID   // to compare the output of Run with; 0: none
	At      time.Time   // an occurrence; zero: none
	File    string
	Line    int
	Hosts   []string // the marked hosts; none: all

	Elsewhere bool // Jobs are those of a screen that is Elsewhere
}

// Answer is the result of an Ask, or one result of a Follow.
type Answer struct {
	Slot  string
	Value any
	Err   error
	Done  bool // nothing more comes
}

// Effect is a request of a screen to the shell. Only this package defines effects.
type Effect interface{ effect() }

// Ask sends one request to the daemon. A newer Ask of the same screen and slot
// replaces it: the older answer is dropped.
type Ask struct {
	Slot string
	Call func(ctx context.Context, d Daemon) (any, error)
}

// Follow requests a sequence of results. It ends with the sequence, with another
// request in the same slot, or when the user leaves the screen.
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

// Do changes something. Its class decides how the user confirms it. It is listed in
// the command log, and can be undone if Undo is set.
type Do struct {
	Class    Class
	Question string   // the question; for Undoable, what was done
	Detail   []string // more lines: what exactly, what stays
	Count    int      // number that the user types, if the class requires it
	Name     string   // of a protected job, to be typed
	Command  []string // the shell command that does the same, as arguments
	Shell    string   // in place of Command: the line for a shell
	Call     func(ctx context.Context, d Daemon) (message string, err error)
	Show     Screen                                                // carries it out in place of Call, comes to the front, and reports Ended; nil: none
	Program  func() *exec.Cmd                                      // carries it out in place of Call, and has the terminal; nil: none
	Watch    func() []Effect                                       // for "run and watch": shows what Call has started; nil: there is nothing
	Learn    func(ctx context.Context, d Daemon) ([]string, error) // requests more lines for Detail; nil: none
	Undo     *Do                                                   // what takes it back; nil: nothing does
	Slot     string                                                // the screen gets the result in this slot too; empty: it does not
}

// Class is the extent of an action, which decides how the user confirms it.
type Class uint8

// The classes of the ladder.
const (
	Undoable  Class = iota // performed without a question; a message names the key that undoes it
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

// Execute hands the terminal to a program such as a pager or an editor, and reports
// its end to the screen.
type Execute struct {
	Slot    string
	Program func() *exec.Cmd
}

// Clip puts text on the clipboard. Say shows a line for a while.
type Clip struct{ Text, What string }

// Toast shows a message for a few seconds. An empty one hides the current message.
type Toast struct {
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
func (Toast) effect()   {}

// Daemon is the part of api.Client that screens use.
type Daemon interface {
	Status(ctx context.Context) (api.Status, error)
	Show(ctx context.Context, ref string) (api.Job, error)
	Why(ctx context.Context, ref string, at time.Time) (api.Why, error)
	History(ctx context.Context, f api.Filter) (api.Runs, error)
	OneRun(ctx context.Context, ref string) (job.Run, error)
	Failures(ctx context.Context, since time.Time) (api.Failures, error)
	Output(ctx context.Context, run string, follow bool) iter.Seq2[api.Event, error]
	Run(ctx context.Context, r api.RunRequest) ([]job.Run, error)
	Stop(ctx context.Context, r api.StopRequest) ([]job.Run, error)
	Pause(ctx context.Context, r api.PauseRequest) ([]job.ID, error)
	Resume(ctx context.Context, r api.ResumeRequest) ([]job.ID, error)
	Reload(ctx context.Context) ([]api.Diagnostic, error)
	Past(ctx context.Context, jobs []job.ID, n int) ([]api.JobPast, error)
	Timeline(ctx context.Context, q api.TimelineQuery) (api.Timeline, error)
	Stats(ctx context.Context, q api.StatsQuery) (api.Stats, error)
	Coming(ctx context.Context, q api.ComingQuery) (api.Coming, error)
	Clashes(ctx context.Context, q api.ClashQuery) (api.Clashes, error)
	Backfill(ctx context.Context, r api.BackfillRequest) (api.Backfill, error)
	Retry(ctx context.Context, r api.RetryRequest) ([]job.Run, error)
	Undo(ctx context.Context, r api.UndoRequest) (api.Installed, error)
	Ack(ctx context.Context, r api.AckRequest) ([]job.ID, error)
	JobConfig(ctx context.Context, ref string) (api.JobConfig, error)
	CrontabFiles(ctx context.Context) ([]api.CrontabFile, error)
	CrontabText(ctx context.Context, file, user string) (api.CrontabText, error)
	InstallCrontabFile(ctx context.Context, r api.CrontabFileRequest) (api.Installed, error)
	Revisions(ctx context.Context, q api.RevisionQuery) ([]api.Revision, error)
	Revision(ctx context.Context, id int64) (api.Revision, error)
	List(ctx context.Context, q api.Query) ([]job.Status, error)
	Ring(ctx context.Context) (api.Ring, error)
	Board(ctx context.Context) iter.Seq2[api.BoardUpdate, error]
}

// Seeker is a screen whose cursor can be put on a job.
type Seeker interface {
	Seek(w *World, id job.ID) []Effect
}
