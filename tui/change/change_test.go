package change

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func TestLineChangesComeFromOneTextToAnother(t *testing.T) {
	for _, tc := range []struct{ from, to, want string }{
		{"a\nb\nc\n", "a\nb\nc\n", ""},
		{"a\nb\nc\n", "a\nx\nc\n", " a|-b|+x| c"},
		{"", "a\n", "+a"},
		{"a\n", "", "-a"},
		{"a\nb\nc\nd\n", "b\nc\ne\nd\n", "-a| b| c|+e| d"},
		{"x\na\n1\n2\n3\n4\n5\n6\n7\n8\nb\ny\n", "x\n1\n2\n3\n4\n5\n6\n7\n8\ny\n", " x|-a| 1| 2| 3| 4| 5| 6| 7| 8|-b| y"},
	} {
		var got []string
		for _, c := range DiffTexts(tc.from, tc.to) {
			got = append(got, string(c.Kind)+c.Text())
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%q to %q: got %q, want %q", tc.from, tc.to, strings.Join(got, "|"), tc.want)
		}
	}
}

func TestFilesDeleteTakesEntriesOutOfTheirFile(t *testing.T) {
	d := screentest.FilesDaemon()
	var got []api.CrontabFileRequest
	d.OnInstall = func(r api.CrontabFileRequest) (api.Installed, error) {
		got = append(got, r)
		return api.Installed{File: r.File, Before: 41}, nil
	}
	nightly := job.Job{ID: "nightly", Crontab: "/etc/cron.d/etl", Line: 7, Command: "/opt/etl/run nightly"}
	d.OnList = func(api.Query) ([]job.Status, error) { return []job.Status{{Job: nightly}}, nil }
	remove := Remove(screentest.NewWorld(t), screen.Subject{Jobs: []job.ID{"nightly"}})
	if _, err := remove.Call(t.Context(), d); err != nil || strings.Join(remove.Undo.Command, " ") != "cronring undo 41" {
		t.Errorf("delete: %v, undo %v", err, remove.Undo.Command)
	}
	want := strings.Replace(screentest.ETLText, "#@ name=nightly overlap=skip\n0,30 2 * * * etl /opt/etl/run nightly\n", "", 1)
	if len(got) != 1 || string(got[0].Text) != want || got[0].Base != "sum 1" {
		t.Errorf("delete: got %+v, want %q", got, want)
	}
	nightly.Line = 8
	if _, err := remove.Call(t.Context(), d); api.KindOf(err) != api.Conflict || len(got) != 1 {
		t.Errorf("of a line that moved: got %v, want a conflict", err)
	}
}

func TestRunSaysWhatIsLive(t *testing.T) {
	w := screentest.NewWorld(t)
	row := screentest.Rows()[0]
	row.Live = 1
	for state, want := range map[job.State]string{
		job.StateRunning: "It is already running: ", job.StateFailing: "A run of it already waits to start: ", // a retry
	} {
		row.State = state
		w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
		if d := Run(w, screen.Subject{Jobs: []job.ID{row.Job}}); len(d.Detail) != 1 || !strings.HasPrefix(d.Detail[0], want) {
			t.Errorf("%s: got %q, want %q", state, d.Detail, want)
		}
	}
}

func TestForcedRunSaysWhatCameOfIt(t *testing.T) {
	d := &screentest.Daemon{}
	message, err := ForceRun("j").Call(context.Background(), d)
	if err != nil || message != "started run 4231 of j" {
		t.Errorf("got %q, %v", message, err)
	}
	if !slices.Equal(d.Asked, []string{"run j"}) {
		t.Errorf("it asked for %v, want one run of j", d.Asked)
	}
}

func TestWhySetsAnOptionAndTakesItBack(t *testing.T) {
	w := screentest.NewWorld(t)
	text := "# orders\n*/5 * * * * etl /opt/etl-orders/run --all\n"
	d := &screentest.Daemon{
		OnList: func(api.Query) ([]job.Status, error) {
			return []job.Status{{Job: job.Job{ID: "etl-orders", Crontab: "/etc/cron.d/etl", Line: 2, Command: "/opt/etl-orders/run --all"}}}, nil
		},
		OnCrontabText: func(file, _ string) (api.CrontabText, error) {
			return api.CrontabText{CrontabFile: api.CrontabFile{File: file}, Text: []byte(text), Format: api.FormatSystem, Family: api.FamilyDebian, Account: "root", Privileged: true, Zone: "UTC"}, nil
		},
		OnInstall: func(r api.CrontabFileRequest) (api.Installed, error) {
			text = string(r.Text)
			return api.Installed{Before: 31}, nil
		},
	}
	do := SetOption(w, "etl-orders", "overlap", "queue")
	if do.Class != screen.Effects {
		t.Errorf("it is of class %d, want one that is asked about", do.Class)
	}
	message, err := do.Call(t.Context(), d)
	if want := "# orders\n#@ overlap=queue\n*/5 * * * * etl /opt/etl-orders/run --all\n"; err != nil || text != want || message != "etl-orders has overlap=queue" {
		t.Errorf("the file says %q, and the dashboard %q, %v; want %q", text, message, err, want)
	}
	if _, err := do.Undo.Call(t.Context(), d); err != nil || !slices.Contains(d.Asked, "undo") || !slices.Contains(do.Undo.Command, "31") {
		t.Errorf("taking it back asks for %v as %v, %v; want revision 31", d.Asked, do.Undo.Command, err)
	}
}

// A question about a run shows what is known of that run, not of another run of its job.
func TestStopShowsTheRunThatItStops(t *testing.T) {
	w := screentest.NewWorld(t)
	row := screentest.Rows()[0]
	row.Live, row.Began = 1, screentest.Now.Add(-5*time.Second)
	w.Board.Apply(api.BoardUpdate{Rows: []api.Row{row}})
	live := job.Run{ID: 7, Job: row.Job, State: job.RunRunning, PID: 70, Started: screentest.Now.Add(-time.Minute)}
	ended := job.Run{ID: 3, Job: row.Job, State: job.RunEnded, PID: 30, Outcome: job.Outcome{Kind: job.Exited}}
	d := &screentest.Daemon{OnOneRun: func(ref string) (job.Run, error) {
		if ref == "3" {
			return ended, nil
		}
		return live, nil
	}}
	for run, want := range map[job.RunID]string{
		3: "run 3 of etl-orders has ended: ok",
		7: "pid 70: run 7 of etl-orders, running for 1m00s",
	} {
		do := Stop(w, screen.Subject{Jobs: []job.ID{row.Job}, Run: run})
		got, err := do.Learn(t.Context(), d)
		if question := "Stop run " + run.String() + "?"; err != nil || do.Question != question || !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, %q, %v, want %q, %q", do.Question, got, err, question, want)
		}
	}
}

// An action on marked runs is about these runs, not about other runs of their jobs.
func TestMarkedRunsAreStoppedAndRetried(t *testing.T) {
	w, d := screentest.NewWorld(t), &screentest.Daemon{}
	about := screen.Subject{Jobs: []job.ID{"etl-orders"}, Marked: true, Runs: []job.RunID{4213, 4210}}
	stop, retry := Stop(w, about), Retry(w, about)
	if stop.Question != "Stop 2 runs?" || retry.Question != "Run 2 runs again, for the same occurrence?" {
		t.Errorf("the questions are %q and %q, want them about 2 runs", stop.Question, retry.Question)
	}
	for _, do := range []screen.Do{stop, retry} {
		if do.Class != screen.Removes || do.Count != 2 {
			t.Errorf("%s: got class %d with count %d, want the count typed, 2", do.Question, do.Class, do.Count)
		}
		if _, err := do.Call(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"stop 4213 4210", "retry 4213 4210"}; !slices.Equal(d.Asked, want) {
		t.Errorf("the daemon was asked for %q, want %q", d.Asked, want)
	}
}
