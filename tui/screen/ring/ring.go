// Package ring owns the screen that shows the members of a ring and the jobs that
// they own.
package ring

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// Ring shows the members of a ring, how many jobs each owns, and warnings. Without a
// ring it describes this host and explains what a ring does.
type Ring struct {
	table.Table[string, api.Member]
	members table.Rows[string, api.Member]
	answer  api.Ring
	asked   time.Time // when, by the daemon's clock
	err     error
	page    page.Page // below the members
}

// New makes the screen.
func New() *Ring {
	s := &Ring{members: table.Rows[string, api.Member]{Key: func(m *api.Member) string { return m.ID }}}
	s.Table = table.Table[string, api.Member]{
		Source: &s.members, Columns: s.memberColumns(), Left: 1, Titles: table.TitleStyle, In: keys.Ring, Sorted: "NODE",
		Keys: []keys.Action{keys.ShowJobs, keys.ShowTimeline, keys.ShowFiles, keys.Sort, keys.Palette, keys.Help, keys.Leave},
	}
	return s
}

// slotRing is the slot of the request, which is repeated after ringPeriod.
const (
	slotRing   = "ring"
	ringPeriod = 2 * time.Second
)

// Open requests the ring.
func (s *Ring) Open(w *screen.World) []screen.Effect {
	s.asked = w.Now
	return []screen.Effect{screen.Ask{Slot: slotRing, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return d.Ring(ctx) }}}
}

// Take receives it.
func (s *Ring) Take(_ *screen.World, a screen.Answer) []screen.Effect {
	if s.err = a.Err; a.Err != nil {
		return nil
	}
	s.answer = a.Value.(api.Ring)
	s.SetRows(s.answer.Members)
	return nil
}

// Refresh repeats the request.
func (s *Ring) Refresh(w *screen.World) []screen.Effect {
	if w.Link.Live && w.Now.Sub(s.asked) >= ringPeriod {
		return s.Open(w)
	}
	return nil
}

func (s *Ring) alone() bool { return s.answer.Name == "" }

// Act moves among the members and sorts them, and scrolls the text below them.
func (s *Ring) Act(_ *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.Up, keys.Down, keys.Sort, keys.Reverse:
		if !s.alone() {
			return nil, s.Move(a)
		}
	}
	return nil, s.page.Act(a)
}

// Subject returns an empty subject: a member is not a job.
func (*Ring) Subject(*screen.World) screen.Subject { return screen.Subject{} }

// Refuses returns why a key does nothing here.
func (s *Ring) Refuses(_ *screen.World, a keys.Action) string {
	switch a {
	case keys.Sort, keys.Reverse:
		if s.alone() {
			return "not in a ring"
		}
	case keys.Filter, keys.States, keys.Mark, keys.Range, keys.MarkAll, keys.Views, keys.Wide, keys.NextPane, keys.PreviousPane:
		return "not on this screen"
	case keys.Open:
		m := s.Current()
		switch {
		case s.alone():
			return "not in a ring"
		case m == nil || m.ID == s.answer.Self:
			return "this is the host whose dashboard it is"
		}
		return "to compare its jobs with this host's: cronring ring diff " + display.Text(m.Name)
	}
	return ""
}

// Draw draws the members and the text below them, or this host alone.
func (s *Ring) Draw(v canvas.View, w *screen.World) {
	if s.alone() {
		s.drawAlone(v, w)
		return
	}
	head, style := s.summary(), canvas.Style{Bold: true}
	if !s.answer.Joined || s.answer.Held != "" {
		style.Role = canvas.Doubt
	}
	v.PutCut(1, 0, v.Width()-2, head, w.Glyphs.Ellipsis, style)
	rows := min(s.members.Len(), max((v.Height()-2)/2, 1))
	s.drawMembers(v.Below(1).Above(rows+1), w)
	s.page.Set(s.below(w, v.Width()))
	s.page.Draw(v.Below(rows+2), w)
	w.OnWheel(v.Below(rows+2), s.page.Scroll)
}

// summary describes the ring in one line.
func (s *Ring) summary() string {
	r := &s.answer
	text := fmt.Sprintf("ring \"%s\"  %d of %d up  ", display.Text(r.Name), r.Up(), len(r.Members))
	if r.Quorum > 0 {
		text += fmt.Sprintf("quorum %d  ", r.Quorum)
	}
	text += display.Count(r.Jobs, "job") + " on the ring"
	switch {
	case !r.Joined:
		return text + "  joining: they wait"
	case r.RunsNothing():
		return text
	}
	return text + fmt.Sprintf("  safe to lose %d more", r.SafeLoss)
}

// memberColumns are the columns of members, the most important first: those
// without room are dropped from the end.
func (s *Ring) memberColumns() []table.Column[api.Member] {
	// measured returns the column of a duration that this host measures of the other members that are up.
	measured := func(title string, width int, format string, of func(m *api.Member) time.Duration) table.Column[api.Member] {
		known := func(m *api.Member) bool { return m.ID != s.answer.Self && m.State.Up() }
		return table.Column[api.Member]{Title: title, Width: width, Falls: true, Text: table.Plain(func(m *api.Member) string {
			if !known(m) {
				return "-"
			}
			return fmt.Sprintf(format, float64(of(m))/float64(time.Millisecond))
		}), Compare: table.By(func(m *api.Member) time.Duration {
			if !known(m) {
				return -1
			}
			return of(m).Abs()
		})}
	}
	text := func(title string, width int, of func(m *api.Member) string) table.Column[api.Member] {
		return table.Column[api.Member]{Title: title, Width: width, Text: table.Plain(of), Compare: table.By(of)}
	}
	columns := []table.Column[api.Member]{
		text("NODE", 6, func(m *api.Member) string { return m.Name }),
		{Title: "STATE", Width: 11, Text: func(w *screen.World, m *api.Member) (string, canvas.Style) {
			return memberSign(m.State, w.Glyphs) + " " + string(m.State), memberStyle(m.State)
		}, Compare: table.By(func(m *api.Member) api.MemberState { return m.State })}, // down, draining, joining, left, up
		{Title: "OWNS", Width: 8, Text: table.Plain(func(m *api.Member) string { return strconv.Itoa(m.Owns) }),
			Compare: table.By(func(m *api.Member) int { return m.Owns }), Falls: true},
		{Title: "RUN", Width: 5, Text: table.Plain(func(m *api.Member) string { return strconv.Itoa(m.Runs) }),
			Compare: table.By(func(m *api.Member) int { return m.Runs }), Falls: true},
		measured("CLOCK", 10, "%+.1f ms", func(m *api.Member) time.Duration { return m.Clock.Round(100 * time.Microsecond) }),
		{Title: "JOBS", Width: 10, Text: func(_ *screen.World, m *api.Member) (string, canvas.Style) {
			if m.Lacks > 0 {
				return strconv.Itoa(m.Lacks) + " differ", canvas.Style{Role: canvas.Doubt}
			}
			return "same", canvas.Style{}
		}, Compare: table.By(func(m *api.Member) int { return m.Lacks }), Falls: true},
		{Title: "SINCE", Width: 8, Text: func(w *screen.World, m *api.Member) (string, canvas.Style) {
			return display.Brief(w.Now.Sub(m.Since)), canvas.Style{}
		}, Compare: func(a, b *api.Member) int { return b.Since.Compare(a.Since) }},
		measured("RTT", 9, "%.1f ms", func(m *api.Member) time.Duration { return m.RTT }),
		text("VER", 10, func(m *api.Member) string { return cmp.Or(m.Version, "-") }),
		text("ADDRESS", 24, func(m *api.Member) string { return m.Addr }),
		text("LABELS", 30, (*api.Member).LabelsText),
	}
	columns[0].Fit = table.Always
	for i := range columns {
		columns[i].Rank = i
	}
	return columns
}

func memberSign(s api.MemberState, g *canvas.Glyphs) string {
	switch s {
	case api.MemberUp:
		return g.OK
	case api.MemberDown:
		return g.Failed
	}
	return g.Late
}

func memberStyle(s api.MemberState) canvas.Style {
	switch s {
	case api.MemberUp:
		return canvas.Style{Role: canvas.Good}
	case api.MemberDown:
		return canvas.Style{Role: canvas.Bad, Bold: true}
	case api.MemberLeft:
		return canvas.Style{Role: canvas.Off}
	}
	return canvas.Style{Role: canvas.Doubt}
}

// drawMembers draws the names of the columns, and a line for each member.
func (s *Ring) drawMembers(v canvas.View, w *screen.World) {
	s.Columns[0].Most = min(max(v.Width()-30, 10), 32)
	s.Table.Draw(v, w)
}

// below is the shares, what is odd, and what moved.
func (s *Ring) below(w *screen.World, width int) []page.Paragraph {
	text := []page.Paragraph{page.Heading("Who owns which share")}
	most, name := 1, 4
	for i := range s.answer.Members {
		m := &s.answer.Members[i]
		most, name = max(most, m.Owns), max(name, page.Width(m.Name))
	}
	name = min(name, max(width/3, 8))
	room := max(width-name-12, 1)
	for i := range s.answer.Members {
		m := &s.answer.Members[i]
		bar := strings.Repeat(w.Glyphs.Bars[7], m.Owns*room/most)
		text = append(text, page.Paragraph{Spans: []page.Span{
			{Text: " " + display.Pad(page.Shorten(m.Name, name), name) + " "}, {Text: bar, Style: memberStyle(m.State)}, {Text: " " + strconv.Itoa(m.Owns)},
		}})
	}
	if odd := s.odd(w); len(odd) > 0 {
		text = append(append(text, page.Heading("Warnings")), odd...)
	}
	if len(s.answer.Handovers) > 0 {
		text = append(text, page.Heading("Last hand-overs"))
		for _, m := range s.answer.Handovers {
			text = append(text, page.Paragraph{Spans: []page.Span{{Text: " " + w.Minute(m.At, w.Local) + "  "}, {Text: m.What}}, Hang: 3})
		}
	}
	return text
}

// odd returns the warnings.
func (s *Ring) odd(w *screen.World) []page.Paragraph {
	var text []page.Paragraph
	doubt := canvas.Style{Role: canvas.Doubt}
	if s.err != nil {
		text = append(text, page.Line(" "+w.Glyphs.Late+" this is as it was: "+s.err.Error(), doubt))
	}
	if s.answer.Joined && s.answer.Unowned > 0 {
		text = append(text, page.Line(" "+w.Glyphs.Late+" ring jobs that no member can run: "+strconv.Itoa(s.answer.Unowned), doubt))
	}
	if s.answer.Doubled > 0 {
		text = append(text, page.Line(" "+w.Glyphs.Late+" "+display.Count(s.answer.Doubled, "occurrence")+" ran on two members in the last 24 h, as they did not see each other", doubt))
	}
	for _, p := range s.answer.Problems {
		line := " " + w.Glyphs.Late + " " + p.What
		if p.Why != "" {
			line += ": " + p.Why
		}
		if p.Fix != "" {
			line += "  fix: " + p.Fix
		}
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: line, Style: doubt}}, Hang: 3})
	}
	return text
}
