package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// daemonRing is a ring of daemons, each in a network namespace of its own, whose links can be cut.
// Their jobs write a line into one pipe as they start, so that the test waits for
// starts and never for a time.
type daemonRing struct {
	*network
	mode   string
	dirs   []string
	nodes  []*running
	jobs   []labJob
	starts chan start
	seen   []start

	troubles []trouble
	deaths   []death
	stops    []stop
}

const patience = hosttest.Patience

// newDaemonRing starts n daemons with the same crontab. Its first job starts every second.
func newDaemonRing(t *testing.T, mode string, n, jobs int) *daemonRing {
	t.Helper()
	l := &daemonRing{network: newNetwork(t, n), mode: mode, jobs: labJobs(jobs), starts: make(chan start, 100_000)}
	t.Cleanup(func() {
		for _, d := range l.nodes {
			d.cmd.Process.Signal(syscall.SIGCONT)
			d.cmd.Process.Kill()
			d.cmd.Wait()
		}
	})
	pipe := filepath.Join(t.TempDir(), "starts")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := os.OpenFile(pipe, os.O_RDWR, 0) // both ends, so that it never ends
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	go l.listen(read)
	text := l.crontabOf(pipe)
	for i := range n {
		l.dirs = append(l.dirs, t.TempDir())
		l.configure(i, n)
		filetest.Write(t, l.crontab(i), text, 0o600)
	}
	begun := time.Now()
	for i := range n {
		l.nodes = append(l.nodes, l.launch(i))
	}
	for i := range n {
		l.until(i, "everybody up", func(r *api.Ring) bool { return r.Joined && upIn(r) == n })
	}
	l.troubled("all began together, and may have seen different rings", begun, time.Now(), each)
	return l
}

// labJobs has one job for each second, some for each five seconds, and others spread over twenty
// minutes. There are enough jobs that each member owns some.
func labJobs(n int) []labJob {
	jobs := []labJob{{name: "tick", every: 1}}
	for i := range 30 {
		jobs = append(jobs, labJob{name: fmt.Sprintf("often%d", i), every: 5, at: int64(i % 5), reruns: i%2 > 0})
	}
	for i := len(jobs); i < n; i++ {
		jobs = append(jobs, labJob{name: fmt.Sprintf("job%d", i), every: 1200, at: int64(i%20*60 + i%60), reruns: i%2 > 0})
	}
	return jobs
}

// crontabOf returns the crontab of the jobs, which are jobs of the ring.
func (l *daemonRing) crontabOf(pipe string) string {
	tell := fmt.Sprintf(`echo "$CRONRING_NODE $CRONRING_JOB $(date -d "$CRONRING_DUE" +\%%s) ${CRONRING_FENCING_TOKEN:-0}" >%s`, pipe)
	var b strings.Builder
	b.WriteString("SHELL=/bin/sh\nCRON_TZ=UTC\n#@ default scope=ring\n")
	for _, j := range l.jobs {
		b.WriteString(j.line(tell))
	}
	return b.String()
}

func (l *daemonRing) crontab(i int) string { return filepath.Join(l.dirs[i], "crontab") }

const labPort = 7946

func address(i int) string { return fmt.Sprintf("10.77.0.%d", i+1) }

// configure writes the configuration of a daemon.
func (l *daemonRing) configure(i, n int) {
	l.t.Helper()
	key := filepath.Join(l.dirs[i], "ring.key")
	secret := base64.StdEncoding.EncodeToString([]byte("a key of thirty-two bytes: a lab"))
	filetest.Write(l.t, key, secret+"\n", 0o600)
	var seeds, voters []string
	for k := range n {
		seeds = append(seeds, strconv.Quote(address(k))) // without a port, as in the examples of cronring-ring(7)
	}
	voters = seeds[:n-(n+1)%2] // an odd number
	text := fmt.Sprintf("[ring]\nname = \"lab\"\nbind = \"%s:%d\"\nkey-file = %q\nseeds = [%s]\nmode = %q\n",
		address(i), labPort, key, strings.Join(seeds, ", "), l.mode)
	if l.mode == api.RingStrict {
		text += fmt.Sprintf("voters = [%s]\n", strings.Join(voters, ", "))
	}
	filetest.Write(l.t, filepath.Join(l.dirs[i], "cronring.toml"), text, 0o600)
}

// launch starts a daemon on its own network and under a name of its own, by way of
// other programs.
func (l *daemonRing) launch(i int, under ...string) *running {
	l.t.Helper()
	wrapper := []string{
		"ip", "netns", "exec", l.space(i), "unshare", "--uts", "sh", "-c", fmt.Sprintf(`hostname n%d && exec "$@"`, i+1), "sh",
	}
	return launchAs(l.t, filepath.Join(l.dirs[i], "state"), append(wrapper, under...), "--config", l.dirs[i], l.crontab(i))
}

// listen passes on the lines that jobs write.
func (l *daemonRing) listen(r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) != 4 {
			continue // of a job that was killed while it wrote
		}
		due, _ := strconv.ParseInt(f[2], 10, 64)
		token, _ := strconv.ParseUint(f[3], 10, 64)
		l.starts <- start{f[0], f[1], due, token, time.Now()}
	}
}

// next waits for the next start.
func (l *daemonRing) next() start {
	l.t.Helper()
	select {
	case s := <-l.starts:
		l.seen = append(l.seen, s)
		return s
	case <-time.After(patience):
		l.t.Fatalf("nothing started for %v", patience)
		return start{}
	}
}

// pass waits until the job of each second has started for a scheduled time that is later than now
// by the given duration.
func (l *daemonRing) pass(d time.Duration) {
	l.t.Helper()
	for end := time.Now().Add(d).Unix(); ; {
		if s := l.next(); s.job == "tick" && s.due >= end {
			return
		}
	}
}

// owner waits for the next start of the job of each second, and returns its
// member.
func (l *daemonRing) owner() int {
	l.t.Helper()
	for {
		if s := l.next(); s.job == "tick" && s.due >= time.Now().Unix()-1 {
			return s.member()
		}
	}
}

// until waits, from start to start of jobs, until a daemon sees its ring so.
func (l *daemonRing) until(i int, what string, ok func(*api.Ring) bool) time.Duration {
	l.t.Helper()
	begun := time.Now()
	for {
		r, err := l.nodes[i].client.Ring(context.Background())
		if err == nil && ok(&r) {
			return time.Since(begun)
		}
		if time.Since(begun) > patience {
			l.t.Fatalf("n%d: %s: not after %v: %+v, %v", i+1, what, patience, r, err)
		}
		select {
		case s := <-l.starts:
			l.seen = append(l.seen, s)
		case <-time.After(100 * time.Millisecond): // nothing starts before a member joins a ring, and no event reports that it joined
		}
	}
}

func upIn(r *api.Ring) (up int) {
	for i := range r.Members {
		if r.Members[i].State.Up() {
			up++
		}
	}
	return up
}

// troubled notes what happened to the ring from then until now.
func (l *daemonRing) troubled(what string, from, mended time.Time, side func(int) int) {
	l.troubles = append(l.troubles, trouble{what, from, mended, time.Now(), side})
}

// says waits, from start to start of jobs, until a daemon explains an occurrence with the given
// text.
func (l *daemonRing) says(i int, o occurrence, what string, ok func(*api.Why) bool) {
	l.t.Helper()
	for end := time.Now().Add(patience); ; l.next() {
		why, err := l.nodes[i].client.Why(l.t.Context(), o.job, time.Unix(o.due, 0))
		if err == nil && ok(&why) {
			return
		}
		if time.Now().After(end) {
			l.t.Errorf("n%d does not say of %v %s: %q, %q, %v", i+1, o, what, why.Verdict, why.Facts, err)
			return
		}
	}
}

// explains checks that a member which did not run an occurrence names the owner, and
// can show its history.
func (l *daemonRing) explains(watcher int, s start) {
	l.t.Helper()
	l.says(watcher, occurrence{s.job, s.due}, "that "+s.node+" ran it", func(why *api.Why) bool {
		return strings.Contains(why.Verdict, "another member's. On "+s.node+":")
	})
	runs, err := l.nodes[watcher].client.History(l.t.Context(), api.Filter{Refs: []string{s.job}, Node: api.AllNodes})
	if err != nil || !slices.ContainsFunc(runs.Runs, func(r job.Run) bool { return r.Node == s.node && r.Due.Unix() == s.due }) {
		l.t.Errorf("the history of all nodes, asked of n%d, lacks what %s ran: %+v, %v", watcher+1, s.node, runs, err)
	}
}

func (l *daemonRing) signal(i int, s syscall.Signal) {
	l.t.Helper()
	if err := l.nodes[i].cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

// renew makes a daemon execute its program again, and waits until it answers.
func (l *daemonRing) renew(i int) {
	l.t.Helper()
	before, err := l.nodes[i].client.Health(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	l.signal(i, syscall.SIGUSR2)
	l.until(i, "executed anew", func(r *api.Ring) bool {
		now, err := l.nodes[i].client.Health(context.Background())
		return err == nil && now.Started.After(before.Started) && r.Joined && upIn(r) == len(l.nodes)
	})
}

// TestRingOfFive takes five daemons through what happens to a ring. CI has short
// cuts; CRONRING_LONG makes them a minute.
func TestRingOfFive(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: five daemons on networks of their own take minutes; make ring runs them")
	}
	t.Parallel()
	for _, mode := range []string{api.RingAvailable, api.RingStrict} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			ringOfFive(t, mode)
		})
	}
}

func ringOfFive(t *testing.T, mode string) {
	l := newDaemonRing(t, mode, 5, 2000)
	minutes, long := os.Getenv("CRONRING_LONG") != "", 9*time.Second
	if minutes {
		long = time.Minute
	}
	l.pass(2 * time.Second) // the voters choose who leads
	calm := time.Now()
	l.pass(long / 3)
	l.figures("all well", calm, time.Now())
	l.claims(calm, time.Now())
	l.explains((l.owner()+1)%len(l.nodes), l.seen[len(l.seen)-1])

	victims := []int{l.owner()}
	if leader := l.leader(); leader >= 0 && leader != victims[0] {
		victims = append(victims, leader)
	}
	if minutes {
		for _, victim := range victims {
			l.killed(victim)
		}
	} else {
		l.killed(victims...)
	}
	l.cut(long)
	l.cutOneWay(long)
	l.stopped(long)
	l.renewed()
	if minutes {
		l.restarted(max(l.leader(), 0))
	}
	leaver := l.owner()
	l.left(leaver)
	if minutes {
		l.ahead(leaver)
	}
	doubled := l.check(l.settle())
	t.Logf("%d starts, %d occurrences started more than once", len(l.seen), doubled)
}

// wholeAgain waits until all members see all.
func (l *daemonRing) wholeAgain(after string) {
	l.t.Helper()
	for i := range l.nodes {
		l.until(i, "everybody up after "+after, func(r *api.Ring) bool { return upIn(r) == len(l.nodes) })
	}
}

// killed kills members and starts them again when another one has noticed.
func (l *daemonRing) killed(victims ...int) {
	l.t.Helper()
	watcher := 0
	for slices.Contains(victims, watcher) {
		watcher++
	}
	from, what := time.Now(), ""
	for _, victim := range victims {
		what += fmt.Sprintf("n%d ", victim+1)
		l.signal(victim, syscall.SIGKILL)
		l.deaths = append(l.deaths, death{victim, time.Now()})
		l.nodes[victim].cmd.Wait()
	}
	noticed := l.until(watcher, what+"down", func(r *api.Ring) bool { return upIn(r) == len(l.nodes)-len(victims) })
	l.pass(2 * time.Second)
	l.figures(fmt.Sprintf("%skilled, noticed after %v", what, noticed.Round(time.Millisecond)), from, time.Now())
	for _, victim := range victims {
		l.nodes[victim] = l.launch(victim)
	}
	l.wholeAgain(what + "killed")
}

// cut parts two members from three.
func (l *daemonRing) cut(long time.Duration) {
	l.t.Helper()
	from := time.Now()
	l.do("cut", "1,2", "3,4,5")
	l.pass(long)
	l.mend("the cut 2|3", from, apart(0, 1))
}

// cutOneWay loses all that a member sends.
func (l *daemonRing) cutOneWay(long time.Duration) {
	l.t.Helper()
	mute, from := l.owner(), time.Now()
	l.do("cut-way", strconv.Itoa(mute+1), others(mute, len(l.nodes)))
	l.pass(long)
	l.mend("the loss of all that one sends", from, apart(mute))
}

// mend heals the network.
func (l *daemonRing) mend(what string, from time.Time, side func(int) int) {
	l.t.Helper()
	mended := time.Now()
	l.do("heal")
	l.wholeAgain(what)
	l.troubled(what, from, mended, side)
	l.t.Logf("%s of %v: whole again after %v", what, mended.Sub(from).Round(time.Second), time.Since(mended).Round(time.Millisecond))
	l.pass(3 * time.Second)
	l.figures(what, from, time.Now())
}

// stopped stops the process of a member.
func (l *daemonRing) stopped(long time.Duration) {
	l.t.Helper()
	still, from := l.owner(), time.Now()
	l.signal(still, syscall.SIGSTOP)
	l.pass(long)
	mended := time.Now()
	l.signal(still, syscall.SIGCONT)
	l.stops = append(l.stops, stop{still, from, mended})
	l.wholeAgain("one stood still")
	l.troubled(fmt.Sprintf("n%d stood still", still+1), from, mended, apart(still))
	l.pass(3 * time.Second)
	l.figures("one stood still", from, time.Now())
}

// renewed makes all daemons execute their program again, one after the other.
func (l *daemonRing) renewed() {
	l.t.Helper()
	from := time.Now()
	for i := range l.nodes {
		l.renew(i)
	}
	l.pass(3 * time.Second)
	l.figures("rolling upgrade", from, time.Now())
}

// restarted stops a daemon, and starts it again.
func (l *daemonRing) restarted(i int) {
	l.t.Helper()
	from := time.Now()
	l.signal(i, syscall.SIGTERM)
	l.nodes[i].cmd.Wait()
	ended := time.Since(from)
	l.nodes[i] = l.launch(i)
	l.wholeAgain("a daemon was started again")
	l.pass(3 * time.Second)
	l.figures(fmt.Sprintf("n%d told to end, which took %v, and started again", i+1, ended.Round(time.Millisecond)), from, time.Now())
}

// left has a member leave on purpose.
func (l *daemonRing) left(leaver int) {
	l.t.Helper()
	from := time.Now()
	if _, err := l.nodes[leaver].client.ChangeRing(l.t.Context(), api.RingRequest{Do: api.RingLeave}); err != nil {
		l.t.Fatal(err)
	}
	l.pass(4 * time.Second)
	l.figures("planned leave", from, time.Now())
}

// leader is the number of the member that leads the voters, or -1 where there are
// none.
func (l *daemonRing) leader() int {
	l.t.Helper()
	leader := -1
	if l.mode == api.RingStrict {
		l.until(0, "the voters have a leader", func(r *api.Ring) bool {
			for _, v := range r.Voters {
				for _, m := range r.Members {
					if v.Leader && m.ID == v.ID {
						leader = start{node: m.Name}.member()
					}
				}
			}
			return leader >= 0
		})
	}
	return leader
}

// A member whose clock is two seconds ahead comes to every occurrence first: the
// others start theirs at their time all the same, and nothing starts twice.
func TestRingWithAClockAhead(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: daemons on networks of their own take half a minute; make ring runs them")
	}
	t.Parallel()
	l := newDaemonRing(t, api.RingAvailable, 3, 200)
	l.ahead(2)
	l.check(l.settle())
}

// ahead starts a member again, with a clock that is two seconds ahead.
func (l *daemonRing) ahead(i int) {
	l.t.Helper()
	l.underOwnClock(i, "2")
	l.until((i+1)%len(l.nodes), "the clock is seen to be ahead", func(r *api.Ring) bool {
		return upIn(r) == len(l.nodes) && slices.ContainsFunc(r.Members, func(m api.Member) bool {
			return m.Name == fmt.Sprintf("n%d", i+1) && m.State == api.MemberUp && m.Clock > time.Second && m.Clock < 3*time.Second
		})
	})
	from := time.Now()
	l.pass(12 * time.Second)
	if late := l.late(from, time.Now().Add(early)); late[0].lateness() > -time.Second {
		l.t.Errorf("of %d starts none was early on the member whose clock is ahead: it runs nothing, or its clock is right", len(late))
	}
	l.figures("a clock is ahead", from, time.Now())
}

// underOwnClock starts a member again with a clock that is some seconds ahead. Another
// number in the file that it returns sets the clock while the daemon runs.
func (l *daemonRing) underOwnClock(i int, ahead string) (offset string) {
	l.t.Helper()
	fake, offset := fakeClock(l.t), filepath.Join(l.t.TempDir(), "offset")
	setClock(l.t, offset, ahead)
	l.signal(i, syscall.SIGTERM)
	l.nodes[i].cmd.Wait()
	l.nodes[i] = l.launch(i, fake, offset)
	return offset
}

func setClock(t *testing.T, offset, ahead string) {
	t.Helper()
	filetest.Write(t, offset, ahead, 0o600)
}
