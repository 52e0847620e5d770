package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// progressLines is the time between two lines about runs where they cannot be drawn over
// each other.
const progressLines = 10 * time.Second

// progress prints on stderr how far runs are that the user waits for.
type progress struct {
	app    *cli.App
	client *api.Client
	refs   []string
	after  job.RunID                // the newest run before; theirs are newer
	usual  map[string]time.Duration // how long all but few runs of a job take
	line   *cli.ProgressLine
}

// withProgress calls start. If that waits for the runs, it prints meanwhile how far they
// are. An error of the progress display does not affect them.
func withProgress(ctx context.Context, a *cli.App, client *api.Client, refs []string, waits bool, start func() ([]job.Run, error)) ([]job.Run, error) {
	if !waits || a.Quiet {
		return start()
	}
	p := &progress{app: a, client: client, refs: refs, line: a.NewProgressLine()}
	if found, err := client.History(ctx, api.Filter{Refs: refs, Limit: 1}); err == nil && len(found.Runs) > 0 {
		p.after = found.Runs[0].ID
	}
	a.OnInterrupt(p.interrupted)
	pace := progressLines
	if p.line.Shown {
		pace = cli.ProgressPace
	}
	ctx, cancel := context.WithCancel(ctx)
	end := cli.Repeat(pace, func(time.Duration) { p.step(ctx) })
	runs, err := start()
	cancel()
	end()
	p.line.Put("")
	return runs, err
}

// live returns the active runs that the user waits for, the oldest first. After an error,
// which start reports, there are none.
func (p *progress) live(ctx context.Context) []job.Run {
	found, err := p.client.History(ctx, api.Filter{Refs: p.refs, Live: true, Limit: 1000})
	if err != nil {
		return nil
	}
	slices.Reverse(found.Runs)
	return slices.DeleteFunc(found.Runs, func(r job.Run) bool {
		return r.ID <= p.after || r.Trigger != job.TriggerManual && r.Trigger != job.TriggerRetry
	})
}

// interrupted reports which runs continue after Ctrl-C.
func (p *progress) interrupted(ctx context.Context) string {
	runs := p.live(ctx)
	if r, single := cli.Single(runs); single {
		return fmt.Sprintf("run %d of %s continues    follow it: cronring logs --follow %d", r.ID, display.Text(string(r.Job)), r.ID)
	}
	return "runs that were started continue    see them: cronring history --running"
}

// step requests the state of the runs and prints it.
func (p *progress) step(ctx context.Context) {
	runs := p.live(ctx)
	if len(runs) == 0 {
		return
	}
	if p.usual == nil {
		p.usual = map[string]time.Duration{}
		if s, err := p.client.Stats(ctx, api.StatsQuery{Refs: p.refs, By: "job"}); err == nil {
			for _, g := range s.Groups {
				p.usual[g.Name] = g.P95
			}
		}
	}
	if text := p.text(runs, p.app.Now()); p.line.Shown {
		p.line.Put(text)
	} else {
		p.app.Infof("%s", text)
	}
}

// text describes how far live runs are.
func (p *progress) text(runs []job.Run, now time.Time) string {
	r, single := cli.Single(runs)
	if !single {
		states := map[job.RunState]int{}
		for i := range runs {
			states[runs[i].State]++
		}
		text := display.Count(len(runs), "run")
		for _, s := range []job.RunState{job.RunRunning, job.RunDecided, job.RunQueued, job.RunWaiting} {
			if states[s] > 0 {
				text += fmt.Sprintf(", %d %s", states[s], s)
			}
		}
		return text
	}
	name := fmt.Sprintf("run %d of %s", r.ID, display.Text(string(r.Job)))
	if r.State != job.RunRunning {
		return name + ": " + display.Text(r.ResultOrState()) + ". " + r.Reason.Sentence()
	}
	took, usual := max(now.Sub(r.Started), 0), p.usual[string(r.Job)]
	if !p.line.Shown {
		return name + ": running for " + takes(took, usual)
	}
	text := fmt.Sprintf("%s  pid %d  ", name, r.PID)
	if usual > 0 {
		text += bar(took, usual) + "  "
	}
	return text + takes(took, usual)
}

// takes formats the time that a run has taken, and its usual time.
func takes(took, usual time.Duration) string {
	text := display.Brief(took.Round(time.Second))
	if usual > 0 {
		text += " of about " + display.Brief(usual.Round(min(usual, time.Second)))
	}
	return text
}

// bar draws which part of a whole is done. It never shows all of it, because what is usual
// is a guess.
func bar(part, whole time.Duration) string {
	const cells = 24
	full := int(min(cells, part*cells/whole))
	return cli.Sign("▕", "[") + strings.Repeat(cli.Sign("█", "#"), full) + strings.Repeat(cli.Sign("·", "."), cells-full) + cli.Sign("▏", "]") +
		fmt.Sprintf("  %3d %%", min(99, part*100/whole))
}
