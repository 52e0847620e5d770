// Package detail owns the screen about one job, with tabs for why it ran or did not, its history, next
// runs, output and configuration.
package detail

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/output"
	"github.com/cronring/cronring/tui/screen/runs"
	"github.com/cronring/cronring/tui/screen/why"
)

// Detail is all that is known of one job, in tabs.
type Detail struct {
	id     job.ID
	tab    int
	file   jobinfo.Info
	why    *why.Why
	output *output.Output // nil: that tab was not opened yet
	runs   *runs.Runs
	config api.JobConfig
	err    error     // of the configuration
	asked  bool      // for the configuration
	page   page.Page // of the tabs that are text
}

// The tabs, from left to right.
const (
	tabWhy = iota
	tabHistory
	tabNext
	tabOutput
	tabConfig
)

var tabNames = [...]string{"Why", "History", "Next", "Output", "Config"}

// New shows a job.
func New(id job.ID) *Detail {
	return &Detail{id: id, why: why.New(screen.Subject{Jobs: []job.ID{id}}), runs: runs.Of(id)}
}

// within is the screen that a tab contains; nil: it has none.
func (s *Detail) within() screen.Screen {
	switch s.tab {
	case tabWhy:
		return s.why
	case tabHistory:
		return s.runs
	case tabOutput:
		return s.output
	}
	return nil
}

// Scope returns the scope of what the tab shows, so that its keys work.
func (s *Detail) Scope() keys.Scope {
	if in := s.within(); in != nil {
		return in.Scope()
	}
	return keys.Detail
}

// Heading returns the job's name and state.
func (s *Detail) Heading(w *screen.World) string {
	row, ok := w.Board.Job(s.id)
	if !ok {
		return string(s.id) + "  no longer exists"
	}
	sign, word, _ := screen.JobLook(w, &row)
	return string(s.id) + "  " + sign + " " + word + "  " + jobinfo.Situation(w, &row, s.file.Past)
}

const slotConfig = "config"

// Open requests the data of the current tab.
func (s *Detail) Open(w *screen.World) []screen.Effect {
	s.file.Reopen()
	effects := s.ask(w)
	if in := s.within(); in != nil {
		effects = append(effects, in.Open(w)...)
	}
	return effects
}

// Refresh requests changed data again.
func (s *Detail) Refresh(w *screen.World) []screen.Effect {
	effects := s.ask(w)
	if in := s.within(); in != nil {
		effects = append(effects, in.Refresh(w)...)
	}
	return effects
}

func (s *Detail) ask(w *screen.World) []screen.Effect {
	effects := s.file.Ask(w, s.id, true)
	if s.tab == tabConfig && !s.asked && w.Link.Live {
		s.asked = true
		effects = append(effects, screen.Ask{Slot: slotConfig, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
			return d.JobConfig(ctx, string(s.id))
		}})
	}
	return effects
}

// Take receives what was asked for.
func (s *Detail) Take(w *screen.World, a screen.Answer) []screen.Effect {
	switch a.Slot {
	case jobinfo.Slot:
		s.file.Take(w, a)
	case slotConfig:
		if s.err = a.Err; a.Err == nil {
			s.config = a.Value.(api.JobConfig)
		}
	default:
		switch {
		case s.why.Awaits(a.Slot):
			return s.why.Take(w, a)
		case s.runs.Awaits(a.Slot):
			return s.runs.Take(w, a)
		case s.output == nil:
			return nil
		}
		return s.output.Take(w, a)
	}
	return s.ask(w)
}

// Act turns the tabs, and does in each what its keys mean.
func (s *Detail) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.NextPane:
		return s.switchTab(w, 1), true
	case keys.PreviousPane:
		return s.switchTab(w, len(tabNames)-1), true
	}
	if in := s.within(); in != nil {
		return in.Act(w, a)
	}
	return nil, s.page.Act(a)
}

// switchTab selects another tab. The output tab shows the run that is selected in the
// history, and stops following it when another tab is selected.
func (s *Detail) switchTab(w *screen.World, by int) []screen.Effect {
	var effects []screen.Effect
	if s.tab == tabOutput {
		effects = append(effects, s.output.Leave()...)
	}
	s.tab = (s.tab + by) % len(tabNames)
	s.page.Top, s.asked = 0, false
	if s.tab == tabOutput {
		s.output = output.New(s.chosen(w))
	}
	return append(effects, s.Open(w)...)
}

// chosen is the run that is chosen in the history, or the newest that will be.
func (s *Detail) chosen(w *screen.World) screen.Subject {
	subject := screen.Subject{Jobs: []job.ID{s.id}}
	if s.runs.Index() > 0 {
		subject.Run = s.runs.Subject(w).Run
	}
	return subject
}

// Typing reports that a text is searched in the tab.
func (s *Detail) Typing() bool {
	typist, ok := s.within().(screen.Typist)
	return ok && typist.Typing()
}

// Type answers to a key of the search.
func (s *Detail) Type(w *screen.World, k screen.Key) ([]screen.Effect, bool) {
	typist, ok := s.within().(screen.Typist)
	if !ok {
		return nil, false
	}
	return typist.Type(w, k)
}

// Subject returns the job, and what is chosen in the tab.
func (s *Detail) Subject(w *screen.World) screen.Subject {
	if in := s.within(); in != nil {
		return in.Subject(w)
	}
	subject := screen.Subject{Jobs: []job.ID{s.id}}
	if row, ok := w.Board.Job(s.id); ok {
		subject.File, subject.Line = row.Crontab, row.Line
	}
	return subject
}

// Refuses returns why a key does nothing in the current tab.
func (s *Detail) Refuses(w *screen.World, a keys.Action) string {
	if in := s.within(); in != nil {
		return in.Refuses(w, a)
	}
	switch a {
	case keys.Mark, keys.Range, keys.MarkAll, keys.Sort, keys.Reverse, keys.States, keys.Filter, keys.NextMatch, keys.PrevMatch, keys.Wide:
		return "there is one job here"
	case keys.PreviousRun, keys.NextRun:
		return "in the tabs Why, History and Output"
	}
	return ""
}

// Foot returns the keys of the tab.
func (s *Detail) Foot(w *screen.World) []keys.Action {
	first := []keys.Action{keys.NextPane}
	if foot, ok := s.within().(screen.Foot); ok {
		return append(first, foot.Foot(w)...)
	}
	return append(first, keys.Run, keys.Stop, keys.Pause, keys.ShowOutput, keys.Edit, keys.Acknowledge, keys.Copy, keys.Back, keys.Help)
}

// Draw draws the job, the names of the tabs, and the current tab.
func (s *Detail) Draw(v canvas.View, w *screen.World) {
	row, ok := w.Board.Job(s.id)
	if !ok {
		page.DrawNotice(v, []string{fmt.Sprintf("%s no longer exists: its entry was removed or renamed.", s.id), "esc goes back"})
		return
	}
	if s.tab == tabOutput && s.output.Bare() {
		s.output.Draw(v, w)
		return
	}
	if v.Width() < screen.WordFrom {
		jobinfo.DrawTitle(v.In(1, 0, v.Width()-1, 1), w, &row)
		v = v.Below(1)
	}
	if v.Height() >= 10 {
		jobinfo.DrawMeaning(v.In(1, 0, v.Width()-1, 1), w, &row, &s.file)
		v.PutCut(1, 1, v.Width()-2, "$ "+row.Command, w.Glyphs.Ellipsis, canvas.Style{})
		v = v.Below(2)
	}
	s.drawTabs(v.Row(0), w)
	s.drawTab(v.Below(1), w, &row)
}

func (s *Detail) drawTabs(v canvas.View, w *screen.World) {
	v.Fill(w.Glyphs.Across, canvas.Style{Role: canvas.Rule})
	x := 1
	for i, name := range tabNames {
		style := canvas.Style{}
		if name = " " + name + " "; i == s.tab {
			name, style = "["+name[1:len(name)-1]+"]", canvas.Style{Bold: true}
		}
		end := v.Put(x, 0, name, style)
		w.OnClick(v.In(x, 0, end-x, 1), func(int, int) []screen.Effect { return s.switchTab(w, i-s.tab+len(tabNames)) })
		x = end
	}
}

func (s *Detail) drawTab(v canvas.View, w *screen.World, row *api.Row) {
	switch s.tab {
	case tabHistory:
		s.drawHistory(v, w, row)
	case tabNext:
		s.page.Set(s.nextText(w, row))
		s.page.Draw(v, w)
	case tabConfig:
		s.page.Set(s.configText(w, v.Width()))
		s.page.Draw(v, w)
	default:
		s.within().Draw(v, w)
	}
}
