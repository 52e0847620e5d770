package screen

import (
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/amount"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/when"
)

// paneWidth is the width of the details beside a list, on a screen of 160 cells.
const paneWidth = 58

// drawPane draws what is known of a job beside the list. What has no room is left
// out: the output shrinks first, then the hours go, then what comes next.
func drawPane(v canvas.View, w *World, r *api.Row, d *dossier) {
	drawTitle(v.In(1, 0, v.Width()-1, 1), w, r)
	drawMeaning(v.In(1, 1, v.Width()-1, 1), w, r, d)
	v.PutCut(1, 2, v.Width()-2, r.Command, w.Glyphs.Ellipsis, canvas.Style{})
	v = v.Below(3)
	v = section(v, "Why", 3, w, func(v canvas.View) { drawReasons(v, w, r, d) })
	v = section(v, historyTitle(w, d), historyHeight-1, w, func(v canvas.View) { drawHistory(v, w, r.Zone, d, -1) })
	if v.Height() > 8 {
		v = section(v, nextTitle("Next", w, r), nextHeight, w, func(v canvas.View) { drawNextRuns(v, w, r, d) })
	}
	below := 0
	if d.hours != nil && v.Height() >= heatHeight+1+6 {
		below = heatHeight + 1
	}
	output := v.Above(v.Height() - below)
	section(output, tailTitle(r, d), output.Height()-1, w, func(v canvas.View) { drawTail(v, w, r.Zone, d) })
	if below > 0 {
		section(v.Below(v.Height()-below), "Last 6 days by hour (worst outcome)", heatHeight, w, func(v canvas.View) {
			h := newHeat(d.hours, w.Now, w.In(r.Zone))
			h.draw(v, w)
		})
	}
}

// section draws a title with some lines below it, and gives what is left.
func section(v canvas.View, title string, height int, w *World, draw func(canvas.View)) canvas.View {
	if v.Height() < 2 {
		return v.Below(v.Height())
	}
	drawRule(v.Row(0), title, w.Glyphs)
	draw(v.In(1, 1, v.Width()-1, height))
	return v.Below(1 + height)
}

// drawTitle draws the name of a job, and at the right how it is.
func drawTitle(row canvas.View, w *World, r *api.Row) {
	sign, word, style := stateLook(w, r.State)
	text := sign + " " + word
	if r.Ending != "" && !r.Acked {
		text += "  " + r.Ending
	}
	room := min(cells(text), row.Width()/2)
	row.PutCut(row.Width()-room-2, 0, room, text, w.Glyphs.Ellipsis, style)
	row.PutCut(0, 0, row.Width()-room-4, string(r.Job), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Title, Bold: true})
}

// drawMeaning draws when a job starts, in words as soon as they are known, and
// where it is written down.
func drawMeaning(row canvas.View, w *World, r *api.Row, d *dossier) {
	meaning := r.Schedule
	if d.id == r.Job && d.job != nil && d.job.Meaning != "" {
		meaning = d.job.Meaning
	}
	place := fmt.Sprintf("%s:%d   user %s", r.Table, r.Line, r.User)
	if row.Width() < paneWidth-2 {
		place = sourceOf(r)
	}
	room := min(cells(place), row.Width()*2/3)
	row.PutCut(row.Width()-room-1, 0, room, place, w.Glyphs.Ellipsis, canvas.Style{})
	row.PutCut(0, 0, row.Width()-room-3, meaning, w.Glyphs.Ellipsis, canvas.Style{})
}

// drawReasons draws why a job is how it is: what happened, what it said, what
// comes of it.
func drawReasons(v canvas.View, w *World, r *api.Row, d *dossier) {
	lines := []string{situation(w, r, d.past)}
	if said := d.complaint(r); said != "" {
		lines = append(lines, said)
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
	for _, line := range lines {
		if y < v.Height() {
			y += drawWrapped(v.In(0, y, v.Width()-1, max(v.Height()-y-len(lines)+1, 1)), line, w)
		}
	}
}

// nextTitle also says in what zone the next occurrences are told, and whose the first is.
func nextTitle(what string, w *World, r *api.Row) string {
	text := what + " (" + w.zoneName(r.Zone) + ")"
	if r.Node != "" {
		text += " on " + r.Node
	}
	return text
}

// nextHeight is how many lines drawNextRuns takes.
const nextHeight = 4

// drawNextRuns draws the next occurrences in two columns, and what the next
// change of the clocks does to them.
func drawNextRuns(v canvas.View, w *World, r *api.Row, d *dossier) {
	if d.job == nil {
		return
	}
	const across = 26
	for i, at := range d.job.Upcoming {
		x, y := i%2*across, i/2
		if y > 1 {
			break
		}
		v.Put(x, y, fmt.Sprintf("%-10s in %s", w.Point(at, r.Zone), when.Away(at, w.Now)), canvas.Style{})
	}
	if len(d.job.Upcoming) == 0 {
		v.Put(0, 0, "nothing is planned", canvas.Style{Role: canvas.Off})
	}
	if len(d.ahead.changes) > 0 {
		drawWrapped(v.In(0, 2, v.Width()-1, 2), "DST "+d.ahead.changes[0].text("2 Jan"), w)
	}
}

func tailTitle(r *api.Row, d *dossier) string {
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
func drawTail(v canvas.View, w *World, zone string, d *dossier) {
	switch {
	case d.tail == nil && d.job != nil && runToShow(d.job) == 0:
		v.Put(0, 0, "it has not run yet", canvas.Style{Role: canvas.Off})
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
	loc := w.In(zone)
	for y, line := range lines {
		x := v.Put(0, y, line.At.In(loc).Format("15:04:05.000"), canvas.Style{Role: canvas.Off}) + 1
		style := canvas.Style{}
		switch line.Stream {
		case job.Stderr:
			style.Role = canvas.Bad
		case job.System:
			style.Role = canvas.Off
		}
		x = v.Put(x, y, string(line.Stream), style) + 2
		v.PutCut(x, y, v.Width()-x-1, line.Text, w.Glyphs.Ellipsis, canvas.Style{})
	}
}

// endLines says how the run whose output is shown ended, and what it used.
func (d *dossier) endLines() []tailLine {
	if d.job == nil || d.job.Last == nil || d.job.Last.ID != d.tail.Run {
		return nil
	}
	run := d.job.Last
	line := func(text string) tailLine { return tailLine{run.Ended, job.System, text} }
	text := run.Ending()
	if !run.Started.IsZero() {
		text += " after " + when.Brief(run.Ended.Sub(run.Started))
	}
	lines := []tailLine{line(text)}
	if used := usageText(run.Usage); used != "" {
		lines = append(lines, line(used))
	}
	return lines
}

// usageText says what a run used, as far as that is known.
func usageText(u job.Usage) string {
	text := ""
	add := func(word string, known bool, value string) {
		if known {
			if text != "" {
				text += "  "
			}
			text += word + " " + value
		}
	}
	add("cpu", u.CPU > 0, when.Brief(u.CPU))
	add("memory", u.Memory > 0, amount.Bytes(u.Memory))
	add("read", u.Read > 0, amount.Bytes(u.Read))
	add("wrote", u.Write > 0, amount.Bytes(u.Write))
	return text
}
