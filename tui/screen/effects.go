package screen

import "github.com/cronring/cronring/tui/settings"

// Quit ends the dashboard, Redraw draws every cell again, and Mouse turns mouse
// events on or off.
type (
	Quit   struct{}
	Redraw struct{}
	Mouse  struct{ On bool }
	// Notify sets the title of the terminal, shows a text on the desktop, and rings the bell. An empty
	// title is the terminal's own, and an empty text is not shown.
	Notify struct {
		Title, Text string
		Bell        bool
	}
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

// Set changes a setting and writes the file. Preview shows other settings until the next Preview or
// Set; nil: those of the file again. Adopt uses settings that were read again.
type (
	Set     struct{ Edit settings.Edit }
	Preview struct{ File *settings.File }
	Adopt   struct{ File *settings.File }
)

// Configure has the terminal use other settings.
type Configure struct{ Settings settings.Settings }

func (Set) effect()       {}
func (Preview) effect()   {}
func (Adopt) effect()     {}
func (Configure) effect() {}

func (Ended) effect()    {}
func (Remember) effect() {}
func (Quit) effect()     {}
func (Redraw) effect()   {}
func (Mouse) effect()    {}
func (Notify) effect()   {}
func (Unfollow) effect() {}
func (Drop) effect()     {}
