// Package manpages owns what tests ask of the manual pages: their examples, each
// with what it is an example of, and the command lines that their text names.
package manpages

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Kind is what an example is, as a comment directly above it says.
//
//	.\" crontab [as FILE]      a user's crontab; the commands below know it as a file
//	.\" system [void]          one with a column for the account; void if its directives have no effect
//	.\" anacrontab [rhel]
//	.\" toml [of a channel]    configuration; of a channel if it stands in one
//	.\" sh [at DAY]            commands for a shell; on that day, where they hang on it
//	.\" ring of two on 1 2     commands for hosts of a ring, one line after the other; a ring of three is one host's
//	.\" tutorial [fails]       commands of the tutorial, one page one session; the last one fails
//	.\" script                 a program for /bin/sh
//	.\" prints                 what the commands above it print
//	.\" keys                   the dashboard's key file
//	.\" dockerfile
//	.\" not run: REASON        nothing that a test could run
type Kind string

// The kinds of examples.
const (
	Crontab    Kind = "crontab"
	System     Kind = "system"
	Anacrontab Kind = "anacrontab"
	TOML       Kind = "toml"
	Shell      Kind = "sh"
	Ring       Kind = "ring"
	Tutorial   Kind = "tutorial"
	Script     Kind = "script"
	Prints     Kind = "prints"
	Keys       Kind = "keys"
	Dockerfile Kind = "dockerfile"
	NotRun     Kind = "not run"
)

// Example is what stands in a page as it would in a file or on a terminal.
type Example struct {
	Page string // "crontab.5"
	Line int    // of its first line
	Kind Kind
	More string // what else the comment says
	Text string
}

// String is where the example is.
func (e Example) String() string { return fmt.Sprintf("man/%s:%d", e.Page, e.Line) }

// Pages are the pages of a folder by their names.
func Pages(dir string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.[1-9]"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("find pages in %s: got %d, %v", dir, len(paths), err)
	}
	pages := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a page: %w", err)
		}
		pages[filepath.Base(path)] = string(text)
	}
	return pages, nil
}

// Examples are the examples of a page, in order. One without a comment that
// tells its kind is an error, so that none goes untested unseen.
func Examples(page, text string) (all []Example, err error) {
	var mark string
	var block *Example
	for i, line := range strings.Split(text, "\n") {
		comment, isComment := strings.CutPrefix(line, `.\" `)
		switch {
		case block != nil && line == ".Ed":
			all, block = append(all, *block), nil
		case block != nil && !strings.HasPrefix(line, "."):
			block.Text += Plain(line) + "\n"
		case isComment:
			mark = comment
			continue
		case strings.HasPrefix(line, ".Bd -literal"), strings.HasPrefix(line, ".Dl "):
			e, err := begin(page, i+2, mark)
			if err != nil {
				return nil, err
			}
			if dl, ok := strings.CutPrefix(line, ".Dl "); ok {
				e.Line, e.Text = i+1, Plain(dl)+"\n"
				all = append(all, e)
			} else {
				block = &e
			}
		}
		mark = ""
	}
	return all, nil
}

// begin reads the comment above an example.
func begin(page string, line int, mark string) (Example, error) {
	for _, kind := range []Kind{Crontab, System, Anacrontab, TOML, Shell, Ring, Tutorial, Script, Prints, Keys, Dockerfile, NotRun} {
		if rest, ok := strings.CutPrefix(mark, string(kind)); ok && (rest == "" || rest[0] == ' ' || rest[0] == ':') {
			return Example{Page: page, Line: line, Kind: kind, More: strings.TrimLeft(rest, ": ")}, nil
		}
	}
	return Example{}, fmt.Errorf("man/%s:%d: no comment above this example says what it is", page, line)
}

// With is the text of a page with another text in the place of an example's.
func (e Example) With(page, text string) string {
	lines := strings.Split(page, "\n")
	var put []string
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\`, `\e`)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		put = append(put, line)
	}
	return strings.Join(slices.Replace(lines, e.Line-1, e.Line-1+strings.Count(e.Text, "\n"), put...), "\n")
}

// Plain undoes the escapes of roff.
func Plain(line string) string { return escapes.Replace(line) }

var escapes = strings.NewReplacer(`\e`, `\`, `\&`, "", `\(dq`, `"`, `\(aq`, "'", `\-`, "-", `\(ti`, "~", `\(ha`, "^", `\(ga`, "`")

// Named are the command lines that the text of a page names between its words.
// What a person would put in is X.
func Named(text string) (lines []string) {
	for _, m := range inText.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Join(words(strings.Fields(Plain(m[1]))), " "))
	}
	return lines
}

var inText = regexp.MustCompile(`(?m)^\.(?:Ic|Ql|Li|Cm) ((?:cronringd?|crontab) .*)$`)

// words are what the arguments of a macro come to on a page, up to the first
// punctuation.
func words(arguments []string) (all []string) {
	macro, glue := "", false
	for _, word := range arguments {
		switch word {
		case "Ns":
			glue = true
			continue
		case "Ar", "Cm", "Fl", "Ic", "Li", "No", "Pa":
			macro = word
			continue
		case ".", ",", ";", ":", ")":
			return all
		}
		switch macro {
		case "Ar", "Pa":
			word = "X"
		case "Fl":
			word = "-" + word
		}
		if glue && len(all) > 0 {
			all[len(all)-1] += word
		} else {
			all = append(all, word)
		}
		glue = false
	}
	return all
}
