package board

import (
	"slices"
	"strings"
)

// word stands for a text that is kept once.
type word uint32

// noWord is the word of the empty text.
const noWord word = 0

// words are the texts that jobs share. The first is empty.
type words struct {
	texts  []string
	lower  []string // the same in lower case
	index  map[string]word
	latest [8]word // found last: neighbours on the board are often alike
}

func newWords() words {
	return words{texts: []string{""}, lower: []string{""}, index: map[string]word{"": 0}}
}

// of returns the word of a text. It stores a copy, because the text may be a part of a larger one.
func (w *words) of(text string) word {
	latest := &w.latest[len(text)%len(w.latest)]
	if w.texts[*latest] == text {
		return *latest
	}
	n, known := w.index[text]
	if !known {
		text = strings.Clone(text)
		n = word(len(w.texts))
		w.texts, w.index[text] = append(w.texts, text), n
		w.lower = append(w.lower, strings.ToLower(text))
	}
	*latest = n
	return n
}

func (w *words) text(n word) string { return w.texts[n] }
func (w *words) len() int           { return len(w.texts) }

// ranks returns the place in alphabetical order of each word that jobs have as a text.
func (b *Board) ranks(text sharedText) []int32 {
	ranks := make([]int32, b.words.len())
	var order []word
	for s := range b.cells {
		if n := b.cells[s].words[text]; ranks[n] == 0 {
			ranks[n] = 1
			order = append(order, n)
		}
	}
	slices.SortFunc(order, func(x, y word) int { return strings.Compare(b.words.text(x), b.words.text(y)) })
	for i, n := range order {
		ranks[n] = int32(i)
	}
	return ranks
}

// holding returns which words meet a condition about a text.
func (w *words) holding(t *term) []bool {
	hold := make([]bool, len(w.lower))
	for n, low := range w.lower {
		hold[n] = t.inText(w.texts[n], low)
	}
	return hold
}
