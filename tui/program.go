package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/shell"
)

// Options are the options of Run.
type Options struct {
	Client *api.Client
	In     *os.File
	Out    *os.File
	Look   Look
	Start  shell.Start
	Edit   string // a crontab to begin with in the editor; empty: none
	Hosts  bool   // begins with the list of hosts
	State  string // directory of what is kept for the next time; empty: nothing is
}

// Run shows the dashboard until the person leaves it.
func Run(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH) // before newModel reads the size
	defer signal.Stop(changed)
	m := newModel(ctx, o)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithoutRenderer(), tea.WithFPS(1), tea.WithColorProfile(o.Look.profile))
	m.feed.send, m.requests.send = p.Send, p.Send
	if err := m.renderer.take(); err != nil {
		return err
	}
	go m.feed.run(ctx)
	go watchSize(ctx, o.Out, changed, p.Send)
	_, err = p.Run()
	m.renderer.release()
	m.saves.Wait()
	switch {
	case m.fault != "":
		return errors.New("the dashboard is at fault, and has ended: " + m.fault)
	case m.renderer.err != nil:
		return m.renderer.err
	case err != nil && !errors.Is(err, tea.ErrInterrupted):
		return fmt.Errorf("show the dashboard: %w", err)
	}
	return nil
}

// memoryPercent is GOGC once all jobs have arrived. Nearly all memory holds jobs,
// which contain few pointers: frequent collections cost next to nothing, and save
// more than a third of the memory.
const memoryPercent = 20

// model is the dashboard as Bubble Tea sees it. Everything in it happens in one
// goroutine.
type model struct {
	shell    *shell.Shell
	feed     *feed
	requests *requests
	look     Look
	palette  *palette
	renderer *renderer
	state    string // directory of what is kept for the next time; empty: nothing is
	saves    sync.WaitGroup
	lastSave <-chan struct{} // closed when the newest save is written

	canvas  *canvas.Canvas
	shown   *canvas.Canvas // on the terminal; of no size: unknown
	frame   []byte
	dirty   bool      // what the shell shows may have changed since
	writing bool      // a frame is on its way to the terminal
	wrote   time.Time // when the last one began
	refresh refreshing
	shrunk  bool   // the memory that reading all jobs took was given back
	fault   string // a panic, in words
}

func newModel(ctx context.Context, o Options) *model {
	m := &model{
		shell:    newShell(o),
		feed:     &feed{client: o.Client},
		requests: &requests{ctx: ctx, daemon: o.Client, open: map[requestKey]request{}},
		look:     o.Look,
		renderer: &renderer{in: o.In.Fd(), to: o.Out},
		state:    o.State,
		canvas:   canvas.New(80, 24),
		shown:    new(canvas.Canvas),
		dirty:    true,
	}
	m.use(&m.shell.World().Settings.Settings)
	m.renderer.mouse = m.shell.World().Settings.Mouse
	if size, ok := sizeOf(o.Out); ok {
		m.canvas.Resize(size.width, size.height)
	}
	return m
}

// resized is the size of the terminal, when it has changed.
type resized struct{ width, height int }

func sizeOf(f *os.File) (resized, bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return resized{}, false
	}
	return resized{int(size.Col), int(size.Row)}, true
}

// watchSize reports each possible change of the terminal's size.
func watchSize(ctx context.Context, f *os.File, changed <-chan os.Signal, send func(tea.Msg)) {
	for {
		select {
		case <-changed:
			if size, ok := sizeOf(f); ok {
				send(size)
			}
		case <-ctx.Done():
			return
		}
	}
}

// tick is the beat of the clock: once a second, at its beginning.
type tick time.Time

func beat() tea.Cmd { return tea.Every(time.Second, func(t time.Time) tea.Msg { return tick(t) }) }

// executed reports that a program has returned the terminal.
type executed struct {
	owner screen.Screen
	slot  string
	err   error
}

// saved is the result of saving views, recent commands or that the hints were shown.
type saved struct{ err error }

func (m *model) Init() tea.Cmd {
	return tea.Batch(beat(), m.carryOut(m.shell.Init(time.Now())), m.paint(time.Now()))
}

// Update hands on what has happened, and draws what comes of it. It never waits.
func (m *model) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			m.fault = fmt.Sprintf("%v\n%s", r, debug.Stack())
			next, cmd = m, tea.Quit
		}
	}()
	now := time.Now()
	if m.delays(now, msg) {
		return m, again(msg)
	}
	m.dirty = m.dirty || !isOwn(msg)
	cmd = m.handle(now, msg)
	return m, tea.Batch(cmd, m.paint(now))
}

// isOwn reports messages that change nothing of what is shown.
func isOwn(msg tea.Msg) bool {
	switch msg.(type) {
	case painted, tea.WindowSizeMsg, tea.ColorProfileMsg, tea.EnvMsg, tea.MouseReleaseMsg:
		return true
	}
	return false
}

func (m *model) handle(now time.Time, msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case resized:
		m.canvas.Resize(msg.width, msg.height)
		m.shown.Resize(0, 0) // output during the change can be anywhere
	case tea.KeyPressMsg:
		return m.carryOut(m.shell.Key(now, keyOf(msg.Key())))
	case tea.PasteMsg:
		return m.carryOut(m.shell.Paste(now, msg.Content))
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft {
			return m.carryOut(m.shell.Click(now, msg.X, msg.Y))
		}
	case tea.MouseMotionMsg:
		return m.carryOut(m.shell.Drag(now, msg.X, msg.Y))
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelDown || msg.Button == tea.MouseWheelUp {
			return m.carryOut(m.shell.Wheel(now, msg.Button == tea.MouseWheelDown, msg.X, msg.Y))
		}
	case fed:
		return m.feedOn(now)
	case lost:
		return tea.Batch(m.feedOn(now), m.carryOut(m.shell.Lost(now, msg.err, msg.retry)))
	case response:
		if m.requests.counts(msg) {
			return m.carryOut(m.shell.Take(now, msg.key.owner, msg.answer))
		}
	case executed:
		m.shown.Resize(0, 0)
		return m.carryOut(m.shell.Take(now, msg.owner, screen.Answer{Slot: msg.slot, Err: msg.err, Done: true}))
	case saved:
		m.shell.Kept(now, msg.err)
	case tick:
		return tea.Batch(beat(), m.feedOn(now), m.carryOut(m.shell.Tick(time.Time(msg))))
	case painted:
		m.writing = false
	}
	return nil
}

// feedOn shows what the daemon has sent.
func (m *model) feedOn(now time.Time) tea.Cmd {
	updates, more := m.feed.take()
	if len(updates) == 0 {
		return nil
	}
	cmd := tea.Batch(m.carryOut(m.shell.Update(now, updates...)), m.shrink())
	if more {
		return tea.Batch(cmd, func() tea.Msg { return fed{rest: true} })
	}
	return cmd
}

// shrink returns memory to the system once all jobs have arrived: loading them takes
// more than keeping them.
func (m *model) shrink() tea.Cmd {
	if m.shrunk || !m.shell.World().Board.Complete() {
		return nil
	}
	m.shrunk = true
	return func() tea.Msg {
		debug.SetGCPercent(memoryPercent)
		debug.FreeOSMemory()
		return nil
	}
}

// painted reports that a frame was written, or that the next one is due.
type painted struct{}

// pace is the least time between two frames.
const pace = time.Second / 120

// paint draws a frame if something has changed, and writes the difference. It waits
// while a slow terminal takes the previous frame.
func (m *model) paint(now time.Time) tea.Cmd {
	if !m.dirty || m.writing {
		return nil
	}
	if since := now.Sub(m.wrote); since < pace {
		m.writing = true
		return tea.Tick(pace-since, func(time.Time) tea.Msg { return painted{} })
	}
	m.dirty = false
	m.canvas.Clear()
	m.shell.Draw(m.canvas.View())
	m.frame = m.canvas.AppendChanges(m.frame[:0], m.shown, m.palette)
	m.shown.Copy(m.canvas)
	if len(m.frame) == 0 {
		return nil
	}
	m.writing, m.wrote = true, now
	frame := string(m.frame)
	return func() tea.Msg {
		if !m.renderer.write(frame) {
			return tea.QuitMsg{} // the terminal is gone, without a signal in some cases
		}
		return painted{}
	}
}

// View is empty: the pen draws.
func (m *model) View() tea.View { return tea.View{} }

// keyOf names a key as the table does. An escape key that was pressed right before
// reads like alt: neither leaving nor ctrl+c may be lost by that.
func keyOf(k tea.Key) screen.Key {
	if k.Mod&tea.ModAlt != 0 && (k.Code == tea.KeyEscape || k.Code == 'c' && k.Mod&tea.ModCtrl != 0) {
		k.Mod &^= tea.ModAlt
	}
	return screen.Key{Name: k.String(), Text: k.Text}
}

// carryOut does what the shell cannot.
func (m *model) carryOut(orders []shell.Order) tea.Cmd {
	var cmds []tea.Cmd
	for _, o := range orders {
		if cmd := m.one(o); cmd != nil {
			cmds = append(cmds, cmd)
		}
	}
	return tea.Batch(cmds...)
}

func (m *model) one(o shell.Order) tea.Cmd {
	switch e := o.Effect.(type) {
	case screen.Ask:
		return m.requests.ask(o.Owner, e)
	case screen.Follow:
		return m.requests.follow(o.Owner, e)
	case screen.Forget:
		m.requests.end(requestKey{o.Owner, e.Slot})
	case screen.Unfollow:
		m.requests.endOf(o.Owner, false)
	case screen.Drop:
		m.requests.endOf(o.Owner, true)
	case screen.Execute:
		return tea.Exec(foregroundProgram{e.Program(), m.renderer}, func(err error) tea.Msg { return executed{o.Owner, e.Slot, err} })
	case screen.Clip:
		return func() tea.Msg {
			m.renderer.write(ansi.SetSystemClipboard(display.Paragraphs(e.Text)))
			return nil
		}
	case screen.Keep:
		m.save(viewsFile, e.Views)
	case screen.Remember:
		m.save(recentFile, e.Commands)
	case screen.Welcomed:
		m.save(hintsFile, true)
	case screen.Mouse:
		m.renderer.point(e.On)
	case screen.Notify:
		return func() tea.Msg {
			m.renderer.announce(e)
			return nil
		}
	case screen.Configure:
		m.use(&e.Settings)
		m.shown.Resize(0, 0)
	case screen.Redraw:
		m.shown.Resize(0, 0)
	case screen.Quit:
		return tea.Quit
	}
	return nil
}

// save writes a file after those of earlier calls. It is complete when Run returns: a command of Bubble
// Tea may be lost at the end.
func (m *model) save(name string, v any) {
	before, done := m.lastSave, make(chan struct{})
	m.lastSave = done
	m.saves.Go(func() {
		if before != nil {
			<-before
		}
		err := writeJSON(m.state, name, v)
		close(done)
		m.requests.send(saved{err})
	})
}
