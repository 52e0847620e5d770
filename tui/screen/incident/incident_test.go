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
	counted := api.Failures{Since: screentest.Now.Add(-24 * time.Hour), Until: screentest.Now}
	failed := func(id job.RunID, name job.ID, ago ...time.Duration) {
		g := api.FailureGroup{Job: name, Ending: "exit 1", Run: id, Count: len(ago), First: screentest.Now.Add(-ago[len(ago)-1]), Last: screentest.Now.Add(-ago[0])}
		for _, d := range ago {
			g.Parts[api.FailureParts-1-d/(15*time.Minute)]++
		}
		counted.Count += g.Count
		counted.Groups = append(counted.Groups, g)
	}
	failed(4213, "etl-orders", 2*time.Minute, 7*time.Minute, 23*time.Hour)
	failed(4100, "certbot-renew", 14*time.Hour+45*time.Minute)
	failed(4099, "geoip-update", 15*time.Hour)
	return &screentest.Daemon{
		OnFailed: func(since time.Time) (api.Failures, error) {
			if !since.Equal(counted.Since) {
				return api.Failures{}, fmt.Errorf("asked for those since %s", since)
			}
			return counted, nil
		},
		OnOutput: func(ref string) []api.Event {
			for _, g := range counted.Groups {
				if g.Run.String() == ref {
					return []api.Event{{Chunk: &job.Chunk{Stream: job.Stderr, Data: []byte(message[g.Job] + "\n")}}}
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
	screentest.CheckLayouts(t, "incident", func(v canvas.View, w *screen.World) { shelltest.Draw(openIncident(t, w, screentest.NewDaemon()), v, w) })
	screentest.Check(t, "incident-second", func(v canvas.View, w *screen.World) {
		w.Absolute = true
		d := screentest.NewDaemon()
		s := openIncident(t, w, d)
		screentest.Act(t, s, w, d, keys.Down)
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "incident-none", func(v canvas.View, w *screen.World) {
		shelltest.Draw(openIncident(t, w, screentest.Serve(t, screentest.NewHost("2026-11-20T17:00:00Z"))), v, w)
	})
	screentest.Check(t, "incident-error", func(v canvas.View, w *screen.World) {
		shelltest.Draw(openIncident(t, w, screentest.Ended()), v, w)
	})
}

func TestIncidentReadsEachKindOfFailureOnce(t *testing.T) {
	counted := api.Failures{Count: 500_000, Older: true}
	for i := range 100 {
		counted.Groups = append(counted.Groups, api.FailureGroup{Job: job.ID(fmt.Sprintf("job-%d", i)), Ending: "exit 1", Run: job.RunID(1000 - i), Count: 5000})
	}
	asked := 0
	d := &screentest.Daemon{
		OnFailed: func(time.Time) (api.Failures, error) { return counted, nil },
		OnOutput: func(string) []api.Event {
			asked++
			return []api.Event{{Chunk: &job.Chunk{Stream: job.Stderr, Data: []byte("disk full\n")}}}
		},
	}
	w := screentest.NewWorld(t)
	s := openIncident(t, w, d)
	if asked != mostOutputs || s.counts.read != 250_000 || s.Heading(w) != "Incident: at least 500000 failures in 24 hours" {
		t.Errorf("%d outputs are read, which tell of %d failures, under %q; want %d, 250000, and at least 500000 failures", asked, s.counts.read, s.Heading(w), mostOutputs)
	}
	if n := s.causes.Row(0).Count(); n != 250_000 {
		t.Errorf("the first cause has %d failures, want 250000", n)
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
	w, d := screentest.NewWorld(t), screentest.NewDaemon()
	s := openIncident(t, w, d)
	rest := screentest.Act(t, s, w, d, keys.Write)
	const name = "incident-2026-11-20-180211.md"
	if want := (screen.Toast{Text: "written to " + name + " in the current directory"}); !slices.Equal(rest, []screen.Effect{want}) {
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

// Of a host with cron only, failures are not known: it does not look as if nothing had failed.
func TestIncidentOfAHostWithCron(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Status.NoDaemon = "no daemon"
	s := openIncident(t, w, &screentest.Daemon{OnFailed: func(time.Time) (api.Failures, error) { return api.Failures{}, nil }})
	c := canvas.New(80, 20)
	s.Draw(c.View(), w)
	if got := c.Text(); !strings.Contains(got, "Failures are not known: cron logs starts") || strings.Contains(got, "Nothing has failed") || s.Heading(w) != "Incident" {
		t.Errorf("got under %q:\n%s", s.Heading(w), got)
	}
}

// The text below the causes scrolls by keys and by the wheel, and begins at its top for another cause.
func TestIncidentScrollsTheTextOfACause(t *testing.T) {
	counted := api.Failures{}
	for i := range 30 {
		counted.Groups = append(counted.Groups, api.FailureGroup{Job: job.ID(fmt.Sprintf("job-%02d", i)), Ending: "exit 1", Run: job.RunID(100 - i), Count: 1})
	}
	counted.Groups = append(counted.Groups, api.FailureGroup{Job: "other", Ending: "exit 2", Run: 7, Count: 1})
	counted.Count = len(counted.Groups)
	d := &screentest.Daemon{
		OnFailed: func(time.Time) (api.Failures, error) { return counted, nil },
		OnOutput: func(run string) []api.Event {
			line := "server down\n"
			if run == "7" {
				line = "disk full\n"
			}
			return []api.Event{{Chunk: &job.Chunk{Stream: job.Stderr, Data: []byte(line)}}}
		},
	}
	w := screentest.NewWorld(t)
	s := openIncident(t, w, d)
	c := canvas.New(80, 20)
	shows := func(what, want, gone string) {
		t.Helper()
		screentest.Areas(s, w, c)
		if got := c.Text(); !strings.Contains(got, want) || gone != "" && strings.Contains(got, gone) {
			t.Errorf("%s: want %q and not %q:\n%s", what, want, gone, got)
		}
	}
	shows("at first", "job-00", "job-29")
	screentest.Act(t, s, w, d, keys.PageDown)
	screentest.Act(t, s, w, d, keys.PageDown)
	screentest.Act(t, s, w, d, keys.PageDown)
	shows("after three pages", "job-29", "job-00")
	if !screentest.Wheel(s, w, c, 5, 15, -100) {
		t.Error("the text does not answer to the wheel")
	}
	shows("after the wheel", "job-00", "job-29")
	screentest.Act(t, s, w, d, keys.HalfDown)
	screentest.Act(t, s, w, d, keys.Down)
	shows("of another cause", "other", "")
	screentest.Act(t, s, w, d, keys.Up)
	shows("back at the first", "job-00", "job-29")
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
