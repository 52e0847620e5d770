package jobinfo

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func TestDossierInterruptedIsAskedAgain(t *testing.T) {
	w := screentest.NewWorld(t)
	var d Info
	if got := d.Ask(w, "etl-orders", true); len(got) != 1 {
		t.Fatalf("first: got %v, want one question", got)
	}
	if got := d.Ask(w, "etl-orders", true); len(got) != 0 {
		t.Errorf("while it is asked: got %v, want nothing", got)
	}
	d.Reopen()
	if got := d.Ask(w, "etl-orders", true); len(got) != 1 {
		t.Errorf("after the screen was left: got %v, want the question again", got)
	}
}

// In the list of several hosts, some of them may run cron without a daemon.
func TestDetailsOfAJobOfCronOnAnotherHost(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Crons = map[string]bool{"db-02": true}
	for _, tc := range []struct {
		host, history, output string
		cells                 []api.Cell
	}{
		{"db-01", "no history yet", "", nil},
		{"db-02", "no start of it is in cron's log", screen.CronKeeps, nil},
		{"db-01", "ok 0  fail 0", "", []api.Cell{{Kind: api.CellStarted}}},
		{"db-02", screen.CronKeeps, screen.CronKeeps, []api.Cell{{Kind: api.CellStarted}}},
	} {
		row := screentest.Rows()[0]
		row.Node = tc.host
		d := Info{ID: row.Job, Past: &api.JobPast{Cells: tc.cells}}
		history, output := canvas.New(100, HistoryHeight), canvas.New(100, 8)
		DrawHistory(history.View(), w, &row, &d, -1)
		DrawOutput(output.View(), w, &row, &d)
		if !strings.Contains(history.Text(), tc.history) || !strings.Contains(output.Text(), tc.output) || tc.output == "" && strings.Contains(output.Text(), screen.CronKeeps) {
			t.Errorf("%s, %d cells: got\n%s%s\nwant %q and %q", tc.host, len(tc.cells), history.Text(), output.Text(), tc.history, tc.output)
		}
	}
}

func TestHeatShowsTheWorstOfEachHour(t *testing.T) {
	w := screentest.NewWorld(t)
	monday := time.Date(2026, 10, 26, 12, 0, 0, 0, w.Local) // the day before was of 25 hours
	from := screen.Midnight(monday.AddDate(0, 0, 1-hourDays), w.Local)
	line := api.Timeline{From: from, To: from.Add(hourDays * 24 * time.Hour), Cells: hourDays * 24, Jobs: []api.TimelineJob{{}}}
	put := func(at time.Time, k api.CellKind) {
		line.Jobs[0].Cells = append(line.Jobs[0].Cells, api.TimelineCell{Cell: int(at.Sub(from) / time.Hour), Kind: k})
	}
	put(monday.Add(-time.Hour), api.CellOK)
	sunday := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC) // 02:00 CEST; an hour later it is 02:00 again
	put(sunday, api.CellFailed)
	put(sunday.Add(time.Hour), api.CellOK)
	put(monday.Add(2*time.Hour), api.CellPlanned)
	h := newHours(&line, monday, w.Local)
	for _, tc := range []struct {
		day, hour int
		want      api.CellKind
	}{{0, 11, api.CellOK}, {1, 2, api.CellFailed}, {0, 14, ""}, {1, 1, ""}, {1, 3, ""}} {
		if got := h.hours[tc.day][tc.hour]; got != tc.want {
			t.Errorf("%d days ago at %d: got %q, want %q", tc.day, tc.hour, got, tc.want)
		}
	}
}

// If the client cannot parse the schedule like the daemon, it shows only the times that the daemon
// sent.
func TestOutlookAgreesWithTheDaemon(t *testing.T) {
	w := screentest.NewWorld(t)
	at := time.Date(2026, 11, 21, 2, 30, 0, 0, w.Local)
	j := api.Job{Status: job.Status{Job: job.Job{Schedule: "30 2 * * *"}}, Upcoming: []time.Time{at, at.AddDate(0, 0, 1)}}
	o := newOutlook(&j, screentest.Now, w.Local)
	if len(o.Runs) != maxOutlook || len(o.Changes) != 2 || !strings.Contains(o.Changes[0].Text("2 Jan"), "28 Mar 02:00 -> 03:00: 02:30 does not exist") {
		t.Errorf("a plain schedule: got %d runs and %v, want %d and what the change of March does", len(o.Runs), o.Changes, maxOutlook)
	}
	j.Upcoming[1] = at.AddDate(0, 0, 2)
	if o := newOutlook(&j, screentest.Now, w.Local); len(o.Runs) != 2 || len(o.Changes) != 0 {
		t.Errorf("days that the daemon leaves out: got %v, want what it sent", o)
	}
	j.Job.Schedule = "@reboot"
	if o := newOutlook(&j, screentest.Now, w.Local); len(o.Runs) != 2 {
		t.Errorf("no time: got %v, want what the daemon sent", o)
	}
}

func TestSituationOfEachState(t *testing.T) {
	w := screentest.NewWorld(t)
	rows := map[job.ID]api.Row{}
	for _, r := range screentest.Rows() {
		rows[r.Job] = r
	}
	with := func(id job.ID, change func(r *api.Row)) api.Row {
		r := rows[id]
		change(&r)
		return r
	}
	for _, tc := range []struct {
		row  api.Row
		want string
	}{
		{rows["etl-orders"], "exit 1 in 12.4s, last good 17:50:00"},
		{rows["certbot-renew"], "exit 1 in 2.1s, 3 failures in a row, last good Tue 03:17"},
		{rows["invoice-export"], "late"},
		{rows["cache-warm"], "running for 2m10s, p95 is 14s"},
		{with("cache-warm", func(r *api.Row) { r.Began = time.Time{} }), "is waiting to start, p95 is 14s"},
		{rows["report-daily"], "paused until Mon 23 Nov 07:00:00 CET"},
		{with("report-daily", func(r *api.Row) { r.HeldUntil = time.Time{} }), "paused until it is resumed"},
		{with("report-daily", func(r *api.Row) { r.State, r.Paused = job.StateHeld, false }), "held"},
		{with("cache-warm", func(r *api.Row) { r.Paused = true }), "running for 2m10s, p95 is 14s; paused until it is resumed"},
		{with("report-daily", func(r *api.Row) { r.State, r.Paused = job.StateDisabled, false }), "off: enabled=no"},
		{rows["sitemap"], "ok in 8.3s, next 20:05:00 in 2h02m"},
		{with("etl-orders", func(r *api.Row) { r.State, r.Acked = job.StateOK, true }), "exit 1 in 12.4s, acknowledged, next 18:05:00 in 2m49s"},
		{rows["tmp-clean"], "never run, first run Sat 05:00 in 10h57m, r runs it now"},
		{with("tmp-clean", func(r *api.Row) { r.Next = time.Time{} }), "never run, nothing is planned; r runs it now"},
	} {
		past := screentest.Past(t, tc.row.Job, 12)
		if got := Situation(w, &tc.row, &past); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.row.Job, got, tc.want)
		}
	}
}

func TestReadScheduleAsTheDaemonDoes(t *testing.T) {
	w := screentest.NewWorld(t)
	zone := timetable.NewZone(w.Local)
	at := time.Date(2026, 11, 21, 2, 17, 0, 0, w.Local)
	for _, tc := range []struct {
		name     string
		schedule string
		options  map[string]string
		upcoming []time.Time
		want     string // spec, or nothing
	}{
		{"what the host chose", "~ 2 * * *", nil, []time.Time{at, at.AddDate(0, 0, 1)}, "17 2 * * *"},
		{"what it chose, and nothing is planned", "~ 2 * * *", nil, nil, ""},
		{"days that an option leaves out", "17 2 * * *", nil, []time.Time{at, at.AddDate(0, 0, 2)}, ""},
		{"nothing is planned", "17 2 * * *", nil, nil, "17 2 * * *"},
		{"a delay by chance", "17 2 * * *", map[string]string{"jitter": "5m"}, []time.Time{at.Add(time.Minute)}, "17 2 * * *"},
		{"seconds beside the fields", "17 2 * * *", map[string]string{"sec": "0,30"}, []time.Time{at, at.Add(30 * time.Second)}, "17 2 * * *"},
		{"an option that is none", "17 2 * * *", map[string]string{"dst": "a\nb"}, []time.Time{at}, ""},
		{"no time", "@reboot", nil, nil, "@reboot"},
		{"a line more", "17 2 * * *\n* * * * *", nil, nil, ""},
	} {
		j := api.Job{Status: job.Status{Job: job.Job{Schedule: tc.schedule, Options: tc.options}}, Upcoming: tc.upcoming}
		spec, s := ReadSchedule(&j, zone)
		if s == nil {
			spec = ""
		}
		if spec != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, spec, tc.want)
		}
	}
}
