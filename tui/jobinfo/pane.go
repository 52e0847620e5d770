package jobinfo

import (
	"fmt"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/failure"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// PaneWidth is the width of the details beside a list, on a screen of 160 cells.
const PaneWidth = 58

// tallPane is the height below the first lines from which a reason may take two lines.
const tallPane = 36

// DrawPane draws what is known of a job beside the list. What has no room is left
// out: the output shrinks first, then the hours go, then what comes next.
//
// The output is left out if it is drawn elsewhere.
func DrawPane(v canvas.View, w *screen.World, r *api.Row, d *Info, withOutput bool) {
	DrawTitle(v.In(1, 0, v.Width()-1, 1), w, r)
	DrawMeaning(v.In(1, 1, v.Width()-1, 1), w, r, d)
	text := r.Command
	if d.Job != nil && d.Job.Job.Options["desc"] != "" {
		text = d.Job.Job.Options["desc"] + "   " + text
	}
	v.PutCut(1, 2, v.Width()-2, text, w.Glyphs.Ellipsis, canvas.Style{})
	v = v.Below(3)
	why := 3
	if v.Height() >= tallPane {
		why = 4
	}
	v = section(v, "Why", why, w, func(v canvas.View) { drawReasons(v, w, r, d) })
	v = section(v, historyTitle(w, d), HistoryHeight-1, w, func(v canvas.View) { DrawHistory(v, w, r, d, -1) })
	if v.Height() > 8 {
		v = section(v, NextTitle("Next", w, r), nextHeight, w, func(v canvas.View) { drawNextRuns(v, w, r, d) })
	}
	below := 0
	if d.Hours != nil && v.Height() >= HoursHeight+1+6 {
		below = HoursHeight + 1
	}
	if withOutput {
		DrawOutput(v.Above(v.Height()-below), w, r, d)
		v = v.Below(v.Height() - below)
	}
	if below > 0 {
		DrawHours(v, w, r, d)
	}
}

// DrawOutput draws the end of the output of the job's run below a title.
func DrawOutput(v canvas.View, w *screen.World, r *api.Row, d *Info) {
	section(v, tailTitle(r, d), v.Height()-1, w, func(v canvas.View) { drawTail(v, w, r, d) })
}

// section draws a title and lines below it, and returns the rest of the view.
func section(v canvas.View, title string, height int, w *screen.World, draw func(canvas.View)) canvas.View {
	if v.Height() < 2 {
		return v.Below(v.Height())
	}
	page.DrawRule(v.Row(0), title, w.Glyphs)
	draw(v.In(1, 1, v.Width()-1, height))
	return v.Below(1 + height)
}

// DrawTitle draws the name of a job, and at the right how it is.
func DrawTitle(row canvas.View, w *screen.World, r *api.Row) {
	sign, word, style := screen.JobLook(w, r)
	text := sign + " " + word
	if r.Ending != "" && !r.Acked {
		text += "  " + r.Ending
	}
	room := min(page.Width(text), row.Width()/2)
	row.PutCut(row.Width()-room-2, 0, room, text, w.Glyphs.Ellipsis, style)
	row.PutCut(0, 0, row.Width()-room-4, string(r.Job), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Title, Bold: true})
}

// DrawMeaning draws when a job starts, in words as soon as they are known, and
// where it is written down.
func DrawMeaning(row canvas.View, w *screen.World, r *api.Row, d *Info) {
	meaning := r.Schedule
	if d.ID == r.Job && d.Job != nil && d.Job.Meaning != "" {
		meaning = d.Job.Meaning
	}
	place := fmt.Sprintf("%s:%d   user %s", r.Crontab, r.Line, r.User)
	for _, shorter := range []string{sourceOf(r) + "   user " + r.User, sourceOf(r)} {
		if page.Width(meaning)+2+page.Width(place) < row.Width() {
			break
		}
		place = shorter
	}
	room := min(page.Width(place), row.Width()*2/3)
	row.PutCut(row.Width()-room-1, 0, room, place, w.Glyphs.Ellipsis, canvas.Style{})
	row.PutCut(0, 0, row.Width()-room-3, meaning, w.Glyphs.Ellipsis, canvas.Style{})
}

// drawReasons draws the reason of the job's state, the error line, and what happens
// next.
func drawReasons(v canvas.View, w *screen.World, r *api.Row, d *Info) {
	lines := []string{Situation(w, r, d.Past)}
	if message := d.complaint(r); message != "" {
		lines = append(lines, message)
	} else if r.Why != "" {
		lines = append(lines, r.Why)
	}
	if plan := retryPlan(w, r, d); plan != "" {
		lines = append(lines, plan)
	} else if r.State == job.StateFailing {
		lines = append(lines, "next "+nextText(w, r))
	}
	if d.err != nil {
		lines = append(lines, d.err.Error())
	}
	y := 0
	for i, line := range lines {
		if y < v.Height() {
			below := len(lines) - 1 - i
			y += page.DrawWrapped(v.In(0, y, v.Width()-1, max(v.Height()-y-below, 1)), line, canvas.Style{}, w)
		}
	}
}

// NextTitle returns a title with the zone of the occurrences and the owner of the
// first.
func NextTitle(what string, w *screen.World, r *api.Row) string {
	text := what + " (" + w.ZoneName(r.Zone) + ")"
	if r.Node != "" {
		text += " on " + r.Node
	}
	return text
}

// nextHeight is the height of drawNextRuns.
const nextHeight = 4

// drawNextRuns draws the next occurrences in two columns, and what the next
// change of the clocks does to them.
func drawNextRuns(v canvas.View, w *screen.World, r *api.Row, d *Info) {
	if d.Job == nil {
		return
	}
	const across = 28
	for i, at := range d.Job.Upcoming {
		x, y := i%2*across, i/2
		if y > 1 {
			break
		}
		v.Put(x, y, fmt.Sprintf("%-10s in %s", w.Point(at, r.Zone), display.Away(at, w.Now)), canvas.Style{})
	}
	if len(d.Job.Upcoming) == 0 {
		v.Put(0, 0, "nothing is planned", canvas.Style{Role: canvas.Off})
	}
	if len(d.Ahead.Changes) > 0 {
		page.DrawWrapped(v.In(0, 2, v.Width()-1, 2), "DST "+d.Ahead.Changes[0].Text("2 Jan"), canvas.Style{}, w)
	}
}

func tailTitle(r *api.Row, d *Info) string {
	if d.tail == nil {
		return "Output"
	}
	how := "ended"
	if d.tail.Run != r.LastRun {
		how = "still running"
	}
	return fmt.Sprintf("Output of run %d (%s)", d.tail.Run, how)
}

// drawTail draws the end of the output of a run, with its times, and below how
// the run ended.
func drawTail(v canvas.View, w *screen.World, r *api.Row, d *Info) {
	switch {
	case w.IsOfCron(r):
		v.PutCut(0, 0, v.Width()-1, screen.CronKeeps, w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Off})
		return
	case d.tail == nil && d.Job != nil && runToShow(d.Job) == 0:
		v.Put(0, 0, "no output yet", canvas.Style{Role: canvas.Off})
		return
	case d.tail == nil:
		return
	}
	lines := append(d.tail.Lines[:len(d.tail.Lines):len(d.tail.Lines)], d.endLines()...)
	if len(lines) == 0 {
		v.Put(0, 0, "it has printed nothing", canvas.Style{Role: canvas.Off})
		return
	}
	lines = lines[max(len(lines)-v.Height(), 0):]
	loc, spare := w.In(r.Zone), v.Height()-len(lines)
	for _, line := range lines {
		x := v.Put(0, 0, line.At.In(loc).Format("15:04:05.000"), canvas.Style{Role: canvas.Off}) + 1
		style := canvas.Style{}
		switch line.Stream {
		case job.Stderr:
			style.Role = canvas.Bad
		case job.System:
			style.Role = canvas.Off
		}
		x = v.Put(x, 0, string(line.Stream), style) + 2
		rows := page.DrawWrapped(v.In(x, 0, v.Width()-x-1, 1+spare), line.Text, canvas.Style{}, w)
		spare -= rows - 1
		v = v.Below(rows)
	}
}

// endLines returns how the run ended, and the resources that it used.
func (d *Info) endLines() []failure.TailLine {
	if d.Job == nil || d.Job.Last == nil || d.Job.Last.ID != d.tail.Run {
		return nil
	}
	run := d.Job.Last
	line := func(text string) failure.TailLine {
		return failure.TailLine{At: run.Ended, Stream: job.System, Text: text}
	}
	text := run.Ending()
	if !run.Started.IsZero() && !run.OnlyStarted() {
		text += " after " + display.Brief(run.Length())
	}
	lines := []failure.TailLine{line(text)}
	if used := UsageText(run.Usage); used != "" {
		lines = append(lines, line(used))
	}
	return lines
}

// UsageText returns the resources that a run used, as far as they are known.
func UsageText(u job.Usage) string {
	cpu := ""
	if u.CPU > 0 {
		cpu = display.Brief(u.CPU)
	}
	var words []string
	for _, part := range []struct{ name, value string }{
		{"cpu", cpu}, {"memory", display.Bytes(u.Memory)}, {"read", display.Bytes(u.Read)}, {"written", display.Bytes(u.Write)},
	} {
		if part.value != "" {
			words = append(words, part.name+" "+part.value)
		}
	}
	return strings.Join(words, "  ")
}
