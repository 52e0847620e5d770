package screen

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/safe"
)

// verb is a word of the command line that the dashboard does, too.
type verb struct {
	word   string
	action keys.Action
	jobs   bool // it is about jobs
	help   string
}

// verbs are in the order in which they are offered.
var verbs = []verb{
	{"run", keys.Run, true, "run now"},
	{"why", keys.Explain, true, "explain the last missed or failed occurrence"},
	{"logs", keys.ShowOutput, true, "see its output"},
	{"show", keys.Open, true, "everything about it"},
	{"pause", keys.Pause, true, "stop scheduling it, or schedule it again"},
	{"stop", keys.Stop, true, "end what runs of it"},
	{"ack", keys.Acknowledge, true, "acknowledge its failure"},
	{"retry", keys.Retry, true, "run what failed again, as the same occurrence"},
	{"backfill", keys.Backfill, true, "run its past"},
	{"edit", keys.Edit, true, "edit its line"},
	{"rm", keys.Delete, true, "delete its entry"},
	{"dst", keys.ShowDST, true, "what the next changes of the clocks do"},
	{"list", keys.ShowJobs, false, "the jobs"},
	{"history", keys.ShowRuns, false, "every run, newest first"},
	{"timeline", keys.ShowTimeline, false, "past and coming runs on one axis"},
	{"files", keys.ShowFiles, false, "the crontab files"},
	{"ring", keys.ShowRing, false, "the ring of hosts"},
	{"incident", keys.ShowGroups, false, "failures by shared cause"},
	{"add", keys.Add, false, "add an entry"},
	{"undo", keys.Undo, false, "undo the last change"},
	{"reload", keys.Reload, false, "read all crontab files again"},
	{"views", keys.Views, false, "saved views"},
	{"log", keys.CommandLog, false, "what was done here"},
	{"help", keys.Help, false, "the keys of this screen"},
	{"quit", keys.Quit, false, "end the dashboard"},
}

// palette is where a command is typed.
type palette struct {
	line   edit.Line
	cursor int
	found  []candidate
}

// candidate is a command that what was typed may mean.
type candidate struct {
	verb verb
	job  job.ID // of those about jobs
	rest string // more words, passed on
}

func newPalette(s *Shell) *palette {
	p := &palette{}
	p.find(s)
	return p
}

// maxCandidates bounds what is offered.
const maxCandidates = 50

// find lists what the text may mean: the first word is a verb, the second a job.
func (p *palette) find(s *Shell) {
	text := strings.TrimLeft(p.line.Text(), " ")
	word, rest, spaced := strings.Cut(text, " ")
	p.cursor, p.found = 0, nil
	fitting := verbsFor(word)
	if !spaced || rest == "" {
		about := s.front().Subject(s.w)
		for _, v := range fitting {
			switch {
			case !v.jobs:
				p.found = append(p.found, candidate{verb: v})
			case len(about.Jobs) > 0:
				p.found = append(p.found, candidate{verb: v, job: about.Jobs[0]})
			}
		}
		if spaced && len(fitting) > 0 && fitting[0].jobs {
			p.found = append(p.found, p.withJobs(s.w, fitting[:1], "", "")...)
		}
		return
	}
	name, more, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	p.found = p.withJobs(s.w, fitting, name, more)
	if len(p.found) == 1 { // the job is clear: what else could be done with it
		for _, v := range verbs {
			if v.jobs && v.word != p.found[0].verb.word {
				p.found = append(p.found, candidate{verb: v, job: p.found[0].job})
			}
		}
	}
}

// verbsFor are those that begin with a word, an exact one first.
func verbsFor(word string) []verb {
	var found []verb
	for _, v := range verbs {
		if strings.HasPrefix(v.word, strings.ToLower(word)) {
			found = append(found, v)
		}
	}
	slices.SortStableFunc(found, func(a, b verb) int {
		return cmp.Compare(len(a.word), len(b.word)) * boolInt(word != "")
	})
	return found
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// withJobs are the first of some verbs that are about jobs, with the jobs that a
// name may mean: those that begin with it first.
func (p *palette) withJobs(w *World, fitting []verb, name, more string) []candidate {
	i := slices.IndexFunc(fitting, func(v verb) bool { return v.jobs })
	if i < 0 {
		return nil
	}
	var found []candidate
	for _, id := range jobsNamed(w.Board, name) {
		found = append(found, candidate{fitting[i], id, more})
	}
	return found
}

// jobsNamed are the jobs whose name holds a text, those that begin with it first.
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

func (p *palette) key(s *Shell, k Key) {
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
			s.perform(nil, []Effect{Clip{s.w.inShell(ShellCommand(p.found[p.cursor].command(s))), "the command"}})
		}
	case "enter":
		p.enter(s)
	default:
		if typeInto(&p.line, k) {
			p.find(s)
		}
	}
}

func (p *palette) enter(s *Shell) {
	if p.cursor >= len(p.found) {
		return
	}
	s.over = nil
	c := p.found[p.cursor]
	s.trigger = "enter"
	if !c.verb.jobs {
		s.act(c.verb.action)
		return
	}
	s.press(c.verb.action, Subject{Jobs: []job.ID{c.job}})
}

func (c candidate) text() string {
	if !c.verb.jobs {
		return c.verb.word
	}
	return c.verb.word + " " + string(c.job)
}

// command is the one for a shell.
func (c candidate) command(s *Shell) []string {
	if !c.verb.jobs {
		if b, ok := s.w.Keys.Binding(c.verb.action, keys.Everywhere, keys.Subject); ok && b.Command != "" {
			return strings.Fields(b.Command)
		}
		return []string{"cronring"}
	}
	words := []string{"cronring", c.verb.word, string(c.job)}
	return append(words, strings.Fields(c.rest)...)
}

func (p *palette) height(_ *Shell, _, room int) int {
	return min(max(len(p.found), 1)+2, room, 12)
}

func (p *palette) draw(v canvas.View, s *Shell) {
	x := v.Put(1, 0, ": ", canvas.Style{Bold: true})
	drawInput(v, x, 0, v.Width()-x-1, &p.line, s.w)
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

// column is where the help stands: behind the longest command, as far as half of
// the width allows.
func (p *palette) column(width int) int {
	longest := 22
	for _, c := range p.found {
		longest = max(longest, safe.Width(safe.Text(c.text())))
	}
	return min(longest+6, width/2)
}

func (p *palette) drawCandidate(row canvas.View, s *Shell, i int) {
	c := p.found[i]
	style := canvas.Style{}
	if i == p.cursor {
		row.Put(1, 0, s.w.Glyphs.Cursor, canvas.Style{})
		style.Bold = true
	}
	wide := p.column(row.Width())
	row.PutCut(3, 0, wide-4, c.text(), s.w.Glyphs.Ellipsis, style)
	help := c.verb.help
	if why := s.refuses(c.verb.action); why != "" && !c.verb.jobs {
		help, style = help+" ("+why+")", canvas.Style{Role: canvas.Off}
	}
	room := row.Width() - wide - 2
	if b, ok := s.w.Keys.Binding(c.verb.action, s.front().Scope(), keys.Subject, keys.List, keys.Everywhere); ok && len(b.Keys) > 0 {
		row.PutRight(0, b.Keys[0]+"  ", canvas.Style{Bold: true})
		room -= len(b.Keys[0]) + 3
	}
	style.Bold = false
	row.PutCut(wide, 0, room, help, s.w.Glyphs.Ellipsis, style)
}
