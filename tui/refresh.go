package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cronring/cronring/tui/settings"
)

// refreshing is the rate at which the screen changes by itself.
type refreshing struct {
	every time.Duration
	last  time.Time
}

// use uses the settings that concern the terminal.
func (m *model) use(s *settings.Settings) {
	m.palette = m.look.palette(s)
	m.refresh.every = s.Refresh
}

// delays reports a change that is no answer to the user and that is shown later, because the refresh
// interval is not over. Without such an interval changes of jobs are shown immediately, and the clock
// every second.
func (m *model) delays(now time.Time, msg tea.Msg) bool {
	switch msg := msg.(type) {
	case tick:
	case fed:
		if msg.rest {
			return false
		}
	default:
		return false
	}
	const early = time.Second / 2 // ticks are not exact
	r := &m.refresh
	if r.every <= settings.LeastRefresh || now.Sub(r.last) >= r.every-early || m.shell.MessageIsOver(now) || m.feed.much() {
		r.last = now
		return false
	}
	return m.shell.World().Board.Complete()
}

// again returns what a delayed message leaves to do: the next tick shows what has come.
func again(msg tea.Msg) tea.Cmd {
	if _, ok := msg.(tick); ok {
		return beat()
	}
	return nil
}
