package screen

import "github.com/cronring/cronring/tui/keys"

// root is a screen that a key brings to the front.
type root struct {
	action keys.Action
	name   string
	make   func() Screen
}

// roots are the screens that a key brings to the front, in the order of the
// first line. The first one is where the dashboard begins.
var roots = []root{
	{keys.ShowJobs, "Jobs", func() Screen { return NewJobs() }},
	{keys.ShowRuns, "Runs", func() Screen { return NewRuns() }},
	{keys.ShowTimeline, "Timeline", func() Screen { return NewTimeline() }},
	{keys.ShowRing, "Ring", func() Screen { return NewRing() }},
	{keys.ShowFiles, "Files", func() Screen { return NewFiles() }},
}

// openers make the screens that a key opens about what is selected.
var openers = map[keys.Action]func(w *World, s Subject) Screen{
	keys.ShowDST:    func(_ *World, s Subject) Screen { return NewDST(s) },
	keys.Open:       func(_ *World, s Subject) Screen { return NewDetail(s.Jobs[0]) },
	keys.Explain:    func(_ *World, s Subject) Screen { return NewWhy(s) },
	keys.ShowOutput: func(_ *World, s Subject) Screen { return NewOutput(s) },
	keys.ShowGroups: func(*World, Subject) Screen { return NewIncident() },
	keys.PageOutput: func(_ *World, s Subject) Screen { return NewPager(s) },
	keys.Edit:       func(w *World, s Subject) Screen { return NewEditor(w.placed(s)) },
	keys.Add:        func(w *World, s Subject) Screen { return NewEntry(w.room(s)) },
}
