package shell

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/preferences"
	"github.com/cronring/cronring/tui/screen"
)

// question is a Do that waits for the user's confirmation, at the bottom of the
// screen.
type question struct {
	owner screen.Screen
	do    screen.Do
	yes   string    // key that confirms, which is never the key that opened the question
	typed edit.Line // for the classes that want something typed
}

// confirm performs a Do, or asks first if its class requires it.
func (s *Shell) confirm(owner screen.Screen, d screen.Do) {
	if s.w.ReadOnly != "" {
		s.warn(s.w.ReadOnly)
		return
	}
	if d.Class == screen.Undoable {
		s.carryOut(owner, d)
		return
	}
	q := &question{owner: owner, do: d, yes: "y"}
	if s.trigger == q.yes {
		q.yes = "Y"
	}
	s.over = q
	if d.Learn != nil {
		s.order(nil, screen.Ask{Slot: learnSlot, Call: func(ctx context.Context, daemon screen.Daemon) (any, error) {
			lines, err := d.Learn(ctx, daemon)
			return learned{q, lines}, err
		}})
	}
}

// elsewhere returns the front screen if a subject is its jobs of several hosts, or nil.
func (s *Shell) elsewhere(about screen.Subject) screen.Elsewhere {
	if front, ok := s.front().(screen.Elsewhere); ok && about.Elsewhere {
		return front
	}
	return nil
}

// world returns the world whose board has the jobs of a subject.
func (s *Shell) world(about screen.Subject) *screen.World {
	if front := s.elsewhere(about); front != nil {
		return front.World(s.w)
	}
	return s.w
}

// propose performs or confirms a Do about a subject, at the daemons of its jobs.
func (s *Shell) propose(about screen.Subject, d screen.Do) {
	if front := s.elsewhere(about); front != nil {
		d = front.Reroute(s.w, d)
	}
	s.confirm(s.front(), d)
}

// learnSlot is the slot of more lines for a question.
const learnSlot = "learn"

// learned is the result of a question's Learn.
type learned struct {
	asked *question
	lines []string
}

// tookLearned adds the lines to the question if it is still open.
func (s *Shell) tookLearned(a screen.Answer) {
	if l, ok := a.Value.(learned); ok && a.Err == nil && s.over == l.asked {
		l.asked.do.Detail = append(l.lines, l.asked.do.Detail...)
	}
}

// wanted returns the text that the user must type, or "" if a key is enough.
func (q *question) wanted() string {
	switch q.do.Class {
	case screen.Removes:
		return strconv.Itoa(q.do.Count)
	case screen.Protected:
		return display.Text(q.do.Name) // as it is shown: who could type the rest?
	}
	return ""
}

func (q *question) key(s *Shell, k screen.Key) {
	if k.Name == "esc" {
		s.over = nil
		return
	}
	if q.wanted() != "" {
		q.write(s, k)
		return
	}
	switch {
	case k.Name == q.yes:
		s.over, q.do.Watch = nil, nil
		s.carryOut(q.owner, q.do)
	case k.Name == "w" && q.do.Watch != nil:
		s.over = nil
		s.carryOut(q.owner, q.do)
	case k.Name == "n" || k.Name == "q":
		s.over = nil
	}
}

// write adds a key to the typed text. The question is confirmed as soon as the text equals the wanted
// text, without a further key.
func (q *question) write(s *Shell, k screen.Key) {
	page.TypeInto(&q.typed, k)
	if q.typed.Text() == q.wanted() {
		s.over, q.do.Watch = nil, nil
		s.carryOut(q.owner, q.do)
	}
}

// lines returns the question and its details, wrapped to a width, and the number of
// lines of the question.
func (q *question) lines(width int) (all []string, question int) {
	all = page.Wrap(display.Text(q.do.Question), width, width)
	question = len(all)
	for _, text := range q.do.Detail {
		all = append(all, page.Wrap(display.Text(text), width, width)...)
	}
	return all, question
}

func (q *question) height(_ *Shell, width, room int) int {
	lines, _ := q.lines(width - 2)
	return min(len(lines)+1, room)
}

func (q *question) draw(v canvas.View, s *Shell) {
	last := v.Height() - 1
	lines, question := q.lines(v.Width() - 2)
	for y, line := range lines[:max(min(len(lines), last), 0)] {
		v.Put(1, y, line, canvas.Style{Bold: y < question})
	}
	if wanted := q.wanted(); wanted != "" {
		text, room := "Type "+wanted+" to confirm: ", v.Width()-20
		v.PutCut(1, last, room, text, s.w.Glyphs.Ellipsis, canvas.Style{})
		x := 1 + min(display.Width(text), room)
		page.DrawInput(v, x, last, v.Width()-x-13, &q.typed, s.w)
		page.DrawHints(v, v.Width()-len("esc cancel "), last, s.w, canvas.Style{}, "esc", "cancel")
		return
	}
	hints := []string{q.yes, q.word()}
	if q.do.Watch != nil {
		hints = append(hints, "w", q.word()+" and watch")
	}
	page.DrawHints(v, 1, last, s.w, canvas.Style{}, append(hints, "esc", "no")...)
}

// word returns the verb of the command.
func (q *question) word() string {
	if len(q.do.Command) > 1 {
		return q.do.Command[1]
	}
	return "yes"
}

// doSlot is the prefix of the slots of changes.
const doSlot = "do"

// carryOut performs a Do, adds it to the command log, and shows the result.
func (s *Shell) carryOut(owner screen.Screen, d screen.Do) {
	s.begin(waiting{owner: owner, do: d})
}

func (s *Shell) begin(w waiting) {
	d, e := w.do, s.note(w.do)
	if d.Show != nil {
		s.commands[d.Show] = e
		s.push(d.Show)
		return
	}
	slot := fmt.Sprintf("%s %d", doSlot, e.number)
	w.entry = e
	s.waiting[slot] = w
	if d.Program != nil {
		s.order(nil, screen.Execute{Slot: slot, Program: d.Program})
		return
	}
	s.order(nil, screen.Ask{Slot: slot, Call: func(ctx context.Context, daemon screen.Daemon) (any, error) { return d.Call(ctx, daemon) }})
}

// waiting is a Do whose result is not known yet.
type waiting struct {
	owner screen.Screen
	do    screen.Do
	entry *entry
	undo  *screen.Do // of Shell.undo; nil: this does not undo a change
}

// took handles the answers to the shell's own requests.
func (s *Shell) took(a screen.Answer) {
	switch a.Slot {
	case planSlot:
		s.tookPlan(a)
		return
	case learnSlot:
		s.tookLearned(a)
		return
	case hostSlot:
		if a.Err != nil {
			s.warn("the dashboard of the host ended: " + a.Err.Error())
		}
		return
	case foundSlot:
		s.tookNamed(a)
		return
	case versionSlot:
		s.tookVersion(a)
		return
	case preferences.Slot:
		s.perform(nil, s.prefs.Take(s.w, a))
		s.refresh()
		return
	}
	w, ok := s.waiting[a.Slot]
	if !ok {
		return
	}
	delete(s.waiting, a.Slot)
	message, _ := a.Value.(string)
	if s.w.Status.NoDaemon != "" {
		w.do.Undo = nil // no version is kept
	}
	w.entry.end(message, a.Err)
	if a.Err != nil {
		s.warn(plainError(a.Err))
	} else {
		s.showMessage(w.toast(message, s.w.KeyOf(keys.Undo)))
	}
	if a.Err == nil && w.do.Undo != nil {
		s.undo = append(s.undo[max(len(s.undo)-maxUndo+1, 0):], w.do.Undo)
	}
	if w.undo != nil && !mayWorkLater(a.Err) {
		s.undo = slices.DeleteFunc(s.undo, func(d *screen.Do) bool { return d == w.undo })
	}
	if a.Err == nil && w.do.Watch != nil {
		s.perform(w.owner, w.do.Watch())
	}
	if w.do.Slot != "" && w.owner != nil {
		s.perform(w.owner, w.owner.Take(s.w, screen.Answer{Slot: w.do.Slot, Value: a.Value, Err: a.Err, Done: true}))
	}
}

// mayWorkLater reports whether a request can succeed if it is repeated, because the daemon did not refuse it.
func mayWorkLater(err error) bool {
	if err == nil {
		return false
	}
	kind := api.KindOf(err)
	return kind == api.Unreachable || kind == api.TimedOut || kind == api.Internal
}

// maxUndo is the highest number of changes that can be undone.
const maxUndo = 100

// toast returns what was done, the key that undoes it, and the command.
func (w waiting) toast(message, undo string) string {
	if message == "" {
		message = w.do.Question
	}
	if w.do.Undo != nil {
		message += "   " + undo + " undo"
	}
	return message + "   " + w.entry.command
}
