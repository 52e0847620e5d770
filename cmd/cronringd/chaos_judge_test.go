package main

import (
	"bufio"
	"bytes"
	"cmp"
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

// jobLog is the part of a job's file that was read.
type jobLog struct {
	offset int64
	starts []start
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

// verdict counts the occurrences during a fault by their results.
type verdict struct {
	occurrences        int
	missing, dead      []occurrence // dead: not started, as its member died with it and if-lost=fail
	whole, apart, lost []occurrence // doubled: while members saw each other, while they did not, by a start that died untold
	early              int          // starts more than six seconds before their time
	late               []time.Duration
	taken              []time.Duration // lateness of occurrences that are late because a member died
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
		late := starts[0].lateness()
		v.late = append(v.late, late)
		if late > 500*time.Millisecond && slices.ContainsFunc(c.deaths, func(d death) bool { return time.Unix(o.due, 0).Sub(d.at.Add(-time.Second)) < 11*time.Second }) {
			v.taken = append(v.taken, late)
		}
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
	slices.Sort(v.taken)
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

// slowStart is how long a process may take to write its line on a busy machine, if its member
// started it and then died.
const slowStart = 2 * time.Second

// excuse returns why an occurrence may have started more than once, or "".
func (c *chaos) excuse(o occurrence, starts []start) string {
	why := ""
	for i, b := range starts {
		for _, a := range starts[:i] {
			untold := slices.ContainsFunc(c.deaths, func(d death) bool {
				return d.member == a.member() && a.at.Before(d.at.Add(slowStart)) && b.at.After(d.at) && (c.reruns(o.job) || c.mode == api.RingAvailable && d.hits(o.due))
			})
			hit := slices.IndexFunc(c.troubles, func(x trouble) bool { return x.hits(o.due, a.member(), b.member()) })
			switch {
			case untold:
				why = cmp.Or(why, "death")
			case hit >= 0 && (c.mode == api.RingAvailable || c.reruns(o.job)): // with if-lost=rerun, a member that is cut off is as good as dead
				why = c.troubles[hit].what
			default:
				return ""
			}
		}
	}
	return why
}

// report fails the test if a list of wrong occurrences is not empty.
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
	for _, note := range c.notes {
		fmt.Fprintf(&b, "  %s\n", note)
	}
	c.t.Errorf("%d %s:\n%s", len(all), what, b.String())
}

// chaosTable gathers a line for each fault, and what the goals of a ring need.
type chaosTable struct {
	mu    sync.Mutex
	rows  []string
	wrong int             // occurrences that are missing, or doubled while the network was whole
	taken []time.Duration // lateness of occurrences after the death of one member
}

// The goals for takeovers, for half and for 99 percent of them.
const (
	takeoverHalf = 2100 * time.Millisecond // the hold-off, and a claim
	takeoverMost = 3 * time.Second
)

const chaosHead = "fault                          mode       occ.  missing  with-host  doubled  apart  restarted     p50      p99      max  takeover p50      p99"

// part returns the time that a percentage of sorted times does not exceed.
func part(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[(len(all)-1)*percent/100].Round(time.Millisecond)
}

func (t *chaosTable) add(f fault, mode string, v *verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, fmt.Sprintf("%-30s %-9s %5d  %7d  %9d  %7d  %5d  %9d  %7v  %7v  %7v  %12v  %7v", f.name, mode, v.occurrences, len(v.missing), len(v.dead),
		len(v.whole), len(v.apart), len(v.lost), part(v.late, 50), part(v.late, 99), part(v.late, 100), part(v.taken, 50), part(v.taken, 99)))
	t.wrong += len(v.missing) + len(v.whole)
	if f.single {
		t.taken = append(t.taken, v.taken...)
	}
}

// String returns the lines, and whether the goals hold. Lateness is an upper bound if the machine
// is busy, so these goals do not fail the test.
func (t *chaosTable) String() string {
	slices.Sort(t.rows)
	slices.Sort(t.taken)
	goal := func(what string, holds bool) string { return fmt.Sprintf("\ngoal: %s: %v", what, holds) }
	half, most := part(t.taken, 50), part(t.taken, 99)
	return chaosHead + "\n" + strings.Join(t.rows, "\n") +
		goal(fmt.Sprintf("nothing missing or doubled while the network is whole, got %d", t.wrong), t.wrong == 0) +
		goal(fmt.Sprintf("half of the takeovers within %v, got %v", takeoverHalf, half), half <= takeoverHalf) +
		goal(fmt.Sprintf("99 percent of them within %v, got %v", takeoverMost, most), most <= takeoverMost)
}

// The judge finds missing and doubled occurrences, and applies the excuses.
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
	begin("reruns", 3, 2*time.Second, "n2") // likewise
	begin("reruns", 4, 2*time.Second, "n2") // started again because n1 died
	begin("fails", 5, -7*time.Second, "n1") // doubled, and early
	c.troubles = []trouble{{"the cut", noon.Add(3 * time.Minute), noon.Add(3 * time.Minute), noon.Add(3 * time.Minute), apart(0)}}
	c.deaths = []death{{0, noon.Add(4*time.Minute + time.Second)}, {1, noon.Add(time.Minute + time.Second)}}
	for mode, apart := range map[string]int{api.RingAvailable: 2, api.RingStrict: 1} {
		c.mode = mode
		v := c.judge(noon.Unix(), noon.Add(6*time.Minute).Unix())
		if v.occurrences != 12 || len(v.late) != 10 || v.early != 1 || v.late[1] != 100*time.Millisecond {
			t.Errorf("%s: got %+v, want 12 occurrences, 10 that started, 1 of them early", mode, v)
		}
		if len(v.missing) != 1 || v.missing[0].job != "reruns" || len(v.dead) != 1 || v.dead[0].job != "fails" {
			t.Errorf("%s: missing: got %v and with a host %v, want reruns and fails at 12:01", mode, v.missing, v.dead)
		}
		if len(v.whole) != 4-apart || len(v.apart) != apart || len(v.lost) != 1 || v.lost[0].job != "reruns" {
			t.Errorf("%s: doubled: got %v, apart %v, again %v", mode, v.whole, v.apart, v.lost)
		}
	}
}
