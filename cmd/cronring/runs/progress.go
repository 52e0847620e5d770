package runs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// How often it is said how far runs are that are waited for: on a terminal in
// place, elsewhere a line.
const (
	progressDrawn = time.Second
	progressLines = 10 * time.Second
)

// progress prints on stderr how far runs are that the user waits for.
type progress struct {
	app    *cli.App
	client *api.Client
	refs   []string
	after  job.RunID                // the newest run before; theirs are newer
	usual  map[string]time.Duration // how long all but few runs of a job take
	drawn  bool                     // on a terminal
	width  int                      // of what is drawn there now
}

// withProgress calls wait, and prints meanwhile how far the runs are. An error of the
// progress display does not affect them.
func withProgress(ctx context.Context, a *cli.App, client *api.Client, refs []string, wait func() ([]job.Run, error)) ([]job.Run, error) {
	if a.Quiet {
		return wait()
	}
	talk, ok := a.Err.(*os.File)
	p := &progress{app: a, client: client, refs: refs, drawn: ok && cli.IsTerminal(talk)}
	if found, err := client.History(ctx, api.Filter{Refs: refs, Limit: 1}); err == nil && len(found.Runs) > 0 {
		p.after = found.Runs[0].ID
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.watch(ctx)
	}()
	runs, err := wait()
	cancel()
	<-done
	p.draw("")
	return runs, err
}

func (p *progress) watch(ctx context.Context) {
	every := progressLines
	if p.drawn {
		every = progressDrawn
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.step(ctx)
		}
	}
}

// step requests the state of the runs and prints it.
func (p *progress) step(ctx context.Context) {
	found, err := p.client.History(ctx, api.Filter{Refs: p.refs, Live: true, Limit: 1000})
	if err != nil {
		return // wait reports the error
	}
	runs := slices.DeleteFunc(found.Runs, func(r job.Run) bool {
		return r.ID <= p.after || r.Trigger != job.TriggerManual && r.Trigger != job.TriggerRetry
	})
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
	slices.Reverse(runs) // the oldest first
	if text := p.text(runs, p.app.Now()); p.drawn {
		p.draw(text)
	} else {
		p.app.Infof("%s", text)
	}
}

// draw replaces the previous line.
func (p *progress) draw(text string) {
	if !p.drawn || text == "" && p.width == 0 {
		return
	}
	if p.app.Width > 0 {
		text = display.Cut(text, p.app.Width-1)
	}
	width := display.Width(text)
	blank := strings.Repeat(" ", max(p.width-width, 0))
	fmt.Fprint(p.app.Err, "\r"+text+blank)
	if p.width = width; text == "" {
		fmt.Fprint(p.app.Err, "\r")
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
		text := cli.Plural(len(runs), "run")
		for _, s := range []job.RunState{job.RunRunning, job.RunDecided, job.RunQueued, job.RunWaiting} {
			if states[s] > 0 {
				text += fmt.Sprintf(", %d %s", states[s], s)
			}
		}
		return text
	}
	name := fmt.Sprintf("run %d of %s", r.ID, display.Text(string(r.Job)))
	if r.State != job.RunRunning {
		return name + ": " + display.Text(r.Standing()) + ". " + r.Reason.Sentence()
	}
	took, usual := max(now.Sub(r.Started), 0), p.usual[string(r.Job)]
	if !p.drawn {
		return name + ": running for " + takes(took, usual)
	}
	text := fmt.Sprintf("%s  pid %d  ", name, r.PID)
	if usual > 0 {
		text += bar(took, usual) + fmt.Sprintf("  %3d %%  ", percent(took, usual))
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

// percent is never all: what is usual is a guess.
func percent(took, usual time.Duration) int { return int(min(99, took*100/usual)) }

// bar draws how far a run is, if it takes as long as usual.
func bar(took, usual time.Duration) string {
	const cells = 24
	full := int(min(cells, took*cells/usual))
	return cli.Sign("▕", "[") + strings.Repeat(cli.Sign("█", "#"), full) + strings.Repeat(cli.Sign("·", "."), cells-full) + cli.Sign("▏", "]")
}
