package hostjobs

import (
	"fmt"
	"strings"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Heading returns the number of hosts, and of those that are not reached.
func (s *HostJobs) Heading(*screen.World) string {
	text := "Jobs of " + display.Count(len(s.hosts), "host")
	if down := len(s.down()); down > 0 {
		text += ", " + display.Count(down, "host") + " not reached"
	}
	return text
}

// Headed keeps the heading on narrow screens.
func (*HostJobs) Headed() {}

// down returns the hosts that are not reached.
func (s *HostJobs) down() (down []*host) {
	for _, h := range s.hosts {
		if h.err != nil {
			down = append(down, h)
		}
	}
	return down
}

// maxProblems limits the lines about hosts without current jobs.
const maxProblems = 4

// Draw draws the list, and below it the hosts without current jobs: a line for each, or more if there
// is room.
func (s *HostJobs) Draw(v canvas.View, w *screen.World) {
	trouble, room := s.problemLines(w), min(maxProblems, max(v.Height()/4, 1))
	if whole := wrap(trouble, v.Width()-2); len(whole) <= room {
		trouble = whole
	} else if len(trouble) > room {
		more := w.Glyphs.Failed + " and more hosts: esc leads back to the list of them"
		trouble = append(trouble[:room-1:room-1], problemLine{more, canvas.Style{Role: canvas.Bad}})
	}
	body := v.Above(v.Height() - len(trouble))
	if s.board.Len() > 0 {
		in := s.World(w)
		in.Answer = s.answer(w)
		s.list.Draw(body, in)
	} else {
		page.DrawNotice(body, []string{"No jobs have been received yet."})
	}
	for y, line := range trouble {
		v.Below(body.Height()+y).PutCut(1, 0, v.Width()-2, line.text, w.Glyphs.Ellipsis, line.style)
	}
}

// answer returns the function that adds what answers to the mouse in the list. Its requests go to the
// daemons of the hosts.
func (s *HostJobs) answer(w *screen.World) func(screen.Area) {
	if w.Answer == nil {
		return nil
	}
	return func(a screen.Area) {
		do := a.Do
		a.Do = func(x, y int) []screen.Effect { return s.route(w, do(x, y)) }
		w.Answer(a)
	}
}

// problemLine is a line about hosts without current jobs.
type problemLine struct {
	text  string
	style canvas.Style
}

// wrap returns lines of a width with the same texts.
func wrap(lines []problemLine, width int) (wrapped []problemLine) {
	for _, line := range lines {
		for _, text := range page.Wrap(display.Text(line.text), width, width) {
			wrapped = append(wrapped, problemLine{text, line.style})
		}
	}
	return wrapped
}

// problemLines names the hosts that are not reached, each with its error, and those that have not
// answered yet.
func (s *HostJobs) problemLines(w *screen.World) (lines []problemLine) {
	for _, h := range s.down() {
		jobs := "no jobs are known"
		if h.known {
			jobs = "its jobs are " + s.age(w, h.name) + " old"
		}
		text := fmt.Sprintf("%s %s (%s): %s", w.Glyphs.Failed, h.name, jobs, page.Reason(h.err))
		lines = append(lines, problemLine{text, canvas.Style{Role: canvas.Bad}})
	}
	var waiting []string
	for _, h := range s.hosts {
		if !h.known && h.err == nil {
			waiting = append(waiting, h.name)
		}
	}
	if len(waiting) > 0 {
		text := "connecting to " + display.Text(strings.Join(waiting, ", ")) + " ..."
		lines = append(lines, problemLine{text, canvas.Style{Role: canvas.Off}})
	}
	return lines
}
