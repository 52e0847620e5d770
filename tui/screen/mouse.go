package screen

import (
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
)

// Gesture is an action with the mouse.
type Gesture uint8

// The gestures. A drag begins with a click on the part of the frame that is dragged.
const (
	Click Gesture = iota
	Drag
	Wheel
)

// Area is a part of the frame that answers to a gesture. Do receives the cell in it that was clicked;
// for Drag, the distance from the cell where the drag began; for Wheel, the lines to scroll as y.
type Area struct {
	View canvas.View
	On   Gesture
	Do   func(x, y int) []Effect
}

// FindArea returns the area that answers to a gesture on a cell of the terminal, and the cell in it, or
// nil. An area that was drawn later lies above the earlier ones.
func FindArea(areas []Area, on Gesture, x, y int) (a *Area, dx, dy int) {
	for i := len(areas) - 1; i >= 0; i-- {
		a := &areas[i]
		if dx, dy, inside := a.View.Locate(x, y); inside && a.On == on {
			return a, dx, dy
		}
	}
	return nil, 0, 0
}

// OnClick makes a part of the frame answer to a click, OnDrag to being dragged, and OnWheel to the
// wheel. Screens call them while they draw.
func (w *World) OnClick(v canvas.View, do func(x, y int) []Effect) { w.answer(v, Click, do) }
func (w *World) OnDrag(v canvas.View, do func(dx, dy int) []Effect) {
	w.answer(v, Drag, do)
}
func (w *World) OnWheel(v canvas.View, scroll func(lines int) []Effect) {
	w.answer(v, Wheel, func(_, lines int) []Effect { return scroll(lines) })
}

func (w *World) answer(v canvas.View, on Gesture, do func(x, y int) []Effect) {
	if w.Answer != nil {
		w.Answer(Area{v, on, do})
	}
}

// ClickActs makes a click on a part of the frame perform an action, as its key does. ClickTypes makes it
// press a key.
func (w *World) ClickActs(v canvas.View, a keys.Action) {
	w.OnClick(v, func(int, int) []Effect { return []Effect{Act{a}} })
}
func (w *World) ClickTypes(v canvas.View, k Key) {
	w.OnClick(v, func(int, int) []Effect { return []Effect{Type{k}} })
}

// Inert returns a world whose parts of the frame do not answer to the mouse.
func (w *World) Inert() *World {
	inert := *w
	inert.Answer = nil
	return &inert
}

// Act has the shell perform an action on the front screen, as its key does. Type has it press a key.
type (
	Act  struct{ Action keys.Action }
	Type struct{ Key Key }
)

func (Act) effect()  {}
func (Type) effect() {}
