package canvas

import "strings"

// letters of the roles, for Mask.
const maskLetters = ".gfdronthm"

// Mask returns the styles as one letter per cell, for tests: the role's letter, a
// capital if it is bold, a digit if it is reversed, and '?' for foreign colours.
func (c *Canvas) Mask() string {
	var b strings.Builder
	for y := range c.height {
		for _, cell := range c.cells[y*c.width : (y+1)*c.width] {
			b.WriteByte(cell.style.letter())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (s Style) letter() byte {
	letter := maskLetters[s.Role]
	switch {
	case s.Reverse:
		return '0' + byte(s.Role)
	case s.Foreground != 0 || s.Background != 0:
		return '?'
	case s.Bold && s.Role == Plain:
		return ':'
	case s.Bold:
		return letter - 'a' + 'A'
	}
	return letter
}
