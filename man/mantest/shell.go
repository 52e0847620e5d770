package mantest

import "strings"

// Commands returns the command lines in a shell script, as words. Each command of a
// pipe and within $( ) is separate. It supports quotes, and only as much of the
// rest of the syntax as the manual pages use.
func Commands(text string) (all [][]string) {
	for _, part := range strings.Split(text, "$(")[1:] {
		within, _, _ := strings.Cut(part, ")")
		all = append(all, Commands(within)...)
	}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		var words []string
		var word strings.Builder
		quote, begun := rune(0), false
		end := func() {
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		}
		next := func() {
			end()
			if len(words) > 0 {
				all = append(all, words)
			}
			words = nil
		}
		for _, c := range line {
			switch {
			case quote != 0 && c == quote:
				quote = 0
			case quote != 0:
				word.WriteRune(c)
			case c == '\'' || c == '"':
				quote, begun = c, true
			case c == ' ' || c == '\n':
				end()
			case c == '|' || c == ';' || c == '&':
				next()
			case c == '#' && !begun, c == '>', c == '<':
				quote = '\n'
			default:
				word.WriteRune(c)
				begun = true
			}
		}
		next()
	}
	return all
}
