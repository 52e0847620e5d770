package claims

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

// TestUndecidedClaimOutlivesItsJob removes the last jobs of a crontab while the owner of an
// occurrence of one of them cannot be decided.
func TestUndecidedClaimOutlivesItsJob(t *testing.T) {
	h, _ := newEngineInRing(t, 600, 1)
	all := h.View().Crontabs()
	first, _ := crontab.Parse("ring", "#@ default scope=ring\n0 0 * * * job --number 0\n", crontab.Config{Owner: "root"})
	claims := h.step(30 * time.Second) // 08:01: job 481
	if len(claims) != 1 {
		t.Fatalf("got %d claims, want 1", len(claims))
	}
	due := claims[0].Occurrence
	h.step(time.Second, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
	if all := h.View().Undecided(); len(all) != 1 || !all[0].Due.Equal(due.Time()) {
		t.Fatalf("got undecided %v, want the one of %v", all, due.Time())
	}
	h.step(0, event.Load{Crontabs: []*crontab.File{first}, Ring: event.Available})
	if all := h.View().Undecided(); len(all) != 0 {
		t.Errorf("got undecided %v of a job that was removed", all)
	}
	claims = h.step(0, event.Load{Crontabs: all, Ring: event.Available})
	claims = append(claims, h.step(time.Second)...)
	if len(claims) != 1 || claims[0].Occurrence != due {
		t.Fatalf("got claims %v, want %v again", claims, due)
	}
	h.step(0, holders.Changes{Orphans: []holders.Report{{Mark: holders.Mark{Occurrence: due, Member: "gone", Phase: exchange.Taken}}}}, event.Load{Crontabs: []*crontab.File{first}, Ring: event.Available})
	h.step(time.Second, holders.Claimed{Occurrence: due, Grant: holders.Refused, By: "gone"})
	if len(h.ring.claims) != 0 {
		t.Errorf("%d claims are left", len(h.ring.claims))
	}
}

// TestUndecidedClaimIsRepeatedWhenAMemberComes: after a long network partition, a claim does not
// wait for the end of a pause that has become long.
func TestUndecidedClaimIsRepeatedWhenAMemberComes(t *testing.T) {
	h, m := newEngineInRing(t, 600, 1)
	claims := h.step(30 * time.Second)
	if len(claims) != 1 {
		t.Fatalf("got %d claims, want 1", len(claims))
	}
	due := claims[0].Occurrence
	undecided := holders.Claimed{Occurrence: due, Grant: holders.Postponed}
	for range 8 {
		h.step(0, undecided)
		h.step(longestPause)
	}
	h.step(0, undecided)
	if again := h.step(0, holders.Ring{Membership: m}); len(again) != 0 {
		t.Errorf("got claims %v while nobody came, want none", again)
	}
	more := *m
	more.Members = append(slices.Clip(m.Members), holders.Member{ID: "new", Name: "new", Weight: 1})
	if again := h.step(0, holders.Ring{Membership: &more}); !slices.ContainsFunc(again, func(c holders.Claim) bool { return c.Occurrence == due }) {
		t.Errorf("got claims %v when a member came, want %v", again, due)
	}
}

// TestClaimIsRepeatedSoonIfAMemberDoesNotAgreeYet: the member that does not agree usually sees this one
// within half a second. A long hold-off does not delay the claim until the deadline has passed.
func TestClaimIsRepeatedSoonIfAMemberDoesNotAgreeYet(t *testing.T) {
	h, m := newEngineInRing(t, 600, 2)
	longest := *m
	longest.HoldOff = time.Minute
	h.step(0, holders.Ring{Membership: &longest})
	claims := h.step(time.Minute)
	for i := 0; len(claims) == 0 && i < 10; i++ { // jobs of which this member is the owner
		claims = h.step(time.Minute)
	}
	if len(claims) == 0 {
		t.Fatal("this member claims nothing")
	}
	due := claims[0].Occurrence
	isRepeated := func(c holders.Claim) bool { return c.Occurrence == due }
	for _, pause := range []time.Duration{500 * time.Millisecond, time.Second, memberPause, memberPause} {
		h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed, By: "m1"})
		if early := h.step(pause - 1); slices.ContainsFunc(early, isRepeated) {
			t.Errorf("it is claimed again before %s", pause)
		}
		if !slices.ContainsFunc(h.step(1), isRepeated) {
			t.Fatalf("it is not claimed again after %s", pause)
		}
	}
}

// TestOrphanThatRunsHereIsNotClaimed reports an occurrence as orphaned while a run of it is on this
// host, and after that.
func TestOrphanThatRunsHereIsNotClaimed(t *testing.T) {
	h, _ := newEngineInRing(t, 600, 1)
	claims := h.step(30 * time.Second)
	if len(claims) != 1 {
		t.Fatalf("got %d claims, want 1", len(claims))
	}
	due := claims[0].Occurrence
	h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Granted})
	orphan := holders.Changes{Orphans: []holders.Report{{Mark: holders.Mark{Occurrence: due, Member: "gone", Phase: exchange.Taken}}}}
	for _, c := range []struct {
		what  string
		event event.Event
		want  int
	}{
		{"about to start", event.Tick{}, 0},
		{"running", event.Started{Run: 1, PID: 1}, 0},
		{"over", event.Ended{Run: 1, Outcome: job.Outcome{Kind: job.Exited}}, 1},
	} {
		h.step(0, c.event)
		if claims := h.step(0, orphan); len(claims) != c.want {
			t.Errorf("%s: got claims %v, want %d", c.what, claims, c.want)
		}
	}
}

// TestMarksStayBehindAClockThatIsAhead: what comes before an occurrence that a member
// with a clock ahead took is not lost.
func TestMarksStayBehindAClockThatIsAhead(t *testing.T) {
	h, m := newEngineInRing(t, 3, 1)
	key, _ := h.View().RingKey(2)
	due := h.View().Entry(2).Schedule.Next(h.now.Wall)
	h.step(due.Add(-time.Second).Sub(h.now.Wall))
	h.step(0, holders.Ring{Membership: m, Newest: map[job.Key]time.Time{key: due.Add(time.Second)}})
	for _, c := range h.step(time.Second) {
		if c.Time().Equal(due) {
			return
		}
	}
	t.Errorf("the occurrence due at %s is not claimed, because one after it was taken", due)
}

// TestStepDecidesAFewOccurrences: jobs that no member can run must not make a step longer than
// other jobs, because their user could delay all other users.
func TestStepDecidesAFewOccurrences(t *testing.T) {
	const n = 2000
	text := "#@ default scope=ring need=gpu\n" + strings.Repeat("1 8 * * * job\n", n)
	file, diagnostics := crontab.Parse("ring", text, crontab.Config{Owner: "root"})
	if len(file.Entries) != n {
		t.Fatal(diagnostics)
	}
	h, _ := newEngineInRing(t, 1, 1)
	h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available})
	h.now.Wall, h.now.Up = h.now.Wall.Add(30*time.Second), h.now.Up+30*time.Second
	decided := 0
	for steps := 0; decided < n; steps++ {
		facts := 0
		for _, e := range h.StepIn(h.ring, h.now) {
			if f, ok := e.(effect.Fact); ok && f.Record.Reason != "" {
				facts++
			}
		}
		if decided += facts; facts > 256 || steps > n {
			t.Fatalf("step %d decides %d occurrences of %d", steps, facts, n)
		}
	}
}

// TestFewMembersTryToStartAnOccurrence: in a large ring, an occurrence that cannot start anywhere is not
// handed over from each member to the next one.
func TestFewMembersTryToStartAnOccurrence(t *testing.T) {
	h, m := newEngineInRing(t, 1, 20)
	key, _ := h.View().RingKey(0)
	var tried []string
	for _, x := range m.Members[1:] {
		if got, want := h.ring.View().Others(key, tried), len(tried)+1 < mostTries; got != want {
			t.Errorf("%d members tried before this one: hand it over %v, want %v", len(tried), got, want)
		}
		tried = append(tried, x.ID)
	}
}

// granted grants an occurrence to this member, and reports whether a record of that step matches.
func (h *engineInRing) granted(o exchange.Occurrence, matches func(*job.Record) bool) bool {
	h.ring.Receive(holders.Claimed{Occurrence: o, Grant: holders.Granted})
	return slices.ContainsFunc(h.StepIn(h.ring, h.now), func(e effect.Effect) bool {
		f, is := e.(effect.Fact)
		return is && matches(&f.Record)
	})
}

// TestGivenUpOccurrenceOfADisabledJobCountsAsFailed: a run cannot start, and no other member takes its
// occurrence over. It counts as failed here, although its job was disabled meanwhile.
func TestGivenUpOccurrenceOfADisabledJobCountsAsFailed(t *testing.T) {
	h, m := newEngineInRing(t, 600, 1)
	disabled, _ := crontab.Parse("ring", "#@ default scope=ring enabled=no\n1 8 * * * job --number 481\n", crontab.Config{Owner: "root"})
	claims := h.step(30 * time.Second)
	if len(claims) != 1 {
		t.Fatalf("got %d claims, want 1", len(claims))
	}
	due := claims[0].Occurrence
	more := *m
	more.Members = append(slices.Clip(m.Members), holders.Member{ID: "new", Name: "new", Weight: 1})
	h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Granted}, holders.Ring{Membership: &more})
	h.step(0, event.Ended{Run: 1, Unrun: true, Outcome: job.Outcome{Kind: job.NotStarted}})
	h.step(0, event.Load{Crontabs: []*crontab.File{disabled}, Ring: event.Available})
	if claims := h.step(ranks * usualHoldOff); len(claims) != 1 || claims[0].Occurrence != due {
		t.Fatalf("got claims %v, want %v again", claims, due)
	}
	failed := h.granted(due, func(r *job.Record) bool { return r.Kind == job.Dropped && r.Reason == job.NoMember })
	if !failed || len(h.ring.claims) != 0 {
		t.Errorf("it counts as failed: %v, and %d claims are left; want true and none", failed, len(h.ring.claims))
	}
}

// TestRestartedMemberWaitsForTheOthers: a run could not start before the daemon was restarted. From when
// this member knows the ring, and its hold-off, the others have time to take the occurrence over.
func TestRestartedMemberWaitsForTheOthers(t *testing.T) {
	for name, c := range map[string]struct {
		down   time.Duration
		claims int
	}{
		"a minute":                              {time.Minute, 1},
		"an hour":                               {time.Hour, 0},
		"until the clock was set back a minute": {-time.Minute, 1},
		"until the clock was set back an hour":  {-time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := newEngineInRing(t, 1, 1)
			file, _ := crontab.Parse("ring", "#@ default scope=ring\n1 8 * * * job\n", crontab.Config{Owner: "root"})
			h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available})
			claims := h.step(30 * time.Second)
			if len(claims) != 1 {
				t.Fatalf("got %d claims, want 1", len(claims))
			}
			m.Members = append(m.Members, holders.Member{ID: "new", Name: "new", Weight: 1})
			h.step(0, holders.Claimed{Occurrence: claims[0].Occurrence, Grant: holders.Granted}, holders.Ring{Membership: m})
			var handed []job.Run
			for _, e := range h.StepIn(h.ring, h.now, event.Ended{Run: 1, Unrun: true, Outcome: job.Outcome{Kind: job.NotStarted}}) {
				if f, is := e.(effect.Fact); is && f.Record.Kind == job.Ended && f.Record.Reason == job.HandedOver {
					handed = append(handed, *f.Record.Run)
				}
			}
			h.now.Wall = h.now.Wall.Add(c.down)
			h.Engine, h.ring = engine.New(engine.State{Handed: handed, NextRun: 2}), New()
			h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available})
			m.HoldOff = 10 * time.Second
			h.step(usualHoldOff, holders.Ring{Membership: m})
			if claims := h.step(ranks*m.HoldOff - 1); len(claims) > 0 {
				t.Errorf("got claims %v before the hold-offs of the others", claims)
			}
			if claims := h.step(1); len(claims) != c.claims {
				t.Errorf("got claims %v after the hold-offs of the others, want %d", claims, c.claims)
			}
		})
	}
}

// TestGrantedClaimIsNotDenied: the voters grant an occurrence, and the claim of an older one is on its
// way. The newer one waits for that, even if it is late by then.
func TestGrantedClaimIsNotDenied(t *testing.T) {
	h, _ := newEngineInRing(t, 1, 1)
	file, diagnostics := crontab.Parse("ring", "#@ scope=ring grace=5s\n* * * * * job\n", crontab.Config{Owner: "root"})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Strict})
	claims := h.step(30 * time.Second)
	if len(claims) != 1 {
		t.Fatalf("got claims %v, want 1", claims)
	}
	older := claims[0].Occurrence
	h.step(0, holders.Claimed{Occurrence: older, Grant: holders.Postponed})
	claims = h.step(time.Minute)
	if len(claims) != 2 || claims[0].Occurrence != older {
		t.Fatalf("got claims %v, want the older one again, and another one", claims)
	}
	newer := claims[1].Occurrence
	for range 5 {
		h.step(usualHoldOff)
	}
	h.step(0, holders.Claimed{Occurrence: newer, Grant: holders.Granted})
	if c := h.ring.claims[newer]; c == nil || c.state != waiting {
		t.Fatalf("got claim %+v, want one that waits", c)
	}
	h.step(0, holders.Claimed{Occurrence: older, Grant: holders.Refused, By: "m1"})
	if claims := h.step(usualHoldOff); len(claims) != 1 || claims[0].Occurrence != newer {
		t.Errorf("got claims %v, want %v again", claims, newer)
	}
}

// TestGivenUpOccurrenceOfALeaverCountsAsFailed: no member could start an occurrence. The last one took it from
// this one, and left.
func TestGivenUpOccurrenceOfALeaverCountsAsFailed(t *testing.T) {
	h, _ := newEngineInRing(t, 600, 1)
	claims := h.step(30 * time.Second)
	if len(claims) != 1 {
		t.Fatalf("got %d claims, want 1", len(claims))
	}
	due := claims[0].Occurrence
	h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Refused, By: "gone"})
	left := holders.Report{Mark: holders.Mark{Occurrence: due, Member: "gone", Phase: exchange.Taken, GivenUp: true}, Left: true, Tried: []string{"m0", "gone"}}
	if claims := h.step(0, holders.Changes{Orphans: []holders.Report{left}}); len(claims) > 0 {
		t.Errorf("got claims %v before the others had their turn", claims)
	}
	h.step(ranks*usualHoldOff - 1)
	left.Member, left.Tried = "later", append(left.Tried, "later")
	if claims := h.step(0, holders.Changes{Orphans: []holders.Report{left}}); len(claims) > 0 {
		t.Errorf("got claims %v after another member gave it up", claims)
	}
	if claims := h.step(ranks*usualHoldOff - 1); len(claims) > 0 {
		t.Errorf("got claims %v before the others had another turn", claims)
	}
	if claims := h.step(1); len(claims) != 1 || claims[0].Occurrence != due || claims[0].From != "later" {
		t.Fatalf("got claims %v, want %v from the member that left last", claims, due)
	}
	recorded := h.granted(due, func(r *job.Record) bool { return r.Kind == job.Decided && r.Reason == job.NoMember })
	if !recorded || len(h.ring.claims) != 0 {
		t.Errorf("it is recorded: %v, and %d claims are left; want true and none", recorded, len(h.ring.claims))
	}
}

// TestClaimCountsAllAttempts: while an occurrence is claimed, a member reports that it gave it up without an
// attempt, or after the first one. The first of these reports may arrive last.
func TestClaimCountsAllAttempts(t *testing.T) {
	for _, late := range []bool{false, true} {
		h, _ := newEngineInRing(t, 600, 1)
		claims := h.step(30 * time.Second)
		due := claims[0].Occurrence
		h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Refused, By: "x"})
		report := func(by string, attempt uint16, tried ...string) holders.Changes {
			m := holders.Mark{Occurrence: due, Member: by, Phase: exchange.Taken, Attempt: attempt, GivenUp: true}
			return holders.Changes{Orphans: []holders.Report{{Mark: m, Left: true, Tried: tried}}}
		}
		if late {
			h.step(0, report("y", 1, "y"))
			h.step(0, report("x", 0, "y", "x"))
		} else {
			h.step(0, report("x", 0, "x"))
			h.step(0, report("y", 1, "x", "y"))
		}
		h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
		if claims := h.step(usualHoldOff); len(claims) != 1 || claims[0].From != "y" {
			t.Fatalf("late: %t; got claims %v, want one from the member that gave it up last", late, claims)
		}
		if tried := h.ring.claims[due].tried(); len(tried) != 2 {
			t.Errorf("late: %t; got %v as those that gave it up, want both", late, tried)
		}
		if !h.granted(due, func(r *job.Record) bool { return r.Run != nil && r.Run.Attempt == 2 }) {
			t.Errorf("late: %t; the run is not the second attempt", late)
		}
	}
}

// TestReportsDuringAnAttemptToRecordTheFailure: this member could not start an occurrence, and waits for the
// others before it records that.
func TestReportsDuringAnAttemptToRecordTheFailure(t *testing.T) {
	given := holders.Report{Mark: holders.Mark{Member: "x", Phase: exchange.Taken, GivenUp: true}, Left: true, Tried: []string{"m0", "x"}}
	begun := holders.Report{Mark: holders.Mark{Member: "y", Phase: exchange.Begun, Attempt: 1, Run: 7}, Left: true}
	for _, c := range []struct {
		what    string
		asked   bool // the report arrives when the occurrence is claimed
		report  holders.Report
		repeats int // claims within the time for the others
	}{
		{"another member began it, and left", false, begun, 0},
		{"another member began it, and left, while it was claimed", true, begun, 0},
		{"another member gave it up while it was claimed", true, given, 1},
	} {
		h, _ := newEngineInRing(t, 600, 1)
		due := h.step(30 * time.Second)[0].Occurrence
		h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Refused, By: "x"})
		given.Occurrence, c.report.Occurrence = due, due
		h.step(0, holders.Changes{Orphans: []holders.Report{given}})
		if c.asked && len(h.step(ranks*usualHoldOff)) != 1 {
			t.Fatalf("%s: the occurrence is not claimed", c.what)
		}
		h.step(0, holders.Changes{Orphans: []holders.Report{c.report}})
		if c.asked {
			h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Refused, By: c.report.Member})
		}
		if claims := h.step(ranks * usualHoldOff); len(claims) != c.repeats {
			t.Errorf("%s: got claims %v, want %d", c.what, claims, c.repeats)
		}
	}
}

// TestClaimNamesTheMemberThatDied: two members claim what a third one had when it died, and one of them leaves
// before the voters answer. The other one still claims it from the member that died.
func TestClaimNamesTheMemberThatDied(t *testing.T) {
	for _, asked := range []bool{false, true} {
		h, _ := newEngineInRing(t, 600, 1)
		due := h.step(30 * time.Second)[0].Occurrence
		h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Refused, By: "x"})
		h.step(0, holders.Changes{Orphans: []holders.Report{{Mark: holders.Mark{Occurrence: due, Member: "x", Phase: exchange.Taken}}}})
		if !asked {
			h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
		}
		left := holders.Mark{Occurrence: due, Member: "y", Generation: 1, Phase: exchange.Taken, GivenUp: true}
		claims := h.step(0, holders.Changes{Orphans: []holders.Report{{Mark: left, Left: true, Tried: []string{"y"}}}})
		if asked {
			h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
			claims = h.step(usualHoldOff)
		}
		if len(claims) != 1 || claims[0].From != "x" {
			t.Errorf("the report arrives while it is claimed: %t; got claims %v, want one from x", asked, claims)
		}
	}
}

// TestReportEndsNoOpenClaim: the voters have not answered a claim, and another member reports that it took the
// occurrence, which may count for another entry. The voters may have granted it to this member.
func TestReportEndsNoOpenClaim(t *testing.T) {
	for mode, want := range map[event.RingMode]int{event.Strict: 1, event.Available: 0} {
		h, _ := newEngineInRing(t, 1, 1)
		file, _ := crontab.Parse("ring", "#@ scope=ring\n* * * * * job\n", crontab.Config{Owner: "root"})
		h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: mode})
		claims := h.step(30 * time.Second)
		if len(claims) != 1 {
			t.Fatalf("mode %v: got claims %v, want 1", mode, claims)
		}
		due := claims[0].Occurrence
		h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
		h.step(0, holders.Changes{Others: []exchange.Occurrence{due}})
		if claims := h.step(usualHoldOff); len(claims) != want {
			t.Errorf("mode %v: got claims %v, want %d", mode, claims, want)
		}
	}
}

// TestOrphanEndsNoOpenClaim: the voters have not answered a claim, and another member that claimed the
// occurrence, too, gives it up when it leaves. The voters may have granted it to this member, which is not among
// the first candidates now.
func TestOrphanEndsNoOpenClaim(t *testing.T) {
	h, m := newEngineInRing(t, 1, 1)
	file, _ := crontab.Parse("ring", "#@ scope=ring\n* * * * * job\n", crontab.Config{Owner: "root"})
	h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Strict})
	claims := h.step(30 * time.Second)
	if len(claims) != 1 {
		t.Fatalf("got claims %v, want 1", claims)
	}
	due := claims[0].Occurrence
	h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
	more := *m
	for i := range 20 {
		more.Members = append(slices.Clip(more.Members), holders.Member{ID: fmt.Sprint("n", i), Name: fmt.Sprint("n", i), Weight: 100})
	}
	given := holders.Report{Mark: holders.Mark{Occurrence: due, Member: "gone", Phase: exchange.Taken, GivenUp: true, Started: 1}, Left: true}
	if claims := h.step(0, holders.Ring{Membership: &more}, holders.Changes{Orphans: []holders.Report{given}}); len(claims) != 1 || claims[0].From != "gone" {
		t.Errorf("got claims %v, want one again, from the member that left", claims)
	}
}

// TestOrphanThatMayHaveBegunEndsNoOpenClaim: likewise, but the other member died, and may have begun the
// occurrence. Only with if-lost=rerun does this one take it over from that member.
func TestOrphanThatMayHaveBegunEndsNoOpenClaim(t *testing.T) {
	for options, from := range map[string]string{"": "", " if-lost=rerun": "gone"} {
		h, _ := newEngineInRing(t, 1, 1)
		file, _ := crontab.Parse("ring", "#@ scope=ring"+options+"\n* * * * * job\n", crontab.Config{Owner: "root"})
		h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Strict})
		due := h.step(30 * time.Second)[0].Occurrence
		h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
		begun := holders.Report{Mark: holders.Mark{Occurrence: due, Member: "gone", Phase: exchange.Begun, Attempt: 1, Run: 1}}
		claims := h.step(0, holders.Changes{Orphans: []holders.Report{begun}})
		if claims = append(claims, h.step(usualHoldOff)...); len(claims) != 1 || claims[0].From != from {
			t.Errorf("%q: got claims %v, want one from %q", options, claims, from)
		}
	}
}

// TestOpenClaimOfADisabledJobIsLeftToTheOthers: the voters have not answered a claim when this member can no
// longer run its job, or leaves then.
func TestOpenClaimOfADisabledJobIsLeftToTheOthers(t *testing.T) {
	for _, c := range []struct {
		mode         event.RingMode
		leaves, want bool
	}{{event.Strict, false, true}, {event.Strict, true, true}, {event.Available, false, false}, {event.Available, true, false}} {
		h, _ := newEngineInRing(t, 1, 1)
		load := func(options string) event.Load {
			file, _ := crontab.Parse("ring", "#@ scope=ring"+options+"\n* * * * * job\n", crontab.Config{Owner: "root"})
			return event.Load{Crontabs: []*crontab.File{file}, Ring: c.mode}
		}
		h.step(0, load(""))
		due := h.step(30 * time.Second)[0].Occurrence
		h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
		h.step(0, load(" enabled=no"))
		if c.leaves {
			h.ring.Receive(holders.Departing{})
		}
		h.now.Wall, h.now.Up = h.now.Wall.Add(longestPause), h.now.Up+longestPause
		h.StepIn(h.ring, h.now)
		h.StepIn(h.ring, h.now) // in the second step it sends its final state
		if given := givesUp(h.ring, due); given != c.want {
			t.Errorf("mode %v, it leaves: %t: the occurrence is given up: %t, want %t", c.mode, c.leaves, given, c.want)
		}
	}
}

// givesUp reports whether a member gave an occurrence up since its effects were read.
func givesUp(r *Ring, o exchange.Occurrence) bool {
	return slices.ContainsFunc(r.Effects(), func(x holders.Effect) bool {
		switch x := x.(type) {
		case exchange.Progress:
			return x.Occurrence == o && x.GivenUp
		case holders.Unstarted:
			return slices.ContainsFunc(x.Occurrences, func(p exchange.Progress) bool { return p.Occurrence == o })
		}
		return false
	})
}

// TestGrantOfADisabledJobIsLeftToTheOthers: this member cannot run a job any longer when the answer to its claim
// arrives.
func TestGrantOfADisabledJobIsLeftToTheOthers(t *testing.T) {
	h, _ := newEngineInRing(t, 600, 1)
	disabled, _ := crontab.Parse("ring", "#@ default scope=ring enabled=no\n1 8 * * * job --number 481\n", crontab.Config{Owner: "root"})
	due := h.step(30 * time.Second)[0].Occurrence
	h.step(0, event.Load{Crontabs: []*crontab.File{disabled}, Ring: event.Available})
	h.ring.Receive(holders.Claimed{Occurrence: due, Grant: holders.Granted})
	h.StepIn(h.ring, h.now)
	if !givesUp(h.ring, due) {
		t.Error("the occurrence is not given up")
	}
}

// TestFormerGrantOfADisabledJobIsLeftToTheOthers: this member was suspended when its claim was granted, so the
// grant did not count. When it can no longer run the job, the others still believe that it has the occurrence.
func TestFormerGrantOfADisabledJobIsLeftToTheOthers(t *testing.T) {
	h, _ := newEngineInRing(t, 600, 1)
	disabled, _ := crontab.Parse("ring", "#@ default scope=ring enabled=no\n1 8 * * * job --number 481\n", crontab.Config{Owner: "root"})
	due := h.step(30 * time.Second)[0].Occurrence
	h.now.Slept += time.Minute
	h.step(time.Minute)
	if again := h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Granted}); len(again) != 1 || !again[0].Again {
		t.Fatalf("got claims %v, want one again", again)
	}
	h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
	h.step(0, event.Load{Crontabs: []*crontab.File{disabled}, Ring: event.Available})
	h.now.Wall, h.now.Up = h.now.Wall.Add(longestPause), h.now.Up+longestPause
	h.StepIn(h.ring, h.now)
	if !givesUp(h.ring, due) {
		t.Error("the occurrence is not given up")
	}
}

// TestClaimOfARunThatWaitsIsKept: this member has a run of an occurrence that it claims, for instance after a
// restart, and the claim is not decided. A report that another member took it does not end the claim: the engine
// waits for the answer.
func TestClaimOfARunThatWaitsIsKept(t *testing.T) {
	h, _ := newEngineInRing(t, 600, 1)
	due := h.step(30 * time.Second)[0].Occurrence
	h.ring.reclaim(exchange.Progress{Occurrence: due, Phase: exchange.Taken})
	h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Postponed})
	h.step(0, holders.Changes{Others: []exchange.Occurrence{due}})
	if again := h.step(longestPause); len(again) == 0 || again[0].Occurrence != due || !again[0].Again {
		t.Errorf("got claims %v, want %v again", again, due)
	}
}

// TestLeaverForgetsAClaimUnderWay: the other members do not answer a member that has left, so the claim would be in
// the way of another one if the member joins again.
func TestLeaverForgetsAClaimUnderWay(t *testing.T) {
	h, _ := newEngineInRing(t, 600, 1)
	due := h.step(30 * time.Second)[0].Occurrence
	h.ring.Receive(holders.Departing{})
	h.StepIn(h.ring, h.now)
	if c := h.ring.claims[due]; c != nil {
		t.Errorf("claim %+v is left", c)
	}
}

// TestMemberHasLeftBeforeItsEngineKnows: a member that sees no others leaves at once, and one whose engine is slow
// leaves without it. The engine learns in one step that the member is about to leave and that it has left. A run
// that waits stays here only if there was no other member.
func TestMemberHasLeftBeforeItsEngineKnows(t *testing.T) {
	for members, runs := range map[int]int{1: 2, 2: 1} {
		h, m := newEngineInRing(t, 1, 1)
		file, _ := crontab.Parse("ring", "#@ scope=ring overlap=queue\n* * * * * job\n", crontab.Config{Owner: "root"})
		h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available})
		for range 2 {
			due := h.step(time.Minute)[0].Occurrence
			h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Granted})
		}
		more := *m
		if members > 1 {
			more.Members = append(slices.Clip(m.Members), holders.Member{ID: "new", Name: "new", Weight: 1})
		}
		h.step(0, holders.Ring{Membership: &more})
		h.step(0, holders.Departing{}, holders.Ring{})
		if n := len(h.View().Runs()); n != runs {
			t.Errorf("%d members: %d runs are here, want %d", members, n, runs)
		}
	}
}

// TestAnswerAfterLeaving: the voters refuse a claim after this member has left, because the member that died
// meanwhile has the occurrence.
func TestAnswerAfterLeaving(t *testing.T) {
	h, _ := newEngineInRing(t, 1, 1)
	file, _ := crontab.Parse("ring", "#@ scope=ring\n* * * * * job\n", crontab.Config{Owner: "root"})
	h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Strict})
	due := h.step(30 * time.Second)[0].Occurrence
	begun := holders.Report{Mark: holders.Mark{Occurrence: due, Member: "gone", Phase: exchange.Begun, Attempt: 1, Run: 1}}
	h.step(0, holders.Changes{Orphans: []holders.Report{begun}})
	h.step(0, holders.Departing{})
	h.step(settleTime, holders.Ring{})
	h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Refused, By: "gone"})
	if len(h.ring.claims) != 0 {
		t.Errorf("%d claims are left", len(h.ring.claims))
	}
}

// TestLeaverRepeatsTheClaimOfARun: this member was suspended, and leaves while it checks whether it still has the
// occurrence of a run that waits, and that no other member may run. Nobody answers that claim. It claims the
// occurrence again when it is back in the ring.
func TestLeaverRepeatsTheClaimOfARun(t *testing.T) {
	h, m := newEngineInRing(t, 1, 2)
	file, _ := crontab.Parse("ring", "#@ scope=ring overlap=queue host=m0\n* * * * * job\n", crontab.Config{Owner: "root"})
	h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available, Node: "m0"})
	var due exchange.Occurrence
	for range 2 {
		due = h.step(time.Minute)[0].Occurrence
		h.step(0, holders.Claimed{Occurrence: due, Grant: holders.Granted})
	}
	h.now.Slept += 2 * usualHoldOff
	isAgain := func(c holders.Claim) bool { return c.Occurrence == due && c.Again }
	if !slices.ContainsFunc(h.step(2*usualHoldOff), isAgain) {
		t.Fatal("it is not claimed again after the suspend")
	}
	h.step(0, holders.Departing{})
	h.step(time.Second, holders.Ring{})
	if !slices.ContainsFunc(h.step(time.Second, holders.Ring{Membership: m}), isAgain) {
		t.Error("it is not claimed again in the ring")
	}
}

// TestGrantToAMemberWithoutTheAccount: the user of a job is removed from this host after it has claimed an
// occurrence and before the answer. It leaves the occurrence to the others, if there are any.
func TestGrantToAMemberWithoutTheAccount(t *testing.T) {
	for _, mode := range []event.RingMode{event.Available, event.Strict} {
		for _, members := range []int{1, 2} {
			h, _ := newEngineInRing(t, 1, members)
			file, _ := crontab.Parse("ring", "#@ scope=ring\n* * * * * job\n", crontab.Config{Owner: "ann"})
			h.step(0, event.Load{Crontabs: []*crontab.File{file}, Ring: mode})
			var claims []holders.Claim
			for len(claims) == 0 {
				claims = h.step(time.Second)
			}
			h.step(0, event.BarUsers{Users: map[string]event.Barred{"ann": {Reason: job.NoUser}}})
			h.ring.Receive(holders.Claimed{Occurrence: claims[0].Occurrence, Grant: holders.Granted})
			decided := slices.ContainsFunc(h.StepIn(h.ring, h.now), func(x effect.Effect) bool {
				r, ok := x.(effect.Fact)
				return ok && r.Record.Kind == job.Decided
			})
			givenUp := slices.ContainsFunc(h.ring.Effects(), func(x holders.Effect) bool {
				p, ok := x.(exchange.Progress)
				return ok && p.GivenUp
			})
			if alone := members == 1; givenUp == alone || decided != alone {
				t.Errorf("mode %v, %d members: given up %v, decided here %v", mode, members, givenUp, decided)
			}
		}
	}
}
