package canvas

// Style is the look of a cell. A word or a sign beside it always has the same
// meaning.
type Style struct {
	Role       Role
	Foreground Color // of foreign output; else the role's
	Background Color
	Bold       bool
	Faint      bool
	Italic     bool
	Underline  bool
	Reverse    bool
}

// Role is the meaning of a colour. The theme selects the colour.
type Role uint8

// The roles.
const (
	Plain Role = iota
	Good       // ok
	Bad        // failed
	Doubt      // late, a warning
	Busy       // running
	Off        // paused, held, disabled, a key that does nothing now
	Fresh      // new
	Title      // names of screens and columns
	Rule       // lines between panes
	Match      // what a search found
	Roles      // how many there are
)

// Color is a colour that a job's own output asked for. The zero value is the
// terminal's.
type Color uint32

// Indexed is one of the 256 colours of a terminal; RGB any other.
func Indexed(n uint8) Color     { return 1<<24 | Color(n) }
func RGB(r, g, b uint8) Color   { return 2<<24 | Color(r)<<16 | Color(g)<<8 | Color(b) }
func (c Color) IsIndexed() bool { return c>>24 == 1 }

// Levels returns red, green and blue, or the index in the last.
func (c Color) Levels() (r, g, b uint8) { return uint8(c >> 16), uint8(c >> 8), uint8(c) }
