package lookup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/store"
)

// Store is the history, as far as searches need it.
type Store interface {
	Run(ctx context.Context, id job.RunID) (job.Run, bool, error)
	Runs(ctx context.Context, f store.Filter) ([]job.Run, error)
	Doubles(ctx context.Context, since time.Time, f func(id job.ID, due time.Time, where job.Detail)) error
	DecisionAt(ctx context.Context, id job.ID, due time.Time) (job.Record, bool, error)
	Decisions(ctx context.Context, id job.ID, from, to time.Time, limit int) ([]job.Record, error)
	Skips(ctx context.Context, jobs []job.ID, from, to time.Time, n int, f func(job.Record)) error
	SkipsBetween(ctx context.Context, from, to time.Time, n int, f func(job.Record)) error
}

// Searcher finds jobs, runs and decisions that a caller sees.
type Searcher struct {
	view   func() *view.View
	store  Store
	states *jobstate.Jobs
}

func New(s Store, view func() *view.View, states *jobstate.Jobs) *Searcher {
	return &Searcher{view, s, states}
}

// Requested returns the numbers of the jobs that a request names, or of all that the caller sees.
func (s *Searcher) Requested(ctx context.Context, c *call.Call, verb string) ([]int, error) {
	if refs := c.Query["job"]; len(refs) > 0 {
		return s.Resolve(ctx, c, verb, refs)
	}
	return c.Visible(), nil
}

// Resolve returns the numbers of the jobs that references name, each once, in the order of the
// references. A reference without a job that the caller sees is an error, whether the job exists or
// not; a set may be empty. verb is the requested command, for the text of that error.
func (s *Searcher) Resolve(ctx context.Context, c *call.Call, verb string, refs []string) ([]int, error) {
	var found []int
	for _, text := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		more, err := s.ResolveOne(ctx, c, verb, text)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return unique(found), nil
}

func unique(numbers []int) []int {
	seen := make(map[int]bool, len(numbers))
	return slices.DeleteFunc(numbers, func(i int) bool {
		again := seen[i]
		seen[i] = true
		return again
	})
}

func (s *Searcher) ResolveOne(ctx context.Context, c *call.Call, verb, text string) ([]int, error) {
	if i, ok, err := findNamed(c, verb, text); ok || err != nil {
		return []int{i}, err
	}
	r, err := ParseJobRef(text)
	if err != nil {
		return nil, err
	}
	if err := c.Begin(ctx); err != nil { // all jobs are compared
		return nil, err
	}
	var found []int
	switch {
	case r.set != "":
		return s.members(ctx, c, r.set)
	case r.Glob:
		found = c.Where(func(i int) bool { return c.View.ID(i).Matches(r.Text) })
	case r.line > 0:
		found = c.Where(func(i int) bool {
			e := c.View.Entry(i)
			return r.matchesPlace(e.File().Name, e.Line())
		})
	}
	if len(found) > 0 {
		return found, nil
	}
	for i := range c.View.Len() {
		if id := c.View.ID(i); r.Glob && id.Matches(r.Text) || r.line > 0 && r.matchesPlace(c.View.Entry(i).File().Name, c.View.Entry(i).Line()) {
			if err := missingRole(c, verb, text, i); err != nil {
				return nil, err
			}
		}
	}
	return nil, noSuchJob(c, verb, text)
}

func missingRole(c *call.Call, verb, text string, i int) error {
	return c.MissingRole(Doing(verb)+" "+display.Quote(text), c.View.ID(i), c.View.Entry(i).User())
}

// findNamed returns the visible job with a name. OWNER/NAME is the job of that owner.
// A bare name is the caller's own job or, if there is none, the only visible one
// with that name. If several users have one, the caller must say which: a user
// must not be able to choose names so that another user's command, or root's,
// acts on the wrong job.
func findNamed(c *call.Call, verb, text string) (i int, ok bool, err error) {
	id, full := job.ParseID(text)
	if !full {
		id = job.NewID(c.Peer.Name, text)
	}
	if i, ok = c.View.Find(id); ok && c.SeesJob(i) {
		return i, true, nil
	}
	if ok {
		if err := missingRole(c, verb, text, i); err != nil {
			return 0, false, err
		}
	}
	if full {
		return 0, false, nil
	}
	all := slices.DeleteFunc(c.View.Named(text), func(i int) bool { return !c.Peer.May(call.View, c.View.Entry(i)) })
	if len(all) == 1 && !c.SeesJob(all[0]) {
		return 0, false, missingRole(c, verb, text, all[0])
	}
	switch len(all) {
	case 0:
		return 0, false, nil
	case 1:
		return all[0], true, nil
	}
	return 0, false, &api.Error{
		Kind: api.Usage,
		What: fmt.Sprintf("cannot %s %q: several users have a job with that name", Doing(verb), text),
		Why:  fewOf(c, all, job.ID.Full),
		Fix:  fmt.Sprintf("cronring %s %s", verb, display.Quote(c.View.ID(all[0]).Full())),
	}
}

// members returns the visible jobs of a set.
func (s *Searcher) members(ctx context.Context, c *call.Call, set jobSet) ([]int, error) {
	if set == setPaused {
		return c.Where(func(i int) bool { return c.View.Hold(i) != nil }), nil
	}
	var found []int
	for st, err := range s.states.States(ctx, c, c.Visible()) {
		if err != nil {
			return nil, err
		}
		if set.holds(st) {
			found = append(found, st.Number)
		}
	}
	return found, nil
}

func (set jobSet) holds(st jobstate.State) bool {
	switch set {
	case setFailed:
		return st.Failed
	case setLate:
		return st.Late
	}
	return st.Running
}

// Only returns the one job that a reference names.
func (s *Searcher) Only(ctx context.Context, c *call.Call, verb, text string) (int, error) {
	found, err := s.ResolveOne(ctx, c, verb, text)
	if err != nil {
		return 0, err
	}
	if len(found) != 1 {
		return 0, &api.Error{
			Kind: api.Usage,
			What: fmt.Sprintf("cannot %s %q: it names %s, and one is wanted", Doing(verb), text, display.Count(len(found), "job")),
			Why:  firstFew(c, found),
			Fix:  fmt.Sprintf("cronring list %s", display.Quote(text)),
		}
	}
	return found[0], nil
}

func firstFew(c *call.Call, jobs []int) string {
	return fewOf(c, jobs, func(id job.ID) string { return string(id) })
}

// fewOf lists the first few jobs, each as name writes it.
func fewOf(c *call.Call, jobs []int, name func(job.ID) string) string {
	const few = 5
	var names []string
	for _, i := range jobs[:min(few, len(jobs))] {
		names = append(names, name(c.View.ID(i)))
	}
	if len(jobs) > few {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// noSuchJob does not reveal whether a job does not exist or the caller may not see it: it counts
// and suggests only visible jobs.
func noSuchJob(c *call.Call, verb, text string) *api.Error {
	visible := c.Visible()
	e := &api.Error{
		Kind: api.NotFound,
		What: fmt.Sprintf("cannot %s %q: no such job", Doing(verb), text),
		Why:  LoadedWords(c, visible) + ", none matches",
		Fix:  "cronring list",
	}
	if namesAccount(c, e, verb, text, visible) {
		return e
	}
	names := make([]string, 0, len(visible))
	for _, i := range visible {
		names = append(names, string(c.View.ID(i)))
	}
	if near := diagnostic.Nearest(text, names); near != "" {
		e.Why += fmt.Sprintf("; nearest is %q", near)
		e.Fix = fmt.Sprintf("cronring %s %s    or list: cronring list", verb, display.Quote(near))
	} else if file := crontabOf(c, visible, text); file != "" {
		e.Fix = "cronring list --file " + display.Quote(file)
	}
	return e
}

// crontabOf returns the crontab that text names, with or without a line, or "" if it has none of the jobs.
func crontabOf(c *call.Call, jobs []int, text string) string {
	r, _ := ParseJobRef(text)
	for _, i := range jobs {
		if file := c.View.Entry(i).File().Name; IsCrontab(cmp.Or(r.file, text), file) {
			return file
		}
	}
	return ""
}

// namesAccount adds the jobs of a user to e, if text is the user's name: callers who do not know
// the name of their job often try that.
func namesAccount(c *call.Call, e *api.Error, verb, text string, visible []int) bool {
	theirs := slices.DeleteFunc(slices.Clone(visible), func(i int) bool { return c.View.Entry(i).User() != text })
	switch len(theirs) {
	case 0:
		return false
	case 1:
		e.Why = text + " is a user, and the job is " + firstFew(c, theirs)
		e.Fix = fmt.Sprintf("cronring %s %s", verb, display.Quote(string(c.View.ID(theirs[0]))))
	default:
		e.Why = text + " is a user, and the jobs are " + firstFew(c, theirs)
		e.Fix = "cronring list --user " + display.Quote(text)
	}
	return true
}

// Doing returns a command as a verb phrase, if its name is not a verb.
func Doing(command string) string {
	if strings.HasPrefix(command, "state ") {
		return "reach the state of"
	}
	return cmp.Or(verbs[command], command)
}

// verbs are the verb phrases of commands whose names are not verbs.
var verbs = map[string]string{
	"ack":             "acknowledge a failure of",
	"ack --undo":      "take back an acknowledgement of",
	"report metrics":  "read the metrics of",
	"report stats":    "sum up the runs of",
	"report timeline": "draw the time line of",
	"report clashes":  "find clashes of",
	"why":             "explain",
	"next":            "list the coming runs of",
	"logs":            "read the output of",
	"history":         "list the runs of",
	"report events":   "follow",
	"report graph":    "draw the graph of",
	"backfill list":   "list the backfills of",
	"config show":     "show the configuration of",
	"config env":      "show the environment of",
	"access --job":    "explain the access to",
	"dead retry":      "retry",
	"dead drop":       "drop",
}

func LoadedWords(c *call.Call, visible []int) string {
	jobs := display.Count(len(visible), "job")
	if !c.Peer.Admin {
		return c.Peer.String() + " may see " + jobs
	}
	verb := " are loaded from "
	if len(visible) == 1 {
		verb = " is loaded from "
	}
	return jobs + verb + display.Count(len(c.View.Crontabs()), "file")
}
