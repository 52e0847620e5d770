package shell

import (
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// Only a job that begins to fail is announced; the title of the terminal counts those that fail.
func TestNotifyOfNewFailures(t *testing.T) {
	s, _ := newTestShell(t)
	host := s.w.Status.Host
	row := screentest.Rows()[0]
	update := func(state job.State) (notified []screen.Notify) {
		row.State = state
		for _, o := range s.Update(s.now, api.BoardUpdate{Rows: []api.Row{row}}) {
			if n, ok := o.Effect.(screen.Notify); ok {
				notified = append(notified, n)
			}
		}
		return notified
	}
	if got := update(job.StateFailing); len(got) != 0 {
		t.Errorf("without the flag: got %v", got)
	}
	s.prefs.Notify = true
	for _, tc := range []struct {
		state job.State
		want  []screen.Notify
	}{
		{job.StateFailing, []screen.Notify{{Title: "✗3 cronring " + host}}}, // it failed before
		{job.StateOK, []screen.Notify{{Title: "✗2 cronring " + host}}},
		{job.StateOK, nil},
		{job.StateFailing, []screen.Notify{{Title: "✗3 cronring " + host, Text: host + ": 1 new failure: " + string(row.Job)}}},
		{job.StateFailing, nil},
	} {
		got := update(tc.state)
		if len(got) != len(tc.want) || len(got) == 1 && got[0] != tc.want[0] {
			t.Errorf("%s: got %+v, want %+v", tc.state, got, tc.want)
		}
	}
	s.prefs.Notify, s.prefs.Bell = false, true
	if got := update(job.StateOK); len(got) != 1 || got[0] != (screen.Notify{}) {
		t.Errorf("the title is not given back: got %+v", got)
	}
	if got := update(job.StateFailing); len(got) != 1 || got[0] != (screen.Notify{Bell: true}) {
		t.Errorf("with the bell alone: got %+v", got)
	}
}
