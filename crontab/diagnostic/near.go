package diagnostic

import "strings"

// Nearest returns the candidate that word is most likely a misspelling of, or ""
// if none is similar. A word of up to four letters is similar to candidates within
// one edit. A candidate that contains word counts as similar, because people
// abbreviate.
func Nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	best, bestDistance := "", max(2, len(word)/3)+1
	if len(word) <= 4 {
		bestDistance = min(len(word), 2)
	}
	for _, candidate := range candidates {
		lower := strings.ToLower(candidate)
		d := Distance(word, lower, bestDistance)
		if d >= bestDistance && len(word) > 2 && strings.Contains(lower, word) {
			d = bestDistance - 1
		}
		if d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// Distance returns the Damerau-Levenshtein distance of a and b, or limit if the
// distance is at least limit.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > maxWord || len(b) > maxWord {
		return limit
	}
	var rows [3][maxWord + 1]int // two rows back, the row before, this row
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}

// maxWord is the longest word in bytes that distance compares.
const maxWord = 128
