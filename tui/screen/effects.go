package screen

// Quit ends the dashboard, Redraw draws every cell anew, and Mouse gives the
// mouse to the dashboard or back to the terminal.
type (
	Quit   struct{}
	Redraw struct{}
	Mouse  struct{ On bool }
)

// Unfollow ends all that a screen follows, Drop all that it has asked, too: it
// is gone.
type (
	Unfollow struct{}
	Drop     struct{}
)

func (Quit) effect()     {}
func (Redraw) effect()   {}
func (Mouse) effect()    {}
func (Unfollow) effect() {}
func (Drop) effect()     {}
