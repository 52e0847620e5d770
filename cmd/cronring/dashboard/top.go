package dashboard

import (
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/tui"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/settings"
	"github.com/cronring/cronring/tui/shell"
)

// topFlags are the flags of top.
type topFlags struct {
	screen *cli.Choice
	job    string
	ascii  bool
	plain  bool
	notify bool
	edit   string // a crontab to begin with
	root   func(*cli.App) *cobra.Command
}

// NewTop returns the command top. root builds the tree of commands, for commands that a
// user types.
func NewTop(a *cli.App, root func(*cli.App) *cobra.Command) *cobra.Command {
	f := &topFlags{root: root, screen: cli.OneOf("jobs", "runs", "timeline", "ring", "files")}
	cmd := &cobra.Command{
		Use:     "top",
		Aliases: []string{"tui"},
		Short:   "Show the dashboard",
		Long: `Show the dashboard: what is broken, what runs and what comes next, and a key for
everything that can be done about it; ? shows the keys. On a host without a daemon,
which may still run cron, it shows the crontabs that you can read.

--plain prints one line for each event and answers typed commands. It is meant for
screen readers and for terminals that can only print.

It uses the terminal's own colours, and only signs that its character set has;
--color, --ascii and the variables CRONRING_COLOR, CRONRING_THEME and
CRONRING_GLYPHS change this. The key , shows the settings, such as the theme, the
columns and the keys, and saves them in ~/.config/cronring/config.toml. Commands of
your own on keys are in that file too.

With -H, ssh cannot prompt, so use key authentication. The dashboard shows the
errors of ssh. With several -H, it begins with a list of hosts; the key 6 shows
this list, to which members of the ring belong too. There, the key a lists the
jobs of all hosts together.`,
		Example: "  cronring top --job etl-orders\n  cronring top -H db-01 -H db-02",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return top(a, cmd, f) },
	}
	cmd.Flags().Var(f.screen, "screen", "begin with `NAME`: jobs, runs, timeline, ring, files")
	cmd.Flags().StringVar(&f.job, "job", "", "begin with the cursor on the job `JOB`")
	cmd.Flags().BoolVar(&f.ascii, "ascii", false, "draw with ASCII characters alone")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "draw nothing: say one line for each event, and answer typed commands")
	cmd.Flags().BoolVar(&f.notify, "notify", false, "when a job begins to fail, ring the bell and notify through the terminal; count failures in its title")
	a.AddColor(cmd)
	return cmd
}

// Show shows the dashboard on one of its screens: jobs, or files with a crontab in
// the editor. root is that of NewTop.
func Show(a *cli.App, cmd *cobra.Command, root func(*cli.App) *cobra.Command, screen, edit string) error {
	return top(a, cmd, &topFlags{root: root, screen: cli.OneOf(screen), edit: edit})
}

// CanShow reports whether input and output are a terminal that can show a screen,
// and may be read.
func CanShow(a *cli.App) bool {
	in, ok := a.In.(*os.File)
	return ok && a.Terminal && !a.NoInput && cli.IsTerminal(in) && tui.Capable(os.Getenv)
}

func top(a *cli.App, cmd *cobra.Command, f *topFlags) error {
	readOnly := ""
	if a.ReadOnly {
		readOnly = "nothing is changed: --read-only"
	}
	if a.NoInput {
		return cli.UsageError("show the dashboard", "it goes by what is typed, and --no-input reads nothing", "cronring status    or: cronring report events")
	}
	if f.plain && f.notify {
		return cli.UsageError("combine --plain with --notify", "", "cronring report events --notify")
	}
	if f.plain && len(a.Hosts) > 1 {
		return cli.UsageError("combine --plain with several hosts", "", "cronring top --plain -H "+a.Host)
	}
	if f.plain || CanShow(a) {
		a.ShowCrontabs()
		defer ViewCrontabs(a, cmd)()
	}
	if f.plain {
		return plain(a, cmd, readOnly, f.root)
	}
	if !CanShow(a) {
		return cli.UsageError("show the dashboard", "input and output have to be a terminal that can place its cursor (TERM="+os.Getenv("TERM")+")",
			"cronring top --plain    or: cronring status")
	}
	preferred := settings.Open(settings.Path(os.Getenv))
	look := tui.FindLook(tui.FlagPreferences{Color: a.Color.String(), ASCII: f.ascii, TTY: a.Terminal}, os.Getenv)
	diagnostics := slices.Clone(preferred.Problems)
	state := tui.StateDir(os.Getenv)
	if a.Demo {
		state, preferred.Path = "", "" // it leaves no files
	}
	views, err := tui.ReadViews(state)
	if err != nil {
		diagnostics = append(diagnostics, err.Error())
	}
	recent, err := tui.ReadRecent(state)
	if err != nil {
		diagnostics = append(diagnostics, err.Error())
	}
	world := screen.World{
		Settings: preferred, Theme: look.Theme, Glyphs: look.Glyphs, Still: look.Still, Local: time.Local, Link: screen.Link{Socket: a.SocketPath()},
		ReadOnly: readOnly, Reach: a.ConnectionFlags(), Remote: a.Host, Commands: commands{a, f.root, readOnly},
	}
	if a.Demo {
		preferred.Commands = nil // they are real, like other hosts
	} else {
		other := newHosts(a, f.ascii, preferred.Hosts)
		defer other.close()
		world.Hosts = other
	}
	messages, ok := a.Err.(*os.File)
	a.Drawing = ok && cli.IsTerminal(messages)
	signal.Reset(os.Interrupt) // the dashboard restores the terminal first
	return tui.Run(cmd.Context(), tui.Options{
		Client: a.Daemon(), In: a.In.(*os.File), Out: os.Stdout, Look: look,
		Start: shell.Start{World: world, Screen: keys.Action(f.screen.String()), Job: f.job, Notify: f.notify, Welcome: preferred.Hints && !tui.Welcomed(state), Views: views, Recent: recent, Toast: strings.Join(diagnostics, "; ")},
		Edit:  f.edit,
		Hosts: len(a.Hosts) > 1,
		State: state,
	})
}
