package ring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// ringInit is the verb that sets up the first member of a ring.
const ringInit = "init"

// ringVerbs are the actions of ring, with the maximum number of arguments of each.
var ringVerbs = map[string]int{
	"status": 0, "diff": 1, "keygen": 1, ringInit: 0,
	api.RingJoin: 64, api.RingLeave: 0, api.RingDrain: 0, api.RingUndrain: 0, api.RingRotate: 0, api.RingRecover: 0,
}

// NewRing returns the command ring.
func NewRing(a *cli.App) *cobra.Command {
	var out *cli.Output
	var setup ringSetup
	cmd := &cobra.Command{
		Use:   "ring [status] | init | join [ADDR...] | diff MEMBER | drain | undrain | leave | keygen [FILE] | rotate-key | recover",
		Short: "See and change the ring of hosts that share jobs",
		Long: `See and change the ring of hosts that share jobs: cronring-ring(7) says what it
promises.

status      lists the members, what each owns and what is odd.
init        sets up the first member: it writes a key and conf.d/ring.toml,
            checks them, and prints what to copy where. Nothing that exists
            is changed. See cronring-ring-setup(7).
join        on a host whose configuration has no ring, does the same for a
            further member, with the key of the first; ADDR is a member. On
            another host it has the daemon look for members at each ADDR,
            or at the seeds of the configuration.
diff        compares this host's ring jobs with those of MEMBER, by name or
            ID: a member runs for others only what it holds in the same
            words. The exit code is 0 if they are the same, 1 if not.
drain       gives this host's ring jobs to the others. This host continues
            with the runs of them that are here, which status counts. It
            holds until undrain, also over restarts.
leave       drains, gives the others also what waits here, and leaves the
            ring until join or the next start.
keygen      prints a new key, or writes it to FILE, which must not exist.
rotate-key  gives all members a new key and then forgets the old one. All
            must be up.
recover     in strict mode, on a voter that still has its log after most
            voters have lost theirs: makes that log the ring's. It is
            refused while a majority has its logs. See RECOVERY in
            cronring-ring(7).

Anyone may see the status, root alone changes anything.`,
		Example: "  cronring ring init\n  cronring ring\n  cronring ring drain && apt-get upgrade",
		Args:    ringArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			verb := "status"
			if len(args) > 0 {
				verb, args = args[0], args[1:]
			}
			if err := setup.checkVerb(cmd, verb); err != nil {
				return err
			}
			if setup.seeds = args; setup.wanted(cmd, a, verb) {
				if err := a.ThisHostOnly("ring " + verb); err != nil {
					return err
				}
				return setUpRing(cmd.Context(), a, setup)
			}
			switch verb {
			case "status":
				return ringStatus(cmd.Context(), a, out)
			case "diff":
				return ringDiff(cmd.Context(), a, args[0], out)
			case "keygen":
				return ringKeygen(a, args)
			}
			return changeRing(cmd.Context(), a, api.RingRequest{Do: verb, Seeds: args}, out)
		},
	}
	setup.add(cmd)
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON, cli.FormName)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func ringArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	most, ok := ringVerbs[args[0]]
	switch {
	case !ok:
		return fmt.Errorf("%q is none of %s", args[0], strings.Join(slices.Sorted(maps.Keys(ringVerbs)), ", "))
	case len(args)-1 > most:
		return fmt.Errorf("%s takes no %q", args[0], args[len(args)-1])
	case args[0] == "diff" && len(args) == 1:
		return errors.New("diff needs a member")
	}
	return nil
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
	if out.Value == cli.FormName {
		for _, m := range r.Members {
			a.Printf("%s\n", display.Text(m.Name))
		}
		return nil
	}
	if out.ForPeople() {
		a.Printf("%s\n", ringLine(&r))
	}
	a.PrintTable(memberTable(a, &r, out), out)
	if out.ForPeople() {
		printRingTrouble(a, &r)
	}
	return nil
}

// ringLine summarises a ring in one line.
func ringLine(r *api.Ring) string {
	up := 0
	for i := range r.Members {
		if r.Members[i].State.Up() {
			up++
		}
	}
	line := fmt.Sprintf("ring \"%s\"  %d of %d up  %s", display.Text(r.Name), up, len(r.Members), r.Mode)
	if r.Quorum > 0 {
		line += fmt.Sprintf("  quorum %d of %d", r.Quorum, len(r.Voters))
	}
	line += fmt.Sprintf("  %s  safe to lose %d more", cli.Plural(r.Jobs, "ring job"), r.SafeLoss)
	if !r.Joined {
		line += "  joining: ring jobs wait"
	}
	return line
}

func memberTable(a *cli.App, r *api.Ring, out *cli.Output) *cli.Table {
	t := &cli.Table{Header: []string{"node", "state", "since", "rtt", "clock", "version", "owns", "run", "jobs", "labels", "address", "id"}}
	for i := range r.Members {
		m := &r.Members[i]
		name := m.Name
		since, rtt, clock := m.Since.Format(time.RFC3339), exactly(m.RTT), exactly(m.Clock)
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
		t.Add(name, string(m.State), since, rtt, clock, m.Version, strconv.Itoa(m.Owns), strconv.Itoa(m.Runs), same, labelsText(m.Labels), m.Addr, m.ID)
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

func exactly(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64) + "ms"
}

// signed writes how far a clock is ahead or behind.
func signed(d time.Duration) string {
	if d < 0 {
		return d.Round(100 * time.Microsecond).String()
	}
	return "+" + d.Round(100*time.Microsecond).String()
}

func labelsText(labels map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, k+":"+labels[k])
	}
	return strings.Join(all, ",")
}

func printRingTrouble(a *cli.App, r *api.Ring) {
	if r.Doubled > 0 {
		a.Printf("%s %s ran on two members in the last 24 h, as they did not see each other    cronring why JOB --at T\n", a.Paint(cli.Warn, "!"), cli.Plural(r.Doubled, "occurrence"))
	}
	if r.Held != "" {
		a.Printf("%s this host takes no ring jobs now: %s\n", a.Paint(cli.Bad, cli.Sign("✗", "x")), display.Text(r.Held))
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
		return "this host takes no new ring jobs, and continues with " + cli.Plural(d.Running, "run") + ", and " + strconv.Itoa(d.Waiting) + " not begun"
	}
	return "this host takes no ring jobs, and no run of them is here any more"
}

func ringDiff(ctx context.Context, a *cli.App, member string, out *cli.Output) error {
	d, err := a.Daemon().RingDiff(ctx, member)
	if err != nil {
		return err
	}
	if out.Value == cli.FormJSON {
		if err := a.PrintJSON(d); err != nil {
			return err
		}
	} else {
		printRingDiff(a, &d, out)
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
		t.Add(mark, string(j.Job), fmt.Sprintf("%s:%d %s", j.Table, j.Line, where), j.Schedule, j.User, j.Command)
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
		a.Infof("%s the same as on %s, %d differ, %d here alone, %d there alone", cli.Plural(d.Same, "ring job"), display.Text(d.Member), len(d.Differ), len(d.Missing), len(d.Extra))
	}
}

func changeRing(ctx context.Context, a *cli.App, r api.RingRequest, out *cli.Output) error {
	done, err := a.Daemon().ChangeRing(ctx, r)
	if err != nil {
		return err
	}
	if out.Value == cli.FormJSON {
		return a.PrintJSON(done)
	}
	a.Infof("%s", display.Text(done.Did))
	for _, line := range done.More {
		a.Infof("%s", display.Text(line))
	}
	return nil
}
