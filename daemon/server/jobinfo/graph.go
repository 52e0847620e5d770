package jobinfo

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Graph answers with the dependencies of the jobs that the caller sees: of all connected jobs, or
// of the requested ones.
func (s *Informer) Graph(ctx context.Context, c *call.Call) error {
	g := newWeb(c)
	chosen := g.jobs
	if refs := c.Query["job"]; len(refs) > 0 {
		asked, err := s.find.Resolve(ctx, c, "report graph", refs)
		if err != nil {
			return err
		}
		chosen = g.connected(asked)
	} else if c.Query.Get("all") != "true" {
		chosen = slices.DeleteFunc(slices.Clone(g.jobs), func(i int) bool { return len(g.near[i]) == 0 && !g.edged[i] })
	}
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(i int) bool { return !asksFor(c, i) })
	return call.AnswerRows(ctx, c, "jobs", s.nodes(ctx, c, chosen))
}

// web holds the connections of the jobs that a caller sees, in both directions.
type web struct {
	jobs  []int
	near  map[int][]int
	edged map[int]bool // jobs that name others, whether or not these exist
}

func newWeb(c *call.Call) *web {
	g := &web{jobs: c.Visible(), near: map[int][]int{}, edged: map[int]bool{}}
	var ids map[job.ID]int // made when it is needed: few hosts have edges, and some 100,000 jobs
	for _, i := range g.jobs {
		o := c.View.Entry(i).Options()
		if len(o.After)+len(o.On) == 0 {
			continue
		}
		if ids == nil {
			ids = make(map[job.ID]int, len(g.jobs))
			for _, k := range g.jobs {
				ids[c.View.ID(k)] = k
			}
		}
		g.edged[i] = true
		after, on := c.View.Edges(i)
		for _, e := range slices.Concat(after, on) {
			if parent, ok := ids[e.Job]; ok {
				g.near[i], g.near[parent] = append(g.near[i], parent), append(g.near[parent], i)
			}
		}
	}
	return g
}

// connected returns all jobs that can be reached from some jobs, in the order of the crontabs.
func (g *web) connected(from []int) []int {
	seen := map[int]bool{}
	var all []int
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		if i := queue[0]; !seen[i] {
			seen[i] = true
			all = append(all, i)
			queue = append(queue, g.near[i]...)
		}
	}
	slices.Sort(all)
	return all
}

// NodesPage is the number of jobs that are looked at together.
const NodesPage = 512

// nodes yields the status of jobs with their edges.
func (s *Informer) nodes(ctx context.Context, c *call.Call, jobs []int) iter.Seq2[api.Node, error] {
	return func(yield func(api.Node, error) bool) {
		for page := range slices.Chunk(jobs, NodesPage) {
			newest, err := s.newest(ctx, c, page)
			if err != nil {
				yield(api.Node{}, err)
				return
			}
			for st, err := range s.states.Statuses(ctx, c, page) {
				if err != nil {
					yield(api.Node{}, err)
					return
				}
				after, on := c.View.Edges(st.Number)
				node := api.Node{
					Status: st.Status, Newest: newest[st.Job.ID],
					After: edges(after), On: edges(on), When: st.Job.Options["when"],
				}
				if !yield(node, nil) {
					return
				}
			}
		}
	}
}

// newest returns the newest run of each job that is over and that matters to others.
func (s *Informer) newest(ctx context.Context, c *call.Call, jobs []int) (map[job.ID]*job.Run, error) {
	const enough = 20 // newer runs are live, were dropped, or will be retried
	recent, err := s.store.Recent(ctx, c.IDs(jobs), enough)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	newest := make(map[job.ID]*job.Run, len(recent))
	for id, runs := range recent {
		k := slices.IndexFunc(runs, func(r job.Run) bool { return !r.State.Live() && r.Verdict.Final() && c.SeesRun(&r) })
		if k >= 0 {
			newest[id] = &runs[k]
		}
	}
	return newest, nil
}

func edges(from []catalog.Edge) []api.Edge {
	var all []api.Edge
	for _, e := range from {
		all = append(all, api.Edge{Job: e.Job, Outcomes: e.Outcomes.Words()})
	}
	return all
}
