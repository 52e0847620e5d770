package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/screen"
)

// Options is how the dashboard is begun.
type Options struct {
	Client *api.Client
	In     *os.File
	Out    *os.File
	Look   Look
	Start  screen.Start
	Views  string // file in which views are saved
}

// Run shows the dashboard until the person leaves it.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newModel(ctx, o)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithFPS(120), tea.WithColorProfile(o.Look.profile))
	m.feed.send, m.errands.send = p.Send, p.Send
	go m.feed.run(ctx)
	_, err := p.Run()
	if errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("show the dashboard: %w", err)
	}
	return nil
}

// model is the dashboard as Bubble Tea sees it. Everything in it happens in one
// goroutine.
type model struct {
	shell   *screen.Shell
	feed    *feed
	errands *errands
	palette *palette
	canvas  *canvas.Canvas
	frame   []byte
	content string // the frame as shown last
	views   string // file in which views are saved
	dirty   bool   // what the shell shows may have changed since
	sized   bool   // the size of the terminal was told
	mouse   bool
}

func newModel(ctx context.Context, o Options) *model {
	m := &model{
		shell:   screen.NewShell(o.Start),
		feed:    &feed{client: o.Client},
		errands: &errands{ctx: ctx, daemon: o.Client, open: map[errandKey]errand{}},
		palette: newPalette(o.Look),
		canvas:  canvas.New(80, 24),
		views:   o.Views,
		dirty:   true,
	}
	if size, err := unix.IoctlGetWinsize(int(o.Out.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		m.canvas.Resize(int(size.Col), int(size.Row))
	}
	return m
}

// tick is the beat of the clock: once a second, at its beginning.
type tick time.Time

func beat() tea.Cmd { return tea.Every(time.Second, func(t time.Time) tea.Msg { return tick(t) }) }

// executed says that a program has given the terminal back.
type executed struct {
	owner screen.Screen
	slot  string
	err   error
}

// kept says what came of saving the views.
type kept struct{ err error }

func (m *model) Init() tea.Cmd { return tea.Batch(beat(), m.carryOut(m.shell.Init(time.Now()))) }

// Update hands on what has happened. It never waits.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := time.Now()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.dirty = true
		m.canvas.Resize(msg.Width, msg.Height)
		if !m.sized { // the first says what newModel knows
			m.sized = true
			return m, nil
		}
		// What was on its way when the size changed stands anywhere now.
		return m, tea.ClearScreen
	case tea.KeyPressMsg:
		m.dirty = true
		return m, m.carryOut(m.shell.Key(now, keyOf(msg.Key())))
	case tea.PasteMsg:
		m.dirty = true
		return m, m.carryOut(m.shell.Paste(now, msg.Content))
	case tea.MouseClickMsg:
		m.dirty = true
		return m, m.carryOut(m.shell.Click(now, msg.X, msg.Y))
	case tea.MouseWheelMsg:
		m.dirty = true
		return m, m.carryOut(m.shell.Wheel(now, msg.Button == tea.MouseWheelDown))
	case fed:
		m.dirty = true
		return m, m.carryOut(m.shell.Update(now, m.feed.take()...))
	case lost:
		m.dirty = true
		return m, m.carryOut(m.shell.Lost(now, msg.err, msg.retry))
	case answered:
		if !m.errands.counts(msg) {
			return m, nil
		}
		m.dirty = true
		return m, m.carryOut(m.shell.Take(now, msg.key.owner, msg.answer))
	case executed:
		m.dirty = true
		return m, m.carryOut(m.shell.Take(now, msg.owner, screen.Answer{Slot: msg.slot, Err: msg.err, Done: true}))
	case kept:
		m.dirty = true
		m.shell.Kept(now, msg.err)
		return m, nil
	case tick:
		m.dirty = true
		return m, tea.Batch(beat(), m.carryOut(m.shell.Tick(time.Time(msg))))
	}
	return m, nil
}

// keyOf names a key as the table does. An escape key that was pressed right before
// reads like alt: neither leaving nor ctrl+c may be lost by that.
func keyOf(k tea.Key) screen.Key {
	if k.Mod&tea.ModAlt != 0 && (k.Code == tea.KeyEscape || k.Code == 'c' && k.Mod&tea.ModCtrl != 0) {
		k.Mod &^= tea.ModAlt
	}
	return screen.Key{Name: k.String(), Text: k.Text}
}

// carryOut does what the shell cannot.
func (m *model) carryOut(orders []screen.Order) tea.Cmd {
	var cmds []tea.Cmd
	for _, o := range orders {
		if cmd := m.one(o); cmd != nil {
			cmds = append(cmds, cmd)
		}
	}
	return tea.Batch(cmds...)
}

func (m *model) one(o screen.Order) tea.Cmd {
	switch e := o.Effect.(type) {
	case screen.Ask:
		return m.errands.ask(o.Owner, e)
	case screen.Follow:
		return m.errands.follow(o.Owner, e)
	case screen.Forget:
		m.errands.end(errandKey{o.Owner, e.Slot})
	case screen.Unfollow:
		m.errands.endOf(o.Owner, false)
	case screen.Drop:
		m.errands.endOf(o.Owner, true)
	case screen.Execute:
		return tea.ExecProcess(e.Program(), func(err error) tea.Msg { return executed{o.Owner, e.Slot, err} })
	case screen.Clip:
		return tea.SetClipboard(safe.Paragraphs(e.Text))
	case screen.Keep:
		return func() tea.Msg { return kept{writeViews(m.views, e.Views)} }
	case screen.Mouse:
		m.mouse = e.On
	case screen.Redraw:
		return tea.ClearScreen
	case screen.Quit:
		return tea.Quit
	}
	return nil
}

// View draws a frame if something has happened since the last.
func (m *model) View() tea.View {
	if m.dirty {
		m.dirty = false
		m.canvas.Clear()
		m.shell.Draw(m.canvas.View())
		m.frame = m.canvas.AppendFrame(m.frame[:0], m.palette)
		if string(m.frame) != m.content {
			m.content = string(m.frame)
		}
	}
	v := tea.NewView(m.content)
	v.AltScreen = true
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}
