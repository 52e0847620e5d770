package incident

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell/shelltest"
)

// incidentDaemon has failures of three jobs, of two causes.
func incidentDaemon() *screentest.Daemon {
	message := map[job.ID]string{
		"etl-orders":    `psql: error: connection to server at "pg-2" (10.0.0.7) failed: timeout`,
		"certbot-renew": "DNS problem: SERVFAIL for example.com failed",
		"geoip-update":  "DNS problem: SERVFAIL for example.com failed",
	}
	var runs []job.Run
	failed := func(id job.RunID, name job.ID, ago time.Duration) {
		at := screentest.Now.Add(-ago)
		runs = append(runs, job.Run{ID: id, Job: name, Due: at, Decided: at, Started: at, Ended: at.Add(time.Second), State: job.RunEnded,
			Outcome: job.Outcome{Kind: job.Exited, Code: 1}})
	}
	failed(4213, "etl-orders", 2*time.Minute)
	failed(4207, "etl-orders", 7*time.Minute)
	failed(4100, "certbot-renew", 14*time.Hour+45*time.Minute)
	failed(4099, "geoip-update", 15*time.Hour)
	failed(4000, "etl-orders", 23*time.Hour)
	return &screentest.Daemon{
		OnHistory: func(f api.Filter) (api.Runs, error) {
			if !f.Failed || !f.Since.Equal(screentest.Now.Add(-24*time.Hour)) {
				return api.Runs{}, fmt.Errorf("asked for %+v", f)
			}
			return api.Runs{Runs: runs}, nil
		},
		OnOutput: func(ref string) []api.Event {
			for _, r := range runs {
				if r.ID.String() == ref {
					return []api.Event{{Chunk: &job.Chunk{Stream: job.Stderr, Data: []byte(message[r.Job] + "\n")}}}
				}
			}
			return nil
		},
	}
}

func openIncident(t *testing.T, w *screen.World, d screen.Daemon) *Incident {
	t.Helper()
	s := New()
	screentest.Settle(t, s, w, d, s.Open(w))
	return s
}

func TestIncidentScreens(t *testing.T) {
	screentest.CheckLayouts(t, "incident", func(v canvas.View, w *screen.World) { shelltest.Draw(openIncident(t, w, incidentDaemon()), v, w) })
	screentest.Check(t, "incident-second", func(v canvas.View, w *screen.World) {
		w.Absolute = true
		d := incidentDaemon()
		s := openIncident(t, w, d)
		screentest.Act(t, s, w, d, keys.Down)
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "incident-none", func(v canvas.View, w *screen.World) {
		d := &screentest.Daemon{OnHistory: func(api.Filter) (api.Runs, error) { return api.Runs{}, nil }}
		shelltest.Draw(openIncident(t, w, d), v, w)
	})
	screentest.Check(t, "incident-error", func(v canvas.View, w *screen.World) {
		d := &screentest.Daemon{OnHistory: func(api.Filter) (api.Runs, error) {
			return api.Runs{}, &api.Error{Kind: api.Unreachable, What: "cannot read the history", Why: "no daemon answers"}
		}}
		shelltest.Draw(openIncident(t, w, d), v, w)
	})
}

func TestIncidentReadsEachKindOfFailureOnce(t *testing.T) {
	var runs []job.Run
	for i := range 500 {
		runs = append(runs, job.Run{ID: job.RunID(1000 - i), Job: job.ID(fmt.Sprintf("job-%d", i%100)), State: job.RunEnded, Ended: screentest.Now,
			Outcome: job.Outcome{Kind: job.Exited, Code: 1}})
	}
	asked := 0
	d := &screentest.Daemon{
		OnHistory: func(api.Filter) (api.Runs, error) { return api.Runs{Runs: runs}, nil },
		OnOutput: func(string) []api.Event {
			asked++
			return []api.Event{{Chunk: &job.Chunk{Stream: job.Stderr, Data: []byte("disk full\n")}}}
		},
	}
	w := screentest.NewWorld(t)
	s := openIncident(t, w, d)
	if asked != mostOutputs || s.read != 250 || s.total != 500 {
		t.Errorf("%d outputs are read, which tell of %d of %d failures; want %d, 250 and 500", asked, s.read, s.total, mostOutputs)
	}
	if n := len(s.causes.Row(0).Jobs()); n != mostOutputs {
		t.Errorf("the first cause met %d jobs, want %d", n, mostOutputs)
	}
	w.Board.Apply(api.BoardUpdate{})
	w.Now = w.Now.Add(incidentPause)
	screentest.Settle(t, s, w, d, s.Refresh(w))
	if asked != mostOutputs {
		t.Errorf("asked again, it reads %d outputs that it knows", asked-mostOutputs)
	}
}

func TestIncidentIsWrittenUp(t *testing.T) {
	var text []byte
	t.Run("into a new file", func(t *testing.T) {
		t.Chdir(t.TempDir())
		text = checkWriteUp(t)
	})
	screentest.CompareGolden(t, "incident-writeup", text)
}

// checkWriteUp has an incident written into the current directory, twice.
func checkWriteUp(t *testing.T) []byte {
	t.Helper()
	w, d := screentest.NewWorld(t), incidentDaemon()
	s := openIncident(t, w, d)
	rest := screentest.Act(t, s, w, d, keys.Write)
	const name = "incident-2026-11-20-180211.md"
	if want := (screen.Say{Text: "written to " + name + " in the current directory"}); !slices.Equal(rest, []screen.Effect{want}) {
		t.Errorf("it says %v, want %v", rest, want)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rest = screentest.Act(t, s, w, d, keys.Write)
	if clip, ok := rest[0].(screen.Clip); !ok || clip.Text != string(text) || !strings.Contains(clip.What, "file exists") {
		t.Errorf("a file that is there already: got %v, want the text on the clipboard", rest)
	}
	return text
}

func TestMarkdownTakesForeignWordsAsText(t *testing.T) {
	if got, want := plainMarkdown("a|b`c` <script>\x1b[2J *x*"), `a\|b\`+"`c\\` \\<script\\>\\\\x1b\\[2J \\*x\\*"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIncidentIsAboutTheJobsOfACause(t *testing.T) {
	w, d := screentest.NewWorld(t), incidentDaemon()
	s := openIncident(t, w, d)
	for _, want := range []screen.Subject{
		{Jobs: []job.ID{"certbot-renew", "geoip-update"}, Marked: true, Run: 4100},
		{Jobs: []job.ID{"etl-orders"}, Run: 4213},
	} {
		if got := s.Subject(w); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		screentest.Act(t, s, w, d, keys.Down)
	}
	effects, _ := s.Act(w, keys.Open)
	if show := effects[0].(screen.Show); show.Action != keys.ShowOutput || show.Subject.Run != 4213 {
		t.Errorf("enter opens %+v, want the output of run 4213", effects[0])
	}
}

func TestIncidentTellsOfTheLimit(t *testing.T) {
	runs := []job.Run{{ID: 1, Job: "big", Reason: job.OverMemory, Outcome: job.Outcome{Kind: job.Exited, Code: 137}}}
	g := gather(t.Context(), incidentDaemon(), runs, nil)
	if got := g.failures[0].Ending; got != "memory limit" {
		t.Errorf("ended with %q, want the limit", got)
	}
}
