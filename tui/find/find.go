// Package find owns the algorithm of fuzzy search, which compares any texts with a pattern. It
// returns those that the pattern could mean, best first, and their matching letters.
package find

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/sahilm/fuzzy"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// Match is a text that a pattern could mean.
type Match struct {
	Text    string
	Index   int   // of the text in its sequence
	Score   int   // the highest is best
	Letters []int // the bytes of the text that match, in order; none if it differs by a typo
}

// Scores, best first: the text begins with the pattern, a word in it begins with the pattern, the
// text contains the pattern, the text contains its letters in order, and the text differs by a typo.
const (
	scorePrefix = 3 << 20
	scoreWord   = 2 << 20
	scoreInside = 1 << 20
	scoreTypo   = -1 << 20
)

// Limits of the work for one pattern. A short pattern can match most of a hundred thousand texts.
const (
	mostScored = 500 // texts of one class
	mostTypos  = 100
)

// Few is the number of matches below which Best also looks for typos.
const Few = 5

// Contains reports that the text contains the pattern as it is.
func (m Match) Contains() bool { return m.Score > scoreInside/2 }

// Typo reports that the text differs from the pattern by a typo.
func (m Match) Typo() bool { return m.Score < scoreTypo/2 }

// Best returns the texts that a pattern could mean, best first. The sequence has each text and its
// form in lower case. Blanks of the pattern match nothing: they separate its parts.
func Best(pattern string, texts iter.Seq2[string, string]) []Match {
	pattern = strings.ToLower(strings.ReplaceAll(pattern, " ", ""))
	if pattern == "" {
		return nil
	}
	found, scattered := contained(pattern, texts)
	found = append(found, score(pattern, scattered)...)
	if len(found) < Few {
		found = append(found, typos(pattern, found, texts)...)
	}
	slices.SortStableFunc(found, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	return found
}

// contained returns the texts that contain a pattern, and those that only contain its letters in
// order.
func contained(pattern string, texts iter.Seq2[string, string]) (found, scattered []Match) {
	n := map[int]int{}
	i := -1
	for text, lower := range texts {
		i++
		at := strings.Index(lower, pattern)
		if at < 0 || len(lower) != len(text) { // in rare alphabets, changing the case moves the letters
			if len(scattered) < mostScored && inOrder(pattern, lower) {
				scattered = append(scattered, Match{Text: text, Index: i})
			}
			continue
		}
		class := scoreInside
		if at == 0 {
			class = scorePrefix
		} else if word := wordStart(lower, pattern, at); word >= 0 {
			class, at = scoreWord, word
		}
		if n[class]++; n[class] > mostScored {
			if class == scorePrefix {
				break // further matches are not better
			}
			continue
		}
		found = append(found, Match{text, i, class - len(text), letters(at, len(pattern))})
	}
	return found, scattered
}

func letters(at, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = at + i
	}
	return all
}

// wordStart returns the first position, not before at, at which a pattern begins a word, or -1.
func wordStart(lower, pattern string, at int) int {
	for {
		if isSeparator(lower[at-1]) {
			return at
		}
		next := strings.Index(lower[at+1:], pattern)
		if next < 0 {
			return -1
		}
		at += 1 + next
	}
}

func isSeparator(c byte) bool {
	switch c {
	case '-', '_', '.', '/', ':', '@', ' ':
		return true
	}
	return false
}

// inOrder reports whether a text contains the letters of a pattern in order.
func inOrder(pattern, text string) bool {
	for i := range len(pattern) {
		at := strings.IndexByte(text, pattern[i])
		if at < 0 {
			return false
		}
		text = text[at+1:]
	}
	return true
}

// score scores texts that contain the letters of a pattern in order.
func score(pattern string, texts []Match) []Match {
	var scored []Match
	for _, m := range fuzzy.FindFromIterNoSort(pattern, func(yield func(string) bool) {
		for i := range texts {
			if !yield(texts[i].Text) {
				return
			}
		}
	}) {
		t := texts[m.Index]
		t.Score, t.Letters = max(min(m.Score, scoreInside/2), scoreTypo/2), slices.Compact(m.MatchedIndexes) // an index is repeated for a byte that is not UTF-8
		scored = append(scored, t)
	}
	return scored
}

// typos returns further texts, in which a word begins almost like a pattern.
func typos(pattern string, found []Match, texts iter.Seq2[string, string]) []Match {
	limit := mostEdits(pattern) + 1
	if limit == 1 {
		return nil
	}
	known := map[int]bool{}
	for _, m := range found {
		known[m.Index] = true
	}
	var close []Match
	i := -1
	for text, lower := range texts {
		if i++; known[i] {
			continue
		}
		if d := Distance(pattern, lower); d < limit {
			close = append(close, Match{Text: text, Index: i, Score: scoreTypo - d<<10 - len(text)})
			if len(close) == mostTypos {
				break
			}
		}
	}
	return close
}

// mostEdits returns the number of wrong letters that a pattern may have.
func mostEdits(pattern string) int {
	switch n := len(pattern); {
	case n < 3:
		return 0
	case n == 3:
		return 1
	case n < 9:
		return 2
	}
	return 3
}

// Similar reports whether a word of a text in lower case begins with a pattern, apart from typos.
func Similar(pattern, lower string) bool { return Distance(pattern, lower) <= mostEdits(pattern) }

// Distance returns the smallest number of edits between a pattern and the beginning of a word of a
// text in lower case; a large number if that is more than a typo.
func Distance(pattern, lower string) int {
	limit := mostEdits(pattern) + 1
	best, mask := limit, maskOf(pattern)
	if bits.OnesCount64(mask&^maskOf(lower)) >= limit {
		return limit
	}
	for at := range len(lower) {
		if at > 0 && !isSeparator(lower[at-1]) {
			continue
		}
		word := lower[at:min(at+len(pattern), len(lower))]
		if len(pattern)-len(word) >= best || !beginsAlike(pattern, word) {
			continue
		}
		if other := maskOf(word); bits.OnesCount64(mask&^other) < best && bits.OnesCount64(other&^mask) < best {
			best = min(best, diagnostic.Distance(pattern, word, best))
		}
	}
	return best
}

// beginsAlike reports whether at most one of the first two letters differs, so that few words are
// compared letter by letter.
func beginsAlike(a, b string) bool {
	if len(a) < 2 || len(b) < 2 {
		return false
	}
	return a[0] == b[0] || a[0] == b[1] || a[1] == b[0] || a[1] == b[1]
}

// maskOf returns a set of the letters of a text. Two letters may share a bit.
func maskOf(text string) (mask uint64) {
	for i := range len(text) {
		mask |= 1 << (text[i] & 63)
	}
	return mask
}

// Resembles reports whether a text in lower case has the letters of a pattern in order, each at
// the beginning of a word or after the letter before it, or has a word that begins like the pattern
// apart from typos. A short pattern must have none.
func Resembles(pattern, lower string) bool {
	return inOrder(pattern, lower) && inPieces(pattern, lower) || len(pattern) > 3 && Similar(pattern, lower)
}

// inPieces reports whether a text has the letters of a pattern in order, each at the beginning of
// a word or after the letter before it.
func inPieces(pattern, lower string) bool {
	var room [128]bool
	last := room[:min(len(lower), len(room))] // where the letters up to here can end
	for n := range len(pattern) {
		before, behind := n == 0, false // the letters up to here end before this place, or right before it
		some := false
		for i := range last {
			here := lower[i] == pattern[n] && (behind || before && (i == 0 || isSeparator(lower[i-1])))
			before, behind, last[i] = before || last[i], last[i], here
			some = some || here
		}
		if !some {
			return false
		}
	}
	return len(pattern) > 0
}
