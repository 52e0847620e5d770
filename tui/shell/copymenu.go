package shell

import (
	"fmt"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// copyMenu lists texts about a job or a run that can be copied to the clipboard.
type copyMenu struct{ items []copyItem }

type copyItem struct{ key, what, text string }

func newCopyMenu(w *screen.World, about screen.Subject) *copyMenu {
	m := &copyMenu{}
	add := func(key, what, text string) { m.items = append(m.items, copyItem{key, what, text}) }
	if len(about.Jobs) > 0 {
		add("n", "name", screen.Names(about.Jobs))
	}
	if rows := w.Rows(about); len(rows) == 1 {
		add("c", "command", rows[0].Command)
		add("s", "source", fmt.Sprintf("%s:%d", rows[0].Crontab, rows[0].Line))
		if about.Run == 0 {
			about.Run = rows[0].LastRun
		}
		if why := rows[0].Why; why != "" {
			add("w", "reason", why)
		}
		add("y", "shell", w.InShell(display.ShellLine(change.Command("why", about))))
	}
	if about.Run != 0 {
		add("r", "run", fmt.Sprint(about.Run))
		add("l", "logs", w.InShell(display.ShellLine([]string{"cronring", "logs", fmt.Sprint(about.Run)})))
	}
	return m
}

func (m *copyMenu) key(s *Shell, k screen.Key) {
	if k.Name == "esc" || k.Name == "q" {
		s.over = nil
		return
	}
	for _, item := range m.items {
		if item.key == k.Name {
			s.over = nil
			s.perform(nil, []screen.Effect{screen.Clip{Text: item.text, What: "the " + item.what}})
		}
	}
}

func (m *copyMenu) height(_ *Shell, _, room int) int { return min(len(m.items)+2, room) }

func (m *copyMenu) draw(v canvas.View, s *Shell) {
	v.PutCut(1, 0, v.Width()-2, "Copy what?", s.w.Glyphs.Ellipsis, canvas.Style{Bold: true})
	for i, item := range m.items {
		if i+2 >= v.Height() {
			break
		}
		v.Put(2, i+1, item.key, canvas.Style{Bold: true})
		v.Put(4, i+1, item.what, canvas.Style{})
		s.w.ClickTypes(v.Row(i+1), screen.KeyNamed(item.key))
		v.PutCut(14, i+1, v.Width()-15, item.text, s.w.Glyphs.Ellipsis, canvas.Style{Faint: true})
	}
	page.DrawHints(v, 1, v.Height()-1, s.w, canvas.Style{}, "esc", "cancel")
}
