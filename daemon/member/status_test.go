package member

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip"
	"github.com/cronring/cronring/gossip/claims"
	"github.com/cronring/cronring/gossip/clocks"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/inbox"
	"github.com/cronring/cronring/gossip/meta"
)

func TestChronicleTellsOfHandovers(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	var c ringHistory
	c.shares = map[string]int{"a": 44}
	member := func(state gossip.State, part meta.Part) []gossip.View {
		return []gossip.View{{ID: "a", Meta: meta.Meta{Name: "db-02", Part: part}, State: state}}
	}
	for _, step := range []struct {
		m    []gossip.View
		want string // "": nothing new
	}{
		{member(gossip.Alive, meta.Active), ""},
		{member(gossip.Alive, meta.Active), ""},
		{member(gossip.Alive, meta.Draining), "db-02 hands over its jobs (planned): 44 jobs move"},
		{member(gossip.Alive, meta.Draining), ""},
		{member(gossip.Alive, meta.Active), "db-02 takes part again"},
		{member(gossip.Gone, meta.Active), "db-02 is gone: 44 jobs move"},
		{member(gossip.Alive, meta.Active), "db-02 came back"},
		{member(gossip.Left, meta.Active), "db-02 left (planned): 44 jobs move"},
	} {
		before := len(c.moves)
		c.compare(step.m, now)
		switch {
		case step.want == "" && len(c.moves) != before:
			t.Errorf("%+v: got %q, want nothing new", step.m, c.moves[0].What)
		case step.want != "" && (len(c.moves) != before+1 || c.moves[0].What != step.want):
			t.Errorf("%+v: got %+v, want %q first", step.m, c.moves, step.want)
		}
	}
	if c.compare(nil, now); len(c.members) > 0 {
		t.Error("a member that the ring has forgotten is remembered")
	}
	c.compare(member(gossip.Alive, meta.Active), now)
	for range 2 * maxMoves {
		c.compare(member(gossip.Gone, meta.Active), now)
		c.compare(member(gossip.Alive, meta.Active), now)
	}
	if len(c.moves) != maxMoves {
		t.Errorf("%d moves are kept, want %d", len(c.moves), maxMoves)
	}
}

var update = flag.Bool("update", false, "record the answers in testdata again")

// What a member answers is recorded for the golden screens of the dashboard. A member of three sees
// another one drain; the others go while its own clock is not confirmed, and a fourth joins; in strict mode
// it joins alone.
func TestAnswersAreRecorded(t *testing.T) {
	now := time.Date(2026, 11, 20, 17, 2, 11, 0, time.UTC)
	r := &Member{id: "1", config: config.Ring{Name: "prod"}}
	member := func(n int, part meta.Part) gossip.View {
		return gossip.View{
			ID: fmt.Sprint(n), Address: fmt.Sprintf("10.0.0.%d:7946", n), State: gossip.Alive, Changed: now.Add(-50 * time.Hour),
			Trip: time.Duration(n-1) * 1200 * time.Microsecond, Offset: time.Duration(1-n) * 300 * time.Microsecond, // of its own it measures none
			Meta: meta.Meta{Name: fmt.Sprintf("db-%02d", n), Part: part, Version: "1.4.2", Weight: 1, Rules: rulesOf(&r.config), Labels: map[string]string{"zone": fmt.Sprintf("z%d", n), "role": "db"}},
		}
	}
	self, second, third, fourth := member(1, meta.Active), member(2, meta.Active), member(3, meta.Active), member(4, meta.Joining)
	look := func(at time.Time, members ...gossip.View) (*gossip.Snapshot, *view.View) {
		s, v := &gossip.Snapshot{Ring: "prod", Self: "1", Joined: true, Members: members}, viewOf(t, now, members)
		r.past.look(v, s, at)
		return s, v
	}
	answers := map[string]api.Ring{}
	look(now.Add(-51*time.Hour), self, second, third)
	third.Part, third.Version, third.Skewed, third.Offset, third.Lacks = meta.Draining, "1.4.1", true, 251*time.Millisecond, []job.Key{{1}, {2}}
	answers["three"] = r.describe(look(now.Add(-50*time.Hour), self, second, third))

	third.State, third.Changed = gossip.Left, now.Add(-time.Hour)
	look(now.Add(-time.Hour), self, second, third)
	second.State, second.Changed = gossip.Gone, now.Add(-time.Minute)
	self.Part = meta.Draining
	fourth.Changed, fourth.Trip, fourth.Offset = now.Add(-5*time.Second), 0, 0 // not measured yet
	s, v := look(now, self, second, third, fourth)
	var check clocks.Check
	check.Begin(0)
	s.Barred, s.Remedy = check.Fault([]*clocks.Samples{{}}, time.Hour, ""), "set the clock: chronyc makestep"
	answers["down"] = r.describe(s, v)

	r = &Member{id: "1", config: config.Ring{Name: "prod", Strict: true, Voters: []string{"db-01", "db-02", "db-03"}}}
	self = member(1, meta.Joining)
	s, v = look(now, self)
	s.Joined = false
	answers["joining"] = r.describe(s, v)

	got, err := json.MarshalIndent(answers, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/ring.json"
	if *update {
		filetest.Write(t, path, string(got)+"\n", 0o644)
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), string(got)+"\n"); err != nil || diff != "" {
		t.Errorf("%v, or it differs (-want +got); if it should: go test ./daemon/member -update && go test ./tui/screen/ring -update\n%s", err, diff)
	}
}

// viewOf returns the view of an engine with 142 ring jobs, whose owners are the live members that do
// not drain.
func viewOf(t *testing.T, now time.Time, members []gossip.View) *view.View {
	t.Helper()
	ms := &holders.Membership{Self: "1"}
	for _, m := range members {
		if m.State == gossip.Alive {
			ms.Members = append(ms.Members, holders.Member{ID: m.ID, Name: m.Name, Weight: m.Weight, Draining: m.Part != meta.Active})
		}
	}
	var text strings.Builder
	for i := range 142 {
		fmt.Fprintf(&text, "#@ name=job-%03d scope=ring\n0 3 * * * x\n", i)
	}
	file, _ := crontab.Parse("t", text.String(), crontab.Config{User: "root", Zone: time.LoadLocation})
	ring, e := claims.New(), engine.New(engine.State{})
	ring.Receive(holders.Ring{Membership: ms})
	e.StepIn(ring, job.Moment{Wall: now, Up: time.Hour}, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available})
	return e.View()
}

func TestSafeLoss(t *testing.T) {
	up := func(n int) (members []api.Member) {
		for range n {
			members = append(members, api.Member{State: api.MemberUp})
		}
		return append(members, api.Member{State: api.MemberDown}, api.Member{State: api.MemberDraining})
	}
	voters := func(up ...bool) (all []api.Voter) {
		for _, u := range up {
			all = append(all, api.Voter{Up: u})
		}
		return all
	}
	for name, c := range map[string]struct {
		r    api.Ring
		want int
	}{
		"alone":               {api.Ring{Members: up(1)}, 0},
		"three":               {api.Ring{Members: up(3)}, 2},
		"nobody":              {api.Ring{}, 0},
		"three of three vote": {api.Ring{Members: up(5), Quorum: 2, Voters: voters(true, true, true)}, 1},
		"two of three vote":   {api.Ring{Members: up(5), Quorum: 2, Voters: voters(true, false, true)}, 0},
		"five of five vote":   {api.Ring{Members: up(5), Quorum: 3, Voters: voters(true, true, true, true, true)}, 2},
	} {
		if got := safeLoss(&c.r); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestMemberProblems(t *testing.T) {
	for want, m := range map[string]gossip.View{
		"db-02 does not answer":               {State: gossip.Gone},
		"is 1.2s ahead":                       {State: gossip.Alive, Skewed: true, Offset: 1250 * time.Millisecond},
		"is 7s behind":                        {State: gossip.Alive, Skewed: true, Offset: -7 * time.Second},
		"differ in 1 ring job":                {State: gossip.Alive, Lacks: []job.Key{{1}}},
		"cannot compare ring jobs with db-02": {State: gossip.Alive, Trouble: "refused"},
		"":                                    {State: gossip.Left, Lacks: []job.Key{{1}}},
	} {
		m.ID, m.Name = "b", "db-02"
		got := memberProblems(&m, "a")
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].What, want)) {
			t.Errorf("%+v: got %+v, want %q", m, got, want)
		}
		if others := memberProblems(&m, "b"); len(others) > 0 {
			t.Errorf("of itself: got %+v", others)
		}
	}
}

func TestForeignClaimsAreProblems(t *testing.T) {
	e, key := engine.New(engine.State{}), job.KeyOf("nightly", "ann")
	file, _ := crontab.Parse("t", "#@ name=nightly scope=ring\n* * * * * x\n", crontab.Config{User: "ann", Zone: time.LoadLocation})
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	e.Step(job.Moment{Wall: now, Up: time.Hour}, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available})
	for want, keys := range map[string][]job.Key{
		"": nil,
		"n1 claims occurrences of job nightly without holding the entry":                  {key},
		"n1 claims occurrences of job nightly and 2 other jobs without holding the entry": {key, {1}, {2}},
	} {
		got := foreignClaims(&gossip.View{Meta: meta.Meta{Name: "n1"}, State: gossip.Alive, Foreign: keys}, e.View())
		if len(got) != min(len(keys), 1) || len(got) == 1 && (!strings.HasPrefix(got[0].What, want) || got[0].Fix == "" || got[0].User != "root") {
			t.Errorf("%d jobs: got %+v, want %q", len(keys), got, want)
		}
	}
}

func TestOutsiderIsAProblem(t *testing.T) {
	for want, o := range map[string]inbox.Outsider{
		"n1 at 10.0.0.1:7946 has a key of the ring, but is not a member: it runs cronring 0.7.0, whose messages have form 2; those of this host have form 3":                {Name: "n1", Version: "0.7.0", Address: "10.0.0.1:7946", Form: 2, Own: 3},
		"id-1 at 10.0.0.1:7946 has a key of the ring, but is not a member: it runs another version of cronring, whose messages have form 9; those of this host have form 3": {Name: "id-1", Address: "10.0.0.1:7946", Form: 9, Own: 3},
		`n1 at 10.0.0.1:7946 has a key of the ring, but is not a member: its ring.name is "other"; that of this host is "prod"`:                                             {Name: "n1", Address: "10.0.0.1:7946", Ring: "other"},
	} {
		if got := outsider(o, "prod"); got.What+": "+got.Why != want || got.Fix == "" {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}
