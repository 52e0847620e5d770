package change

import (
	"fmt"
	"strings"
)

// CountChanges returns how many lines a change adds and removes.
func CountChanges(all []Change) string {
	added, removed := 0, 0
	for _, c := range all {
		switch c.Sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return fmt.Sprintf("+%d -%d lines. The current version is kept as a revision.", added, removed)
}

// Change is one line of a difference. Sign is '+', '-', or ' ' for an unchanged line.
type Change struct {
	Sign rune
	Line string
}

// around is the number of unchanged lines to show beside changed ones.
const around = 1

// DiffLines returns the lines that differ between two texts. It omits equal lines at
// both ends, except around changes.
func DiffLines(from, to string) []Change {
	a, b := splitText(from), splitText(to)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head == len(a) && head == len(b) {
		return nil
	}
	var changes []Change
	for _, line := range a[max(head-around, 0):head] {
		changes = append(changes, Change{' ', line})
	}
	changes = append(changes, common(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, line := range a[len(a)-tail : min(len(a)-tail+around, len(a))] {
		changes = append(changes, Change{' ', line})
	}
	return changes
}

func splitText(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// mostCompared bounds the comparison. Above it, all lines of one text are removed and
// all of the other added.
const mostCompared = 1000 * 1000

// common compares two texts by their longest common subsequence of lines.
func common(a, b []string) []Change {
	var changes []Change
	if len(a)*len(b) > mostCompared {
		for _, line := range a {
			changes = append(changes, Change{'-', line})
		}
		for _, line := range b {
			changes = append(changes, Change{'+', line})
		}
		return changes
	}
	length := make([][]int32, len(a)+1)
	for i := range length {
		length[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			changes = append(changes, Change{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			changes = append(changes, Change{'-', a[i]})
			i++
		default:
			changes = append(changes, Change{'+', b[j]})
			j++
		}
	}
	return changes
}
