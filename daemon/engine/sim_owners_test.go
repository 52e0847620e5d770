package engine

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// TestSimulationOfOwners runs each random host twice: once with the crontab of one owner
// alone, and once together with crontabs of other owners, which use the same names and
// commands and are edited all the time. Invariant 15: the jobs of the first owner do not
// show which of the two hosts they are on.
//
// The clock is not set, because an engine that other jobs wake would notice it sooner.
// The watched crontab is not edited, because any load drops the retries of a removed job.
func TestSimulationOfOwners(t *testing.T) {
	collectLess(t)
	if *seed != 0 {
		compareOwners(t, *seed, true)
		return
	}
	hosts := uint64(*seeds) / 10
	if testing.Short() {
		hosts = min(hosts, 20)
	}
	for s := *first; s < *first+hosts; s++ {
		compareOwners(t, s, false)
		if t.Failed() {
			t.Fatalf("replay with: go test ./daemon/engine -run SimulationOfOwners -seed %d -v", s)
		}
	}
}

// TestSimulationOfOwnersWithFoundFaults repeats hosts that have found faults: after a load, a
// run that waited for its parents named another attempt (15196) or a newer run (17605) of a parent. Another
// user's run with preempt that got no slot prevented the preemptions of all others (100).
func TestSimulationOfOwnersWithFoundFaults(t *testing.T) {
	collectLess(t)
	for _, s := range []uint64{15196, 17605, 100} {
		compareOwners(t, s, false)
	}
}

// owners are sorted, so that crontabs of other owners are read before and after
// that of the watched one. The crontabs of root are named on the command line.
var owners = []string{"adam", "mia", "root", "zoe"}

// neighbourhood is a host that observes the jobs of one owner.
type neighbourhood struct {
	*simHost
	watched string
	texts   map[string]string // by owner
	runs    map[job.RunID]int // of watched jobs, numbered from 1 as their first record comes
	story   []storyLine       // what happens to watched jobs
	others  strings.Builder   // what happens to the rest
}

// storyLine is an effect on a watched job.
type storyLine struct {
	at   time.Time
	run  int // as in runs, 0 for none
	text string
}

func newNeighbourhood(t *testing.T, at time.Time, zone *time.Location, watched, text string) *neighbourhood {
	n := &neighbourhood{simHost: newSimHost(t, at, zone), watched: watched, texts: map[string]string{watched: text}, runs: map[job.RunID]int{}}
	n.log = n.note
	n.pace = 1000 // otherwise runs of others could make one wait for the next step, at the same instant
	return n
}

// install parses the crontabs again, in the order of their owners.
func (n *neighbourhood) install() {
	n.crontabs = nil
	for _, owner := range owners {
		text, ok := n.texts[owner]
		switch {
		case !ok:
		case owner == "root":
			n.crontabs = append(n.crontabs, n.crontab("sim", text))
		default:
			n.crontabs = append(n.crontabs, n.users(owner, text))
		}
	}
}

func (n *neighbourhood) isWatched(id job.ID) bool { return id != "" && id.Owner() == n.watched }

var (
	runNumbers = regexp.MustCompile(`\b(runs?|start|kill|check|measure) \d+(, \d+)*( times)?|[a-z:]:\d+`)
	number     = regexp.MustCompile(`\d+`)
)

// note adds an effect to the story. Run numbers differ between the hosts.
func (n *neighbourhood) note(e effect.Effect) {
	var id job.ID
	var run job.RunID
	switch e := e.(type) {
	case effect.Fact:
		if id = e.Record.Job; e.Record.Run != nil {
			run = e.Record.Run.ID
		}
	case effect.Start:
		id, run = e.Run.Job, e.Run.ID
	case effect.Check:
		id, run = e.Run.Job, e.Run.ID
	case effect.Measure:
		id, run = n.store.Live[e.Run].Job, e.Run
	case effect.Kill:
		id, run = n.store.Live[e.Run].Job, e.Run
	case effect.Notify:
		id = e.Notice.Job
	case effect.Summary:
		id = e.Summary.Job
	}
	text := n.notify(e)
	if text == "" { // a summary: the order of those of several jobs may differ
		return
	}
	line := fmt.Sprintf("%s %s", n.now.Wall.Format("01-02 15:04:05.000000000"), text)
	if !n.isWatched(id) {
		fmt.Fprintln(&n.others, line)
		return
	}
	if _, known := n.runs[run]; run != 0 && !known {
		n.runs[run] = len(n.runs) + 1
	}
	n.story = append(n.story, storyLine{n.now.Wall, n.runs[run], n.numbered(line)})
}

// sorted returns the story, with the effects of one instant sorted by run. The order of the
// runs is not compared: if a run of another owner takes a slot in a step, a watched run that
// waits for one starts before the next timer of the step, and not after all of them.
func (n *neighbourhood) sorted() string {
	slices.SortStableFunc(n.story, func(a, b storyLine) int { return cmp.Or(a.at.Compare(b.at), a.run-b.run) })
	var b strings.Builder
	for _, line := range n.story {
		fmt.Fprintln(&b, line.text)
	}
	return b.String()
}

// numbered replaces the numbers of runs by those of n.runs.
func (n *neighbourhood) numbered(line string) string {
	return runNumbers.ReplaceAllStringFunc(line, func(text string) string {
		if strings.HasSuffix(text, " times") { // how often a job will not run
			return text
		}
		return number.ReplaceAllStringFunc(text, func(digits string) string {
			id, _ := strconv.ParseUint(digits, 10, 63)
			return fmt.Sprintf("#%d", n.runs[job.RunID(id)])
		})
	})
}

// state returns what the engine shows and the store keeps of the watched jobs.
func (n *neighbourhood) state() string {
	var b strings.Builder
	v := n.engine.View()
	for i := range v.Len() {
		if id := v.ID(i); n.isWatched(id) {
			j := v.Job(i)
			var hold job.Hold
			if h := v.Hold(i); h != nil {
				hold = *h
				hold.Reason = job.Text(n.numbered(h.Reason.Words()))
			}
			fmt.Fprintf(&b, "%s line %d held %q pause %+v next %s mark %+v\n", id, j.Line, j.Held, hold, v.Next(i, n.now.Wall), n.store.Marks[id])
		}
	}
	for _, r := range v.Runs() {
		if n.isWatched(r.Job) {
			fmt.Fprintf(&b, "#%d of %s is %s (%s)\n", n.runs[r.ID], r.Job, r.State, r.Reason)
		}
	}
	return b.String()
}

// settleAll makes the engine do everything that is due.
func (n *neighbourhood) settleAll() {
	n.step(event.Tick{})
	n.advance(n.now.Wall)
}

// runningOf lists the runs of watched or of other jobs, the oldest first.
func (n *neighbourhood) runningOf(watched bool) (ids []job.RunID) {
	for _, id := range runningRuns(n.simHost) {
		if n.isWatched(n.running[id].job) == watched {
			ids = append(ids, id)
		}
	}
	return ids
}

// endSome ends some runs of watched or of other jobs.
func (n *neighbourhood) endSome(rng *rand.Rand, watched bool) {
	for _, id := range n.runningOf(watched) {
		if rng.IntN(3) > 0 {
			n.end(id, job.Outcome{Kind: job.Exited, Code: rng.IntN(2)})
		}
	}
	n.step()
}

// ask makes a request about a watched or another job.
func (n *neighbourhood) ask(rng *rand.Rand, watched bool) {
	v := n.engine.View()
	var ids []job.ID
	for i := range v.Len() {
		if id := v.ID(i); n.isWatched(id) == watched {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	id := ids[rng.IntN(len(ids))]
	asks := []event.Event{
		event.Pause{Job: id, Hold: job.Hold{By: id.Owner()}}, event.Pause{Job: id, Hold: job.Hold{By: "root", Until: n.now.Wall.Add(time.Hour)}},
		event.RunNow{Job: id, By: id.Owner()}, event.Stop{Job: id, By: id.Owner()}, event.Resume{Job: id, By: id.Owner()},
	}
	n.step(asks[rng.IntN(len(asks))])
}

// restart kills the daemon; some processes of watched jobs are found again.
func (n *neighbourhood) restart(rng *rand.Rand, away time.Duration, adopts bool) {
	n.pass(away)
	n.adopted = adopts
	for _, id := range n.runningOf(true) {
		if rng.IntN(4) == 0 {
			delete(n.running, id)
		}
	}
	n.start()
}

// neighbour changes the crontab or the jobs of another owner.
func (n *neighbourhood) neighbour(rng *rand.Rand) {
	others := slices.DeleteFunc(slices.Clone(owners), func(owner string) bool { return owner == n.watched })
	owner := others[rng.IntN(len(others))]
	switch rng.IntN(6) {
	case 0:
		delete(n.texts, owner)
	case 1:
		n.texts[owner] = n.texts[n.watched] // the same jobs
	case 2:
		n.endSome(rng, false)
		return
	case 3:
		n.ask(rng, false)
		return
	default:
		n.texts[owner] = randomCrontab(rng, rng)
	}
	n.install()
	n.step(n.load())
}

func compareOwners(t *testing.T, seed uint64, verbose bool) {
	rng := rand.New(rand.NewPCG(seed, 3))
	zone := randomZone(t, rng)
	at := time.Date(2026, time.Month(1+rng.IntN(12)), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), rng.IntN(60), 0, time.UTC)
	watched, text := owners[rng.IntN(len(owners))], randomCrontab(rng, rng)
	// The spread of waits before attempts is drawn from the number of a person's run.
	text = strings.ReplaceAll(text, "#@ retry=", "#@ retry-jitter=0%\n#@ retry=")
	alone, among := newNeighbourhood(t, at, zone, watched, text), newNeighbourhood(t, at, zone, watched, text)
	both := []*neighbourhood{alone, among}
	alone.limits.MaxPerUser = rng.IntN(3)
	among.limits.MaxPerUser = alone.limits.MaxPerUser
	for _, owner := range owners {
		if owner != watched && rng.IntN(2) == 0 {
			among.texts[owner] = randomCrontab(rng, rng)
		}
	}
	for _, n := range both {
		n.install()
		n.start()
		n.settleAll()
	}
	for range 40 {
		var same func(n *neighbourhood, rng *rand.Rand)
		draw := rng.Uint64()
		d := time.Duration(rng.Int64N(int64(3 * time.Hour)))
		switch k := rng.IntN(20); {
		case k < 8:
			same = func(n *neighbourhood, _ *rand.Rand) { n.advance(n.now.Wall.Add(d)) }
		case k < 12:
			same = func(n *neighbourhood, rng *rand.Rand) { n.endSome(rng, true) }
		case k < 15:
			same = func(n *neighbourhood, rng *rand.Rand) { n.ask(rng, true) }
		case k < 16:
			adopts := rng.IntN(2) == 0
			same = func(n *neighbourhood, rng *rand.Rand) { n.restart(rng, d, adopts) }
		default:
			same = func(*neighbourhood, *rand.Rand) {}
		}
		for range rng.IntN(3) {
			among.neighbour(rng)
			among.settleAll()
		}
		for _, n := range both {
			n.pass(time.Microsecond)
			same(n, rand.New(rand.NewPCG(seed, draw)))
			n.settleAll()
		}
		if a, b := alone.sorted()+alone.state(), among.sorted()+among.state(); a != b {
			t.Errorf("invariant 15: seed %d: jobs of %s differ beside other owners:\n%s", seed, watched, firstDifference(a, b))
			break
		}
	}
	if verbose {
		t.Logf("seed %d, jobs of %s: %q\n%s--- others: %q\n%s", seed, watched, text, among.sorted(), among.texts, among.others.String())
	}
}

// firstDifference shows where two texts begin to differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	from := max(i-3, 0)
	cut := func(lines []string) string { return strings.Join(lines[from:min(i+3, len(lines))], "\n") }
	return "alone:\n" + cut(x) + "\nbeside others:\n" + cut(y)
}

// The two hosts would prove nothing if other owners had no job of the same name.
func TestSimulationOfOwnersSharesNames(t *testing.T) {
	n := newNeighbourhood(t, time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC), time.UTC, "mia", "#@ name=n0\n* * * * * command-0\n")
	for _, owner := range owners {
		n.texts[owner] = n.texts["mia"]
	}
	n.install()
	n.start()
	if got, want := n.engine.View().Len(), len(owners); got != want {
		t.Errorf("%d owners have %d jobs", want, got)
	}
}
