package screen

import (
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// Ring shows the hosts that share jobs. This daemon stands alone: the screen says
// what a ring is, what this host owns, and what can be done without one.
type Ring struct{ page page }

// NewRing makes the screen.
func NewRing() *Ring { return new(Ring) }

// Scope is that of the ring.
func (*Ring) Scope() keys.Scope { return keys.Ring }

// Open asks nothing: all that is shown is known.
func (*Ring) Open(*World) []Effect { return nil }

// Take receives nothing.
func (*Ring) Take(*World, Answer) []Effect { return nil }

// Refresh asks nothing.
func (*Ring) Refresh(*World) []Effect { return nil }

// Act scrolls.
func (s *Ring) Act(_ *World, a keys.Action) ([]Effect, bool) { return nil, s.page.act(a) }

// Subject is nothing.
func (*Ring) Subject(*World) Subject { return Subject{} }

// Refuses says what one host has not.
func (*Ring) Refuses(_ *World, a keys.Action) string {
	switch a {
	case keys.Open, keys.Filter, keys.Sort, keys.Reverse, keys.States, keys.Mark, keys.Range, keys.MarkAll, keys.Views, keys.Wide, keys.NextPane, keys.PreviousPane:
		return "there is one host only"
	}
	return ""
}

// Foot is the keys of the screen.
func (*Ring) Foot(*World) []keys.Action {
	return []keys.Action{keys.ShowJobs, keys.ShowTimeline, keys.ShowFiles, keys.Palette, keys.Help, keys.Leave}
}

// Draw draws this host as the one node there is, and the text.
func (s *Ring) Draw(v canvas.View, w *World) {
	up := "0"
	if w.Link.Live {
		up = "1"
	}
	v.PutCut(1, 0, v.Width()-2, "no ring  "+up+" of 1 up  "+counted(w.Board.Len(), "job")+" on this host alone", w.Glyphs.Ellipsis, canvas.Style{Bold: true})
	s.drawNode(v.Row(1), v.Row(2), w)
	s.page.set(ringText())
	s.page.draw(v.Below(3), w.Glyphs)
}

// drawNode draws the names of the columns and this host below them.
func (s *Ring) drawNode(title, row canvas.View, w *World) {
	st := &w.Status
	state, style := w.Glyphs.OK+" up", canvas.Style{Role: canvas.Good}
	switch {
	case !w.Link.Tried:
		state, style = "-", canvas.Style{Role: canvas.Off}
	case !w.Link.Live:
		state, style = w.Glyphs.Failed+" down", canvas.Style{Role: canvas.Bad, Bold: true}
	}
	host, up := st.Host, "-"
	if host == "" {
		host = "this host"
	}
	if !st.Started.IsZero() {
		up = when.Brief(w.Now.Sub(st.Started))
	}
	lagText := "-"
	if st.Day != nil && st.Day.Runs > 0 {
		lagText = lag(st.Day.LagP99)
	}
	name := min(max(cells(host)+1, 10), max(title.Width()-30, 10))
	x := 1
	for _, c := range []struct {
		title, text string
		width       int
		style       canvas.Style
	}{
		{"NODE", host, name, canvas.Style{}}, {"STATE", state, 10, style},
		{"OWNS", thousands(w.Board.Len()), 8, canvas.Style{}}, {"RUN", strconv.Itoa(w.Board.Count(job.StateRunning)), 5, canvas.Style{}},
		{"TABLES", strconv.Itoa(st.Tables), 8, canvas.Style{}}, {"UP", up, 8, canvas.Style{}}, {"LAG P99", lagText, 9, canvas.Style{}},
		{"VER", versionText(st), 12, canvas.Style{}},
	} {
		if x+c.width > title.Width() {
			break
		}
		title.Put(x, 0, c.title, canvas.Style{Role: canvas.Title, Bold: true})
		row.PutCut(x, 0, c.width-1, c.text, w.Glyphs.Ellipsis, c.style)
		x += c.width
	}
	row.Put(0, 0, w.Glyphs.Cursor, canvas.Style{Bold: true})
}

func versionText(st *api.Status) string {
	if st.Version == "" {
		return "-"
	}
	return safe.Text(st.Version)
}

// ringText says what a ring is, and what one does without.
func ringText() []paragraph {
	plain := func(text string) paragraph { return said(" "+text, canvas.Style{}) }
	command := func(text string) paragraph {
		return paragraph{spans: []span{{text: "   "}, {text, canvas.Style{Bold: true}}}, hang: 6}
	}
	return []paragraph{
		ruled("What a ring is"),
		plain("A ring is several hosts that share jobs: each occurrence runs on one of them, and when a host goes down the others take over what it owned. Nothing of it is needed for the jobs of one host."),
		plain("This host is in no ring: it runs every job of its own crontabs itself, and nobody takes over for it."),
		ruled("Without a ring"),
		plain("The same crontab can lie on several hosts: host= above an entry names those that run it."),
		command("#@ host=" + strings.Join([]string{"db-01", "db-02"}, ",")),
		plain("What was missed while this host was down is made up for when it is back: catchup= says how much."),
		command("#@ catchup=once"),
	}
}
