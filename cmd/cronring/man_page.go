package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/man"
)

// pageDate is the date of the newest release in packaging/changelog.yaml.
const pageDate = "November 22, 2026"

// page is the manual page of a command, generated from the tree of commands.
type page struct {
	cmd      *cobra.Command
	name     string // "cronring-list"
	short    string
	texts    []commandText // of the command, and of its subcommands
	examples []string
	exits    []exitMeaning
	seeAlso  []reference
	aliases  []string
}

// commandText is the section of a page about one command line.
type commandText struct {
	line  string // "cronring backfill"
	usage string // what follows it
	long  string
	flags []*pflag.Flag
}

// reference is another page.
type reference struct {
	name    string
	section int
}

func pageName(verb *cobra.Command) string { return "cronring-" + verb.Name() }

// sectionOf returns the section of the manual with the page of a command: 7 if a guide describes
// it.
func sectionOf(verb *cobra.Command) int {
	if _, err := man.Pages.Open(pageName(verb) + ".7"); err == nil {
		return 7
	}
	return 1
}

func newPage(verb *cobra.Command) *page {
	p := &page{
		cmd: verb, name: pageName(verb), short: strings.ToLower(verb.Short[:1]) + verb.Short[1:], exits: meaningsOf(verb), seeAlso: seeAlso(verb),
		aliases: verb.Aliases,
	}
	for _, c := range append([]*cobra.Command{verb}, verb.Commands()...) {
		p.texts = append(p.texts, newText(c))
		for line := range strings.Lines(undented(c.Example)) {
			if line = strings.TrimSuffix(line, "\n"); !slices.Contains(p.examples, line) {
				p.examples = append(p.examples, line)
			}
		}
	}
	return p
}

func newText(cmd *cobra.Command) commandText {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	m := commandText{line: cmd.CommandPath(), usage: usage, long: cmd.Long}
	if m.long == "" {
		m.long = cmd.Short + "."
	}
	for _, alias := range cmd.Aliases {
		m.long += "\n\ncronring " + alias + " is the same."
	}
	cmd.InitDefaultHelpFlag()
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { m.flags = append(m.flags, f) })
	return m
}

// undented removes the indentation that examples have in --help.
func undented(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n  ", "\n"), "  ")
}

// named finds the commands that a text names.
var named = regexp.MustCompile(`\bcronring ([a-z]+)\b`)

// seeAlso returns the references of a command's page: to the page of all commands, to the commands that
// the text names, and to the pages about the same subject. They are in the order that manual pages require.
func seeAlso(verb *cobra.Command) []reference {
	all := []reference{{"cronring", 1}}
	for _, m := range named.FindAllStringSubmatch(verb.Long+"\n"+verb.Example, -1) {
		if found, _, err := verb.Root().Find(m[1:]); err == nil && found != verb && found.Runnable() && found.HasParent() && found.Name() != "help" {
			all = append(all, reference{pageName(found), sectionOf(found)})
		}
	}
	if usesDaemon(verb) {
		all = append(all, reference{"cronringd", 8})
	}
	switch verb.GroupID {
	case "crontabs", "analysis":
		all = append(all, reference{"crontab", 5}, reference{"cronring-options", 7})
	}
	switch verb.Name() {
	case "next", "simulate":
		all = append(all, reference{"cronring-time", 7})
	case "why", "history", "show", "explain":
		all = append(all, reference{"cronring-why", 7})
	case "config", "calendar":
		all = append(all, reference{"cronring.toml", 5})
	}
	slices.SortFunc(all, func(a, b reference) int {
		if a.section != b.section {
			return a.section - b.section
		}
		return strings.Compare(a.name, b.name)
	})
	return slices.Compact(all)
}

// block is a paragraph, or literal lines.
type block struct {
	lines   []string
	literal bool
}

// blocks splits a help text into paragraphs at blank lines. An indented paragraph or one
// with columns is literal.
func blocks(text string) (all []block) {
	for part := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.Trim(part, "\n"), "\n")
		all = append(all, block{lines, slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "  ") })})
	}
	return all
}

// argument returns the name and description of a flag's value, and whether it is optional.
func argument(f *pflag.Flag) (name, usage string, optional bool) {
	name, usage = pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	return name, usage, name != "" && f.NoOptDefVal != ""
}

// mdoc writes the page in the language of BSD's manuals.
func (p *page) mdoc() []byte {
	r := &roff{}
	r.macro("Dd", pageDate)
	r.macro("Dt", strings.ToUpper(p.name), "1")
	r.macro("Os", "cronring")
	r.macro("Sh", "NAME")
	r.macro("Nm", p.name)
	r.macro("Nd", p.short)
	r.macro("Sh", "SYNOPSIS")
	for _, m := range p.texts {
		r.macro("Nm", `"`+m.line+`"`)
		if m.usage != "" {
			r.line(m.usage)
		}
	}
	r.macro("Sh", "DESCRIPTION")
	r.command(&p.texts[0])
	for i := range p.texts[1:] {
		m := &p.texts[i+1]
		r.macro("Ss", m.line)
		r.command(m)
	}
	r.macro("Sh", "EXIT STATUS")
	r.macro("Bl", "-tag", "-width", "Ds", "-compact")
	for _, m := range p.exits {
		r.macro("It", fmt.Sprint(m.code))
		r.line(m.text)
	}
	r.macro("El")
	if p.examples != nil {
		r.macro("Sh", "EXAMPLES")
		r.literal("sh", p.examples)
	}
	r.macro("Sh", "SEE ALSO")
	for i, s := range p.seeAlso {
		end := " ,"
		if i == len(p.seeAlso)-1 {
			end = ""
		}
		r.macro("Xr", s.name, fmt.Sprint(s.section)+end)
	}
	return []byte(r.b.String())
}

// part writes the commands as a part of a page that is written by hand.
func (p *page) part() string {
	r := &roff{}
	r.macro("Sh", "COMMAND")
	for i := range p.texts {
		m := &p.texts[i]
		r.macro("Ss", m.line)
		r.macro("Bd", "-ragged", "-offset", "indent")
		r.line(strings.TrimSpace(m.line + " " + m.usage))
		r.macro("Ed")
		r.macro("Pp")
		r.command(m)
	}
	if p.examples != nil {
		r.macro("Pp")
		r.line("Examples:")
		r.literal("sh", p.examples)
	}
	return r.b.String()
}

// roff is a page that is being written.
type roff struct{ b strings.Builder }

func (r *roff) macro(words ...string) { r.b.WriteString("." + strings.Join(words, " ") + "\n") }

// escapes replaces the characters that roff would interpret, or would print as other characters that
// cannot be pasted into a shell.
var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// hyphen matches an escaped hyphen within a word of prose.
var hyphen = regexp.MustCompile(`([a-z])\\-([a-z])`)

// line writes a line of text.
func (r *roff) line(text string) {
	text = hyphen.ReplaceAllString(escapes.Replace(text), "$1-$2")
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	r.b.WriteString(text + "\n")
}

// sentences matches the end of a sentence. In the source of a page, each sentence begins a
// line.
var sentences = regexp.MustCompile(`([.!?]["')]*) `)

// literal writes lines as they are, below a comment that describes them to tests.
func (r *roff) literal(kind string, lines []string) {
	r.macro(`\"`, kind)
	r.macro("Bd", "-literal") // not indented further, so that a line of --help fits a terminal
	for _, line := range lines {
		if text := escapes.Replace(line); strings.HasPrefix(text, ".") {
			r.b.WriteString(`\&` + text + "\n")
		} else {
			r.b.WriteString(text + "\n")
		}
	}
	r.macro("Ed")
}

// command writes what a command does, and its flags.
func (r *roff) command(m *commandText) {
	for i, b := range blocks(m.long) {
		if i > 0 && !b.literal {
			r.macro("Pp")
		}
		if b.literal {
			r.literal("not run: part of the help", b.lines)
			continue
		}
		for text := range strings.SplitSeq(sentences.ReplaceAllString(strings.Join(b.lines, " "), "$1\n"), "\n") {
			r.line(text)
		}
	}
	if len(m.flags) == 0 {
		return
	}
	r.macro("Pp")
	r.line("The flags are:")
	r.macro("Bl", "-tag", "-width", "Ds")
	for _, f := range m.flags {
		name, usage, optional := argument(f)
		item := []string{"It"}
		if f.Shorthand != "" {
			item = append(item, "Fl", f.Shorthand, ",")
		}
		item = append(item, "Fl", "-"+f.Name)
		switch {
		case optional:
			item = append(item, "Ns", "Op", "=", "Ns", "Ar", name)
		case name != "":
			item = append(item, "Ar", `"`+name+`"`)
		}
		r.macro(item...)
		r.line(sentence(usage))
	}
	r.macro("El")
}

// sentence returns the text of a flag as a sentence.
func sentence(text string) string {
	text = strings.ToUpper(text[:1]) + text[1:]
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
