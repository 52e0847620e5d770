package shell

import (
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/timeinput"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// pauseMenu asks how long to pause jobs. A key chooses, and then the user may type a
// reason.
type pauseMenu struct{ about screen.Subject }

// pauseChoice is a time at which a pause ends.
type pauseChoice struct {
	key  string
	text string // as the user could type it; empty: until somebody resumes the jobs
}

var pauseChoices = []pauseChoice{{"enter", ""}, {"1", "1h"}, {"2", "2h"}, {"8", "8h"}, {"t", "tomorrow 08:00"}}

// pause pauses jobs, or resumes them if all are paused.
func (s *Shell) pause(about screen.Subject) {
	switch w := s.world(about); {
	case s.w.ReadOnly != "":
		s.warn(s.w.ReadOnly)
	case change.Paused(w, about):
		s.propose(about, change.Resume(w, about))
	default:
		s.over = &pauseMenu{about}
	}
}

func (m *pauseMenu) key(s *Shell, k screen.Key) {
	switch k.Name {
	case "esc", "q", "n":
		s.over = nil
	case "o":
		s.over = &prompt{
			title: "Pause " + screen.JobsText(m.about) + " until:", hint: timeinput.EndHelp + ", or how long: 90m, 2d",
			done: m.until,
		}
	default:
		for _, c := range pauseChoices {
			if c.key == k.Name {
				m.until(s, c.text)
			}
		}
	}
}

// until reads when the pause ends and asks for its reason.
func (m *pauseMenu) until(s *Shell, text string) {
	var until time.Time
	ends := "until resumed"
	if text != "" {
		var err error
		if until, err = timeinput.ParseEnd(text, s.w.Now, s.w.Now, s.w.OneZone()); err != nil {
			s.warn(err.Error())
			return
		}
		ends = "until " + s.w.Clock.Stamp(until.In(s.w.OneZone()), s.w.Now)
	}
	s.over = &prompt{
		title: "Reason:", hint: "for the pause of " + screen.JobsText(m.about) + " " + ends + " (optional)", optional: true,
		done: func(s *Shell, reason string) {
			s.propose(m.about, change.Pause(s.world(m.about), m.about, until, reason))
		},
	}
}

func (m *pauseMenu) height(_ *Shell, width, room int) int {
	return min(2+len(choiceLines(width)), room)
}

// choiceLines returns the choices of the menu, in lines that fit into a width.
func choiceLines(width int) (lines [][]pauseChoice) {
	room := 0
	for _, c := range append(pauseChoices[:len(pauseChoices):len(pauseChoices)], pauseChoice{"o", "other"}) {
		if c.text == "" {
			c.text = "until resumed"
		}
		n := display.Width(c.key + " " + c.text)
		if len(lines) == 0 || n > room {
			lines, room = append(lines, nil), width-2
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], c)
		room -= n + 3
	}
	return lines
}

func (m *pauseMenu) draw(v canvas.View, s *Shell) {
	v.PutCut(1, 0, v.Width()-2, "Pause "+screen.JobsText(m.about)+" for how long?", s.w.Glyphs.Ellipsis, canvas.Style{Bold: true})
	lines := choiceLines(v.Width())
	for i, line := range lines {
		x, y := 1, 1+i
		for _, c := range line {
			end := v.Put(v.Put(x, y, c.key, canvas.Style{Bold: true})+1, y, c.text, canvas.Style{})
			s.w.ClickTypes(v.In(x, y, end-x, 1), screen.KeyNamed(c.key))
			x = end + 3
		}
	}
	page.DrawHints(v, 1, 1+len(lines), s.w, canvas.Style{}, "esc", "cancel")
}
