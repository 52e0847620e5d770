package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// ringVerbs are what ring does, with the most arguments that each takes.
var ringVerbs = map[string]int{
	"status": 0, "diff": 1, "keygen": 1,
	api.RingJoin: 64, api.RingLeave: 0, api.RingDrain: 0, api.RingUndrain: 0, api.RingRotate: 0,
}

func newRing(a *app) *cobra.Command {
	var out *output
	cmd := &cobra.Command{
		Use:   "ring [status] | diff MEMBER | join [ADDR...] | drain | undrain | leave | keygen [FILE] | rotate-key",
		Short: "See and change the ring of hosts that share jobs",
		Long: `See and change the ring of hosts that share jobs: cronring-ring(7) says what it
promises.

status      lists the members, what each owns and what is odd.
diff        compares this host's ring jobs with those of MEMBER, by name or
            ID: a member runs for others only what it holds in the same
            words. The exit code is 0 if they are the same, 1 if not.
join        looks for members at each ADDR, else at the seeds of the
            configuration.
drain       gives this host's ring jobs to the others, and what of them
            waits here, and returns when they have it; what has begun goes
            on to its end, and status counts it. It holds until undrain,
            also over restarts.
leave       drains, and parts from the others until join or the next start.
keygen      prints a new key, or writes it to FILE, which must not exist.
rotate-key  gives all members a new key and then forgets the old one. All
            must be up.

Anyone may see the status, root alone changes anything.`,
		Example: "  cronring ring keygen /etc/cronring/ring.key\n  cronring ring\n  cronring ring drain && apt-get upgrade",
		Args:    ringArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			verb := "status"
			if len(args) > 0 {
				verb, args = args[0], args[1:]
			}
			switch verb {
			case "status":
				return a.ringStatus(cmd.Context(), out)
			case "diff":
				return a.ringDiff(cmd.Context(), args[0], out)
			case "keygen":
				return a.ringKeygen(args)
			}
			return a.changeRing(cmd.Context(), api.RingRequest{Do: verb, Seeds: args}, out)
		},
	}
	out = a.listOutput(cmd, formTable, formWide, formPlain, formJSON, formName)
	a.addColor(cmd)
	a.addQuiet(cmd)
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

func (a *app) ringStatus(ctx context.Context, out *output) error {
	r, err := a.daemon().Ring(ctx)
	if err != nil {
		return err
	}
	if out.word == formJSON {
		return a.printJSON(r)
	}
	if r.Name == "" && out.forEyes() {
		a.say("this host is in no ring: it runs all jobs of its own crontabs itself; see cronring-ring(7)")
		return nil
	}
	if out.word == formName {
		for _, m := range r.Members {
			a.printf("%s\n", safe.Text(m.Name))
		}
		return nil
	}
	if out.forEyes() {
		a.printf("%s\n", ringLine(&r))
	}
	a.printTable(a.memberTable(&r, out), out)
	if out.forEyes() {
		a.printRingTrouble(&r)
	}
	return nil
}

// ringLine says in one line how a ring is.
func ringLine(r *api.Ring) string {
	up := 0
	for i := range r.Members {
		if r.Members[i].State.Up() {
			up++
		}
	}
	line := fmt.Sprintf("ring \"%s\"  %d of %d up  %s", safe.Text(r.Name), up, len(r.Members), r.Mode)
	if r.Quorum > 0 {
		line += fmt.Sprintf("  quorum %d of %d", r.Quorum, len(r.Voters))
	}
	line += fmt.Sprintf("  %s  safe to lose %d more", plural(r.Jobs, "ring job"), r.SafeLoss)
	if !r.Joined {
		line += "  joining: ring jobs wait"
	}
	return line
}

func (a *app) memberTable(r *api.Ring, out *output) *table {
	t := &table{header: []string{"node", "state", "since", "rtt", "clock", "version", "owns", "run", "jobs", "labels", "address", "id"}}
	for i := range r.Members {
		m := &r.Members[i]
		name := m.Name
		since, rtt, clock := m.Since.Format(time.RFC3339), exactly(m.RTT), exactly(m.Clock)
		if out.forEyes() {
			since, rtt, clock = when.Brief(a.now().Sub(m.Since)), m.RTT.Round(10*time.Microsecond).String(), signed(m.Clock)
			if m.ID == r.Self {
				name, rtt, clock = name+" *", "", ""
			}
		}
		same := "same"
		if m.Lacks > 0 {
			same = strconv.Itoa(m.Lacks) + " differ"
		}
		t.add(name, string(m.State), since, rtt, clock, m.Version, strconv.Itoa(m.Owns), strconv.Itoa(m.Runs), same, labelsText(m.Labels), m.Addr, m.ID)
		row := t.rows[len(t.rows)-1]
		row[1].tone = memberTone[m.State]
		if m.Lacks > 0 {
			row[8].tone = doubt
		}
	}
	return t
}

var memberTone = map[api.MemberState]tone{
	api.MemberUp: good, api.MemberJoining: doubt, api.MemberDraining: doubt, api.MemberDown: bad, api.MemberLeft: faint,
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

func (a *app) printRingTrouble(r *api.Ring) {
	if r.Doubled > 0 {
		a.printf("%s %s ran on two members in the last 24 h, as they did not see each other    cronring why JOB --at T\n", a.paint(doubt, "!"), plural(r.Doubled, "occurrence"))
	}
	if r.Held != "" {
		a.printf("%s this host takes no ring jobs now: %s\n", a.paint(bad, sign("✗", "x")), safe.Text(r.Held))
	}
	if r.Drained != nil {
		a.printf("%s\n", drainedLine(r.Drained))
	}
	for _, p := range r.Problems {
		a.printf("%s %s", a.paint(doubt, "!"), safe.Text(p.What))
		if p.Why != "" {
			a.printf(": %s", safe.Text(p.Why))
		}
		if p.Fix != "" {
			a.printf("    fix: %s", safe.Text(p.Fix))
		}
		a.printf("\n")
	}
	for _, m := range r.Handovers {
		a.printf("%s  %s\n", m.At.Local().Format(stampEyes), safe.Text(m.What))
	}
}

// drainedLine says how far this host is that gives its ring jobs away.
func drainedLine(d *api.Drained) string {
	switch {
	case !d.HandedOver:
		return "this host gives its ring jobs away: " + plural(d.Waiting, "run") + " not begun, " + strconv.Itoa(d.Running) + " going"
	case d.Waiting+d.Running > 0:
		return "this host takes no ring jobs, and what others can have they have; here to the end: " + plural(d.Waiting, "run") + " not begun, " + strconv.Itoa(d.Running) + " going"
	}
	return "this host takes no ring jobs, and no run of them is here any more"
}

func (a *app) ringDiff(ctx context.Context, member string, out *output) error {
	d, err := a.daemon().RingDiff(ctx, member)
	if err != nil {
		return err
	}
	if out.word == formJSON {
		if err := a.printJSON(d); err != nil {
			return err
		}
	} else {
		a.printRingDiff(&d, out)
	}
	if len(d.Differ)+len(d.Missing)+len(d.Extra) > 0 {
		return exit(exitFailed)
	}
	return nil
}

func (a *app) printRingDiff(d *api.RingDiff, out *output) {
	if out.word == formName {
		for _, id := range d.IDs() {
			a.printf("%s\n", safe.Text(string(id)))
		}
		return
	}
	t := &table{header: []string{"", "job", "where", "schedule", "user", "command"}}
	row := func(mark string, tone tone, j *api.RingJob, where string) {
		t.add(mark, string(j.Job), fmt.Sprintf("%s:%d %s", j.Table, j.Line, where), j.Schedule, j.User, j.Command)
		t.rows[len(t.rows)-1][0].tone = tone
	}
	for i := range d.Differ {
		row("~", doubt, &d.Differ[i].Here, "here")
		row("~", doubt, &d.Differ[i].There, "there")
	}
	for i := range d.Missing {
		row("-", bad, &d.Missing[i], "here alone")
	}
	for i := range d.Extra {
		row("+", good, &d.Extra[i], "there alone")
	}
	if len(t.rows) > 0 {
		a.printTable(t, out)
	}
	if out.forEyes() {
		a.say("%s the same as on %s, %d differ, %d here alone, %d there alone", plural(d.Same, "ring job"), safe.Text(d.Member), len(d.Differ), len(d.Missing), len(d.Extra))
	}
}

func (a *app) changeRing(ctx context.Context, r api.RingRequest, out *output) error {
	done, err := a.daemon().ChangeRing(ctx, r)
	if err != nil {
		return err
	}
	if out.word == formJSON {
		return a.printJSON(done)
	}
	a.say("%s", safe.Text(done.Did))
	for _, line := range done.More {
		a.say("%s", safe.Text(line))
	}
	return nil
}

// keyBytes is how long the key of a ring is: AES-256.
const keyBytes = 32

func (a *app) ringKeygen(args []string) error {
	key := make([]byte, keyBytes)
	rand.Read(key)
	line := base64.StdEncoding.EncodeToString(key) + "\n"
	if len(args) == 0 {
		a.printf("%s", line)
		return nil
	}
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		e := &api.Error{Kind: api.Conflict, What: "cannot write a new key", Why: err.Error()}
		if errors.Is(err, os.ErrExist) {
			e.Fix = "the key of a ring in use: cronring ring rotate-key"
		}
		return e
	}
	_, err = f.WriteString(line)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	a.say("wrote a new key to %s; copy it to the other hosts, readable by root alone, and name it in their configuration: key-file", safe.Text(args[0]))
	return nil
}
