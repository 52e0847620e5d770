package option

import (
	"fmt"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// MaxEdges is the highest number of jobs in after= or on=.
const MaxEdges = 1000

// Edge is a dependency: a job whose runs another job waits for, or starts after.
type Edge struct {
	Job      string   // NAME or OWNER/NAME, as written
	Outcomes Outcomes // any of these
}

// Outcomes is a set of final results of a run, after all its attempts.
type Outcomes uint8

// The outcomes of edges.
const (
	OutcomeOK   Outcomes = 1 << iota // succeeded
	OutcomeFail                      // failed for good, dead, lost, or not started because of a parent
	OutcomeSkip                      // skipped by its exit status (skip-code=) or by if=
	OutcomeLost                      // its process vanished
	OutcomeDead                      // failed for good and became a dead letter
	OutcomeDone = OutcomeOK | OutcomeFail | OutcomeSkip | OutcomeLost | OutcomeDead
)

var outcomes = map[string]Outcomes{
	"ok": OutcomeOK, "fail": OutcomeFail, "skip": OutcomeSkip,
	"lost": OutcomeLost, "dead": OutcomeDead, "done": OutcomeDone,
}

// Join is the rule that combines the edges of after=. The joins from JoinAllSuccess on
// are Airflow's trigger rules: they use the results of the parents and ignore
// the outcomes of the edges.
type Join uint8

// The joins.
const (
	JoinAll        Join = iota // every edge matches
	JoinAny                    // at least one edge matches
	JoinNoneFailed             // all have ended, and none failed
	JoinAllSuccess
	JoinAllFailed
	JoinAllDone
	JoinAllDoneMinOneSuccess
	JoinAllSkipped
	JoinOneFailed
	JoinOneSuccess
	JoinOneDone
	JoinNoneFailedMinOneSuccess
	JoinNoneSkipped
	JoinAlways // does not wait
)

var joins = map[string]Join{
	"all": JoinAll, "any": JoinAny, "none-failed": JoinNoneFailed,
	"all-success": JoinAllSuccess, "all-failed": JoinAllFailed,
	"all-done": JoinAllDone, "all-done-min-one-success": JoinAllDoneMinOneSuccess,
	"all-skipped": JoinAllSkipped, "one-failed": JoinOneFailed, "one-success": JoinOneSuccess, "one-done": JoinOneDone,
	"none-failed-min-one-success": JoinNoneFailedMinOneSuccess, "none-skipped": JoinNoneSkipped,
	"always": JoinAlways,
}

// parseJoin reads a join, with hyphens or with Airflow's underscores.
func parseJoin(text string) (Join, error) {
	return oneOf(strings.ReplaceAll(text, "_", "-"), joins)
}

// edges collects edges to different jobs.
type edges struct {
	list []Edge
	seen map[string]bool
}

func (e *edges) add(job string, outcome Outcomes) error {
	if err := CheckReference(job); err != nil {
		return err
	}
	if e.seen[job] {
		return fmt.Errorf("%s is named twice", diagnostic.Quote(job))
	}
	if len(e.list) == MaxEdges {
		return fmt.Errorf("more than %d jobs", MaxEdges)
	}
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.seen[job] = true
	e.list = append(e.list, Edge{job, outcome})
	return nil
}

// parseAfter reads NAME[:outcome],...
func parseAfter(text string) (starters, error) {
	var e edges
	for item := range strings.SplitSeq(text, ",") {
		if _, err := e.addItem(item); err != nil {
			return starters{}, err
		}
	}
	return starters{edges: e.list}, nil
}

// starters parses a value of after= or on= once for all entries below a default, because a
// default may list a thousand jobs and apply to 100,000 entries.
func (p *Plan) starters(key, value string, read func(string) (starters, error)) (starters, error) {
	return cached(&p.shared.starters, key+"="+value, func() (starters, error) { return read(value) })
}

func (p *Plan) setAfter(value string) error {
	s, err := p.starters("after", value, parseAfter)
	p.After = s.edges
	return err
}

func (p *Plan) setOn(value string) error {
	s, err := p.starters("on", value, parseOn)
	p.On, p.Triggers = s.edges, s.triggers
	return err
}

// parsePool reads NAME or NAME:slots.
func parsePool(text string, o *Options) (err error) {
	name, number, given := strings.Cut(text, ":")
	if err := CheckName(name); err != nil {
		return err
	}
	slots := 1
	if given {
		if slots, err = parseInt(number, 1, 1_000_000); err != nil {
			return err
		}
	}
	o.Pool, o.Slots = name, slots
	return nil
}

// Words returns the outcomes in the words of after= and on=.
func (o Outcomes) Words() []string {
	if o == OutcomeDone {
		return []string{"done"}
	}
	var words []string
	for _, word := range []string{"ok", "fail", "skip", "lost", "dead"} {
		if o&outcomes[word] != 0 {
			words = append(words, word)
		}
	}
	return words
}
