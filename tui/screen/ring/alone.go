package ring

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// drawAlone draws this host and the explanation of rings.
func (s *Ring) drawAlone(v canvas.View, w *screen.World) {
	v.PutCut(1, 0, v.Width()-2, "no ring  "+aloneText(w), w.Glyphs.Ellipsis, canvas.Style{Bold: true})
	s.drawNode(v.Row(1), v.Row(2), w)
	s.page.Set(ringText())
	s.page.Draw(v.Below(3), w)
}

// aloneText sums up a host that is in no ring.
func aloneText(w *screen.World) string {
	jobs := display.Count(w.Board.Len(), "job") + " on this host alone"
	switch {
	case w.Status.NoDaemon != "":
		return "no daemon  " + jobs
	case w.Link.Live:
		return "1 of 1 up  " + jobs
	}
	return "0 of 1 up  " + jobs
}

// drawNode draws the names of the columns and this host below them.
func (s *Ring) drawNode(title, row canvas.View, w *screen.World) {
	st := &w.Status
	state, style := w.Glyphs.OK+" up", canvas.Style{Role: canvas.Good}
	switch {
	case !w.Link.Tried:
		state, style = "-", canvas.Style{Role: canvas.Off}
	case !w.Link.Live:
		state, style = w.Glyphs.Failed+" down", canvas.Style{Role: canvas.Bad, Bold: true}
	case st.NoDaemon != "":
		state, style = "no daemon", canvas.Style{Role: canvas.Doubt}
	}
	host, up, running, version := st.Host, "-", strconv.Itoa(w.Board.Count(job.StateRunning)), cmp.Or(st.Version, "-")
	if st.NoDaemon != "" {
		running, version = "-", "-"
	}
	if host == "" {
		host = "this host"
	}
	if !st.Started.IsZero() && st.NoDaemon == "" {
		up = display.Brief(w.Now.Sub(st.Started))
	}
	lagText := "-"
	if st.Day != nil && st.Day.Runs > 0 {
		lagText = display.Lag(st.Day.LagP99)
	}
	name := min(max(page.Width(host)+1, 10), max(title.Width()-30, 10))
	t := table.Table[string, api.Status]{Left: 1, Titles: table.TitleStyle}
	for i, c := range []struct {
		title, text string
		width       int
		style       canvas.Style
	}{
		{"NODE", host, name, canvas.Style{}}, {"STATE", state, 10, style},
		{"OWNS", strconv.Itoa(w.Board.Len()), 8, canvas.Style{}}, {"RUN", running, 5, canvas.Style{}},
		{"FILES", strconv.Itoa(st.Crontabs), 8, canvas.Style{}}, {"UP", up, 8, canvas.Style{}}, {"LAG P99", lagText, 9, canvas.Style{}},
		{"VER", version, 12, canvas.Style{}},
	} {
		t.Columns = append(t.Columns, table.Column[api.Status]{
			Title: c.title, Width: c.width, Rank: i,
			Text: func(*screen.World, *api.Status) (string, canvas.Style) { return c.text, c.style },
		})
	}
	t.Place(w, title.Width(), title.Width())
	t.DrawTitles(title, w)
	t.DrawCells(row, w, st)
	row.Put(0, 0, w.Glyphs.Cursor, canvas.Style{Bold: true})
}

// ringText explains rings, and what is possible without one.
func ringText() []page.Paragraph {
	plain := func(text string) page.Paragraph { return page.Line(" "+text, canvas.Style{}) }
	command := func(text string) page.Paragraph {
		return page.Paragraph{Spans: []page.Span{{Text: "   "}, {Text: text, Style: canvas.Style{Bold: true}}}, Hang: 6}
	}
	return []page.Paragraph{
		page.Heading("What a ring is"),
		plain("A ring is several hosts that share jobs: each occurrence runs on one of them, and when a host goes down the others take over what it owned. You do not need a ring on a single host."),
		plain("This host is not in a ring: it runs all jobs of its crontabs, and no other host takes over when it is down."),
		page.Heading("Without a ring"),
		plain("You can install the same crontab on several hosts: host= above an entry selects the hosts that run it."),
		command("#@ host=" + strings.Join([]string{"db-01", "db-02"}, ",")),
		plain("Runs that were missed while this host was down are caught up when it is back: catchup= sets how many."),
		command("#@ catchup=once"),
	}
}
