package change

import (
	"fmt"
	"strings"
)

// CountChanges says how many lines of a file become others.
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
	return fmt.Sprintf("+%d -%d lines. What it says now is kept as a revision.", added, removed)
}

// Change is a line of a difference: ' ' for one that stays.
type Change struct {
	Sign rune
	Line string
}

// around is how many lines that stay are shown beside those that do not.
const around = 1

// DiffLines tells how to come from one text to another, line by line: what is
// the same at both ends is left out, but for what stands beside.
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

// mostCompared bounds the work for two texts that share little: beyond it all
// lines of the one go and all of the other come.
const mostCompared = 1000 * 1000

// common finds the longest common lines of two texts, and tells what is to change
// between them.
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
