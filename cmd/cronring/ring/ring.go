package ring

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// NewRing returns the command ring and its subcommands. Without one it shows the status.
func NewRing(a *cli.App) *cobra.Command {
	cmd := newStatus(a, "ring")
	cmd.Long = `Show and change the ring of hosts that share jobs: see cronring-ring(7), and
cronring-ring-setup(7) for a first ring. Without a subcommand, show the status.

Every user may see the status. Only root can change anything.`
	cmd.Short = "Show and change the ring of hosts that share jobs"
	cmd.Example = "  cronring ring init\n  cronring ring\n  cronring ring drain && apt-get upgrade"
	cmd.AddCommand(newStatus(a, "status"), newInit(a), newJoin(a), newDiff(a), newKeygen(a))
	for _, sub := range []struct{ do, short, long string }{
		{api.RingDrain, "Give this host's ring jobs to the other members", `Give this host's ring jobs to the other members. Runs that have started here
continue here; the status counts them. The host stays drained until ring undrain,
also after a restart.`},
		{api.RingUndrain, "Let this host run ring jobs again", ""},
		{api.RingLeave, "Leave the ring", `Drain this host, give the other members what waits here, and leave the ring until
ring join or the next start of the daemon.`},
		{api.RingRotate, "Replace the key of the ring", `Give all members a new key, and then forget the old one. All members must be up.`},
		{api.RingRecover, "Make the log of this voter the log of the ring", `In strict mode, on a voter that still has its log after most voters have lost
theirs, make that log the log of the ring. Refused while a majority of the voters
has its logs. See RECOVERY in cronring-ring-setup(7).`},
	} {
		cmd.AddCommand(newAction(a, sub.do, sub.short, sub.long))
	}
	return cmd
}

func newStatus(a *cli.App, name string) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   name,
		Short: "List the members, how many jobs each owns, and problems",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return ringStatus(cmd.Context(), a, out) },
	}
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON, cli.FormName)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func newInit(a *cli.App) *cobra.Command {
	var setup ringSetup
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up the first member of a ring",
		Long: `Set up the first member of a ring: write a key and conf.d/ring.toml, check them,
and print what to copy to which host. Files that exist are not changed. See
cronring-ring-setup(7).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.ThisHostOnly("ring init"); err != nil {
				return err
			}
			return setUpRing(cmd.Context(), a, setup)
		},
	}
	setup.add(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func newJoin(a *cli.App) *cobra.Command {
	var out *cli.Output
	var setup ringSetup
	cmd := &cobra.Command{
		Use:   "join [ADDR...]",
		Short: "Set up a further member, or join the ring again",
		Long: `On a host whose configuration has no ring, set up a further member with the key
of the first, as ring init does; ADDR is the address of a member. On another host,
make the daemon look for members at each ADDR, or at the seeds of the
configuration.`,
		Example: "  cronring ring join db1.example.com",
		Args:    cobra.MaximumNArgs(64),
		RunE: func(cmd *cobra.Command, args []string) error {
			setup.seeds = args
			if !setup.wanted(cmd, a) {
				return changeRing(cmd.Context(), a, api.RingRequest{Do: api.RingJoin, Seeds: args}, out)
			}
			if err := a.ThisHostOnly("ring join"); err != nil {
				return err
			}
			return setUpRing(cmd.Context(), a, setup)
		},
	}
	setup.add(cmd)
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	a.AddQuiet(cmd)
	return cmd
}

func newDiff(a *cli.App) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "diff MEMBER",
		Short: "Compare this host's ring jobs with those of a member",
		Long: `Compare this host's ring jobs with those of MEMBER, by name or ID. A member runs
only jobs for others that are the same in its own crontabs. The exit code is 0 if
they are the same, 1 if not.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return ringDiff(cmd.Context(), a, args[0], out) },
	}
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON, cli.FormName)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func newKeygen(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "keygen [FILE]",
		Short: "Print a new key, or write it to FILE, which must not exist",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return ringKeygen(a, args) },
	}
}

// newAction returns the subcommand that has the daemon change its part in the ring.
func newAction(a *cli.App, do, short, long string) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use: do, Short: short, Long: long,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return changeRing(cmd.Context(), a, api.RingRequest{Do: do}, out)
		},
	}
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	a.AddQuiet(cmd)
	return cmd
}

func ringStatus(ctx context.Context, a *cli.App, out *cli.Output) error {
	r, err := a.Daemon().Ring(ctx)
	if err != nil {
		return err
	}
	if out.Value == cli.FormJSON {
		return a.PrintJSON(r)
	}
	if r.Name == "" && out.ForPeople() {
		a.Infof("this host is in no ring: it runs all jobs of its own crontabs itself; see cronring-ring(7)")
		return nil
	}
	if out.ForPeople() {
		a.Printf("%s\n", ringLine(&r))
	}
	a.PrintTable(memberTable(a, &r, out), out)
	if out.ForPeople() {
		printRingProblems(a, &r)
	}
	return nil
}

// ringLine summarises a ring in one line.
func ringLine(r *api.Ring) string {
	line := fmt.Sprintf("ring \"%s\"  %d of %d up  %s", display.Text(r.Name), r.Up(), len(r.Members), display.Text(r.Mode))
	if r.Quorum > 0 {
		line += fmt.Sprintf("  quorum %d of %d", r.Quorum, len(r.Voters))
	}
	line += "  " + display.Count(r.Jobs, "ring job")
	switch {
	case !r.Joined:
		return line + "  joining: ring jobs wait"
	case r.RunsNothing():
		return line
	}
	return line + fmt.Sprintf("  safe to lose %d more", r.SafeLoss)
}

func memberTable(a *cli.App, r *api.Ring, out *cli.Output) *cli.Table {
	t := &cli.Table{Header: []string{"member", "state", "since", "rtt", "clock", "version", "owns", "run", "jobs", "labels", "address", "id"}}
	for i := range r.Members {
		m := &r.Members[i]
		name := m.Name
		since, rtt, clock := m.Since.Format(time.RFC3339), milliseconds(m.RTT), milliseconds(m.Clock)
		if out.ForPeople() {
			since, rtt, clock = display.Brief(a.Now().Sub(m.Since)), m.RTT.Round(10*time.Microsecond).String(), signed(m.Clock)
			if m.ID == r.Self {
				name, rtt, clock = name+" *", "", ""
			}
		}
		same := "same"
		if m.Lacks > 0 {
			same = strconv.Itoa(m.Lacks) + " differ"
		}
		t.Add(name, string(m.State), since, rtt, clock, m.Version, strconv.Itoa(m.Owns), strconv.Itoa(m.Runs), same, m.LabelsText(), m.Addr, m.ID)
		row := t.Rows[len(t.Rows)-1]
		row[1].Tone = memberTone[m.State]
		if m.Lacks > 0 {
			row[8].Tone = cli.Warn
		}
	}
	return t
}

var memberTone = map[api.MemberState]cli.Tone{
	api.MemberUp: cli.Good, api.MemberJoining: cli.Warn, api.MemberDraining: cli.Warn, api.MemberDown: cli.Bad, api.MemberLeft: cli.Faint,
}

// milliseconds formats a duration for programs.
func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64) + "ms"
}

// signed writes how far a clock is ahead or behind.
func signed(d time.Duration) string {
	if d < 0 {
		return d.Round(100 * time.Microsecond).String()
	}
	return "+" + d.Round(100*time.Microsecond).String()
}

func printRingProblems(a *cli.App, r *api.Ring) {
	if r.Joined && r.Unowned > 0 {
		a.Printf("%s ring jobs that no member can run: %d\n", a.Paint(cli.Warn, "!"), r.Unowned)
	}
	if r.Doubled > 0 {
		a.Printf("%s %s ran on two members in the last 24 h, as they did not see each other    cronring why JOB --at T\n", a.Paint(cli.Warn, "!"), display.Count(r.Doubled, "occurrence"))
	}
	if r.Drained != nil {
		a.Printf("%s\n", drainedLine(r.Drained))
	}
	for _, p := range r.Problems {
		a.Printf("%s %s", a.Paint(cli.Warn, "!"), display.Text(p.What))
		if p.Why != "" {
			a.Printf(": %s", display.Text(p.Why))
		}
		if p.Fix != "" {
			a.Printf("    fix: %s", display.Text(p.Fix))
		}
		a.Printf("\n")
	}
	for _, m := range r.Handovers {
		a.Printf("%s  %s\n", m.At.Local().Format(cli.LongTime), display.Text(m.What))
	}
}

// drainedLine describes a host that is drained.
func drainedLine(d *api.Drained) string {
	if d.Waiting+d.Running > 0 {
		return "this host takes no new ring jobs, and continues with " + display.Count(d.Running, "run") + ", and " + strconv.Itoa(d.Waiting) + " not begun"
	}
	return "this host takes no ring jobs, and has no active run of one"
}

func ringDiff(ctx context.Context, a *cli.App, member string, out *cli.Output) error {
	d, err := a.Daemon().RingDiff(ctx, member)
	if err != nil {
		return err
	}
	if err := a.PrintAnswer(out, d, func() { printRingDiff(a, &d, out) }); err != nil {
		return err
	}
	if len(d.Differ)+len(d.Missing)+len(d.Extra) > 0 {
		return cli.ExitCode(cli.ExitFailed)
	}
	return nil
}

func printRingDiff(a *cli.App, d *api.RingDiff, out *cli.Output) {
	if out.Value == cli.FormName {
		for _, id := range d.IDs() {
			a.Printf("%s\n", display.Text(string(id)))
		}
		return
	}
	t := &cli.Table{Header: []string{"", "job", "where", "schedule", "user", "command"}}
	row := func(mark string, tone cli.Tone, j *api.RingJob, where string) {
		t.Add(mark, string(j.Job), fmt.Sprintf("%s:%d %s", j.Crontab, j.Line, where), j.Schedule, j.User, j.Command)
		t.Rows[len(t.Rows)-1][0].Tone = tone
	}
	for i := range d.Differ {
		row("~", cli.Warn, &d.Differ[i].Here, "here")
		row("~", cli.Warn, &d.Differ[i].There, "there")
	}
	for i := range d.Missing {
		row("-", cli.Bad, &d.Missing[i], "here alone")
	}
	for i := range d.Extra {
		row("+", cli.Good, &d.Extra[i], "there alone")
	}
	if len(t.Rows) > 0 {
		a.PrintTable(t, out)
	}
	if out.ForPeople() {
		a.Infof("%s the same as on %s, %d differ, %d here alone, %d there alone", display.Count(d.Same, "ring job"), display.Text(d.Member), len(d.Differ), len(d.Missing), len(d.Extra))
	}
}

func changeRing(ctx context.Context, a *cli.App, r api.RingRequest, out *cli.Output) error {
	done, err := a.Daemon().ChangeRing(ctx, r)
	if err != nil {
		return err
	}
	return a.PrintAnswer(out, done, func() {
		for _, line := range append([]string{done.Did}, done.More...) {
			a.Infof("%s", display.Text(line))
		}
	})
}
