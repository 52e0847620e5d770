package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// chaos is a ring of five hosts under faults. It is judged by what the jobs themselves
// write: each appends a line to a file of its own when it starts.
type chaos struct {
	*network
	mode  string
	bin   string
	dir   string // of the jobs' files, which all hosts see
	jobs  []labJob
	hosts []*host
	fakes map[*host]string // files that set the clocks of hosts

	// Of the present fault:
	troubles []trouble
	deaths   []death

	logs map[string]*jobLog
}

// jobLog is what was read of a job's file.
type jobLog struct {
	offset int64
	starts []start
}

// robot is the user of some jobs.
const robot = "robot"

// chaosJobs start 30 times a second: they are due every second, every five, ten and
// twenty. Every second job asks for another run if its member dies.
func chaosJobs() (jobs []labJob) {
	for _, kind := range []struct{ n, every int }{{10, 1}, {40, 5}, {60, 10}, {120, 20}} {
		for i := range kind.n {
			jobs = append(jobs, labJob{name: fmt.Sprintf("s%d-%d", kind.every, i), every: int64(kind.every), at: int64(i % kind.every), reruns: i%2 > 0})
		}
	}
	return jobs
}

// crontab is the jobs as a system crontab. Those due every ten seconds are robot's. word
// makes the entries of two versions differ.
func (c *chaos) crontab(scope, word string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "SHELL=/bin/bash\nMAILTO=\"\"\nCRON_TZ=UTC\n#@ default scope=%s catchup=all:1000\n", scope)
	for _, j := range c.jobs {
		user := "root"
		if j.every == 10 {
			user = robot
		}
		b.WriteString(j.line(fmt.Sprintf(`%s echo "$CRONRING_DUE $EPOCHREALTIME $CRONRING_NODE ${CRONRING_FENCING_TOKEN:-0}" >>%s/$CRONRING_JOB #%s`, user, c.dir, word)))
	}
	return b.String()
}

// newChaos boots hosts; their daemons are not started.
func newChaos(t *testing.T, mode, bin string) *chaos {
	c := &chaos{
		network: newNetwork(t, 10), mode: mode, bin: bin, dir: t.TempDir(), jobs: chaosJobs(),
		fakes: map[*host]string{}, logs: map[string]*jobLog{},
	}
	for dir := c.dir; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) { // for jobs of other users
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		c.add()
	}
	return c
}

// add boots a further host with the configuration and the crontab of the ring.
func (c *chaos) add() *host {
	c.t.Helper()
	h := c.newHost(len(c.hosts), c.bin)
	c.hosts = append(c.hosts, h)
	passwd, err := os.ReadFile(h.path("/etc/passwd"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.must(os.WriteFile(h.path("/etc/passwd"), append(passwd, robot+":x:54321:54321::/:/bin/bash\n"...), 0o644))
	h.write("/etc/cronring/ring.key", base64.StdEncoding.EncodeToString([]byte("a key of thirty-two bytes: chaos"))+"\n")
	c.configure(h, c.mode, 1, 2, 3)
	h.write("/etc/cron.d/chaos", c.crontab("ring", ""))
	return h
}

func (c *chaos) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// configure writes the configuration of a member.
func (c *chaos) configure(h *host, mode string, voters ...int) {
	c.t.Helper()
	list := func(numbers ...int) string {
		var quoted []string
		for _, i := range numbers {
			quoted = append(quoted, strconv.Quote(address(i-1)))
		}
		return strings.Join(quoted, ", ")
	}
	text := fmt.Sprintf("session = \"none\"\n[ring]\nname = \"chaos\"\nbind = %q\nkey-file = \"/etc/cronring/ring.key\"\nseeds = [%s]\nmode = %q\n",
		address(h.i), list(1, 2, 3, 4, 5), mode)
	if mode == api.RingStrict {
		text += fmt.Sprintf("voters = [%s]\n", list(voters...))
	}
	h.write("/etc/cronring/cronring.toml", text)
}

// onEach does something on several hosts at once.
func onEach(hosts []*host, do func(*host)) {
	var all sync.WaitGroup
	for _, h := range hosts {
		all.Go(func() { do(h) })
	}
	all.Wait()
}

// whole waits until each of the first five members sees that all five take part.
func (c *chaos) whole() {
	c.t.Helper()
	for _, h := range c.hosts[:5] {
		await(c.t, h.name()+" sees the ring whole", func() bool {
			r, _ := h.daemon.client.Ring(c.t.Context())
			up := 0
			for i := range r.Members {
				if _, err := memberNumber(r.Members[i].Name); err == nil && r.Joined && r.Members[i].State == api.MemberUp {
					up++
				}
			}
			return up >= 5
		})
	}
}

func memberNumber(name string) (int, error) { return strconv.Atoi(strings.TrimPrefix(name, "n")) }

// last is how long a fault is left as it is.
func (c *chaos) last(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.t.Context().Done():
	}
}

// during notes that members of different sides do not see each other while something is
// so, and for as long after it as they take to see each other again.
func (c *chaos) during(what string, side func(int) int, do func()) {
	from := time.Now()
	do()
	mended := time.Now()
	c.whole()
	c.troubles = append(c.troubles, trouble{what, from, mended, time.Now(), side})
}

// died notes that the daemons of hosts were just ended without a warning.
func (c *chaos) died(hosts ...*host) {
	for _, h := range hosts {
		c.deaths = append(c.deaths, death{h.i, time.Now()})
	}
}

// read takes in what the jobs have written since.
func (c *chaos) read() {
	c.t.Helper()
	for _, j := range c.jobs {
		l := c.logs[j.name]
		if l == nil {
			l = &jobLog{}
			c.logs[j.name] = l
		}
		f, err := os.Open(filepath.Join(c.dir, j.name))
		if err != nil {
			continue // it never started
		}
		text := make([]byte, 1<<20)
		n, _ := f.ReadAt(text, l.offset)
		f.Close()
		text = text[:bytes.LastIndexByte(text[:n], '\n')+1]
		l.offset += int64(len(text))
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
			w := strings.Fields(s.Text())
			if len(w) != 4 {
				c.t.Errorf("%s wrote %q", j.name, s.Text())
				continue
			}
			due, err := time.Parse(time.RFC3339, w[0])
			c.must(err)
			at, err := strconv.ParseInt(strings.Replace(w[1], ".", "", 1), 10, 64)
			c.must(err)
			token, err := strconv.ParseUint(w[3], 10, 64)
			c.must(err)
			l.starts = append(l.starts, start{w[2], j.name, due.Unix(), token, time.UnixMicro(at)})
		}
	}
}

// startsOf returns the starts of each occurrence that is due in a time, by when they were.
func (c *chaos) startsOf(from, to int64) map[occurrence][]start {
	c.read()
	all := map[occurrence][]start{}
	for _, j := range c.jobs {
		for due := from + (j.at-from%j.every+j.every)%j.every; due < to; due += j.every {
			all[occurrence{j.name, due}] = nil
		}
		for _, s := range c.logs[j.name].starts {
			if s.due >= from && s.due < to {
				o := occurrence{s.job, s.due}
				all[o] = append(all[o], s)
			}
		}
	}
	for _, starts := range all {
		slices.SortFunc(starts, func(a, b start) int { return a.at.Compare(b.at) })
	}
	return all
}

// verdict is what became of the occurrences of a fault.
type verdict struct {
	occurrences        int
	missing, dead      []occurrence // dead: not started, as its member died with it and if-lost=fail
	whole, apart, lost []occurrence // doubled: while members saw each other, while they did not, by a start that died untold
	early              int          // starts more than six seconds before their time
	late               []time.Duration
}

// judge counts what is missing and doubled.
func (c *chaos) judge(from, to int64) (v verdict) {
	all := c.startsOf(from, to)
	v.occurrences = len(all)
	for o, starts := range all {
		switch {
		case len(starts) == 0 && !c.reruns(o.job) && c.diedAbout(o):
			v.dead = append(v.dead, o)
			continue
		case len(starts) == 0:
			v.missing = append(v.missing, o)
			continue
		}
		v.late = append(v.late, starts[0].lateness())
		for _, s := range starts {
			if s.lateness() < -6*time.Second {
				v.early++
			}
		}
		if len(starts) > 1 {
			switch c.excuse(o, starts) {
			case "":
				v.whole = append(v.whole, o)
			case "death":
				v.lost = append(v.lost, o)
			default:
				v.apart = append(v.apart, o)
			}
		}
	}
	slices.Sort(v.late)
	return v
}

func (c *chaos) reruns(name string) bool {
	return slices.ContainsFunc(c.jobs, func(j labJob) bool { return j.name == name && j.reruns })
}

// diedAbout reports whether a member died at a time at which it may just have been
// granted an occurrence.
func (c *chaos) diedAbout(o occurrence) bool {
	return slices.ContainsFunc(c.deaths, func(d death) bool { return d.hits(o.due) })
}

// excuse returns why an occurrence may have started more than once, or "".
func (c *chaos) excuse(o occurrence, starts []start) string {
	why := ""
	for i, b := range starts {
		for _, a := range starts[:i] {
			untold := slices.ContainsFunc(c.deaths, func(d death) bool {
				return d.member == a.member() && a.at.Before(d.at.Add(time.Second)) && b.at.After(d.at) && (c.reruns(o.job) || c.mode == api.RingAvailable && d.hits(o.due))
			})
			hit := slices.IndexFunc(c.troubles, func(x trouble) bool { return x.hits(o.due, a.member(), b.member()) })
			switch {
			case untold:
				why = cmp.Or(why, "death")
			case hit >= 0 && c.mode == api.RingAvailable:
				why = c.troubles[hit].what
			default:
				return ""
			}
		}
	}
	return why
}

// patienceForStarts is how long what is due may take after a fault, where nothing new is
// late any more.
const patienceForStarts = time.Minute

// try does a fault to the ring, waits until it is whole again, and judges.
func (c *chaos) try(f fault, table *chaosTable) {
	c.t.Helper()
	c.whole()
	c.troubles, c.deaths = nil, nil
	from := time.Now().Unix() + 1
	f.do(c)
	c.do("heal")
	c.whole()
	c.last(8 * time.Second) // what would start twice has time to
	to := time.Now().Unix()
	var v verdict
	for end := time.Now().Add(patienceForStarts); ; c.last(time.Second) {
		if v = c.judge(from, to); len(v.missing) == 0 || time.Now().After(end) {
			break
		}
	}
	table.add(f.name, c.mode, &v)
	c.report("missing", v.missing)
	c.report("doubled while the network was whole", v.whole)
	if v.early > 0 {
		c.t.Errorf("%d starts were more than six seconds early", v.early)
	}
}

// report fails the test if there are occurrences for which something is wrong.
func (c *chaos) report(what string, all []occurrence) {
	c.t.Helper()
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b occurrence) int { return cmp.Or(cmp.Compare(a.due, b.due), strings.Compare(a.job, b.job)) })
	var b strings.Builder
	for i, o := range all {
		if i == 12 {
			fmt.Fprintf(&b, "  and %d more, the last %v\n", len(all)-i, all[len(all)-1])
			break
		}
		fmt.Fprintf(&b, "  %v (if-lost=rerun: %v)\n", o, c.reruns(o.job))
		for _, s := range c.startsOf(o.due, o.due+1)[o] {
			fmt.Fprintf(&b, "    %v\n", s)
		}
	}
	for _, x := range c.troubles {
		fmt.Fprintf(&b, "  %s: %s to %s, seen by all at %s\n", x.what, x.from.UTC().Format(time.TimeOnly), x.mended.UTC().Format(time.TimeOnly), x.to.UTC().Format(time.TimeOnly))
	}
	for _, d := range c.deaths {
		fmt.Fprintf(&b, "  n%d died at %s\n", d.member+1, d.at.UTC().Format("15:04:05.000"))
	}
	c.t.Errorf("%d %s:\n%s", len(all), what, b.String())
}

// chaosTable gathers a line for each fault.
type chaosTable struct {
	mu   sync.Mutex
	rows []string
}

const chaosHead = "fault                          mode       occ.  missing  with-host  doubled  apart  restarted     p50      p99      max"

func (t *chaosTable) add(name, mode string, v *verdict) {
	part := func(percent int) time.Duration {
		if len(v.late) == 0 {
			return 0
		}
		return v.late[(len(v.late)-1)*percent/100].Round(time.Millisecond)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, fmt.Sprintf("%-30s %-9s %5d  %7d  %9d  %7d  %5d  %9d  %7v  %7v  %7v", name, mode, v.occurrences, len(v.missing), len(v.dead),
		len(v.whole), len(v.apart), len(v.lost), part(50), part(99), part(100)))
}

func (t *chaosTable) String() string {
	slices.Sort(t.rows)
	return chaosHead + "\n" + strings.Join(t.rows, "\n")
}

// TestChaos does faults to rings of five hosts, in both modes, and fails if an occurrence
// is missing, or started twice while the members saw each other; in strict mode it must
// never start twice.
func TestChaos(t *testing.T) {
	if os.Getenv("CRONRING_LONG") == "" {
		t.Skip("SKIPPED: takes the greater part of an hour; make chaos runs it")
	}
	bin := programs(t)
	table := &chaosTable{}
	t.Cleanup(func() { t.Logf("\n%v", table) })
	for _, mode := range []string{api.RingAvailable, api.RingStrict} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t, mode, bin)
			onEach(c.hosts, func(h *host) { h.start() })
			for _, f := range faults {
				if f.mode != "" && f.mode != mode {
					continue
				}
				t.Run(f.name, func(t *testing.T) {
					c.t = t
					c.try(f, table)
				})
				if c.t = t; t.Failed() && !c.stands() {
					t.Fatalf("the ring does not stand after %s", f.name)
				}
			}
		})
	}
}

// stands reports whether all daemons run, so that the next fault can be tried.
func (c *chaos) stands() bool {
	return !slices.ContainsFunc(c.hosts[:5], func(h *host) bool { return h.daemon == nil })
}

// The judge finds what is missing and doubled, and knows what excuses it.
func TestChaosJudge(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	c := &chaos{network: &network{t: t}, dir: t.TempDir(), logs: map[string]*jobLog{}, jobs: []labJob{
		{name: "fails", every: 60}, {name: "reruns", every: 60, reruns: true},
	}}
	begin := func(job string, minute int, late time.Duration, member string) {
		due := noon.Add(time.Duration(minute) * time.Minute)
		f, err := os.OpenFile(filepath.Join(c.dir, job), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		c.must(err)
		defer f.Close()
		at := due.Add(late)
		fmt.Fprintf(f, "%s %d.%06d %s 0\n", due.Format(time.RFC3339), at.Unix(), at.Nanosecond()/1000, member)
	}
	for minute := range 6 {
		for _, job := range []string{"fails", "reruns"} {
			if minute != 1 { // missing
				begin(job, minute, 100*time.Millisecond, "n1")
			}
		}
	}
	begin("fails", 2, 2*time.Second, "n2")  // doubled
	begin("fails", 3, 2*time.Second, "n2")  // doubled as n1 was cut off
	begin("reruns", 4, 2*time.Second, "n2") // started again because n1 died
	begin("fails", 5, -7*time.Second, "n1") // doubled, and early
	c.troubles = []trouble{{"the cut", noon.Add(3 * time.Minute), noon.Add(3 * time.Minute), noon.Add(3 * time.Minute), apart(0)}}
	c.deaths = []death{{0, noon.Add(4*time.Minute + time.Second)}, {1, noon.Add(time.Minute + time.Second)}}
	for mode, apart := range map[string]int{api.RingAvailable: 1, api.RingStrict: 0} {
		c.mode = mode
		v := c.judge(noon.Unix(), noon.Add(6*time.Minute).Unix())
		if v.occurrences != 12 || len(v.late) != 10 || v.early != 1 || v.late[1] != 100*time.Millisecond {
			t.Errorf("%s: got %+v, want 12 occurrences, 10 that started, 1 of them early", mode, v)
		}
		if len(v.missing) != 1 || v.missing[0].job != "reruns" || len(v.dead) != 1 || v.dead[0].job != "fails" {
			t.Errorf("%s: missing: got %v and with a host %v, want reruns and fails at 12:01", mode, v.missing, v.dead)
		}
		if len(v.whole) != 3-apart || len(v.apart) != apart || len(v.lost) != 1 || v.lost[0].job != "reruns" {
			t.Errorf("%s: doubled: got %v, apart %v, again %v", mode, v.whole, v.apart, v.lost)
		}
	}
}
