package finder

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
)

// command returns the command of the command line that words are, with its arguments: the one with
// the longest name. Name is its name.
func (f *Finder) command(words []string) (c Candidate, ok bool) {
	for _, x := range f.Commands {
		name := strings.Fields(x.Name)
		if len(x.Name) > len(c.Name) && len(words) >= len(name) && slices.Equal(words[:len(name)], name) {
			c, ok = Candidate{Kind: KindCommand, Name: x.Name, Words: words, Help: x.Short, Needs: x.Needs && len(words) == len(name)}, true
		}
	}
	if ok {
		c.Refusal = f.World.Commands.Refuses(words)
	}
	return c, ok
}

// beginsCommand reports whether a text begins the name of a command of several words.
func (f *Finder) beginsCommand(text string) bool {
	return slices.ContainsFunc(f.Commands, func(x screen.CommandHelp) bool { return strings.HasPrefix(x.Name, text) })
}

// isReference reports whether one of the arguments is a run, a set of jobs, or a line of a file.
func isReference(words []string) bool {
	return slices.ContainsFunc(words[1:], func(word string) bool {
		_, err := strconv.Atoi(word)
		return err == nil || strings.ContainsAny(word, "@:")
	})
}

// complete returns a command as it was typed, and with each job that its last word can mean. The
// likelier ones are first.
func (f *Finder) complete(c Candidate, typing bool) []Candidate {
	last := len(c.Words) - 1
	if !typing || !f.takesJob(c) {
		return []Candidate{c}
	}
	var found []Candidate
	placed := strings.HasPrefix(c.Words[last-1], "-") // the word may be the value of a flag
	if placed {
		found = append(found, c)
	}
	for _, m := range f.jobsNamed(c.Words[last]) {
		if m.Typo() && !placed {
			found, placed = append(found, c), true
		}
		x := c
		x.Words = append(slices.Clone(c.Words[:last]), m.Text)
		if x.Text() == strings.Join(x.Words, " ") { // nothing of it is quoted
			x.Letters = shifted(m.Letters, len(x.Text())-len(m.Text))
		}
		found = append(found, x)
	}
	if !placed {
		found = append(found, c)
	}
	return found
}

// takesJob reports whether the last word of a command may begin the name of a job.
func (f *Finder) takesJob(c Candidate) bool {
	last := c.Words[len(c.Words)-1]
	_, exact := f.World.Board.Job(job.ID(last))
	if exact || len(c.Words) <= len(strings.Fields(c.Name)) || isReference([]string{"", last}) || job.IsGlob(last) ||
		strings.HasPrefix(last, "-") || strings.ContainsAny(last, "/ =") {
		return false
	}
	return slices.ContainsFunc(f.Commands, func(x screen.CommandHelp) bool { return x.Name == c.Name && x.Jobs })
}

// splitWords splits a command into words like a shell, which may have quotes and backslashes.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			inWord, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			inWord, quote = true, r
		case quote == 0 && r == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	if quote != 0 || escaped {
		return words, errors.New("a quote or a backslash has nothing after it")
	}
	return words, nil
}
