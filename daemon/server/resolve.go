package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// visible returns the numbers of all jobs that the caller sees, in crontab order.
func (c *call) visible() []int {
	seen := make([]int, 0, c.view.Len())
	for i := range c.view.Len() {
		if c.seesJob(i) {
			seen = append(seen, i)
		}
	}
	return seen
}

func (c *call) seesJob(i int) bool {
	return c.peer.keeper || c.peer.sees(c.view.Entry(i).User())
}

// seesRun is stricter than seesJob: the name of a job can have been that of
// another account's job before.
func (c *call) seesRun(r job.Run) bool {
	return c.peer.sees(r.User)
}

// resolve returns the numbers of the jobs that references name, each once, in the order of the
// references. A reference without a job that the caller sees is an error, whether the job exists or
// not; a set may be empty. verb is the requested command, for the text of that error.
func (s *Server) resolve(ctx context.Context, c *call, verb string, refs []string) ([]int, error) {
	var found []int
	for _, text := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		more, err := s.resolveOne(ctx, c, verb, text)
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

func (s *Server) resolveOne(ctx context.Context, c *call, verb, text string) ([]int, error) {
	if i, ok, err := c.named(verb, text); ok || err != nil {
		return []int{i}, err
	}
	r, err := parseJobRef(text)
	if err != nil {
		return nil, err
	}
	if err := c.begin(ctx); err != nil { // all jobs are compared
		return nil, err
	}
	var found []int
	switch {
	case r.set != "":
		return s.members(ctx, c, r.set)
	case r.glob:
		found = c.where(func(i int) bool { return c.view.ID(i).Matches(r.text) })
	case r.line > 0:
		found = c.where(func(i int) bool {
			e := c.view.Entry(i)
			return r.matchesPlace(e.Table().Name, e.Line())
		})
	}
	if len(found) == 0 {
		return nil, c.noSuchJob(verb, text)
	}
	return found, nil
}

// named returns the visible job with a name. OWNER/NAME is the job of that owner.
// A bare name is the caller's own job or, if there is none, the only visible one
// with that name. If several users have one, the caller must say which: a user
// must not be able to choose names so that another user's command, or root's,
// acts on the wrong job.
func (c *call) named(verb, text string) (i int, ok bool, err error) {
	id, full := job.ParseID(text)
	if !full {
		id = job.NewID(c.peer.name, text)
	}
	if i, ok = c.view.Find(id); ok && c.seesJob(i) {
		return i, true, nil
	}
	if full {
		return 0, false, nil
	}
	all := slices.DeleteFunc(c.view.Named(text), func(i int) bool { return !c.seesJob(i) })
	switch len(all) {
	case 0:
		return 0, false, nil
	case 1:
		return all[0], true, nil
	}
	return 0, false, &api.Error{
		Kind: api.Usage,
		What: fmt.Sprintf("cannot %s %q: several users have a job with that name", doing(verb), text),
		Why:  c.fewOf(all, job.ID.Full),
		Fix:  fmt.Sprintf("cronring %s %s", verb, quote(c.view.ID(all[0]).Full())),
	}
}

// where returns the visible jobs for which choose is true.
func (c *call) where(choose func(i int) bool) []int {
	return slices.DeleteFunc(c.visible(), func(i int) bool { return !choose(i) })
}

// members returns the visible jobs of a set.
func (s *Server) members(ctx context.Context, c *call, set jobSet) ([]int, error) {
	if set == setPaused {
		return c.where(func(i int) bool { return c.view.Hold(i) != nil }), nil
	}
	var found []int
	for st, err := range s.states(ctx, c, c.visible()) {
		if err != nil {
			return nil, err
		}
		if set.holds(st) {
			found = append(found, st.number)
		}
	}
	return found, nil
}

func (set jobSet) holds(st jobState) bool {
	switch set {
	case setFailed:
		return st.failed
	case setLate:
		return st.late
	}
	return st.running
}

// only returns the one job that a reference names.
func (s *Server) only(ctx context.Context, c *call, verb, text string) (int, error) {
	found, err := s.resolveOne(ctx, c, verb, text)
	if err != nil {
		return 0, err
	}
	if len(found) != 1 {
		return 0, &api.Error{
			Kind: api.Usage,
			What: fmt.Sprintf("cannot %s %q: it names %s, and one is wanted", doing(verb), text, count(len(found), "job")),
			Why:  c.firstFew(found),
			Fix:  fmt.Sprintf("cronring list %s", quote(text)),
		}
	}
	return found[0], nil
}

func (c *call) firstFew(jobs []int) string {
	return c.fewOf(jobs, func(id job.ID) string { return string(id) })
}

// fewOf lists the first few jobs, each as name writes it.
func (c *call) fewOf(jobs []int, name func(job.ID) string) string {
	const few = 5
	var names []string
	for _, i := range jobs[:min(few, len(jobs))] {
		names = append(names, name(c.view.ID(i)))
	}
	if len(jobs) > few {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// noSuchJob does not reveal whether a job does not exist or the caller may not see it: it counts
// and suggests only visible jobs.
func (c *call) noSuchJob(verb, text string) *api.Error {
	visible := c.visible()
	e := &api.Error{
		Kind: api.NotFound,
		What: fmt.Sprintf("cannot %s %q: no such job", doing(verb), text),
		Why:  c.loaded(visible) + ", none matches",
		Fix:  "cronring list",
	}
	if c.namesAccount(e, verb, text, visible) {
		return e
	}
	names := make([]string, 0, len(visible))
	for _, i := range visible {
		names = append(names, string(c.view.ID(i)))
	}
	if near := crontab.Nearest(text, names); near != "" {
		e.Why += fmt.Sprintf("; nearest is %q", near)
		e.Fix = fmt.Sprintf("cronring %s %s    or list: cronring list", verb, quote(near))
	}
	return e
}

// namesAccount adds the jobs of a user to e, if text is the user's name: callers who do not know
// the name of their job often try that.
func (c *call) namesAccount(e *api.Error, verb, text string, visible []int) bool {
	theirs := slices.DeleteFunc(slices.Clone(visible), func(i int) bool { return c.view.Entry(i).User() != text })
	switch len(theirs) {
	case 0:
		return false
	case 1:
		e.Why = text + " is an account, and its job is " + c.firstFew(theirs)
		e.Fix = fmt.Sprintf("cronring %s %s", verb, quote(string(c.view.ID(theirs[0]))))
	default:
		e.Why = text + " is an account, and its jobs are " + c.firstFew(theirs)
		e.Fix = "cronring list --user " + quote(text)
	}
	return true
}

// doing returns a command as a verb phrase, if its name is not a verb.
func doing(command string) string {
	switch command {
	case "ack":
		return "acknowledge a failure of"
	case "ack --undo":
		return "take back an acknowledgement of"
	case "stats":
		return "sum up the runs of"
	case "timeline":
		return "draw the time line of"
	case "clashes":
		return "find clashes of"
	case "why":
		return "explain"
	case "next":
		return "list the coming runs of"
	case "logs":
		return "read the output of"
	case "history":
		return "list the runs of"
	case "events":
		return "follow"
	case "state":
		return "reach the state of"
	}
	return command
}

func (c *call) loaded(visible []int) string {
	verb := " are loaded"
	if len(visible) == 1 {
		verb = " is loaded"
	}
	jobs := count(len(visible), "job")
	if c.peer.keeper {
		return jobs + verb + " from " + count(len(c.view.Tables()), "file")
	}
	return jobs + " of " + c.peer.String() + verb
}
