package screen

// Quit ends the dashboard, Redraw draws every cell again, and Mouse turns mouse
// events on or off.
type (
	Quit   struct{}
	Redraw struct{}
	Mouse  struct{ On bool }
	// Notify sets the title of the terminal, and notifies the user of a text; empty: of none.
	Notify struct{ Title, Text string }
)

// Unfollow ends all Follows of a screen. Drop ends its Asks too, because the screen
// is gone.
type (
	Unfollow struct{}
	Drop     struct{}
)

// Ended reports how a command ended that the screen of a Do carries out.
type Ended struct {
	Message string
	Err     error
}

// Remember has the recent commands kept for the next time.
type Remember struct{ Commands []string }

// Welcomed has it remembered that the hints for the first start were shown.
type Welcomed struct{}

func (Welcomed) effect() {}
func (Ended) effect()    {}
func (Remember) effect() {}
func (Quit) effect()     {}
func (Redraw) effect()   {}
func (Mouse) effect()    {}
func (Notify) effect()   {}
func (Unfollow) effect() {}
func (Drop) effect()     {}
