package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// formDot is the language of Graphviz.
const formDot = "dot"

// NewGraph returns the command graph.
func NewGraph(a *cli.App) *cobra.Command {
	var q api.Query
	var all bool
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "graph [JOB...]",
		Short: "Show which jobs wait for or start on others",
		Long: `Show which jobs wait for others (after=) or start on their end (on=), as a tree:
below each job its dependent jobs, with their state, the result of the newest run,
and the jobs that a run waits for. A job with several parents is shown in full
once; below the other parents only its name is repeated.

With JOB only what is connected with it, in either direction.`,
		Example: "  cronring report graph\n  cronring report graph report -o dot | dot -Tsvg >report.svg",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Refs = args
			return graph(a, cmd, q, all, out)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "jobs, too, that nothing connects")
	cmd.Flags().StringVar(&q.User, "user", "", "only jobs of the user `NAME`")
	cmd.Flags().StringVar(&q.Crontab, "file", "", "only jobs of the crontab file `FILE`")
	out = a.TextOutput(cmd, cli.FormText, formDot, cli.FormJSON)
	a.AddSelection(cmd, out, api.Graph{})
	a.AddColor(cmd)
	return cmd
}

func graph(a *cli.App, cmd *cobra.Command, q api.Query, all bool, out *cli.Output) error {
	g, err := a.Daemon().Graph(cmd.Context(), q, all)
	if err != nil {
		return err
	}
	switch out.Value {
	case cli.FormJSON:
		return a.PrintJSON(g)
	case formDot:
		printDot(a, g)
		return nil
	}
	if len(g.Jobs) == 0 {
		a.Infof("no job waits for or starts on another")
	}
	newDrawing(a, g).print()
	return nil
}

// drawing is a graph as a tree.
type drawing struct {
	a     *cli.App
	nodes []api.Node
	index map[job.ID]int
	below [][]link // by node: the jobs that wait for it or start after it
	drawn []bool
	bars  struct{ through, last, down, gap string }
}

// link is an edge as its parent sees it.
type link struct {
	child int
	label string
}

func newDrawing(a *cli.App, g api.Graph) *drawing {
	t := &drawing{a: a, nodes: g.Jobs, index: map[job.ID]int{}, below: make([][]link, len(g.Jobs)), drawn: make([]bool, len(g.Jobs))}
	t.bars.through, t.bars.last = cli.Sign("├─ ", "|- "), cli.Sign("└─ ", "`- ")
	t.bars.down, t.bars.gap = cli.Sign("│  ", "|  "), "   "
	for i := range t.nodes {
		t.index[t.nodes[i].Job.ID] = i
	}
	for i := range t.nodes {
		for _, e := range t.nodes[i].After {
			t.link(e, i, "after")
		}
		for _, e := range t.nodes[i].On {
			t.link(e, i, "on")
		}
	}
	return t
}

func (t *drawing) link(e api.Edge, child int, key string) {
	if parent, ok := t.index[e.Job]; ok {
		t.below[parent] = append(t.below[parent], link{child, key + ":" + display.Text(strings.Join(e.Outcomes, ","))})
	}
}

// print draws each job below the jobs that it waits for. A cycle has no beginning: its
// first job in the crontab is drawn on top.
func (t *drawing) print() {
	hasParent := make([]bool, len(t.nodes))
	for _, links := range t.below {
		for _, l := range links {
			hasParent[l.child] = true
		}
	}
	for _, roots := range []bool{true, false} {
		for i := range t.nodes {
			if !t.drawn[i] && hasParent[i] != roots {
				t.draw(i)
			}
		}
	}
}

// deepest limits the indentation of a line, in levels.
const deepest = 20

// draw writes a job and all below it, without recursion: a chain is as long as
// its author made it.
func (t *drawing) draw(root int) {
	type branch struct {
		link
		indent string // of the lines below its parent
		bar    string
		depth  int
	}
	stack := []branch{{link: link{child: root}}}
	for len(stack) > 0 {
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		again := t.drawn[b.child]
		t.line(b.indent+b.bar, b.depth, b.link, again)
		if again {
			continue
		}
		t.drawn[b.child] = true
		indent := b.indent
		switch {
		case b.depth == 0, b.depth > deepest:
		case b.bar == t.bars.last:
			indent += t.bars.gap
		default:
			indent += t.bars.down
		}
		below := t.below[b.child]
		for k := range slices.Backward(below) {
			bar := t.bars.through
			if k == len(below)-1 {
				bar = t.bars.last
			}
			stack = append(stack, branch{below[k], indent, bar, b.depth + 1})
		}
	}
}

func (t *drawing) line(prefix string, depth int, l link, again bool) {
	a, n := t.a, &t.nodes[l.child]
	words := []string{display.Text(string(n.Job.ID))}
	if l.label != "" {
		words = append(words, a.Paint(cli.Faint, l.label))
	}
	if depth > deepest {
		words = append(words, a.Paint(cli.Faint, fmt.Sprintf("(level %d)", depth)))
	}
	if again {
		words = append(words, a.Paint(cli.Faint, "(see above)"))
	} else {
		words = append(words, t.facts(n)...)
	}
	a.Printf("%s%s\n", prefix, strings.Join(words, "  "))
}

// facts returns what the line of a job shows.
func (t *drawing) facts(n *api.Node) []string {
	a, look := t.a, cli.StateLook[n.State]
	words := []string{a.Paint(look.Tone, cli.StateSign(n.State)+" "+look.Word)}
	if n.When != "" {
		words = append(words, "when="+display.Text(n.When))
	}
	if r := n.Newest; r != nil {
		words = append(words, fmt.Sprintf("run %d %s%s", r.ID, display.Text(r.Verdict.Words()), t.ago(r.Ended)))
	}
	for _, r := range n.Running {
		words = append(words, display.Text(t.liveRun(r)))
	}
	if n.Job.Held != "" {
		return append(words, display.Text(n.Job.Held))
	}
	for _, e := range slices.Concat(n.After, n.On) {
		if _, ok := t.index[e.Job]; !ok {
			words = append(words, "not shown here: "+display.Text(string(e.Job)))
		}
	}
	return words
}

func (t *drawing) ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " " + display.Brief(t.a.Now().Sub(at).Round(time.Second)) + " ago"
}

// liveRun describes a run that waits or runs.
func (t *drawing) liveRun(r job.Run) string {
	switch {
	case r.State == job.RunRunning:
		return fmt.Sprintf("run %d is going", r.ID)
	case r.WaitsOn() != job.WaitsOnParents:
		return fmt.Sprintf("run %d waits: %s", r.ID, r.Reason)
	}
	var parents []string
	for _, p := range r.Parents {
		if p.Verdict == "" && !t.isOver(p) {
			parents = append(parents, string(p.Job))
		}
	}
	return fmt.Sprintf("run %d waits for %s", r.ID, strings.Join(parents, ", "))
}

// isOver reports whether a parent's run has ended since its child began to wait.
func (t *drawing) isOver(p job.Parent) bool {
	i, ok := t.index[p.Job]
	return ok && p.Run != 0 && t.nodes[i].Newest != nil && t.nodes[i].Newest.ID == p.Run
}

// printDot writes the graph for Graphviz: solid lines lead to jobs that wait for a job,
// dashed lines to jobs that start after it.
func printDot(a *cli.App, g api.Graph) {
	a.Printf("digraph cronring {\n")
	for i := range g.Jobs {
		n := &g.Jobs[i]
		label := string(n.Job.ID) + "\n" + string(n.State)
		a.Printf("\t%s [label=%s];\n", dotText(string(n.Job.ID)), dotText(label))
	}
	for i := range g.Jobs {
		for _, e := range g.Jobs[i].After {
			printDotEdge(a, e, g.Jobs[i].Job.ID, "solid")
		}
		for _, e := range g.Jobs[i].On {
			printDotEdge(a, e, g.Jobs[i].Job.ID, "dashed")
		}
	}
	a.Printf("}\n")
}

func printDotEdge(a *cli.App, e api.Edge, child job.ID, style string) {
	a.Printf("\t%s -> %s [label=%s, style=%s];\n", dotText(string(e.Job)), dotText(string(child)), dotText(strings.Join(e.Outcomes, ",")), style)
}

// dotText is a string of Graphviz's language. A backslash in it begins an
// escape; a line end is one.
func dotText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.ReplaceAll(display.Text(line), `\`, `\\`)
		lines[i] = strings.ReplaceAll(line, `"`, `\"`)
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
