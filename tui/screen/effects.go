package screen

// Quit ends the dashboard, Redraw draws every cell again, and Mouse turns mouse
// events on or off.
type (
	Quit   struct{}
	Redraw struct{}
	Mouse  struct{ On bool }
)

// Unfollow ends all Follows of a screen. Drop ends its Asks too, because the screen
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
