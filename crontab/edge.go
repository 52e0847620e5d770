package crontab

import (
	"errors"
	"fmt"
	"strings"
)

// maxEdges is the most jobs that after= or on= names.
const maxEdges = 1000

// Edge is one job whose runs another waits for, or starts on.
type Edge struct {
	Job      string   // NAME or OWNER/NAME, as written
	Outcomes Outcomes // any of these
}

// Outcomes is a set of ways in which a run, with all its attempts, can end.
type Outcomes uint8

// The outcomes that edges name.
const (
	OutcomeOK   Outcomes = 1 << iota // succeeded
	OutcomeFail                      // failed for good, dead, lost or kept from running by a parent
	OutcomeSkip                      // skipped itself by skip-code=, or was refused by if=
	OutcomeLost                      // its process vanished
	OutcomeDead                      // failed for good and lies among the dead letters
	OutcomeDone = OutcomeOK | OutcomeFail | OutcomeSkip | OutcomeLost | OutcomeDead
)

var outcomes = map[string]Outcomes{
	"ok": OutcomeOK, "fail": OutcomeFail, "skip": OutcomeSkip,
	"lost": OutcomeLost, "dead": OutcomeDead, "done": OutcomeDone,
}

// Join says how the edges of after= add up. Those from JoinAllSuccess on are
// Airflow's trigger rules: they look at how parents ended, whatever outcomes
// their edges name.
type Join uint8

// The joins.
const (
	JoinAll        Join = iota // every edge holds
	JoinAny                    // one edge holds
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
	JoinAlways // waits for nobody
)

var joins = map[string]Join{
	"all": JoinAll, "any": JoinAny, "none-failed": JoinNoneFailed,
	"all-success": JoinAllSuccess, "all-failed": JoinAllFailed,
	"all-done": JoinAllDone, "all-done-min-one-success": JoinAllDoneMinOneSuccess,
	"all-skipped": JoinAllSkipped, "one-failed": JoinOneFailed, "one-success": JoinOneSuccess, "one-done": JoinOneDone,
	"none-failed-min-one-success": JoinNoneFailedMinOneSuccess, "none-skipped": JoinNoneSkipped,
	"always": JoinAlways,
}

// parseJoin reads a join. Airflow writes its rules with underscores.
func parseJoin(text string) (Join, error) {
	return oneOf(strings.ReplaceAll(text, "_", "-"), joins)
}

// edges collects jobs, each once.
type edges struct {
	list []Edge
	seen map[string]bool
}

func (e *edges) add(job string, outcome Outcomes) error {
	if err := checkReference(job); err != nil {
		return err
	}
	if e.seen[job] {
		return fmt.Errorf("%s is named twice", quote(job))
	}
	if len(e.list) == maxEdges {
		return fmt.Errorf("more than %d jobs", maxEdges)
	}
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.seen[job] = true
	e.list = append(e.list, Edge{job, outcome})
	return nil
}

// parseAfter reads NAME[:outcome],...
func parseAfter(text string) ([]Edge, error) {
	var e edges
	for item := range strings.SplitSeq(text, ",") {
		name, word, given := strings.Cut(item, ":")
		outcome := OutcomeOK
		if given {
			var err error
			if outcome, err = oneOf(word, outcomes); err != nil {
				return nil, err
			}
		}
		if err := e.add(name, outcome); err != nil {
			return nil, err
		}
	}
	return e.list, nil
}

// edges reads key=value once for all entries below a default: it may name a
// thousand jobs, and stand above half a million entries.
func (p *plan) edges(item string, read func(string) ([]Edge, error)) ([]Edge, error) {
	if known, ok := p.parser.edges[item]; ok {
		return known, nil
	}
	_, value, _ := strings.Cut(item, "=")
	list, err := read(value)
	if err != nil {
		return nil, err
	}
	if p.parser.edges == nil {
		p.parser.edges = map[string][]Edge{}
	}
	p.parser.edges[item] = list
	return list, nil
}

// errLater is what the reader of a value says of one that the language has,
// but this version does not act on.
var errLater = errors.New("not built in this version")

// parseOn reads job:NAME[:outcome,...],... An item behind a comma that does
// not begin with job: is a further outcome of the job before it.
func parseOn(text string) ([]Edge, error) {
	if text == "boot" || text == "resume" || strings.HasPrefix(text, "file:") || strings.HasPrefix(text, "event:") {
		return nil, errLater
	}
	var e edges
	further := false // whether the edge before has named an outcome
	for item := range strings.SplitSeq(text, ",") {
		word := item
		if job, ok := strings.CutPrefix(item, "job:"); ok {
			name, first, given := strings.Cut(job, ":")
			if err := e.add(name, OutcomeOK); err != nil {
				return nil, err
			}
			if further = given; !given {
				continue
			}
			e.list[len(e.list)-1].Outcomes, word = 0, first
		} else if !further {
			return nil, fmt.Errorf("%s is not job:NAME", quote(item))
		}
		outcome, err := oneOf(word, outcomes)
		if err != nil {
			return nil, err
		}
		e.list[len(e.list)-1].Outcomes |= outcome
	}
	return e.list, nil
}

// parsePool reads NAME or NAME:slots.
func parsePool(text string, o *Options) (err error) {
	name, number, given := strings.Cut(text, ":")
	if err := checkName(name); err != nil {
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

// Words names the outcomes as after= and on= do.
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
