package screen

import "github.com/cronring/cronring/tui/keys"

// Options is how the dashboard is begun.
type Options struct {
	Start Start
	Edit  string
}

// newShell makes the shell with all screens.
func newShell(o Options) *Shell {
	start := o.Start
	if o.Edit != "" {
		start.Over = NewEditor(&start.World, Subject{File: o.Edit})
	}
	return NewShell(start, screens)
}

// screens are all screens of the dashboard.
var screens = Screens{
	Roots: []Root{
		{keys.ShowJobs, "Jobs", func() Screen { return NewJobs() }},
		{keys.ShowRuns, "Runs", func() Screen { return NewRuns() }},
		{keys.ShowTimeline, "Timeline", func() Screen { return NewTimeline() }},
		{keys.ShowRing, "Ring", func() Screen { return NewRing() }},
		{keys.ShowFiles, "Files", func() Screen { return NewFiles() }},
	},
	Opened: map[keys.Action]func(w *World, s Subject) Screen{
		keys.ShowDST:    func(_ *World, s Subject) Screen { return NewDST(s) },
		keys.ShowRuns:   func(_ *World, s Subject) Screen { return NewRunsOf(s.Jobs[0]) },
		keys.Open:       func(_ *World, s Subject) Screen { return NewDetail(s.Jobs[0]) },
		keys.Explain:    func(_ *World, s Subject) Screen { return NewWhy(s) },
		keys.ShowOutput: func(_ *World, s Subject) Screen { return NewOutput(s) },
		keys.ShowGroups: func(*World, Subject) Screen { return NewIncident() },
		keys.PageOutput: func(_ *World, s Subject) Screen { return NewPager(s) },
		keys.Edit:       func(w *World, s Subject) Screen { return NewEditor(w, s) },
		keys.Add:        func(w *World, s Subject) Screen { return NewEntry(w, s) },
	},
}
