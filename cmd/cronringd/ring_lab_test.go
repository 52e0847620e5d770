package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// lab is several daemons, each on a network of its own, whose links can be cut.
// Their jobs write a line into one pipe as they start, so that the test waits for
// starts and never for a time.
type lab struct {
	t      *testing.T
	net    string
	mode   string
	dirs   []string
	nodes  []*running
	starts chan start
	seen   []start
	cuts   []span // while members could not see each other, or one stood still
	kills  []time.Time
}

// start is a job that began, as the job itself tells it.
type start struct {
	node, job string
	due       int64 // Unix seconds
	token     uint64
	at        time.Time
}

// member is the number of the daemon that ran it.
func (s start) member() int {
	i, err := strconv.Atoi(strings.TrimPrefix(s.node, "n"))
	if err != nil {
		panic(err)
	}
	return i - 1
}

func (s start) String() string {
	return fmt.Sprintf("on %s at %s", s.node, s.at.UTC().Format("15:04:05.000"))
}

// span is a part of the time of a test.
type span struct{ from, to time.Time }

// labs counts them, as each has a name of its own.
var labs atomic.Int32

// patience bounds how long the lab waits for anything.
const patience = 2 * time.Minute

// newLab starts n daemons with the same table. Its first job starts every second.
func newLab(t *testing.T, mode string, n, jobs int) *lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: daemons on networks of their own need root")
	}
	if err := exec.Command("nft", "--version").Run(); err != nil {
		t.Skip("SKIPPED: networks are cut with nft, which is not there: apt-get install nftables")
	}
	l := &lab{t: t, net: fmt.Sprintf("%c%d", 'a'+labs.Add(1), os.Getpid()%1_000_000), mode: mode, starts: make(chan start, 100_000)}
	if out, err := l.script("up", strconv.Itoa(n)); err != nil {
		t.Skipf("SKIPPED: no networks of our own can be made here: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		for _, d := range l.nodes {
			d.cmd.Process.Signal(syscall.SIGCONT)
			d.cmd.Process.Kill()
			d.cmd.Wait()
		}
		if out, err := l.script("down"); err != nil {
			t.Errorf("networks are left behind: %v\n%s", err, out)
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
	text := labTable(pipe, jobs)
	for i := range n {
		l.dirs = append(l.dirs, t.TempDir())
		l.configure(i, n)
		if err := os.WriteFile(l.table(i), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	for i := range n {
		l.nodes = append(l.nodes, l.launch(i))
	}
	for i := range n {
		l.until(i, "everybody up", func(r *api.Ring) bool { return r.Joined && upIn(r) == n })
	}
	l.apart(begun) // who starts at the same time may see another ring for some seconds
	return l
}

// labTable is a table of ring jobs: one for each second, some for each five seconds,
// and the others spread over the minutes.
func labTable(pipe string, jobs int) string {
	tell := fmt.Sprintf(`echo "$CRONRING_NODE $CRONRING_JOB $(date -d "$CRONRING_DUE" +\%%s) ${CRONRING_FENCING_TOKEN:-0}" >%s`, pipe)
	var b strings.Builder
	b.WriteString("SHELL=/bin/sh\n#@ default scope=ring\n")
	fmt.Fprintf(&b, "#@ name=tick sec=*\n* * * * * %s\n", tell)
	for i := 1; i < jobs; i++ {
		fmt.Fprintf(&b, "#@ name=job%d sec=%d\n%d-59/20 * * * * %s\n", i, i%60, i%20, tell)
	}
	for i := range often {
		fmt.Fprintf(&b, "#@ name=often%d sec=%d-59/5\n* * * * * %s\n", i, i%5, tell)
	}
	return b.String()
}

// often is how many jobs of a table start every five seconds: so many that each
// member has some of them.
const often = 30

func (l *lab) table(i int) string { return filepath.Join(l.dirs[i], "crontab") }

const labPort = 7946

func address(i int) string { return fmt.Sprintf("10.77.0.%d", i+1) }

// configure writes the configuration of a daemon.
func (l *lab) configure(i, n int) {
	l.t.Helper()
	key := filepath.Join(l.dirs[i], "ring.key")
	secret := base64.StdEncoding.EncodeToString([]byte("a key of thirty-two bytes: a lab"))
	if err := os.WriteFile(key, []byte(secret+"\n"), 0o600); err != nil {
		l.t.Fatal(err)
	}
	var seeds, voters []string
	for k := range n {
		seeds = append(seeds, strconv.Quote(fmt.Sprintf("%s:%d", address(k), labPort)))
	}
	voters = seeds[:n-(n+1)%2] // an odd number
	text := fmt.Sprintf("[ring]\nname = \"lab\"\nbind = \"%s:%d\"\nkey-file = %q\nseeds = [%s]\nmode = %q\n",
		address(i), labPort, key, strings.Join(seeds, ", "), l.mode)
	if l.mode == api.RingStrict {
		text += fmt.Sprintf("voters = [%s]\n", strings.Join(voters, ", "))
	}
	if err := os.WriteFile(filepath.Join(l.dirs[i], "cronring.toml"), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// launch starts a daemon on its own network and under a name of its own, by way of
// other programs.
func (l *lab) launch(i int, under ...string) *running {
	l.t.Helper()
	wrapper := []string{
		"ip", "netns", "exec", fmt.Sprintf("%s-%d", l.net, i+1), "unshare", "--uts", "sh", "-c", fmt.Sprintf(`hostname n%d && exec "$@"`, i+1), "sh",
	}
	return launchAs(l.t, filepath.Join(l.dirs[i], "state"), append(wrapper, under...), "--config", l.dirs[i], l.table(i))
}

func (l *lab) script(args ...string) ([]byte, error) {
	cmd := exec.Command("../../testdata/lab/netlab.sh", args...)
	cmd.Env = append(os.Environ(), "LAB_NET="+l.net)
	return cmd.CombinedOutput()
}

func (l *lab) do(args ...string) {
	l.t.Helper()
	if out, err := l.script(args...); err != nil {
		l.t.Fatalf("netlab.sh %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// listen passes on the lines that jobs write.
func (l *lab) listen(r io.Reader) {
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
func (l *lab) next() start {
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

// pass waits until the job of each second has started for a due time so much
// later than now.
func (l *lab) pass(d time.Duration) {
	l.t.Helper()
	for end := time.Now().Add(d).Unix(); ; {
		if s := l.next(); s.job == "tick" && s.due >= end {
			return
		}
	}
}

// owner waits for the next start of the job of each second, and tells whose it
// was.
func (l *lab) owner() int {
	l.t.Helper()
	for {
		if s := l.next(); s.job == "tick" && s.due >= time.Now().Unix()-1 {
			return s.member()
		}
	}
}

// until waits, from start to start of jobs, until a daemon sees its ring so.
func (l *lab) until(i int, what string, ok func(*api.Ring) bool) time.Duration {
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
		case <-time.After(100 * time.Millisecond): // before a ring is joined nothing starts; nothing tells of it either
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

// apart notes that from then until now members did not see each other.
func (l *lab) apart(from time.Time) { l.cuts = append(l.cuts, span{from, time.Now()}) }

// tally is how often each occurrence started.
func (l *lab) tally() map[string]map[int64][]start {
	by := map[string]map[int64][]start{}
	for _, s := range l.seen {
		if by[s.job] == nil {
			by[s.job] = map[int64][]start{}
		}
		by[s.job][s.due] = append(by[s.job][s.due], s)
	}
	return by
}

// settle waits until nothing of the time before now can start any more.
func (l *lab) settle() (end int64) {
	end = time.Now().Unix()
	l.pass(8 * time.Second)
	return end
}

// check looks at all occurrences due from the first start of the job of each second
// until end: none is lost, and doubles are of a time when members were apart.
func (l *lab) check(end int64) (doubled int) {
	l.t.Helper()
	by := l.tally()
	ticks := by["tick"]
	first := slices.Min(slices.Collect(maps.Keys(ticks)))
	for due := first; due <= end; due++ {
		if len(ticks[due]) == 0 && !(l.mode == api.RingStrict && l.wasKilled(due)) { // granted to who was killed before it began it
			l.t.Errorf("tick of %s is lost", time.Unix(due, 0).UTC().Format(time.TimeOnly))
		}
	}
	for name, dues := range by {
		for due, starts := range dues {
			if len(starts) < 2 {
				continue
			}
			doubled++
			l.isMarked(name, due, starts)
			if l.mode == api.RingStrict || !l.wasApart(due) && !l.wasKilled(due) {
				l.t.Errorf("%s of %s started %d times: %v", name, time.Unix(due, 0).UTC().Format(time.TimeOnly), len(starts), starts)
			}
		}
	}
	return doubled
}

// isMarked checks that the members that ran an occurrence twice say so.
func (l *lab) isMarked(name string, due int64, starts []start) {
	l.t.Helper()
	if l.wasKilled(due) { // who was killed has not written it down
		return
	}
	for _, s := range starts {
		l.says(s.member(), name, due, "that it ran twice", func(why *api.Why) bool {
			return strings.Contains(strings.Join(why.Facts, " "), "did not see each other")
		})
	}
}

// says waits, from start to start of jobs, until a daemon says so of an occurrence.
func (l *lab) says(i int, name string, due int64, what string, ok func(*api.Why) bool) {
	l.t.Helper()
	for end := time.Now().Add(patience); ; l.next() {
		why, err := l.nodes[i].client.Why(l.t.Context(), name, time.Unix(due, 0))
		if err == nil && ok(&why) {
			return
		}
		if time.Now().After(end) {
			l.t.Errorf("n%d does not say of %s of %s %s: %q, %q, %v", i+1, name, time.Unix(due, 0).UTC().Format(time.TimeOnly), what, why.Verdict, why.Facts, err)
			return
		}
	}
}

// explains checks that a member which did not run an occurrence tells who did, and
// has that one's history to show.
func (l *lab) explains(watcher int, s start) {
	l.t.Helper()
	l.says(watcher, s.job, s.due, "that "+s.node+" ran it", func(why *api.Why) bool {
		return strings.Contains(why.Verdict, "another member's. On "+s.node+":")
	})
	runs, err := l.nodes[watcher].client.History(l.t.Context(), api.Filter{Refs: []string{s.job}, Node: api.AllNodes})
	if err != nil || !slices.ContainsFunc(runs.Runs, func(r job.Run) bool { return r.Node == s.node && r.Due.Unix() == s.due }) {
		l.t.Errorf("the history of all nodes, asked of n%d, lacks what %s ran: %+v, %v", watcher+1, s.node, runs, err)
	}
}

// wasApart tells whether members were apart about an instant.
func (l *lab) wasApart(due int64) bool {
	const about = 10 * time.Second // failures are noticed late, and so is their end
	at := time.Unix(due, 0)
	return slices.ContainsFunc(l.cuts, func(s span) bool { return at.After(s.from.Add(-about)) && at.Before(s.to.Add(about)) })
}

// wasKilled tells whether a member was killed about an instant: nobody can tell
// then whether what it was about to start has started.
func (l *lab) wasKilled(due int64) bool {
	at := time.Unix(due, 0)
	return slices.ContainsFunc(l.kills, func(k time.Time) bool { return at.After(k.Add(-2*time.Second)) && at.Before(k.Add(time.Second)) })
}

// gap is the longest lateness of the job of each second from an instant on.
func (l *lab) gap(from time.Time) (longest time.Duration) {
	for _, s := range l.seen {
		if s.job == "tick" && s.due >= from.Unix() {
			longest = max(longest, s.at.Sub(time.Unix(s.due, 0)))
		}
	}
	return longest
}

func (l *lab) signal(i int, s syscall.Signal) {
	l.t.Helper()
	if err := l.nodes[i].cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

// renew has a daemon execute its program anew, and waits until it is back.
func (l *lab) renew(i int) {
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
		t.Skip("SKIPPED: five daemons on networks of their own take minutes; make ring runs them")
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
	const n = 5
	long := 12 * time.Second
	if os.Getenv("CRONRING_LONG") != "" {
		long = time.Minute
	}
	l := newLab(t, mode, n, 2000)
	l.pass(5 * time.Second)
	victim := l.owner()
	l.explains((victim+1)%n, l.seen[len(l.seen)-1])

	from := time.Now()
	l.signal(victim, syscall.SIGKILL)
	l.kills = append(l.kills, from)
	l.nodes[victim].cmd.Wait()
	watcher := (victim + 1) % n
	seen := l.until(watcher, "the owner is down", func(r *api.Ring) bool { return upIn(r) == n-1 })
	l.pass(3 * time.Second)
	t.Logf("kill -9 of the owner: noticed after %v, latest start %v after its time", seen.Round(time.Millisecond), l.gap(from).Round(time.Millisecond))
	l.nodes[victim] = l.launch(victim)
	back := l.until(watcher, "the owner is back", func(r *api.Ring) bool { return upIn(r) == n })
	t.Logf("back after %v", back.Round(time.Millisecond))
	l.pass(5 * time.Second)

	from = time.Now()
	l.do("cut", "1,2", "3,4,5")
	l.pass(long)
	l.do("heal")
	for i := range n {
		l.until(i, "everybody up after the cut", func(r *api.Ring) bool { return upIn(r) == n })
	}
	l.apart(from)
	t.Logf("cut 2|3 of %v healed, whole again after %v", long, time.Since(from.Add(long)).Round(time.Millisecond))
	l.pass(5 * time.Second)

	victim = l.owner()
	from = time.Now()
	l.do("cut-way", strconv.Itoa(victim+1), others(victim, n))
	l.pass(long)
	l.do("heal")
	for i := range n {
		l.until(i, "everybody up after one-way loss", func(r *api.Ring) bool { return upIn(r) == n })
	}
	l.apart(from)
	l.pass(5 * time.Second)

	victim = l.owner()
	from = time.Now()
	l.signal(victim, syscall.SIGSTOP)
	l.pass(long)
	l.signal(victim, syscall.SIGCONT)
	l.until((victim+1)%n, "the stopped one is back", func(r *api.Ring) bool { return upIn(r) == n })
	l.apart(from)
	t.Logf("SIGSTOP of %v: latest start %v after its time", long, l.gap(from).Round(time.Millisecond))
	l.pass(5 * time.Second)

	from = time.Now()
	for i := range n {
		l.renew(i)
	}
	l.apart(from)
	l.pass(5 * time.Second)

	victim = l.owner()
	from = time.Now()
	if _, err := l.nodes[victim].client.ChangeRing(t.Context(), api.RingRequest{Do: api.RingLeave}); err != nil {
		t.Fatal(err)
	}
	l.pass(6 * time.Second)
	t.Logf("planned leave: latest start %v after its time", l.gap(from).Round(time.Millisecond))

	doubled := l.check(l.settle())
	t.Logf("%d starts, %d occurrences started twice", len(l.seen), doubled)
}

// A member whose clock is two seconds ahead comes to every occurrence first: the
// others start theirs at their time all the same, and nothing starts twice.
func TestRingWithAClockAhead(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: daemons on networks of their own take half a minute; make ring runs them")
	}
	t.Parallel()
	const n = 3
	l := newLab(t, api.RingAvailable, n, 200)
	fake, offset := filepath.Join(t.TempDir(), "fakeclock"), filepath.Join(t.TempDir(), "offset")
	if out, err := exec.Command("cc", "-O2", "-o", fake, "../../testdata/lab/fakeclock.c", "-lm").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	if err := os.WriteFile(offset, []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.signal(n-1, syscall.SIGTERM)
	l.nodes[n-1].cmd.Wait()
	l.nodes[n-1] = l.launch(n-1, fake, offset)
	l.until(0, "the clock is seen to be ahead", func(r *api.Ring) bool {
		return upIn(r) == n && slices.ContainsFunc(r.Members, func(m api.Member) bool {
			return m.Name == fmt.Sprintf("n%d", n) && m.State == api.MemberUp && m.Clock > time.Second && m.Clock < 3*time.Second
		})
	})
	begun := time.Now()
	l.pass(12 * time.Second)
	ahead := 0
	for _, s := range l.seen {
		if s.member() == n-1 && s.at.After(begun) && time.Unix(s.due, 0).Sub(s.at) > time.Second {
			ahead++
		}
	}
	if ahead == 0 {
		t.Errorf("of %d starts none was early on the member whose clock is ahead: it runs nothing, or its clock is right", len(l.seen))
	}
	l.check(l.settle())
	for due, starts := range l.tally()["tick"] {
		if len(starts) > 1 && due > begun.Unix()+1 {
			t.Errorf("tick of %s started twice: %v", time.Unix(due, 0).UTC().Format(time.TimeOnly), starts)
		}
	}
}

// others names all members but one, for netlab.sh.
func others(i, n int) string {
	var all []string
	for k := range n {
		if k != i {
			all = append(all, strconv.Itoa(k+1))
		}
	}
	return strings.Join(all, ",")
}
