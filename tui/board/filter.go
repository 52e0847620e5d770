package board

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cronring/cronring/daemon/job"
)

// A filter goes through one run of bytes: of each job its name and its command
// in lower case, with a line feed between and 0 after them. What jobs share it
// looks at once, in words.
const (
	fieldEnd = '\n'
	textEnd  = 0
)

// addText appends what is looked through of a job.
func (b *Board) addText(s Slot) {
	b.cells[s].hay = int32(len(b.hays))
	b.hays = append(b.hays, searchText{at: uint32(len(b.hay)), slot: s})
	b.hay = appendLower(b.hay, b.nameOf(s))
	b.hay = appendLower(append(b.hay, fieldEnd), b.commandOf(s))
	b.hay = append(b.hay, textEnd)
}

// appendLower appends a text in lower case, without what separates texts.
func appendLower[T string | []byte](to []byte, text T) []byte {
	from := len(to)
	to = append(to, text...)
	for i, ch := range to[from:] {
		if ch >= utf8.RuneSelf {
			return append(to[:from+i], lower(string(text[i:]))...)
		}
		to[from+i] = lowerASCII[ch]
	}
	return to
}

// lowerASCII maps each character to lower case, and separators of texts to spaces.
var lowerASCII = func() (to [utf8.RuneSelf]byte) {
	for ch := range to {
		to[ch] = byte(unicode.ToLower(rune(ch)))
	}
	to[fieldEnd], to[textEnd] = ' ', ' '
	return to
}()

func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if r == fieldEnd || r == textEnd {
			return ' '
		}
		return unicode.ToLower(r)
	}, text)
}

// matches marks the jobs that hold a text in one of their fields.
func (b *Board) matches(text string, states []job.State) []bool {
	found := make([]bool, len(b.cells))
	if text == "" {
		for s := range found {
			found[s] = true
		}
	} else {
		b.lookInWords(text, found)
		b.findInText(text, found)
	}
	wanted, paused := wantedStates(states), slices.Contains(states, job.MarkPaused)
	for s := range found {
		c := &b.cells[s]
		found[s] = found[s] && c.state != gone && (wanted[c.state] || paused && c.paused)
	}
	return found
}

// lookInWords marks the jobs whose schedule, account, crontab or labels hold a text.
func (b *Board) lookInWords(text string, found []bool) {
	hold, any := b.words.holding(string(appendLower(nil, text)))
	if !any {
		return
	}
	for s := range found {
		c := &b.cells[s]
		found[s] = hold[c.schedule] || hold[c.user] || hold[c.table] || hold[c.labels]
	}
}

// findInText marks the jobs whose name or command holds a text.
func (b *Board) findInText(text string, found []bool) {
	needle := newNeedle(text, b.hay)
	for k := 0; k < len(b.hays); k++ {
		rest := int(b.hays[k].at)
		i := needle.index(b.hay[rest:])
		if i < 0 {
			return
		}
		k += b.owner(b.hays[k:], uint32(rest+i))
		if s := b.hays[k].slot; s != nobody {
			found[s] = true
		}
	}
}

// needle is a text to look for. Processors find single bytes many times faster
// than texts, so what is looked for is the byte of it that is rarest.
type needle struct {
	text []byte
	rare int // place of that byte
}

func newNeedle(text string, hay []byte) needle {
	const sample = 1 << 15
	n := needle{text: appendLower(nil, text)}
	var often [256]int
	for _, part := range [][]byte{hay[:min(sample, len(hay))], hay[max(0, len(hay)-sample):]} {
		for _, c := range part {
			often[c]++
		}
	}
	for i, c := range n.text {
		if often[c] < often[n.text[n.rare]] {
			n.rare = i
		}
	}
	return n
}

// index returns the first position of the text, or -1.
func (n *needle) index(in []byte) int {
	c := n.text[n.rare]
	for at := n.rare; at < len(in); at++ {
		i := bytes.IndexByte(in[at:], c)
		if i < 0 {
			return -1
		}
		at += i
		if begin := at - n.rare; bytes.HasPrefix(in[begin:], n.text) {
			return begin
		}
	}
	return -1
}

func wantedStates(states []job.State) (wanted [len(job.States)]bool) {
	for i, s := range job.States {
		wanted[i] = len(states) == 0 || slices.Contains(states, s)
	}
	return wanted
}

// owner is which of some parts holds a place. It is one of the next few when
// much is found, so it looks there first.
func (b *Board) owner(parts []searchText, at uint32) int {
	step := 1
	for step < len(parts) && parts[step].at <= at {
		step *= 2
	}
	low := step / 2
	high := min(step, len(parts))
	for low+1 < high {
		if mid := (low + high) / 2; parts[mid].at <= at {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
