package tui

import (
	"context"
	"os/exec"

	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/console"
	"github.com/cronring/cronring/tui/screen/detail"
	"github.com/cronring/cronring/tui/screen/dst"
	"github.com/cronring/cronring/tui/screen/editor"
	"github.com/cronring/cronring/tui/screen/files"
	"github.com/cronring/cronring/tui/screen/hostjobs"
	"github.com/cronring/cronring/tui/screen/hosts"
	"github.com/cronring/cronring/tui/screen/incident"
	"github.com/cronring/cronring/tui/screen/jobs"
	"github.com/cronring/cronring/tui/screen/options"
	"github.com/cronring/cronring/tui/screen/output"
	"github.com/cronring/cronring/tui/screen/ring"
	"github.com/cronring/cronring/tui/screen/runs"
	"github.com/cronring/cronring/tui/screen/stats"
	"github.com/cronring/cronring/tui/screen/timeline"
	"github.com/cronring/cronring/tui/screen/upcoming"
	"github.com/cronring/cronring/tui/screen/why"
	"github.com/cronring/cronring/tui/shell"
)

// newShell returns a shell with all screens, which begins as the options require.
func newShell(o Options) *shell.Shell {
	start := o.Start
	switch {
	case o.Edit != "":
		start.Over = editor.New(&start.World, screen.Subject{File: o.Edit})
	case o.Hosts:
		start.Over = hosts.New()
	}
	return shell.New(start, screens)
}

// screens are all screens of the dashboard.
var screens = shell.Screens{
	Roots: []shell.Root{
		{Action: keys.ShowJobs, Name: "Jobs", Make: func() screen.Screen { return jobs.New() }},
		{Action: keys.ShowRuns, Name: "Runs", Make: func() screen.Screen { return runs.New() }},
		{Action: keys.ShowTimeline, Name: "Timeline", Make: func() screen.Screen { return timeline.New() }},
		{Action: keys.ShowRing, Name: "Ring", Make: func() screen.Screen { return ring.New() }},
		{Action: keys.ShowFiles, Name: "Files", Make: func() screen.Screen { return files.New() }},
	},
	Command: func(words []string) screen.Screen { return console.New(words) },
	Process: func(line string, start func(ctx context.Context) *exec.Cmd) screen.Screen {
		return console.NewProcess(line, start)
	},
	Opened: map[keys.Action]func(w *screen.World, s screen.Subject) screen.Screen{
		keys.ShowDST:      func(_ *screen.World, s screen.Subject) screen.Screen { return dst.New(s) },
		keys.ShowRuns:     func(_ *screen.World, s screen.Subject) screen.Screen { return runs.Of(s.Jobs[0]) },
		keys.Open:         func(_ *screen.World, s screen.Subject) screen.Screen { return detail.New(s.Jobs[0]) },
		keys.Explain:      func(_ *screen.World, s screen.Subject) screen.Screen { return why.New(s) },
		keys.ShowOutput:   func(_ *screen.World, s screen.Subject) screen.Screen { return output.New(s) },
		keys.ShowGroups:   func(*screen.World, screen.Subject) screen.Screen { return incident.New() },
		keys.ShowStats:    func(_ *screen.World, s screen.Subject) screen.Screen { return stats.New(s) },
		keys.ShowUpcoming: func(*screen.World, screen.Subject) screen.Screen { return upcoming.New() },
		keys.ShowHostJobs: func(_ *screen.World, s screen.Subject) screen.Screen { return hostjobs.New(s.Hosts) },
		keys.ShowHosts:    func(*screen.World, screen.Subject) screen.Screen { return hosts.New() },
		keys.ShowOptions:  func(*screen.World, screen.Subject) screen.Screen { return options.New() },
		keys.PageOutput:   func(_ *screen.World, s screen.Subject) screen.Screen { return output.NewPager(s) },
		keys.Edit:         func(w *screen.World, s screen.Subject) screen.Screen { return editor.New(w, s) },
		keys.Add:          func(w *screen.World, s screen.Subject) screen.Screen { return editor.NewEntry(w, s) },
	},
}
