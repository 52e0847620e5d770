package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/cronring/cronring/tui/screen"
)

// requests are the open requests of screens. Only the newest of each screen and slot
// counts: the older one is cancelled, and its results are dropped.
type requests struct {
	ctx    context.Context
	daemon screen.Daemon
	send   func(tea.Msg)
	number uint64
	open   map[requestKey]request
}

type requestKey struct {
	owner screen.Screen
	slot  string
}

type request struct {
	number  uint64
	cancel  context.CancelFunc
	follows bool
}

// response is a result of an errand.
type response struct {
	key    requestKey
	number uint64
	answer screen.Answer
}

// begin makes room for a new errand.
func (e *requests) begin(key requestKey, follows bool) (context.Context, uint64) {
	e.end(key)
	e.number++
	ctx, cancel := context.WithCancel(e.ctx)
	e.open[key] = request{e.number, cancel, follows}
	return ctx, e.number
}

func (e *requests) end(key requestKey) {
	if old, ok := e.open[key]; ok {
		old.cancel()
		delete(e.open, key)
	}
}

// endOf ends what a screen waits for: all of it, or only what it follows.
func (e *requests) endOf(owner screen.Screen, all bool) {
	for key, open := range e.open {
		if key.owner == owner && (all || open.follows) {
			e.end(key)
		}
	}
}

// ask carries out one question.
func (e *requests) ask(owner screen.Screen, a screen.Ask) tea.Cmd {
	key := requestKey{owner, a.Slot}
	ctx, number := e.begin(key, false)
	return func() tea.Msg {
		value, err := a.Call(ctx, e.daemon)
		return response{key, number, screen.Answer{Slot: a.Slot, Value: value, Err: err, Done: true}}
	}
}

// follow passes on what comes, one by one, as fast as the program takes it.
func (e *requests) follow(owner screen.Screen, f screen.Follow) tea.Cmd {
	key := requestKey{owner, f.Slot}
	ctx, number := e.begin(key, true)
	return func() tea.Msg {
		for value, err := range f.Call(ctx, e.daemon) {
			if ctx.Err() != nil {
				return nil
			}
			e.send(response{key, number, screen.Answer{Slot: f.Slot, Value: value, Err: err}})
		}
		return response{key, number, screen.Answer{Slot: f.Slot, Done: true}}
	}
}

// counts reports whether an answer is still waited for, and ends the errand if it
// was the last.
func (e *requests) counts(a response) bool {
	open, ok := e.open[a.key]
	if !ok || open.number != a.number {
		return false
	}
	if a.answer.Done {
		e.end(a.key)
	}
	return true
}
