package jobs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// drawn returns the drawing of a graph, in ASCII.
func drawn(t *testing.T, draw func(*cli.App, api.Graph), nodes ...api.Node) string {
	t.Helper()
	t.Setenv("LC_ALL", "C")
	var out bytes.Buffer
	now := time.Date(2026, 11, 20, 4, 0, 0, 0, time.UTC)
	a := &cli.App{Printer: cli.Printer{Out: bufio.NewWriter(&out), Color: cli.OneOf("never")}, Now: func() time.Time { return now }}
	draw(a, api.Graph{Jobs: nodes})
	a.Out.Flush()
	return out.String()
}

func drawTree(a *cli.App, g api.Graph) { newDrawing(a, g).print() }

func node(id job.ID, state job.State, after ...string) api.Node {
	n := api.Node{Status: job.Status{Job: job.Job{ID: id}, State: state}}
	for _, edge := range after {
		name, outcome, _ := strings.Cut(edge, ":")
		n.After = append(n.After, api.Edge{Job: job.ID(name), Outcomes: []string{outcome}})
	}
	return n
}

func night() []api.Node {
	dump, upload := node("dump", job.StateRunning), node("upload", job.StateNew, "dump:ok")
	dump.Newest = &job.Run{ID: 3, Verdict: job.VerdictDead, Ended: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)}
	dump.Running = []job.Run{{ID: 7, State: job.RunRunning}}
	upload.Running = []job.Run{{ID: 8, State: job.RunWaiting, Reason: job.WaitsForParents, Parents: []job.Parent{{Job: "dump", Run: 7}}}}
	report := node("report", job.StateOK, "dump:done", "upload:done")
	report.When = "none-failed"
	alarm := node("alarm", job.StateNew)
	alarm.On = []api.Edge{{Job: "dump", Outcomes: []string{"fail", "lost"}}}
	stray := node("stray", job.StateHeld, "nobody:ok")
	stray.Job.Held = "after= names nobody, which no entry is called"
	return []api.Node{dump, upload, report, alarm, stray, node("c1", job.StateHeld, "c2:ok"), node("c2", job.StateHeld, "c1:ok")}
}

func TestGraphIsDrawnAsATree(t *testing.T) {
	want := "dump  > run  run 3 failed for good 1h00m ago  run 7 is going\n" +
		"|- upload  after:ok  . new  run 8 waits for dump\n" +
		"|  `- report  after:done  + ok  when=none-failed\n" +
		"|- report  after:done  (see above)\n" +
		"`- alarm  on:fail,lost  . new\n" +
		"stray  | held  after= names nobody, which no entry is called\n" +
		"c1  | held\n" +
		"`- c2  after:ok  | held\n" +
		"   `- c1  after:ok  (see above)\n"
	if got := drawn(t, drawTree, night()...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestGraphOfALongChainStaysNarrow(t *testing.T) {
	nodes := []api.Node{node("n0", job.StateOK)}
	for i := 1; i < 50_000; i++ {
		nodes = append(nodes, node(job.ID(fmt.Sprintf("n%d", i)), job.StateOK, fmt.Sprintf("n%d:ok", i-1)))
	}
	lines := strings.Split(drawn(t, drawTree, nodes...), "\n")
	if len(lines) != len(nodes)+1 {
		t.Fatalf("%d lines for %d jobs", len(lines)-1, len(nodes))
	}
	if got, want := lines[49_999], strings.Repeat("   ", deepest)+"`- n49999  after:ok  (level 49999)  + ok"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGraphInDotIsQuoted(t *testing.T) {
	evil := node(`x"] ; \N`+"\x1b[31m\n", job.StateOK)
	alarm := node("alarm", job.StateNew)
	alarm.On = []api.Edge{{Job: evil.Job.ID, Outcomes: []string{"fail"}}}
	got := drawn(t, func(a *cli.App, g api.Graph) { printDot(a, g) }, evil, alarm)
	want := "digraph cronring {\n" +
		`	"x\"] ; \\N\\x1b[31m\n" [label="x\"] ; \\N\\x1b[31m\n\nok"];` + "\n" +
		`	"alarm" [label="alarm\nnew"];` + "\n" +
		`	"x\"] ; \\N\\x1b[31m\n" -> "alarm" [label="fail", style=dashed];` + "\n}\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if tree := drawn(t, drawTree, evil); strings.ContainsAny(strings.TrimSuffix(tree, "\n"), "\x1b\n") {
		t.Errorf("the tree has control characters: %q", tree)
	}
}

// FuzzGraph draws any graph of a hostile daemon on another host.
func FuzzGraph(f *testing.F) {
	evil := node("b", "\x1b[31m", "a:\x1b[31m", "\x1b:ok")
	evil.Newest, evil.When = &job.Run{ID: 7, Verdict: "\x1b[31m"}, "\n"
	for _, nodes := range [][]api.Node{night(), {node("a", job.StateOK), evil}, {node("a", "", "a:ok", "b:"), node("b", "", "a:"), node("b", "")}} {
		text, err := json.Marshal(api.Graph{Jobs: nodes})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var g api.Graph
		if json.Unmarshal(text, &g) != nil {
			return
		}
		var out bytes.Buffer
		a := &cli.App{Printer: cli.Printer{Out: bufio.NewWriter(&out), Color: cli.OneOf("never")}, Now: func() time.Time { return time.Unix(1_700_000_000, 0) }}
		newDrawing(a, g).print()
		a.Out.Flush()
		if bytes.ContainsFunc(out.Bytes(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
			t.Errorf("%s is drawn as %q", text, out.Bytes())
		}
		lines := len(g.Jobs)
		for _, n := range g.Jobs {
			lines += len(n.After) + len(n.On)
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n > lines {
			t.Errorf("%s is drawn in %d lines, want at most %d", text, n, lines)
		}
	})
}
