package daemon

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// A user on one member has a ring job with the name of root's job on another member, and a shorter
// interval. Root's job runs all its occurrences, catches up the missed ones, and why reports them
// correctly.
func TestUserCannotPreventRingJobOfAnotherOwner(t *testing.T) {
	t.Parallel()
	n1, n2 := newTestHost(t), newTestHost(t)
	seed := fmt.Sprintf("127.%d.%d.", 1+rand.N(250), 1+rand.N(250))
	for i, h := range []*testHost{n1, n2} {
		h.configure(fmt.Sprintf("[ring]\nname = \"test\"\nbind = \"%[1]s%[2]d:7946\"\nseeds = [\"%[1]s1\", \"%[1]s2\"]\nusers = [\"*\"]\n", seed, i+1))
	}
	n1.userCrontab("bob", bobID, "#@ name=nightly scope=ring sec=*\n* * * * * true\n")
	n2.write("etc/cron.d/nightly", "#@ name=nightly scope=ring every=6s catchup=all\n* * * * * root true\n")
	n1.start()
	n2.startInRing()

	const every = 6 * time.Second
	bob, root := n1.watch(), n2.watch()
	ran := func(name job.ID) func(job.Record) bool {
		return func(r job.Record) bool { return r.Kind == job.Decided && r.Run != nil && r.Job == name }
	}
	bob.await("bob's job runs", ran("bob/nightly"))
	last := root.await("root's job runs", ran("nightly")).Due
	for range 2 {
		due := root.await("root's job runs again", ran("nightly")).Due
		if due.Sub(last) != every {
			t.Errorf("after the occurrence of %s it ran that of %s, want each %s", last, due, every)
		}
		last = due
	}
	n2.stop()
	bob.await("bob's job ran while root's was due", func(r job.Record) bool { return ran("bob/nightly")(r) && r.Due.After(last.Add(2*every)) })
	restarted := time.Now()
	n2.startInRing()
	again := n2.watch()
	now := again.await("root's job is back on time", func(r job.Record) bool { return ran("nightly")(r) && r.Due.After(restarted) }).Due
	for due := last.Add(every); !due.After(now); due = due.Add(every) {
		run := n2.caughtUp("nightly", due)
		why, err := n2.client.Why(n2.context(), "nightly", due)
		if err != nil || why.Run == nil || why.Run.ID != run {
			t.Errorf("run %d is that of %s, which came due around a restart; why says %q, %v", run, due, why.Verdict, err)
		}
	}
}

// The home directory of a job's user is missing on one member: the other one runs the occurrences that
// are that member's. Once it is missing on both, an occurrence that was handed over counts as failed.
func TestRingJobThatCannotStartHereRunsElsewhere(t *testing.T) {
	t.Parallel()
	n1, n2 := newTestHost(t), newTestHost(t)
	seed := fmt.Sprintf("127.%d.%d.", 1+rand.N(250), 1+rand.N(250))
	for i, h := range []*testHost{n1, n2} {
		h.Family = crontab.RHEL // its cron requires the directory
		h.configure(fmt.Sprintf("[ring]\nname = \"test\"\nbind = \"%[1]s%[2]d:7946\"\nseeds = [\"%[1]s1\", \"%[1]s2\"]\n", seed, i+1))
		h.write("etc/cron.d/sync", "#@ name=sync scope=ring route=any sec=*\n* * * * * ann true\n")
	}
	if err := os.Remove(n1.path("home/ann")); err != nil {
		t.Fatal(err)
	}
	n1.start()
	n2.startInRing()

	lacks, has := n1.watch(), n2.watch()
	handedOver := func(r job.Record) bool { return r.Kind == job.Ended && r.Reason == job.HandedOver }
	given := lacks.await("the member without the directory hands an occurrence over", handedOver)
	if o := given.Run.Outcome; o.Kind != job.NotStarted || given.Run.Verdict != job.VerdictRetry {
		t.Errorf("it ended %s, %s: want it not started, and tried elsewhere", o, given.Run.Verdict)
	}
	ran := has.await("the other member runs it", func(r job.Record) bool { return r.Kind == job.Ended && r.Due.Equal(given.Due) })
	if !ran.Run.OK() || ran.Run.Attempt != 1 || ran.Run.Reason != job.TakenOver {
		t.Errorf("there it ended %s, attempt %d, because %s: want a first attempt that succeeds", ran.Run.Outcome, ran.Run.Attempt, ran.Run.Reason)
	}
	why, err := n1.client.Why(n1.context(), "sync", given.Due)
	if want := "It could not be started. Chdir HOME failed"; err != nil || !strings.HasPrefix(why.Verdict, want) || !strings.HasSuffix(why.Verdict, job.HandedOver.Sentence()) {
		t.Errorf("why: %q, %v; want %q and that it was handed over", why.Verdict, err, want)
	}

	if err := os.Remove(n2.path("home/ann")); err != nil {
		t.Fatal(err)
	}
	given = has.await("the member that lost the directory hands an occurrence over", handedOver)
	failed := lacks.await("it ends on the last member", func(r job.Record) bool { return r.Kind == job.Ended && r.Due.Equal(given.Due) })
	if failed.Run.Outcome.Kind != job.NotStarted || !failed.Run.Verdict.Bad() {
		t.Errorf("on the last member it ended %s, %s: want it not started, and failed", failed.Run.Outcome, failed.Run.Verdict)
	}
}

// caughtUp waits for the run of an occurrence. That of a later one may come first.
func (h *testHost) caughtUp(ref string, due time.Time) job.RunID {
	h.t.Helper()
	for end := time.Now().Add(hostPatience); time.Now().Before(end); {
		runs := h.runsOf(ref)
		if i := slices.IndexFunc(runs, func(r job.Run) bool { return r.Due.Equal(due) }); i >= 0 {
			return runs[i].ID
		}
	}
	h.t.Fatalf("the occurrence of %s does not run", due)
	return 0
}
