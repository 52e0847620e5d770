package doctor

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// grade is the severity of a finding.
type grade string

const (
	gradeOK      grade = "ok"
	gradeWarning grade = "warning"
	gradeProblem grade = "problem"
	gradeUnseen  grade = "unseen" // could not be looked at, mostly for want of rights
)

// gradeLook holds the symbol and tone of each grade. The symbol alone is enough to
// recognise it.
var gradeLook = map[grade]struct {
	full, ascii string
	tone        cli.Tone
}{
	gradeOK:      {"✓", "+", cli.Good},
	gradeWarning: {"!", "!", cli.Warn},
	gradeProblem: {"✗", "x", cli.Bad},
	gradeUnseen:  {"?", "?", cli.Faint},
}

// finding is the result of a check.
type finding struct {
	Check string   `json:"check"`
	Grade grade    `json:"grade"`
	What  string   `json:"what"`
	Why   string   `json:"why,omitempty"`
	Fix   []remedy `json:"fix,omitempty"`
}

// remedy is a command that mends a finding. Harmless ones touch nothing but
// what is cronring's own, and take no right from anybody who should have it:
// --fix runs those. The others are for a person to decide.
type remedy struct {
	Command  string   `json:"command"`
	Harmless bool     `json:"harmless,omitempty"`
	argv     []string // of a harmless one
}

// advice is a remedy for a person.
func advice(command string) []remedy { return []remedy{{Command: command}} }

// harmless is a remedy that --fix runs.
func harmless(argv ...string) remedy {
	return remedy{Command: display.ShellLine(argv), Harmless: true, argv: argv}
}

// check looks at one side of the host.
type check struct {
	name string
	look func(ctx context.Context, e *examination) []finding
}

// checks are all checks of doctor, in the order of its output.
var checks = []check{
	{"daemon", checkDaemon},
	{"second cron", checkRivals},
	{"unit", checkUnit},
	{"PAM", checkPAM},
	{"rights", checkRights},
	{"crontab(1)", checkCrontab},
	{"crontabs", checkCrontabs},
	{"clock", checkClock},
	{"zone", checkZone},
	{"timers", checkTimers},
	{"ring", checkRing},
	{"listener", checkListener},
	{"mail", checkMail},
	{"disk", checkDisk},
	{"inotify", checkInotify},
}

// examination is one look at a host.
type examination struct {
	*inventory.Machine
	kernel
	socket     string
	ask        func(context.Context) (api.Status, error)
	askRing    func(context.Context) (api.Ring, error)
	privileged bool   // may see what is root's
	owner      uint32 // the owner of what must belong to root

	status    api.Status
	statusErr error
	crontabs  []inventory.Crontab
}

// kernel makes the system calls of checks.
type kernel struct {
	adjtimex func() (unix.Timex, error)
	statfs   func(path string) (unix.Statfs_t, error)
	timerfd  func(clock int) error // whether the kernel has a timer of that clock
}

func thisKernel() kernel {
	return kernel{
		adjtimex: func() (t unix.Timex, err error) {
			_, err = unix.Adjtimex(&t)
			return t, err
		},
		statfs: func(path string) (s unix.Statfs_t, err error) {
			err = unix.Statfs(path, &s)
			return s, err
		},
		timerfd: func(clock int) error {
			fd, err := unix.TimerfdCreate(clock, unix.TFD_CLOEXEC)
			if err == nil {
				unix.Close(fd)
			}
			return err
		},
	}
}

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	strict, fix, dry bool
	out              *cli.Output
}

// NewDoctor returns the command doctor.
func NewDoctor(a *cli.App) *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor [--strict] [--fix [--dry-run]]",
		Short: "Check the host: daemon, a second cron, rights, clock, mail, disk",
		Long: `Check the host: whether the daemon answers, another cron runs beside it, rights,
crontabs, clock, zone, ring, mail, disk and the service's unit are in order.

The exit code is 8 if a problem was found; with --strict also for a warning.
What could not be looked at, mostly because only root may, is marked with ?.

--fix runs those remedies that can do no harm: they touch nothing but files that
are cronring's own. With -n it prints them and runs nothing.`,
		Example: "  cronring doctor\n  cronring doctor --fix --dry-run",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.dry && !f.fix {
				return cli.UsageError("make a dry run of nothing", "--dry-run is for --fix", "cronring doctor --fix --dry-run")
			}
			if err := a.ThisHostOnly("doctor"); err != nil {
				return err
			}
			e := &examination{Machine: inventory.This(a.Now), kernel: thisKernel(), ask: a.Daemon().Status, askRing: a.Daemon().Ring, privileged: os.Geteuid() == 0, socket: a.SocketPath()}
			return doctor(cmd.Context(), a, e, f)
		},
	}
	cmd.Flags().BoolVar(&f.strict, "strict", false, "warnings, too, make the exit code 8")
	cmd.Flags().BoolVar(&f.fix, "fix", false, "run the remedies that can do no harm")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "with --fix: print its commands, run nothing")
	f.out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func doctor(ctx context.Context, a *cli.App, e *examination, f *doctorFlags) error {
	findings := e.examine(ctx)
	if f.fix {
		if mend(ctx, a, e, findings, f.dry) {
			findings = e.examine(ctx)
		}
	}
	if err := a.PrintAnswer(f.out, examined{V: api.Version, Findings: findings}, func() { printFindings(a, findings) }); err != nil {
		return err
	}
	n := map[grade]int{}
	for _, found := range findings {
		n[found.Grade]++
	}
	a.Infof("%s, %s, %s, %d not seen", display.Count(n[gradeOK], "thing")+" in order",
		display.Count(n[gradeProblem], "problem"), display.Count(n[gradeWarning], "warning"), n[gradeUnseen])
	if n[gradeProblem] > 0 || f.strict && n[gradeWarning] > 0 {
		return cli.ExitCode(cli.ExitProblems)
	}
	return nil
}

// examined is the result of doctor.
type examined struct {
	V        int       `json:"v"`
	Findings []finding `json:"findings"`
}

// examine makes all checks.
func (e *examination) examine(ctx context.Context) []finding {
	e.status, e.statusErr = e.greet(ctx)
	e.crontabs = e.Machine.Crontabs(ctx)
	var all []finding
	for _, c := range checks {
		for _, found := range c.look(ctx, e) {
			found.Check = c.name
			all = append(all, found)
		}
	}
	return all
}

// answers reports whether the daemon does.
func (e *examination) answers() bool { return e.statusErr == nil }

// mend runs the harmless remedies and prints them. It reports whether it ran any.
func mend(ctx context.Context, a *cli.App, e *examination, findings []finding, dry bool) bool {
	ran := false
	for _, found := range findings {
		for _, r := range found.Fix {
			switch {
			case !r.Harmless:
				a.Infof("left to you: %s", display.Text(r.Command))
			case dry:
				a.Infof("would run: %s", display.Text(r.Command))
			default:
				ran = true
				out, status, err := e.Exec(ctx, r.argv...)
				if err != nil || status != 0 {
					a.Infof("tried: %s: it failed: %s", display.Text(r.Command), display.Text(strings.TrimSpace(inventory.Failure(out, status, err))))
					continue
				}
				a.Infof("ran: %s", display.Text(r.Command))
			}
		}
	}
	return ran
}

func printFindings(a *cli.App, findings []finding) {
	width := 0
	for _, c := range checks {
		width = max(width, len(c.name))
	}
	for _, found := range findings {
		look := gradeLook[found.Grade]
		a.Printf("%s %s  %s\n", a.Paint(look.tone, cli.Sign(look.full, look.ascii)), display.Pad(found.Check, width), display.Text(found.What))
		cli.PrintPart(a, "why", found.Why)
		for _, r := range found.Fix {
			cli.PrintPart(a, "fix", r.Command)
		}
	}
}
