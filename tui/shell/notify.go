package shell

import (
	"fmt"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
)

// beginToFail returns the jobs among rows that fail now and did not on the board. What fails when the
// dashboard begins is not new.
func (s *Shell) beginToFail(rows []api.Row) (names []string) {
	if !s.prefs.Notify && !s.prefs.Bell || !s.w.Board.Complete() {
		return nil
	}
	for i := range rows {
		before, _ := s.w.Board.Job(rows[i].Job)
		if rows[i].State == job.StateFailing && before.State != job.StateFailing {
			names = append(names, string(rows[i].Job))
		}
	}
	return names
}

// announce notifies the user of jobs that begin to fail, and shows the number of failing jobs in the
// title of the terminal.
func (s *Shell) announce(failing []string) {
	if !s.prefs.Notify && !s.prefs.Bell && s.title == "" || !s.w.Board.Complete() {
		return
	}
	n := screen.Notify{Bell: s.prefs.Bell && len(failing) > 0}
	if s.prefs.Notify {
		n.Title = s.titleText()
	}
	if s.prefs.Notify && len(failing) > 0 {
		n.Text = s.w.Status.Host + ": " + display.Count(len(failing), "new failure") + ": " + strings.Join(failing, ", ")
	}
	if n.Title != s.title || n.Text != "" || n.Bell {
		s.title = n.Title
		s.order(nil, n)
	}
}

// titleText returns the title of the terminal.
func (s *Shell) titleText() string {
	title := "cronring " + s.w.Status.Host
	if n := s.w.Board.Count(job.StateFailing); n > 0 {
		return fmt.Sprintf("%s%d %s", s.w.Glyphs.Failed, n, title)
	}
	return title
}
