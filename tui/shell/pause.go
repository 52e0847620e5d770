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

func (m *pauseMenu) height(_ *Shell, _, room int) int { return min(3, room) }

func (m *pauseMenu) draw(v canvas.View, s *Shell) {
	v.PutCut(1, 0, v.Width()-2, "Pause "+screen.JobsText(m.about)+" for how long?", s.w.Glyphs.Ellipsis, canvas.Style{Bold: true})
	x := 1
	for _, c := range append(pauseChoices[:len(pauseChoices):len(pauseChoices)], pauseChoice{"o", "other"}) {
		text := c.text
		if text == "" {
			text = "until resumed"
		}
		if x+display.Width(c.key+" "+text) > v.Width()-1 {
			break
		}
		end := v.Put(v.Put(x, 1, c.key, canvas.Style{Bold: true})+1, 1, text, canvas.Style{})
		s.w.ClickTypes(v.In(x, 1, end-x, 1), screen.KeyNamed(c.key))
		x = end + 3
	}
	page.DrawHints(v, 1, 2, s.w, canvas.Style{}, "esc", "cancel")
}
