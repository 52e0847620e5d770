package main

import (
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// topFlags are the flags of top.
type topFlags struct {
	screen *choice
	job    string
	ascii  bool
	plain  bool
	edit   string // a crontab to begin with
}

func newTop(a *app) *cobra.Command {
	f := &topFlags{screen: oneOf("jobs", "runs", "timeline", "ring", "files")}
	cmd := &cobra.Command{
		Use:     "top",
		Aliases: []string{"tui"},
		Short:   "Show the dashboard",
		Long: `Show the dashboard: what is broken, what runs and what comes next, and a key for
everything that can be done about it; ? shows the keys.

With --plain nothing is drawn: it says one line for each thing that happens, and
answers commands that are typed, for screen readers and for terminals that can
only print.

It uses the terminal's own colours, and only signs that its character set has;
--color, --ascii and the variables CRONRING_COLOR, CRONRING_THEME and
CRONRING_GLYPHS say otherwise.

With -H ssh can ask nothing, as the screen is drawn: it has to get there by a key.
What it says if it cannot stands in the dashboard.`,
		Example: "  cronring top --job etl-orders",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.top(cmd, f) },
	}
	cmd.Flags().Var(f.screen, "screen", "begin with `NAME`: jobs, runs, timeline, ring, files")
	cmd.Flags().StringVar(&f.job, "job", "", "begin with the cursor on the job `JOB`")
	cmd.Flags().BoolVar(&f.ascii, "ascii", false, "draw with ASCII characters alone")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "draw nothing: say one line for each event, and answer typed commands")
	a.addColor(cmd)
	return cmd
}

// bare is what the program does without a command: the dashboard on a terminal
// that can show it, else the status.
func (a *app) bare(cmd *cobra.Command) error {
	if a.canShow() {
		return a.top(cmd, &topFlags{screen: oneOf("jobs")})
	}
	return a.status(cmd, &statusFlags{})
}

// canShow reports whether input and output are a terminal that can show a screen,
// and may be read.
func (a *app) canShow() bool {
	in, ok := a.in.(*os.File)
	return ok && a.tty && !a.noInput && isTerminal(in) && tui.Capable(os.Getenv)
}

func (a *app) top(cmd *cobra.Command, f *topFlags) error {
	readOnly := ""
	if a.readOnly {
		readOnly = "nothing is changed: --read-only"
	}
	if a.noInput {
		return badUsage("show the dashboard", "it goes by what is typed, and --no-input reads nothing", "cronring status    or: cronring events")
	}
	if f.plain {
		return a.plain(cmd, readOnly)
	}
	if !a.canShow() {
		return badUsage("show the dashboard", "input and output have to be a terminal that can place its cursor (TERM="+os.Getenv("TERM")+")",
			"cronring top --plain    or: cronring status")
	}
	socket := a.socket
	if socket == "" {
		socket = api.FindSocket(os.Getenv)
	}
	look := tui.FindLook(tui.Wishes{Color: a.color.String(), ASCII: f.ascii, TTY: a.tty}, os.Getenv)
	bindings, remarks := tui.ReadKeys(tui.KeyFile(os.Getenv))
	viewFile := tui.ViewFile(os.Getenv)
	views, err := tui.ReadViews(viewFile)
	if err != nil {
		remarks = append(remarks, err.Error())
	}
	if len(remarks) > 0 {
		remarks[0] = "key file: " + remarks[0]
	}
	world := screen.World{
		Keys: bindings, Glyphs: look.Glyphs, Still: look.Still, Local: time.Local, Link: screen.Link{Socket: socket},
		ReadOnly: readOnly, Reach: a.reachFlags(),
	}
	talk, ok := a.err.(*os.File)
	a.drawn = ok && isTerminal(talk)
	signal.Reset(os.Interrupt) // the dashboard gives the terminal back first
	return tui.Run(cmd.Context(), tui.Options{
		Client: a.daemon(), In: a.in.(*os.File), Out: os.Stdout, Look: look,
		Start: screen.Start{World: world, Screen: keys.Action(f.screen.String()), Job: f.job, Views: views, Say: strings.Join(remarks, "; "), Edit: f.edit},
		Views: viewFile,
	})
}
