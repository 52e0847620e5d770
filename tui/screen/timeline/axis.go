package timeline

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/display"
)

// axis is time cut into cells of one length.
type axis struct {
	from  time.Time
	step  time.Duration
	cells int
}

// steps are the lengths that a cell may have.
var steps = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour, day, 2 * day,
}

const day = 24 * time.Hour

// How much time is shown: at first, and the least and the most.
const (
	usualSpan = 24 * time.Hour
	leastSpan = time.Hour
	mostSpan  = 14 * day
)

// newAxis returns an axis of at most cells cells that shows span around middle. Cells
// begin at full hours, quarters and so on of the zone.
func newAxis(middle time.Time, span time.Duration, cells int, loc *time.Location) axis {
	a := axis{step: steps[stepFor(span, cells)]}
	a.cells = min(cells, int(mostSpan/a.step)) &^ 1
	a.from = floorTo(middle, a.step, loc).Add(-time.Duration(a.cells/2) * a.step)
	return a
}

// stepFor returns the index of the shortest step with which cells cover span.
func stepFor(span time.Duration, cells int) int {
	for i, step := range steps {
		if step*time.Duration(cells) >= span {
			return i
		}
	}
	return len(steps) - 1
}

// zoomed is the span that is shown with the next shorter or longer cells.
func zoomed(span time.Duration, cells, by int) time.Duration {
	i := stepFor(span, cells)
	return min(max(steps[min(max(i+by, 0), len(steps)-1)]*time.Duration(cells), leastSpan), mostSpan)
}

// floorTo is the last instant, not after t, at which the clock of a zone shows a
// multiple of a step, counted from midnight. Longer ones are counted in days.
func floorTo(t time.Time, step time.Duration, loc *time.Location) time.Time {
	_, offset := t.In(loc).Zone()
	seconds := int64(step / time.Second)
	local := t.Unix() + int64(offset)
	return time.Unix(local-local%seconds-int64(offset), 0)
}

func (a axis) at(cell int) time.Time { return a.from.Add(time.Duration(cell) * a.step) }
func (a axis) to() time.Time         { return a.at(a.cells) }

// index returns the cell of a time, which can be outside the axis.
func (a axis) index(t time.Time) int {
	d := t.Sub(a.from)
	if d < 0 {
		d -= a.step - 1
	}
	return int(d / a.step)
}

// labelled are the lengths from one label of the axis to the next.
var labelled = []time.Duration{
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day,
}

// label is a text above a cell.
type label struct {
	cell int
	text string
}

// labels are the times that are written above the cells.
func (a axis) labels(loc *time.Location, clock display.Clock) []label {
	every, apart := labelled[len(labelled)-1], 1
	if a.cells >= 40 {
		apart = 3
	}
	for _, length := range labelled {
		if length >= a.step && int(length/a.step) >= labelWidth(length, clock)+apart {
			every = length
			break
		}
	}
	form := "15"
	switch {
	case every >= day:
		form = "Mon 2"
	case every < time.Hour:
		form = "15:04"
	}
	var all []label
	for i := range a.cells {
		begin, last := a.at(i), a.at(i+1).Add(-1)
		full := floorTo(last, every, loc)
		if full.Before(begin) {
			continue
		}
		text := full.In(loc).Format(clock.Layout(form))
		if form == "15" && full.In(loc).Hour() == 0 && a.to().Sub(a.from) > 36*time.Hour {
			text = full.In(loc).Format("Mon")
		}
		all = append(all, label{i, text})
	}
	return all
}

// labelWidth returns the width of labels at a distance.
func labelWidth(every time.Duration, clock display.Clock) int {
	form := "10"
	switch {
	case every >= day:
		return len("Mon 20")
	case every < time.Hour:
		form = "10:04"
	}
	if clock == display.Clock12 {
		form += "pm"
	}
	return len(form)
}

// rangeText returns the beginning and the end of the axis.
func (a axis) rangeText(loc *time.Location, clock display.Clock) string {
	form := "15:04 Mon"
	if a.to().Sub(a.from) > 6*day {
		form = "Mon 2 Jan"
	}
	form = clock.Layout(form)
	return fmt.Sprintf("%s .. %s", a.from.In(loc).Format(form), a.to().In(loc).Format(form))
}
