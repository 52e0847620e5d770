// Package mantest owns the parsing of manual pages for tests: it returns their
// examples with their kinds, and the command lines in their text.
package mantest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Kind is the kind of an example. A comment directly above the example sets it.
//
//	.\" crontab [as FILE]      a user's crontab; the commands below can use it as FILE
//	.\" system [void]          a crontab with a user column; void if its options have no effect; of two hosts: in their ring
//	.\" anacrontab [rhel]
//	.\" toml [of a channel]    configuration; of a channel if it is part of one; of two hosts: each has it
//	.\" sh [at DAY]            commands for a shell; on that day, if their output depends on it
//	.\" ring of two on 1 2     commands for hosts of a ring, one line after the other; a ring of three is one host's
//	.\" tutorial [fails]       commands of the tutorial, one page one session; the last one fails
//	.\" script                 a program for /bin/sh
//	.\" prints                 the output of the commands above it
//	.\" settings               the dashboard's config.toml
//	.\" dockerfile
//	.\" not run: REASON        not testable
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
	Settings   Kind = "settings"
	Dockerfile Kind = "dockerfile"
	NotRun     Kind = "not run"
)

// Example is an example in a page, with roff escapes removed.
type Example struct {
	Page string // "crontab.5"
	Line int    // of its first line
	Kind Kind
	More string // rest of the comment
	Text string
}

// String returns the position of the example.
func (e Example) String() string { return fmt.Sprintf("man/%s:%d", e.Page, e.Line) }

// Pages returns the text of the pages in a directory, by file name.
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

// Examples returns the examples of a page, in order. An example without a kind is
// an error, so that no example stays untested by mistake.
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
	for _, kind := range []Kind{Crontab, System, Anacrontab, TOML, Shell, Ring, Tutorial, Script, Prints, Settings, Dockerfile, NotRun} {
		if rest, ok := strings.CutPrefix(mark, string(kind)); ok && (rest == "" || rest[0] == ' ' || rest[0] == ':') {
			return Example{Page: page, Line: line, Kind: kind, More: strings.TrimLeft(rest, ": ")}, nil
		}
	}
	return Example{}, fmt.Errorf("man/%s:%d: the example has no comment with its kind", page, line)
}

// With returns the text of a page with the text of the example replaced.
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

// Plain removes the escapes of roff.
func Plain(line string) string { return escapes.Replace(line) }

var escapes = strings.NewReplacer(`\e`, `\`, `\&`, "", `\(dq`, `"`, `\(aq`, "'", `\-`, "-", `\(ti`, "~", `\(ha`, "^", `\(ga`, "`")

// Named returns the command lines in the running text of a page. Placeholders are
// replaced by X.
func Named(text string) (lines []string) {
	for _, m := range inText.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Join(words(strings.Fields(Plain(m[1]))), " "))
	}
	return lines
}

var inText = regexp.MustCompile(`(?m)^\.(?:Ic|Ql|Li|Cm) ((?:cronringd?|crontab) .*)$`)

// words returns the words that the arguments of a macro produce, up to the first
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
