// Package shell owns the frame around the screens of the dashboard, which decides which screen is
// shown, handles the keys that all screens have, and shows questions, the palette, help and the log of
// commands.
//
// The shell performs the effects that screens return. What needs the terminal or the
// daemon it passes on as Orders to package tui.
package shell

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/preferences"
	"github.com/cronring/cronring/tui/screen"
)

// Order is something that the shell cannot do itself: an effect, and the screen
// that its answers go back to; nil: the shell's own.
type Order struct {
	Owner  screen.Screen
	Effect screen.Effect
}

// stillTime is the time without sorting after the user has moved the cursor.
const stillTime = 2 * time.Second

// maxDepth is the highest number of screens on the stack.
const maxDepth = 32

// Shell is the dashboard without its terminal. It contains the screens, passes keys and answers to
// them, and handles the keys that work on all screens.
type Shell struct {
	w       *screen.World
	now     time.Time     // this host's time
	offset  time.Duration // from it to the daemon's clock
	tried   time.Time     // when the last attempt to reach the daemon failed
	moved   time.Time     // when the user last moved the cursor
	trigger string        // the key that is being handled

	screens  Screens
	roots    map[keys.Action]screen.Screen // the screens named on the first line
	stack    []screen.Screen               // the front one last
	previous []screen.Screen               // the stack before the last switch
	over     overlay                       // nil: no overlay is open
	toast    toast
	log      []*entry
	waiting  map[string]waiting // by slot
	undo     []*screen.Do
	sought   *version // of a file, to be restored; any key cancels it
	greeting string   // first message to the user
	job      job.ID   // the job that the cursor moves to when it appears; empty: none
	count    int      // entries of the log since the start
	views    []screen.View
	recent   []string                 // commands of the finder, the newest first
	commands map[screen.Screen]*entry // that screens run
	custom   []custom.Command         // of the user's settings
	mouse    bool
	welcome  bool   // the hints for the first start are shown
	title    string // of the terminal
	prefs    *preferences.Preferences
	pointer  pointer
	orders   []Order
}

// overlay is drawn over the front screen and receives every key.
type overlay interface {
	key(s *Shell, k screen.Key)
	draw(v canvas.View, s *Shell)
	// height returns how many of the lines in room the overlay needs.
	height(s *Shell, width, room int) int
}

// Start is the initial state of a dashboard.
type Start struct {
	World   screen.World  // with a board, or without one
	Screen  keys.Action   // of the first screen; empty: the jobs
	Job     string        // that the cursor starts on; empty: the first one
	Views   []screen.View // that were saved
	Recent  []string      // commands that were used before
	Toast   string        // first message to the user
	Notify  bool          // reports new failures with the bell, the desktop and the title of the terminal, regardless of the settings
	Welcome bool          // shows the hints for the first start
	Over    screen.Screen // shown over the first screen, such as the editor; nil: none
}

// Screens are the screens that a shell shows.
type Screens struct {
	Roots  []Root // on the first line; the dashboard begins with the first of them
	Opened map[keys.Action]func(w *screen.World, s screen.Subject) screen.Screen
	// Command shows what a command of the command line prints.
	Command func(words []string) screen.Screen
	// Process shows the output of a process that runs a shell command line.
	Process func(line string, start func(ctx context.Context) *exec.Cmd) screen.Screen
}

// Root is a screen that is named on the first line. Opened are the screens that a key opens about the
// selection.
type Root struct {
	Action keys.Action
	Name   string
	Make   func() screen.Screen
}

// New makes a shell with all screens.
func New(start Start, screens Screens) *Shell {
	w := start.World
	if w.Board == nil {
		w.Board = board.New()
	}
	s := &Shell{w: &w, screens: screens, roots: map[keys.Action]screen.Screen{}, waiting: map[string]waiting{}, commands: map[screen.Screen]*entry{}}
	for _, r := range screens.Roots {
		s.roots[r.Action] = r.Make()
	}
	first := s.roots[start.Screen]
	if first == nil {
		first = s.roots[screens.Roots[0].Action]
	}
	s.stack, s.views, s.recent = []screen.Screen{first}, start.Views, start.Recent
	s.prefs = preferences.New(s.w, start.Notify)
	s.mouse, s.custom = s.w.Settings.Mouse, s.w.Settings.Commands
	s.greeting, s.job = start.Toast, job.ID(start.Job)
	if start.Over != nil {
		s.stack = append(s.stack, start.Over)
	}
	s.welcome = start.Welcome && start.Over == nil
	return s
}

// World returns the data that screens share.
func (s *Shell) World() *screen.World { return s.w }

// Init opens the first screen.
func (s *Shell) Init(now time.Time) []Order {
	s.at(now)
	s.open()
	if s.welcome {
		s.order(nil, screen.Welcomed{}) // the hints are shown until the first key
	}
	if s.greeting != "" {
		s.warn(s.greeting)
	}
	return s.flush()
}

// Key handles a key.
func (s *Shell) Key(now time.Time, k screen.Key) []Order {
	s.at(now)
	s.trigger, s.sought = k.Name, nil
	s.toast = toast{}
	s.welcome = false
	s.press(k)
	return s.flush()
}

// press passes a key to the overlay or the front screen.
func (s *Shell) press(k screen.Key) {
	switch front := s.front(); {
	case k.Name == quitKey:
		s.order(nil, screen.Quit{})
	case s.over != nil:
		s.over.key(s, k)
	case !s.typed(front, k):
		if a, ok := s.w.Keys.Find(k.Name, s.scopes()...); ok {
			s.act(a)
		} else if c := s.customOn(k.Name); c != nil {
			s.runCustom(c)
		} else {
			s.warn(k.Name + " does nothing here" + s.helpHint())
		}
	}
}

// helpHint names the key that lists all keys: "; ? shows the keys".
func (s *Shell) helpHint() string {
	key := s.w.Keys.Key(keys.Help)
	if key == "" {
		return ""
	}
	return "; " + key + " shows the keys"
}

// Paste inserts text into a field that the user types in. Without one it does nothing.
func (s *Shell) Paste(now time.Time, text string) []Order {
	s.at(now)
	switch k := (screen.Key{Name: "paste", Text: text}); {
	case s.over != nil:
		s.over.key(s, k)
	default:
		s.typed(s.front(), k)
	}
	return s.flush()
}

// quitKey always ends the dashboard.
const quitKey = "ctrl+c"

// typed passes a key to a screen with a field that the user types in.
func (s *Shell) typed(front screen.Screen, k screen.Key) bool {
	typist, ok := front.(screen.Typist)
	if !ok || !typist.Typing() {
		return false
	}
	effects, ok := typist.Type(s.w, k)
	s.perform(front, effects)
	return ok
}

// scopes returns the scopes of the front screen's keys, the narrowest first.
func (s *Shell) scopes() []keys.Scope {
	scopes := []keys.Scope{s.front().Scope()}
	if subject := s.front().Subject(s.w); len(subject.Jobs) > 0 || subject.Run != 0 || subject.File != "" {
		scopes = append(scopes, keys.Subject)
	}
	return append(scopes, keys.List, keys.Everywhere)
}

// Take passes an answer to the screen that requested it.
func (s *Shell) Take(now time.Time, owner screen.Screen, a screen.Answer) []Order {
	s.at(now)
	if owner == nil {
		s.took(a)
	} else {
		s.perform(owner, owner.Take(s.w, a))
	}
	return s.flush()
}

// Update applies changes that the daemon has sent. They prove that it is connected.
func (s *Shell) Update(now time.Time, updates ...api.BoardUpdate) []Order {
	back := !s.w.Link.Live && s.w.Link.Tried
	s.w.Link = screen.Link{Live: true, Tried: true, Socket: s.w.Link.Socket}
	var failing []string
	for _, u := range updates {
		failing = append(failing, s.beginToFail(u.Rows)...)
		if !u.Now.IsZero() {
			s.offset = u.Now.Sub(now)
		}
		if u.Head != nil {
			s.w.Status = *u.Head
		}
		s.w.Board.Apply(u)
	}
	s.at(now)
	if back {
		s.showMessage("connected again")
	}
	s.refresh()
	s.seek()
	s.announce(failing)
	return s.flush()
}

// seek moves the cursor to the job that the dashboard was started with.
func (s *Shell) seek() {
	seeker, ok := s.front().(screen.Seeker)
	if s.job == "" || !ok {
		return
	}
	if _, known := s.w.Board.Job(s.job); known {
		s.perform(s.front(), seeker.Seek(s.w, s.job))
		s.job = ""
	} else if s.w.Board.Complete() {
		s.warn("no job is called " + string(s.job))
		s.job = ""
	}
}

// Lost reports that the daemon does not answer, and when the next attempt is.
func (s *Shell) Lost(now time.Time, err error, retry time.Duration) []Order {
	l := &s.w.Link
	if l.Live || !l.Tried {
		l.Since = now
	}
	l.Live, l.Tried, l.Err, l.Retry = false, true, err, retry
	s.tried = now
	s.now = now
	s.refresh()
	return s.flush()
}

// Tick advances the time.
func (s *Shell) Tick(now time.Time) []Order {
	s.at(now)
	if s.MessageIsOver(now) {
		s.toast = toast{}
	}
	s.refresh()
	return s.flush()
}

// refresh makes the front screen show changed data. Other screens do so when they come to the front.
func (s *Shell) refresh() { s.perform(s.front(), s.front().Refresh(s.w)) }

// at sets the clocks. Without a connection the daemon's clock is frozen.
func (s *Shell) at(now time.Time) {
	s.now = now
	if s.w.Link.Live {
		s.w.Now = now.Add(s.offset)
	}
	s.w.Busy = now.Sub(s.moved) < stillTime
}

func (s *Shell) front() screen.Screen { return s.stack[len(s.stack)-1] }

func (s *Shell) order(owner screen.Screen, e screen.Effect) {
	s.orders = append(s.orders, Order{owner, e})
}

func (s *Shell) flush() []Order {
	orders := s.orders
	s.orders = nil
	return orders
}

// perform performs the effects of a screen, and queues those that need the terminal
// or the daemon.
func (s *Shell) perform(owner screen.Screen, effects []screen.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case screen.Goto:
			s.push(e.Screen)
		case screen.Show:
			s.push(s.screens.Opened[e.Action](s.w, e.Subject))
		case screen.Back:
			s.pop()
		case screen.Do:
			s.confirm(owner, e)
		case screen.Press:
			s.actOn(e.Action, e.Subject)
		case screen.Act:
			s.act(e.Action)
		case screen.Type:
			s.press(e.Key)
		case screen.Toast:
			if e.Bad {
				s.warn(e.Text)
			} else {
				s.showMessage(e.Text)
			}
		case screen.Ended:
			s.ended(owner, e)
		case screen.Set:
			s.perform(nil, s.prefs.Set(s.w, e.Edit))
		case screen.Preview:
			s.perform(nil, s.prefs.Preview(s.w, e.File))
		case screen.Adopt:
			s.perform(nil, s.prefs.Adopt(s.w, e.File))
			s.refresh()
		case screen.Mouse:
			s.mouse = e.On
			s.order(owner, e)
		case screen.Clip:
			s.order(owner, e)
			s.showMessage("copied " + e.What)
		default:
			s.order(owner, e)
		}
	}
}

// push brings a screen to the front of the others.
func (s *Shell) push(next screen.Screen) {
	s.order(s.front(), screen.Unfollow{})
	if len(s.stack) == maxDepth {
		s.drop(s.stack[1])
		s.stack = slices.Delete(s.stack, 1, 2)
	}
	s.stack = append(s.stack, next)
	s.open()
}

// drop cancels the requests of a screen that was closed.
func (s *Shell) drop(old screen.Screen) {
	s.order(old, screen.Drop{})
	s.ended(old, screen.Ended{Err: errors.New("ended with its screen")})
}

// pop closes the front screen, unless it is the last one.
func (s *Shell) pop() bool {
	if len(s.stack) == 1 {
		return false
	}
	s.drop(s.front())
	s.stack = s.stack[:len(s.stack)-1]
	s.open()
	return true
}

// switchTo replaces the stack of screens. A key restores the previous stack.
func (s *Shell) switchTo(stack []screen.Screen) {
	if slices.Equal(stack, s.stack) {
		return
	}
	s.order(s.front(), screen.Unfollow{})
	for _, old := range s.previous[min(len(s.previous), 1):] {
		if !slices.Contains(stack, old) {
			s.drop(old)
		}
	}
	s.previous, s.stack = s.stack, stack
	s.open()
}

func (s *Shell) open() { s.perform(s.front(), s.front().Open(s.w)) }
