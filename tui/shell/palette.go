package shell

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// verb is a command of the command line that the dashboard also has.
type verb struct {
	word   string
	action keys.Action
	about  reach
	help   string
}

// reach is the number of jobs that a verb takes.
type reach uint8

const (
	noJob reach = iota
	oneJob
	someJobs
)

// verbs lists the commands as they are offered.
var verbs = []verb{
	{"run", keys.Run, someJobs, "run now"},
	{"why", keys.Explain, oneJob, "explain the last missed or failed occurrence"},
	{"logs", keys.ShowOutput, oneJob, "see its output"},
	{"show", keys.Open, oneJob, "everything about it"},
	{"pause", keys.Pause, someJobs, "stop scheduling it, or schedule it again"},
	{"stop", keys.Stop, someJobs, "end what runs of it"},
	{"ack", keys.Acknowledge, someJobs, "acknowledge its failure"},
	{"retry", keys.Retry, someJobs, "run what failed again, as the same occurrence"},
	{"backfill", keys.Backfill, oneJob, "run its past"},
	{"edit", keys.Edit, oneJob, "edit its line"},
	{"rm", keys.Delete, someJobs, "delete its entry"},
	{"dst", keys.ShowDST, oneJob, "what the next changes of the clocks do"},
	{"list", keys.ShowJobs, noJob, "the jobs"},
	{"history", keys.ShowRuns, noJob, "every run, newest first"},
	{"timeline", keys.ShowTimeline, noJob, "past and coming runs on one axis"},
	{"files", keys.ShowFiles, noJob, "the crontab files"},
	{"ring", keys.ShowRing, noJob, "the ring of hosts"},
	{"incident", keys.ShowGroups, noJob, "failures by shared cause"},
	{"add", keys.Add, noJob, "add an entry"},
	{"undo", keys.Undo, noJob, "undo the last change"},
	{"reload", keys.Reload, noJob, "read all crontab files again"},
	{"views", keys.Views, noJob, "saved views"},
	{"log", keys.CommandLog, noJob, "what was done here"},
	{"help", keys.Help, noJob, "the keys of this screen"},
	{"quit", keys.Quit, noJob, "end the dashboard"},
}

// palette is a prompt for commands.
type palette struct {
	line   edit.Line
	cursor int
	found  []candidate
	lines  []screen.CommandHelp // the commands of the command line
}

// candidate is a command that what was typed may mean.
type candidate struct {
	verb  verb
	words []string // the jobs, as the command line takes them
	jobs  []job.ID // jobs that words match
	bar   string   // why the words mean nothing; empty: they do
	line  []string // a command of the command line and its arguments; nil: it is a verb
	help  string   // of line
}

func newPalette(s *Shell) *palette {
	p := &palette{lines: s.w.Commands.All()}
	p.find(s)
	return p
}

// maxCandidates bounds what is offered.
const maxCandidates = 50

// find lists what the text may mean: what the dashboard can do itself, then commands of the command
// line. Flags, and arguments that are no jobs, are only for those.
func (p *palette) find(s *Shell) {
	p.findVerbs(s)
	words, err := splitWords(p.line.Text())
	if whole, ok := p.lineOf(s, words); ok && err == nil && (len(p.found) == 0 || hasFlag(words)) {
		p.found = []candidate{whole}
		return
	}
	text := strings.TrimLeft(p.line.Text(), " ")
	for _, c := range p.lines {
		isVerb := slices.ContainsFunc(verbs, func(v verb) bool { return v.word == c.Name })
		if text != "" && !isVerb && strings.HasPrefix(c.Name, text) {
			p.found = append(p.found, candidate{line: strings.Fields(c.Name), help: c.Short})
		}
	}
}

// lineOf returns the command of the command line that words are, with its arguments.
func (p *palette) lineOf(s *Shell, words []string) (c candidate, ok bool) {
	for _, x := range p.lines {
		if name := strings.Fields(x.Name); len(words) > len(name) && slices.Equal(words[:len(name)], name) {
			return candidate{line: words, help: x.Short, bar: s.w.Commands.Refuses(words)}, true
		}
	}
	return c, false
}

func hasFlag(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") })
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

// findVerbs lists verbs: the first word is a verb, the others name jobs.
func (p *palette) findVerbs(s *Shell) {
	word, rest, spaced := strings.Cut(strings.TrimLeft(p.line.Text(), " "), " ")
	p.cursor, p.found = 0, nil
	fitting := verbsFor(word)
	names := strings.Fields(rest)
	if len(names) == 0 {
		p.found = offered(s, fitting)
		if spaced && len(fitting) > 0 && fitting[0].about != noJob {
			p.found = append(p.found, withJobs(s.w, fitting[0], nil, "")...)
		}
		return
	}
	i := slices.IndexFunc(fitting, func(v verb) bool { return v.about != noJob })
	if i < 0 {
		return
	}
	last := ""
	if !strings.HasSuffix(rest, " ") {
		names, last = names[:len(names)-1], names[len(names)-1]
	}
	p.found = named(s.w, fitting[i], names, last)
	if len(p.found) == 1 && len(p.found[0].jobs) == 1 { // the job is clear: what else could be done with it
		for _, v := range verbs {
			if v.about != noJob && v.word != p.found[0].verb.word {
				p.found = append(p.found, candidate{verb: v, words: p.found[0].words, jobs: p.found[0].jobs})
			}
		}
	}
}

// offered are verbs about the job that is selected: where none is, without one.
func offered(s *Shell, fitting []verb) []candidate {
	var found []candidate
	about := s.front().Subject(s.w)
	for _, v := range fitting {
		c := candidate{verb: v}
		if v.about != noJob && len(about.Jobs) > 0 {
			c.jobs, c.words = about.Jobs[:1], []string{string(about.Jobs[0])}
		}
		found = append(found, c)
	}
	return found
}

// named are the commands of a verb and the jobs of some words; what is typed last
// may be the beginning of a name.
func named(w *screen.World, v verb, words []string, last string) []candidate {
	c := candidate{verb: v, words: words}
	for _, word := range words {
		c.add(w, word)
	}
	if c.bar == "" && last != "" && !isPattern(w, last) {
		if found := withJobs(w, v, &c, last); len(found) > 0 {
			return found
		}
	}
	if last != "" {
		c.words = append(slices.Clip(words), last)
		c.add(w, last)
	}
	c.judge()
	return []candidate{c}
}

// add adds the jobs that a word names.
func (c *candidate) add(w *screen.World, word string) {
	before := len(c.jobs)
	_, exact := w.Board.Find(job.ID(word))
	switch {
	case exact:
		c.jobs = append(c.jobs, job.ID(word))
	case isPattern(w, word):
		for id := range w.Board.Jobs() {
			if id.Matches(word) {
				c.jobs = append(c.jobs, id)
			}
		}
		slices.Sort(c.jobs[before:])
	}
	if len(c.jobs) == before && c.bar == "" {
		c.bar = "no job is called " + word
	}
}

// judge sets why a command does not take that many jobs.
func (c *candidate) judge() {
	slices.Sort(c.jobs)
	c.jobs = slices.Compact(c.jobs)
	if c.bar == "" && c.verb.about == oneJob && len(c.jobs) > 1 {
		c.bar = "one job at a time"
	}
}

// isPattern reports whether a word is a pattern and not a job's name.
func isPattern(w *screen.World, word string) bool {
	_, exact := w.Board.Find(job.ID(word))
	return !exact && job.IsGlob(word)
}

// verbsFor returns the verbs that begin with a word, an exact match first.
func verbsFor(word string) []verb {
	var found []verb
	for _, v := range verbs {
		if strings.HasPrefix(v.word, strings.ToLower(word)) {
			found = append(found, v)
		}
	}
	if word != "" {
		slices.SortStableFunc(found, func(a, b verb) int { return cmp.Compare(len(a.word), len(b.word)) })
	}
	return found
}

// withJobs returns a verb with each job that a name can mean, after the jobs that
// were named before.
func withJobs(w *screen.World, v verb, before *candidate, name string) []candidate {
	var found []candidate
	for _, id := range jobsNamed(w.Board, name) {
		c := candidate{verb: v, words: []string{string(id)}, jobs: []job.ID{id}}
		if before != nil {
			c.words = append(slices.Clip(before.words), string(id))
			c.jobs = append(slices.Clip(before.jobs), id)
		}
		c.judge()
		found = append(found, c)
	}
	return found
}

// jobsNamed returns the jobs whose name contains a text, those that begin with it
// first.
func jobsNamed(b *board.Board, text string) []job.ID {
	text = strings.ToLower(text)
	var first, others []job.ID
	for id := range b.Jobs() {
		switch i := strings.Index(strings.ToLower(string(id)), text); {
		case i == 0:
			first = append(first, id)
		case i > 0:
			others = append(others, id)
		}
	}
	slices.SortFunc(first, func(a, b job.ID) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	slices.Sort(others)
	all := append(first, others...)
	return all[:min(len(all), maxCandidates)]
}

func (p *palette) key(s *Shell, k screen.Key) {
	switch k.Name {
	case "esc":
		s.over = nil
	case "down", "ctrl+n":
		p.cursor = min(p.cursor+1, max(len(p.found)-1, 0))
	case "up", "ctrl+p":
		p.cursor = max(p.cursor-1, 0)
	case "tab":
		if p.cursor < len(p.found) {
			p.line.Set(p.found[p.cursor].text() + " ")
			p.find(s)
		}
	case "ctrl+y":
		if p.cursor < len(p.found) {
			s.over = nil
			s.perform(nil, []screen.Effect{screen.Clip{Text: s.w.InShell(screen.ShellCommand(p.found[p.cursor].command(s))), What: "the command"}})
		}
	case "enter":
		p.enter(s)
	default:
		if page.TypeInto(&p.line, k) {
			p.find(s)
		}
	}
}

func (p *palette) enter(s *Shell) {
	if p.cursor >= len(p.found) {
		return
	}
	c := p.found[p.cursor]
	if c.line != nil {
		p.run(s, c)
		return
	}
	if c.verb.about != noJob && len(c.words) == 0 { // the job is still missing
		p.line.Set(c.text() + " ")
		p.find(s)
		return
	}
	s.over = nil
	s.trigger = "enter"
	switch {
	case c.verb.about == noJob:
		s.act(c.verb.action)
	case c.bar != "":
		s.warn(c.verb.word + ": " + c.bar)
	default:
		s.press(c.verb.action, c.subject())
	}
}

// run runs a command of the command line, and shows its output.
func (p *palette) run(s *Shell, c candidate) {
	s.over = nil
	if c.bar != "" {
		s.warn(c.text() + ": " + c.bar)
		return
	}
	s.push(s.screens.Command(c.line))
}

// subject returns the jobs of the command.
func (c candidate) subject() screen.Subject {
	return screen.Subject{Jobs: c.jobs, Marked: len(c.jobs) > 1}
}

// refusal returns why the command does nothing now, or "".
func (c candidate) refusal(s *Shell) string {
	switch {
	case c.bar != "" || c.line != nil:
		return c.bar
	case c.verb.about == noJob:
		return s.refuses(c.verb.action)
	case len(c.jobs) == 0:
		return ""
	}
	return s.refusesFor(c.verb.action, c.subject())
}

func (c candidate) text() string {
	if c.line != nil {
		return screen.ShellCommand(c.line)
	}
	return strings.Join(append([]string{c.verb.word}, c.words...), " ")
}

// command returns the equivalent shell command.
func (c candidate) command(s *Shell) []string {
	if c.line != nil {
		return append([]string{"cronring"}, c.line...)
	}
	if c.verb.about != noJob {
		return append([]string{"cronring", c.verb.word}, c.words...)
	}
	if b, ok := s.w.Keys.Binding(c.verb.action, keys.Everywhere, keys.Subject); ok && b.Command != "" {
		return strings.Fields(b.Command)
	}
	return []string{"cronring"}
}

// helpText describes the command and its number of jobs.
func (c candidate) helpText() string {
	switch {
	case c.line != nil:
		return c.help
	case c.verb.about != noJob && len(c.words) == 0:
		return c.verb.help + ": type the name of a job"
	case len(c.jobs) > 1:
		return fmt.Sprintf("%s: %d jobs", c.verb.help, len(c.jobs))
	}
	return c.verb.help
}

func (p *palette) height(_ *Shell, _, room int) int {
	return min(max(len(p.found), 1)+2, room, 12)
}

func (p *palette) draw(v canvas.View, s *Shell) {
	x := v.Put(1, 0, ": ", canvas.Style{Bold: true})
	page.DrawInput(v, x, 0, v.Width()-x-1, &p.line, s.w)
	rows := v.Height() - 2
	top := max(p.cursor-rows+1, 0)
	for y := range min(rows, len(p.found)-top) {
		p.drawCandidate(v.Row(y+1), s, top+y)
	}
	if len(p.found) == 0 {
		v.PutCut(1, 1, v.Width()-2, "No command is called so. Backspace, or esc.", s.w.Glyphs.Ellipsis, canvas.Style{})
	}
	v.PutCut(1, v.Height()-1, v.Width()-2, "tab complete  enter go  ctrl+y copy as shell command  esc close", s.w.Glyphs.Ellipsis, canvas.Style{})
}

// column returns the column of the help texts: behind the longest command, but at
// most in the middle.
func (p *palette) column(width int) int {
	longest := 22
	for _, c := range p.found {
		longest = max(longest, display.Width(display.Text(c.text())))
	}
	return min(longest+6, width/2)
}

func (p *palette) drawCandidate(row canvas.View, s *Shell, i int) {
	c := p.found[i]
	style := canvas.Style{}
	help := c.helpText()
	if why := c.refusal(s); why != "" {
		help, style = help+" ("+why+")", canvas.Style{Role: canvas.Off}
	}
	name := style
	if i == p.cursor {
		row.Put(1, 0, s.w.Glyphs.Cursor, canvas.Style{})
		name.Bold = true
	}
	wide := p.column(row.Width())
	row.PutCut(3, 0, wide-4, c.text(), s.w.Glyphs.Ellipsis, name)
	room := row.Width() - wide - 2
	if b, ok := s.w.Keys.Binding(c.verb.action, s.front().Scope(), keys.Subject, keys.List, keys.Everywhere); ok && len(b.Keys) > 0 {
		row.PutRight(0, b.Keys[0]+"  ", canvas.Style{Bold: true})
		room -= len(b.Keys[0]) + 3
	}
	row.PutCut(wide, 0, room, help, s.w.Glyphs.Ellipsis, style)
}
