// Package finder owns the entries of the dashboard's finder, such as commands, jobs, screens, files
// and hosts, in the order in which they match what is typed. Package find compares the texts.
package finder

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/find"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// Finder contains everything that can be found.
type Finder struct {
	World    *screen.World
	About    screen.Subject // what is selected
	Screens  []Screen
	Views    []screen.View
	Recent   []string // commands, the newest first
	Files    []api.CrontabFile
	Hosts    []string             // other than the one that is shown
	Commands []screen.CommandHelp // of the command line
	Custom   []custom.Command

	jobs []name // in order, as they were at the first search: each key searches them
}

// name is the name of a job, also in lower case.
type name struct{ text, lower string }

// names returns an iterator over the names of all jobs.
func (f *Finder) names(yield func(text, lower string) bool) {
	if f.jobs == nil {
		f.jobs = make([]name, 0, f.World.Board.Len())
		for text, lower := range f.World.Board.Names() {
			f.jobs = append(f.jobs, name{text, lower})
		}
	}
	for _, n := range f.jobs {
		if !yield(n.text, n.lower) {
			return
		}
	}
}

// Screen is a screen that a key shows everywhere.
type Screen struct {
	Action keys.Action
	Name   string
}

// Limits of the candidates.
const (
	mostOffered = 50
	mostRecent  = 5 // before anything is typed
)

// Find lists what a text may mean, the best first.
func (f *Finder) Find(text string) []Candidate {
	text = strings.TrimLeft(text, " ")
	word, rest, spaced := strings.Cut(text, " ")
	names := strings.Fields(rest)
	switch {
	case word == hostWord && spaced:
		return f.hosts(strings.TrimSpace(rest))
	case text == "":
		return append(f.recent(), f.offered(verbs)...)
	case len(names) == 0 && spaced && len(verbsFor(word)) > 0:
		return f.ofVerb(verbsFor(word))
	case len(names) == 0:
		return f.all(text)
	}
	words, err := splitWords(text)
	c, known := f.command(words)
	known = known && err == nil
	if known && (!isVerb(word) || strings.Contains(c.Name, " ") || verbsFor(word)[0].About == NoJob || hasFlag(words)) {
		return f.complete(c, !strings.HasSuffix(text, " "))
	}
	var found []Candidate
	if known && isReference(words) {
		found = append(found, c)
	}
	fitting := verbsFor(word)
	if len(fitting) == 0 {
		fitting = misspelled(word)
		found = append(found, f.all(text)...)
	} else if !isVerb(word) || f.beginsCommand(text) {
		found = append(found, f.all(text)...)
	}
	for _, c := range f.withNames(fitting, names, strings.HasSuffix(rest, " "), hasFlag(words)) {
		if c.Refusal == "" || len(found) == 0 {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return f.all(text)
	}
	return found
}

// misspelled returns the verbs about jobs that a word may be a misspelling of.
func misspelled(word string) []Verb {
	word = strings.ToLower(word)
	return slices.DeleteFunc(slices.Clone(verbs), func(v Verb) bool { return v.About == NoJob || !find.Similar(word, v.Word) })
}

func isVerb(word string) bool {
	return slices.ContainsFunc(verbs, func(v Verb) bool { return v.Word == word })
}

func hasFlag(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") })
}

// recent returns the newest commands.
func (f *Finder) recent() []Candidate {
	var found []Candidate
	for _, text := range f.Recent[:min(len(f.Recent), mostRecent)] {
		found = append(found, Candidate{Kind: KindRecent, Name: text, Help: "again"})
	}
	return found
}

// offered returns verbs with the selected jobs, or without a job if none is selected. Verbs that take one
// job have the first of them.
func (f *Finder) offered(fitting []Verb) []Candidate {
	var found []Candidate
	jobs, words := f.About.Jobs, screen.Refs(f.About)
	for _, v := range fitting {
		c := Candidate{Kind: KindVerb, Verb: v}
		switch {
		case v.About == SomeJobs:
			c.Jobs, c.Words = jobs, words
		case v.About == OneJob && len(jobs) > 0:
			c.Jobs, c.Words = jobs[:1], words[:1]
		}
		found = append(found, c)
	}
	return found
}

// ofVerb returns the verbs that a word begins, and the first of them with each job.
func (f *Finder) ofVerb(fitting []Verb) []Candidate {
	found := f.offered(fitting)
	if fitting[0].About != NoJob {
		found = append(found, f.withJobs(fitting[0], nil, "")...)
	}
	return found
}

// all returns all candidates for a text.
func (f *Finder) all(text string) []Candidate {
	others := f.others()
	type scored struct {
		Candidate
		match find.Match
	}
	var found []scored
	for _, m := range find.Best(text, func(yield func(text, lower string) bool) {
		for i := range others {
			if name := others[i].sought(); !yield(name, strings.ToLower(name)) {
				return
			}
		}
	}) {
		found = append(found, scored{others[m.Index], m})
	}
	for _, m := range find.Best(text, f.names) {
		found = append(found, scored{Candidate{Kind: KindJob, Name: m.Text, Jobs: []job.ID{job.ID(m.Text)}}, m})
		if len(found) == len(others)+mostOffered {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.match.Score, a.match.Score) })
	var offered []Candidate
	known := map[string]bool{}
	for _, c := range found {
		if len(offered) == mostOffered || c.match.Typo() && len(offered) >= find.Few {
			break
		}
		if c.Letters = c.match.Letters; c.Kind == KindRecent && known[c.Name] {
			continue
		}
		if c.Kind == KindHost {
			c.Letters = shifted(c.Letters, len(hostWord)+1)
		}
		known[c.Text()] = true
		if c.Kind == KindJob {
			c.Help = f.stateOf(c.Jobs[0])
		}
		offered = append(offered, c.Candidate)
	}
	return offered
}

// sought returns the text of a candidate that is searched: the verb alone if it is about the selected
// job, and the name of a host.
func (c *Candidate) sought() string {
	switch c.Kind {
	case KindVerb:
		return c.Verb.Word
	case KindHost:
		return c.Name
	}
	return c.Text()
}

// others returns everything but the jobs.
func (f *Finder) others() []Candidate {
	all := f.offered(verbs)
	for _, c := range f.Commands {
		if !isVerb(c.Name) {
			all = append(all, Candidate{Kind: KindCommand, Words: strings.Fields(c.Name), Help: c.Short, Needs: c.Needs})
		}
	}
	for i := range f.Custom {
		c := &f.Custom[i]
		all = append(all, Candidate{Kind: KindCustom, Name: c.Name, Custom: c, Help: c.Run})
	}
	for _, s := range f.Screens {
		if !isVerb(strings.ToLower(s.Name)) {
			all = append(all, Candidate{Kind: KindScreen, Name: s.Name, Action: s.Action, Help: "the screen"})
		}
	}
	for _, v := range f.Views {
		all = append(all, Candidate{Kind: KindView, Name: v.Name, View: v, Help: "saved view"})
	}
	if len(f.Hosts) > 0 {
		all = append(all, Candidate{Kind: KindCommand, Words: []string{hostWord}, Help: "open the dashboard of another host", Needs: true})
	}
	all = append(all, f.hosts("")...)
	for i := range f.Files {
		all = append(all, f.fileOf(&f.Files[i]))
	}
	for _, text := range f.Recent {
		all = append(all, Candidate{Kind: KindRecent, Name: text, Help: "again"})
	}
	return all
}

func (f *Finder) fileOf(file *api.CrontabFile) Candidate {
	c := Candidate{Kind: KindFile, Name: file.File, File: file.File, Help: "edit the crontab"}
	if file.User != "" {
		c.Help = "edit the crontab of " + file.User
	}
	return c
}

// stateOf describes a job.
func (f *Finder) stateOf(id job.ID) string {
	row, ok := f.World.Board.Job(id)
	if !ok {
		return ""
	}
	_, word, _ := screen.JobLook(f.World, &row)
	text := strings.TrimSpace(word) + ", " + row.Schedule
	if row.Ending != "" {
		text += ", " + row.Ending
	}
	return text
}

// withNames returns the first verb that takes jobs, with jobs of some names. The last name may be
// the beginning of one.
func (f *Finder) withNames(fitting []Verb, names []string, ended, flags bool) []Candidate {
	i := slices.IndexFunc(fitting, func(v Verb) bool { return v.About != NoJob })
	if i < 0 {
		return nil
	}
	if v := fitting[i]; v.Word == editWord && (flags || strings.Contains(names[0], "/")) {
		return f.edits(v, names)
	}
	last := ""
	if !ended {
		names, last = names[:len(names)-1], names[len(names)-1]
	}
	found := f.named(fitting[i], names, last)
	if len(found) == 1 && len(found[0].Jobs) == 1 { // other verbs for the job
		for _, v := range verbs {
			if v.About != NoJob && v.Word != found[0].Verb.Word {
				found = append(found, Candidate{Kind: KindVerb, Verb: v, Words: found[0].Words, Jobs: found[0].Jobs})
			}
		}
	}
	return found
}

// named returns a verb with the jobs of some names; last may be the beginning of one.
func (f *Finder) named(v Verb, names []string, last string) []Candidate {
	c := Candidate{Kind: KindVerb, Verb: v, Words: names}
	for _, word := range names {
		c.add(f.World, word)
	}
	if c.Refusal == "" && last != "" && !isPattern(f.World, last) {
		if found := f.withJobs(v, &c, last); len(found) > 0 {
			return found
		}
	}
	if last != "" {
		c.Words = append(slices.Clip(names), last)
		c.add(f.World, last)
	}
	c.judge()
	return []Candidate{c}
}

// withJobs returns a verb with each job that a name can mean, after the jobs that were named
// before.
func (f *Finder) withJobs(v Verb, before *Candidate, name string) []Candidate {
	matches := f.jobsNamed(name)
	if len(matches) > 1 && matches[0].Contains() && !matches[1].Contains() {
		matches = matches[:1] // the job is unambiguous
	}
	var found []Candidate
	for _, m := range matches {
		c := Candidate{Kind: KindVerb, Verb: v, Words: []string{m.Text}, Jobs: []job.ID{job.ID(m.Text)}}
		if before != nil {
			c.Words = append(slices.Clip(before.Words), m.Text)
			c.Jobs = append(slices.Clip(before.Jobs), job.ID(m.Text))
		}
		c.Letters = shifted(m.Letters, len(c.Text())-len(m.Text))
		c.judge()
		found = append(found, c)
	}
	return found
}

// shifted returns the positions of letters after a text was inserted before them.
func shifted(letters []int, by int) []int {
	for i := range letters {
		letters[i] += by
	}
	return letters
}

// jobsNamed returns the jobs that a name can mean, the best first; without a name, the first jobs.
func (f *Finder) jobsNamed(name string) []find.Match {
	if name != "" {
		found := find.Best(name, f.names)
		return found[:min(len(found), mostOffered)]
	}
	var first []find.Match
	for id := range f.names {
		if first = append(first, find.Match{Text: id}); len(first) == mostOffered {
			break
		}
	}
	return first
}

// edits returns the verb that edits a file or the crontab of a user.
func (f *Finder) edits(v Verb, words []string) []Candidate {
	c := Candidate{Kind: KindVerb, Verb: v, Words: words, Help: "edit the crontab"}
	switch user, isUser := userFlag(words); {
	case isUser:
		for _, file := range f.Files {
			if file.User == user {
				c.File = file.File
				return []Candidate{c}
			}
		}
		c.Refusal = "no crontab of " + user + " is known"
	case hasFlag(words) || len(words) > 1:
		c.Refusal = "E on a crontab file opens $EDITOR"
	default:
		var found []Candidate
		for _, m := range find.Best(words[0], func(yield func(text, lower string) bool) {
			for i := range f.Files {
				if name := f.Files[i].File; !yield(name, strings.ToLower(name)) {
					return
				}
			}
		}) {
			c := Candidate{Kind: KindVerb, Verb: v, Words: []string{m.Text}, File: m.Text, Help: c.Help}
			c.Letters = shifted(m.Letters, len(v.Word)+1)
			found = append(found, c)
		}
		if len(found) > 0 {
			return found
		}
		c.File = words[0]
	}
	return []Candidate{c}
}

// userFlag returns the user of --user U, --user=U or -u U.
func userFlag(words []string) (user string, ok bool) {
	if len(words) == 2 && (words[0] == "--user" || words[0] == "-u") {
		return words[1], true
	}
	if len(words) == 1 {
		return strings.CutPrefix(words[0], "--user=")
	}
	return "", false
}
