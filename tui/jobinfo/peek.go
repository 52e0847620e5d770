package jobinfo

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// PeekLines is the number of lines that DrawPeek needs for all but history and output.
const PeekLines = 5

// DrawPeek draws in a few lines what is worth knowing of a job: how it is, what
// it said, what comes next, and whose it is. More lines show its history and output.
func DrawPeek(v canvas.View, w *screen.World, r *api.Row, d *Info, past *api.JobPast) {
	if v.Height() == 0 {
		return
	}
	message := d.complaint(r)
	if v.Width() < screen.WordFrom {
		drawGlance(v, w, r, message, past)
		return
	}
	page.DrawRule(v.Row(0), string(r.Job)+": "+Situation(w, r, past), w.Glyphs)
	more := v.Below(PeekLines)
	if v = v.Above(PeekLines).Below(1); more.Height() >= HistoryHeight+8 {
		more = section(more, historyTitle(w, d), HistoryHeight-1, w, func(v canvas.View) { DrawHistory(v, w, r, d, -1) })
	}
	DrawOutput(more, w, r, d)
	y := 0
	if message != "" {
		x := v.Put(1, y, "err ", canvas.Style{Role: canvas.Bad})
		y += page.DrawWrapped(v.In(x, y, v.Width()-x-1, v.Height()-2), message, canvas.Style{}, w)
	} else if r.Why != "" {
		v.PutCut(1, y, v.Width()-2, r.Why, w.Glyphs.Ellipsis, canvas.Style{})
		y++
	}
	if y < v.Height()-2 {
		v.PutCut(1, y, v.Width()-2, "$ "+r.Command, w.Glyphs.Ellipsis, canvas.Style{})
	}
	drawPlan(v.Row(v.Height()-2), w, r, d)
	drawNewest(v.Row(v.Height()-1), w, r)
}

// drawGlance draws the same on a narrow screen: one line, or two.
func drawGlance(v canvas.View, w *screen.World, r *api.Row, message string, past *api.JobPast) {
	if message == "" && r.State == job.StateLate && r.Why != "" {
		message = "late: " + r.Why
	} else if message == "" {
		message = Situation(w, r, past)
	} else if v.Height() == 1 {
		message = r.Ending + " " + message
	} else {
		v.PutCut(0, 0, v.Width(), Situation(w, r, past), w.Glyphs.Ellipsis, canvas.Style{})
		v = v.Below(1)
	}
	page.DrawWrapped(v, message, canvas.Style{}, w)
}

// Situation describes the state of a job in half a sentence.
func Situation(w *screen.World, r *api.Row, past *api.JobPast) string {
	text := situation(w, r, past)
	switch {
	case !r.Paused:
		return text
	case r.State == job.StatePaused:
		return pauseText(w, r)
	}
	return text + "; " + pauseText(w, r)
}

// pauseText describes until when a job is paused.
func pauseText(w *screen.World, r *api.Row) string {
	if r.HeldUntil.IsZero() {
		return "paused until it is resumed"
	}
	return "paused until " + w.Stamp(r.HeldUntil, r.Zone)
}

func situation(w *screen.World, r *api.Row, past *api.JobPast) string {
	switch r.State {
	case job.StateFailing:
		return failed(w, r, past)
	case job.StateLate:
		return "late"
	case job.StateRunning:
		text := "is waiting to start"
		if !r.Began.IsZero() {
			text = "running for " + display.Brief(w.Since(r.Began))
		}
		if past != nil && past.P95 > 0 {
			text += ", p95 is " + display.Brief(past.P95)
		}
		return text
	case job.StateHeld:
		return "held"
	case job.StateDisabled:
		return "off: enabled=no"
	case job.StateNew:
		return firstRun(w, r)
	}
	if r.Elsewhere != "" {
		return r.Elsewhere + " had it last, next " + nextText(w, r)
	}
	text := "ok"
	if r.Acked {
		text = r.Ending
	}
	if r.Took > 0 {
		text += " in " + display.Brief(r.Took)
	}
	if r.Acked {
		text += ", acknowledged"
	}
	return text + ", next " + nextText(w, r)
}

// failed describes the last failure of a job, and since when it fails.
func failed(w *screen.World, r *api.Row, past *api.JobPast) string {
	text := r.Ending
	if r.Took > 0 {
		text += " in " + display.Brief(r.Took)
	}
	if r.Streak > 1 {
		text += fmt.Sprintf(", %d failures in a row", r.Streak)
	}
	if good := lastGood(past); !good.IsZero() {
		text += ", last good " + w.Point(good, r.Zone)
	}
	return text
}

// lastGood returns when the last successful run began, or zero.
func lastGood(past *api.JobPast) time.Time {
	if past == nil {
		return time.Time{}
	}
	for i := len(past.Cells) - 1; i >= 0; i-- {
		if past.Cells[i].Kind == api.CellOK {
			return past.Cells[i].Began
		}
	}
	return time.Time{}
}

func firstRun(w *screen.World, r *api.Row) string {
	switch {
	case w.IsOfCron(r) && r.Last.IsZero():
		return "no start is in cron's log, next " + nextText(w, r)
	case w.IsOfCron(r):
		return "cron started it " + display.Brief(w.Since(r.Last)) + " ago, next " + nextText(w, r)
	}
	if r.Next.IsZero() {
		return "never run, nothing is planned; " + w.KeyOf(keys.Run) + " runs it now"
	}
	return "never run, first run " + nextText(w, r) + ", " + w.KeyOf(keys.Run) + " runs it now"
}

// nextText returns the next start in both forms: "18:05:00 in 2m49s".
func nextText(w *screen.World, r *api.Row) string {
	switch {
	case r.FollowsEnd():
		return strings.TrimPrefix(job.FieldsOf(r.Schedule), "delay=") + " after the run ends"
	case r.Next.IsZero():
		return "not planned"
	}
	away := display.Away(r.Next, w.Now)
	if away != "due" {
		away = "in " + away
	}
	if r.Node != "" {
		away += " on " + r.Node
	}
	return w.Point(r.Next, r.Zone) + " " + away
}

// drawPlan draws what comes next, and where the job is written down.
func drawPlan(row canvas.View, w *screen.World, r *api.Row, d *Info) {
	plan := retryPlan(w, r, d)
	if plan == "" {
		plan = "next " + nextText(w, r)
	}
	x := row.Put(1, 0, plan, canvas.Style{})
	place := fmt.Sprintf("%s:%d as %s", r.Crontab, r.Line, r.User)
	zone := "TZ " + w.ZoneName(r.Zone)
	if x = max(x+2, 34); x+page.Width(place) < row.Width() {
		x = row.Put(x, 0, place, canvas.Style{})
		if page.Width(zone)+x+2 < row.Width() {
			row.PutRight(0, zone+"  ", canvas.Style{})
		}
		return
	}
	row.PutCut(x, 0, row.Width()-x-1, place, w.Glyphs.Ellipsis, canvas.Style{})
}

// retryPlan returns when a failed job is tried again: "retry 1/3 at 18:02:30 in 19s".
func retryPlan(w *screen.World, r *api.Row, d *Info) string {
	if r.State != job.StateFailing || d.Job == nil {
		return ""
	}
	for i := range d.Job.Running {
		run := &d.Job.Running[i]
		if run.Trigger != job.TriggerRetry || run.State != job.RunWaiting {
			continue
		}
		text := "retry " + strconv.Itoa(run.Attempt-1)
		if most := d.Job.Job.Options["retry"]; most != "" {
			text += "/" + most
		}
		return text + " at " + w.Point(run.NotBefore, r.Zone) + " in " + display.Away(run.NotBefore, w.Now)
	}
	return ""
}

// drawNewest draws which run was the newest, and what to do about a failure.
func drawNewest(row canvas.View, w *screen.World, r *api.Row) {
	ago := display.Ago(r.Last.Add(r.Took), w.Now)
	if ago != "now" {
		ago += " ago"
	}
	text := fmt.Sprintf("run %d of %s ended well %s", r.LastRun, r.Job, ago)
	switch {
	case w.IsOfCron(r) && r.LastRun == 0:
		text = "cron logs no outcome, and its log has no start of this job"
	case w.IsOfCron(r):
		text = "cron logs no outcome; its log has a start " + ago
	case r.LastRun == 0 && r.Elsewhere != "":
		text = "no run has ended on this host"
	case r.LastRun == 0:
		text = "no run has ended yet"
	case r.Ending != "":
		text = fmt.Sprintf("run %d of %s failed %s", r.LastRun, r.Job, ago)
	}
	end := row.Width()
	if key := w.Keys.Key(keys.Acknowledge); key != "" && r.State == job.StateFailing {
		end = row.PutRight(0, key+" acknowledge ", canvas.Style{})
		w.ClickActs(row.In(end+1, 0, row.Width()-end-2, 1), keys.Acknowledge)
	}
	row.PutCut(1, 0, end-2, text, w.Glyphs.Ellipsis, canvas.Style{})
}

// complaint returns the error line of the last run, if it failed.
func (d *Info) complaint(r *api.Row) string {
	if r.State != job.StateFailing || d.ID != r.Job || d.tail == nil || d.tail.Run != r.LastRun {
		return ""
	}
	return d.tail.Complaint
}
