package timeline

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// clashes lists the minutes of the next day with several starts, and suggests
// free minutes.
type clashes struct {
	table.Table[int64, api.Clash]
	minutes table.Rows[int64, api.Clash] // by their Unix time
	line    *Timeline                    // that it was opened from
	answer  api.Clashes
	slots   []api.Slot // for an hourly job and for a daily one
	known   bool
	err     error
}

// refusedOfMinutes are the keys of lists that do nothing here.
var refusedOfMinutes = table.Refuse("always sorted by the number of starts",
	keys.Filter, keys.Sort, keys.Reverse, keys.States, keys.Mark, keys.Range, keys.MarkAll, keys.Views, keys.Wide)

func newClashes(line *Timeline) *clashes {
	s := &clashes{line: line, minutes: table.Rows[int64, api.Clash]{Key: func(c *api.Clash) int64 { return c.At.Unix() }}}
	s.Table = table.Table[int64, api.Clash]{
		Source: &s.minutes, Left: 1, Titles: table.TitleStyle, In: keys.Clash, Refused: refusedOfMinutes,
		Keys: []keys.Action{keys.Open, keys.Back, keys.Palette, keys.Help, keys.Leave},
		Columns: []table.Column[api.Clash]{
			{Title: "AT", Width: 12, Text: func(w *screen.World, c *api.Clash) (string, canvas.Style) {
				return w.Minute(c.At, w.OneZone()), canvas.Style{}
			}},
			{Title: "STARTS", Width: 8, Text: table.Plain(func(c *api.Clash) string { return strconv.Itoa(c.Starts) })},
			{Title: "QUIETEST", Width: 10, From: screen.FullWidth, Text: func(w *screen.World, c *api.Clash) (string, canvas.Style) {
				if c.Quiet.IsZero() || c.Quiet.Equal(c.At) {
					return "-", canvas.Style{Role: canvas.Off}
				}
				return c.Quiet.In(w.OneZone()).Format(w.Clock.Layout("15:04")), canvas.Style{}
			}},
			{Title: "JOBS", Fill: true, Text: table.Plain(namesText)},
		},
	}
	return s
}

// clashList is the daemon's answer.
type clashList struct {
	answer api.Clashes
	slots  []api.Slot
}

// slotClashes is the slot of its question, listedClashes how many it lists.
const (
	slotClashes   = "clashes"
	listedClashes = 200
)

// Heading names it.
func (s *clashes) Heading(w *screen.World) string {
	text := "Clashes: minutes with several starts"
	if s.known {
		text += ", " + s.timeText(w)
	}
	return text
}

// timeText returns the time that the list covers.
func (s *clashes) timeText(w *screen.World) string {
	return w.Minute(s.answer.From, w.OneZone()) + " to " + w.Minute(s.answer.To, w.OneZone())
}

// Open requests the clashes.
func (s *clashes) Open(*screen.World) []screen.Effect {
	return []screen.Effect{screen.Ask{Slot: slotClashes, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return askClashes(ctx, d) }}}
}

func askClashes(ctx context.Context, d screen.Daemon) (list clashList, err error) {
	for _, kind := range []string{"hourly", "daily"} {
		if list.answer, err = d.Clashes(ctx, api.ClashQuery{Limit: listedClashes, Suggest: kind}); err != nil {
			return list, err
		}
		if slot := list.answer.Suggest; slot != nil {
			list.slots = append(list.slots, *slot)
		}
	}
	return list, nil
}

// Take receives the list.
func (s *clashes) Take(_ *screen.World, a screen.Answer) []screen.Effect {
	if s.err = a.Err; a.Err != nil {
		return nil
	}
	list := a.Value.(clashList)
	s.answer, s.slots, s.known = list.answer, list.slots, true
	s.SetRows(s.answer.Clashes)
	return nil
}

// Refresh repeats a request that failed while the daemon was away.
func (s *clashes) Refresh(w *screen.World) []screen.Effect {
	if w.Link.Live && s.err != nil && api.KindOf(s.err) == api.Unreachable {
		return s.Open(w)
	}
	return nil
}

// Act moves, and shows a minute on the time line.
func (s *clashes) Act(_ *screen.World, a keys.Action) ([]screen.Effect, bool) {
	if a == keys.Open {
		s.line.look(s.Current().At)
		return []screen.Effect{screen.Back{}}, true
	}
	if a == keys.Back || !s.Move(a) {
		return nil, false
	}
	return nil, true
}

// look puts a minute in the middle of the time line, and the cursor on it.
func (s *Timeline) look(at time.Time) {
	s.span, s.cell = leastSpan, at
	s.from = at.Add(-time.Duration(s.cells/2) * steps[stepFor(s.span, s.cells)])
}

// Subject returns an empty subject: a minute does not belong to one job.
func (*clashes) Subject(*screen.World) screen.Subject { return screen.Subject{} }

// Draw draws where there is room for other jobs, and the minutes.
func (s *clashes) Draw(v canvas.View, w *screen.World) {
	if !s.known {
		page.DrawUnknown(v, s.err, w)
		return
	}
	text := s.summary()
	if v.Width() < screen.FullWidth { // where the first line has no room for it
		text = append([]page.Paragraph{page.Line(" Clashes, "+s.timeText(w), canvas.Style{Role: canvas.Title})}, text[:len(text)-1]...)
	}
	head := page.Page{Paragraphs: text}
	rows := 0
	for _, p := range head.Paragraphs {
		rows += len(p.Wrapped(nil, v.Width()))
	}
	rows = min(rows, max(v.Height()-3, 0))
	head.Draw(v.Above(rows), w)
	v = v.Below(rows)
	page.DrawRule(v.Row(0), "", w.Glyphs)
	s.drawMinutes(v.Below(1), w)
}

// summary returns the number of clashes, and free minutes.
func (s *clashes) summary() []page.Paragraph {
	text := []page.Paragraph{{Spans: []page.Span{{Text: fmt.Sprintf(" %s with 2 starts or more; %s in all", display.Count(s.answer.Minutes, "minute"), display.Count(s.answer.Starts, "start"))}}, Hang: 1}}
	for i, slot := range s.slots {
		kind := []string{"hourly", "daily"}[i]
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: display.Pad(" quietest, "+kind, 19)}, {Text: slot.Schedule, Style: canvas.Style{Bold: true}},
			{Text: fmt.Sprintf("  %s there, %d in the busiest", display.Count(slot.Starts, "start"), slot.Busiest)}}, Hang: 3})
	}
	return append(text, page.Line(" same text in a shell: cronring report clashes --suggest daily", canvas.Style{Role: canvas.Off}))
}

func (s *clashes) drawMinutes(v canvas.View, w *screen.World) {
	if s.minutes.Len() == 0 {
		v.Put(1, 0, "No two jobs start in the same minute.", canvas.Style{})
		return
	}
	s.Table.Draw(v, w)
}

// namesText is the jobs of a clash.
func namesText(c *api.Clash) string {
	text := screen.Names(c.Jobs)
	if len(c.Jobs) >= mostClashNames && c.Starts > len(c.Jobs) {
		text += " and others"
	}
	return text
}
