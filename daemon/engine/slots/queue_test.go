package slots

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// queue returns a queue with limits and no claims.
func queue(l Limits) *Queue {
	q, _ := new(Queue).Replaced(l)
	return q
}

// claim parses "USER [PRIORITY] [POOL:SLOTS]".
func claim(run int, text string) *Claim {
	c := &Claim{Run: job.RunID(run), Priority: 5}
	for i, word := range strings.Fields(text) {
		pool, slots, isPool := strings.Cut(word, ":")
		switch {
		case i == 0:
			c.User, c.Job = word, job.ID(fmt.Sprintf("%s/job%d", word, run))
		case isPool:
			c.PoolName = pool
			fmt.Sscan(slots, &c.Slots)
		default:
			fmt.Sscan(word, &c.Priority)
		}
	}
	return c
}

// TestQueueServes checks which of the waiting runs get slots, and in which order. The running runs
// take their slots first.
func TestQueueServes(t *testing.T) {
	pool := func(size int) map[string]Pool { return map[string]Pool{"wan": {Size: size, Users: []string{"*"}}} }
	for _, tc := range []struct {
		name             string
		limits           Limits
		running, waiting []string
		want             string // numbers of the waiting runs, from 1
	}{
		{"no limit", Limits{}, nil, []string{"ann", "ann"}, "1 2"},
		{"the host's limit", Limits{MaxRunning: 2}, []string{"bob"}, []string{"ann", "ann"}, "1"},
		{"the limit of a user", Limits{MaxPerUser: 1}, nil, []string{"ann", "ann", "bob"}, "1 3"},
		{"no limit of root's runs", Limits{MaxPerUser: 1}, nil, []string{"root", "root"}, "1 2"},
		{"the larger priority first", Limits{MaxRunning: 2}, nil, []string{"ann 5", "ann 9", "ann 10"}, "3 2"},
		{"users in turn", Limits{MaxRunning: 3}, nil, []string{"ann", "ann", "ann", "bob"}, "1 4 2"},
		{"a pool", Limits{Pools: pool(2)}, []string{"bob wan:1"}, []string{"ann wan:1", "ann wan:1"}, "1"},
		{"more slots than a pool has free block its later runs", Limits{Pools: pool(2)}, []string{"bob wan:1"}, []string{"ann wan:2", "eve wan:1"}, ""},
		{"a full pool blocks no others", Limits{Pools: pool(1)}, []string{"bob wan:1"}, []string{"ann wan:1", "ann", "eve"}, "2 3"},
		{"a user without slots blocks no others", Limits{MaxPerUser: 1, Pools: pool(1)}, []string{"ann"}, []string{"ann 10 wan:1", "bob wan:1"}, "2"},
		{"at most all slots of a pool", Limits{Pools: pool(2)}, nil, []string{"ann wan:9"}, "1"},
		{"more runs than the limit", Limits{MaxRunning: 1}, []string{"bob", "bob"}, []string{"ann"}, ""},
	} {
		q := queue(tc.limits)
		for i, text := range tc.running {
			q.Occupy(claim(100+i, text), 0)
		}
		for i, text := range tc.waiting {
			q.LineUp(claim(i+1, text))
		}
		var got []string
		for c := q.Next(0); c != nil; c = q.Next(0) {
			got = append(got, fmt.Sprint(int64(c.Run)))
			q.Occupy(claim(int(c.Run), tc.waiting[c.Run-1]), 0)
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: served %q, want %q", tc.name, s, tc.want)
		}
	}
}

func TestQueueServesAfterRelease(t *testing.T) {
	q := queue(Limits{MaxPerUser: 1, Pools: map[string]Pool{"wan": {Size: 2, Users: []string{"ann"}}}})
	running := []*Claim{claim(1, "ann wan:1"), claim(2, "root wan:1")}
	for _, c := range running {
		q.Occupy(c, 0)
	}
	waiting := []*Claim{claim(3, "root wan:2"), claim(4, "ann wan:1")}
	for _, c := range waiting {
		q.LineUp(c)
	}
	if c := q.Next(0); c != nil {
		t.Fatalf("run %d got slots that are taken", c.Run)
	}
	q.Release(running[0])
	if c := q.Next(0); c != nil { // root's run needs two slots, and blocks ann's
		t.Fatalf("run %d got a slot before the run in front of it", c.Run)
	}
	q.Release(waiting[0])
	if c := q.Next(0); c != waiting[1] {
		t.Fatalf("got %v, want ann's run after the one in front of it left the queue", c)
	}
	last := claim(4, "ann wan:1")
	q.Occupy(last, 0)
	q.Release(running[1])
	q.Release(last)
	if q.IsUsed() || q.Waiting() != 0 || len(q.pools) != 0 {
		t.Errorf("the empty queue has %d users, %d waiting runs, %d pools", len(q.users), q.Waiting(), len(q.pools))
	}
}

// TestRateOfPool checks that starts within the period count, also those before a change of the
// limits.
func TestRateOfPool(t *testing.T) {
	limits := Limits{Pools: map[string]Pool{"api": {Size: 9, Rate: 2, Per: time.Minute, Users: []string{"*"}}}}
	q := queue(limits)
	for i, at := range []time.Duration{0, 10 * time.Second} {
		q.LineUp(claim(i, "ann api:1"))
		if q.Next(at) == nil {
			t.Fatalf("no start %d", i+1)
		}
		q.Occupy(claim(i, "ann api:1"), at)
	}
	limits.MaxRunning = 10
	next, keepStarts := q.Replaced(limits)
	keepStarts()
	next.LineUp(claim(3, "ann api:1"))
	if c := next.Next(20 * time.Second); c != nil {
		t.Error("a third start within a minute")
	}
	if at, ok := next.Wake(); !ok || at != time.Minute {
		t.Errorf("wake at %v, %t; want a minute after the first start", at, ok)
	}
	if !next.Ready(time.Minute) || next.Next(time.Minute) == nil {
		t.Error("no start a minute after the first one")
	}
}

func TestDescribe(t *testing.T) {
	declared := map[string]Pool{"wan": {Size: 3, Users: []string{"*"}}, "api": {Size: 9, Rate: 1, Per: time.Minute, Users: []string{"*"}}}
	for _, tc := range []struct {
		limits  Limits
		running []string
		waits   string
		want    string
	}{
		{Limits{MaxRunning: 2}, []string{"bob", "ann", "bob"}, "ann", "3 of 2 slots of the host are taken, 1 by ann"},
		{Limits{MaxPerUser: 1}, []string{"ann", "ann"}, "ann", "2 of 1 slots of ann are taken by run 100 (ann/job100), run 101 (ann/job101)"},
		{Limits{MaxRunning: 9}, nil, "ann", "other runs are ahead in the queue"},
		{Limits{Pools: declared}, []string{"bob wan:2"}, "ann wan:2", "pool wan: 2 of 3 slots are taken by runs of other users, and the run needs 2"},
		{Limits{Pools: declared}, []string{"ann wan:1", "bob wan:2"}, "ann wan:1", "pool wan: 3 of 3 slots are taken by run 100 (ann/job100), 1 more"},
		{Limits{Pools: declared}, []string{"ann wan:1"}, "bob wan:1", "pool wan: other runs are ahead in the queue"},
		{Limits{Pools: declared}, []string{"ann api:1"}, "bob api:1", "pool api: 1 starts in 1m0s are all that its rate allows, the next in 50s"},
		{Limits{}, []string{"ann own:1"}, "ann own:1", "pool own: 1 of 1 slots are taken by run 100 (ann/job100)"},
	} {
		q := queue(tc.limits)
		for i, text := range tc.running {
			q.Occupy(claim(100+i, text), 0)
		}
		c := claim(1, tc.waits)
		q.LineUp(c)
		const now = 10 * time.Second
		if strings.Contains(tc.waits, "api") && q.Next(now) != nil {
			t.Fatal("a start beyond the rate")
		}
		if got := q.Describe(c, now).Words(); got != tc.want {
			t.Errorf("%s after %v: got %q, want %q", tc.waits, tc.running, got, tc.want)
		}
	}
}

func TestShortage(t *testing.T) {
	l := Limits{Pools: map[string]Pool{"wan": {Size: 2, Users: []string{"ann"}}}}
	for _, tc := range []struct{ owner, pool, want string }{
		{"ann", "wan", ""},
		{"ann", "wan:2", ""},
		{"ann", "wan:3", "pool=wan needs 3 slots, but the pool has 2"},
		{"root", "wan:3", "pool=wan needs 3 slots, but the pool has 2"},
		{"bob", "wan:2", "pool=wan needs 2 slots, but the pool has 1: the pool that the configuration declares is not for crontabs of bob"},
		{"bob", "own:2", "pool=own needs 2 slots, but the pool has 1: the configuration declares no such pool"},
	} {
		file, diagnostics := crontab.Parse("/var/spool/cron/crontabs/"+tc.owner, "#@ pool="+tc.pool+"\n* * * * * true\n", crontab.Config{Owner: tc.owner})
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics[0])
		}
		if got := l.Shortage()(&file.Entries[0]); got != tc.want {
			t.Errorf("pool=%s of %s: got %q, want %q", tc.pool, tc.owner, got, tc.want)
		}
	}
}

func TestBind(t *testing.T) {
	for _, tc := range []struct {
		limits     Limits
		user, pool string
		want       bool
	}{
		{Limits{}, "ann", "", false},
		{Limits{}, "ann", "own", true},
		{Limits{MaxPerUser: 1}, "ann", "", true},
		{Limits{MaxPerUser: 1}, "root", "", false},
		{Limits{MaxRunning: 1}, "root", "", true},
	} {
		if got := tc.limits.Bind(tc.user, tc.pool); got != tc.want {
			t.Errorf("%+v binds a run of %s in pool %q: got %t", tc.limits, tc.user, tc.pool, got)
		}
	}
	if got := []int{(&Limits{}).Queue(), (&Limits{QueueMax: 3}).Queue()}; !slices.Equal(got, []int{10_000, 3}) {
		t.Errorf("limits of waiting runs: got %v", got)
	}
}

// TestQueueLast checks which waiting run is dropped if too many runs of ann wait.
func TestQueueLast(t *testing.T) {
	for _, tc := range []struct {
		waiting []string
		want    job.RunID
	}{
		{[]string{"ann", "ann", "bob"}, 2},
		{[]string{"ann 3", "ann 2", "ann 4"}, 2},
		{[]string{"ann 2 a:1", "ann 2 b:1", "ann 2 a:1", "ann 9"}, 3},
		{[]string{"bob"}, 0},
	} {
		q := queue(Limits{MaxRunning: 1})
		for i, text := range tc.waiting {
			q.LineUp(claim(i+1, text))
		}
		var got job.RunID
		if c := q.Last("ann"); c != nil {
			got = c.Run
		}
		if got != tc.want {
			t.Errorf("of %q: got run %d, want %d", tc.waiting, got, tc.want)
		}
	}
}
