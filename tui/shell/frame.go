package shell

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// Draw draws the whole frame.
func (s *Shell) Draw(v canvas.View) {
	s.w.Width = v.Width()
	s.beginAreas()
	if v.Width() < screen.LeastWidth || v.Height() < screen.LeastHeight {
		s.drawSmall(v)
		return
	}
	s.drawHead(v.Row(0))
	body := v.In(0, 1, v.Width(), v.Height()-2)
	over := 0
	if s.over != nil {
		over = s.over.height(s, v.Width(), v.Height()-1)
	}
	if over < body.Height() {
		banner := s.drawBanner(body)
		s.front().Draw(body.In(0, banner, body.Width(), body.Height()-banner), s.w)
		s.drawFoot(v.Row(v.Height() - 1))
		toast := s.drawToast(body)
		s.drawWelcome(body.In(0, 0, body.Width(), body.Height()-toast))
	}
	if s.over != nil {
		s.beginAreas()
		lay := v.In(0, v.Height()-over, v.Width(), over)
		if over < body.Height() {
			lay = v.In(0, v.Height()-over-1, v.Width(), over+1)
		}
		lay.Fill(" ", canvas.Style{})
		if over < body.Height() {
			page.DrawRule(lay.Row(0), "", s.w.Glyphs)
			lay = lay.Below(1)
		}
		s.over.draw(lay, s)
	}
}

// drawSmall draws the states of jobs on a terminal that is too small for a screen.
func (s *Shell) drawSmall(v canvas.View) {
	text := fmt.Sprintf("too small: %dx%d, need %dx%d", v.Width(), v.Height(), screen.LeastWidth, screen.LeastHeight)
	v.Put(0, 0, text, canvas.Style{})
	s.drawCounts(v.Below(1), 0)
}

// drawHead draws the first line: the host, the screens, and the state of the daemon.
func (s *Shell) drawHead(row canvas.View) {
	right := s.clockText(row.Width())
	modal, isModal := s.front().(screen.Modal)
	if _, always := s.front().(screen.Headed); row.Width() < screen.FullWidth && !always {
		row.PutRight(0, right+" ", s.linkStyle())
		s.drawCounts(row, 0)
		return
	}
	end := row.PutRight(0, right+" ", s.linkStyle())
	if s.w.ReadOnly != "" && row.Width() >= screen.FullWidth {
		end = row.In(0, 0, max(end-1, 0), 1).PutRight(0, "read-only", canvas.Style{Role: canvas.Off})
	}
	row = row.In(0, 0, max(end, 0), 1)
	if isModal {
		row.PutCut(1, 0, row.Width()-1, modal.Heading(s.w), s.w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Title, Bold: true})
		return
	}
	x := row.Put(1, 0, "cronring", canvas.Style{Role: canvas.Title, Bold: true})
	if host := s.w.Status.Host; host != "" {
		room := min(row.Width()/5, display.Width(display.Text(host)))
		row.PutCut(x+1, 0, room, host, s.w.Glyphs.Ellipsis, canvas.Style{})
		x += 1 + room
	}
	s.drawTabs(row, x+2)
}

// drawTabs names the screens that a digit brings to the front, as many as fit. The one that is shown is
// named in any case.
func (s *Shell) drawTabs(row canvas.View, x int) {
	names, shown := s.tabs()
	first := 0
	for first < shown && x+1+display.Width(strings.Join(names[first:shown+1], " ")) > row.Width() {
		if first++; first == 1 {
			x = row.Put(x, 0, s.w.Glyphs.Ellipsis, canvas.Style{})
		}
	}
	for i := first; i < len(names); i++ {
		style := canvas.Style{Bold: i == shown}
		if x+display.Width(names[i]) > row.Width() {
			row.Put(x, 0, s.w.Glyphs.Ellipsis, canvas.Style{})
			return
		}
		end := row.Put(x, 0, names[i], style)
		s.w.ClickActs(row.In(x, 0, end-x, 1), s.screens.Roots[i].Action)
		x = end + 1
	}
}

// tabs returns the names of the screens that a digit brings to the front, and which one is shown.
func (s *Shell) tabs() (names []string, shown int) {
	for i, r := range s.screens.Roots {
		name := r.Name
		if key := s.w.Keys.Key(r.Action); key != "" {
			name = key + " " + name
		}
		if s.roots[r.Action] == s.stack[0] {
			name, shown = "["+name+"]", i
		}
		names = append(names, name)
	}
	return names, shown
}

// clockText returns the state of the connection and the daemon's time.
func (s *Shell) clockText(width int) string {
	l := s.w.Link
	switch {
	case !l.Tried:
		return "connecting"
	case !l.Live:
		return "OFFLINE " + clockDistance(s.now.Sub(l.Since))
	case !s.w.Board.Complete():
		return "loading"
	}
	text := s.w.Now.In(s.w.OneZone()).Format(s.w.Clock.Layout("15:04:05") + " MST")
	switch {
	case width < 80:
		return text
	case s.w.Status.NoDaemon != "":
		return "cron " + text
	}
	return "live " + text
}

// clockDistance formats a duration as minutes and seconds: 00:14.
func clockDistance(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
	}
	return fmt.Sprintf("%02d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

func (s *Shell) linkStyle() canvas.Style {
	if s.w.Link.Tried && !s.w.Link.Live {
		return canvas.Style{Role: canvas.Bad, Bold: true}
	}
	return canvas.Style{}
}

// drawCounts draws the number of jobs in each state, without words.
func (s *Shell) drawCounts(row canvas.View, x int) {
	g, b := s.w.Glyphs, s.w.Board
	for _, c := range []struct {
		sign  string
		n     int
		style canvas.Style
	}{
		{g.Failed, b.Count(job.StateFailing), canvas.Style{Role: canvas.Bad, Bold: true}},
		{g.Late, b.Count(job.StateLate), canvas.Style{Role: canvas.Doubt, Bold: true}},
		{g.Running, b.Count(job.StateRunning), canvas.Style{Role: canvas.Busy}},
		{g.Held, b.Count(job.StatePaused) + b.Count(job.StateHeld), canvas.Style{Role: canvas.Off}},
		{g.OK, b.Count(job.StateOK), canvas.Style{Role: canvas.Good}},
	} {
		if c.n > 0 {
			x = row.Put(x, 0, fmt.Sprintf("%s%d", c.sign, c.n), c.style) + 1
		}
	}
}

// drawBanner draws above the body that the daemon does not answer, or that there is none, and returns
// the number of lines.
func (s *Shell) drawBanner(body canvas.View) int {
	l := s.w.Link
	if none := s.w.Status.NoDaemon; l.Live && none != "" {
		style := canvas.Style{Role: canvas.Doubt, Bold: true}
		body.PutCut(1, 0, body.Width()-2, display.Text(none), s.w.Glyphs.Ellipsis, style)
		return 1
	}
	if l.Live || !l.Tried {
		return 0
	}
	width := body.Width() - 2
	lines := page.Wrap(s.w.Glyphs.Failed+" "+display.Text(s.linkError()), width, width)
	bad := len(lines)
	if body.Height() >= 12 {
		message := fmt.Sprintf("Nothing is known yet. Retrying in %s.", s.retryIn())
		if s.w.Board.Len() > 0 {
			message = fmt.Sprintf("Rows below are from %s, %s ago; times are frozen. Retrying in %s.",
				s.w.Now.In(s.w.OneZone()).Format(s.w.Clock.Layout("15:04:05")), s.now.Sub(l.Since).Round(time.Second), s.retryIn())
		}
		lines = append(lines, page.Wrap(message, width, width)...)
		lines = append(lines, page.Wrap(s.offlineHint(), width, width)...)
	}
	lines = lines[:min(len(lines), max(body.Height()/2, 1))]
	for y, line := range lines {
		style := canvas.Style{}
		if y < bad {
			style = canvas.Style{Role: canvas.Bad, Bold: true}
		}
		body.PutCut(1, y, width, line, s.w.Glyphs.Ellipsis, style)
	}
	return len(lines)
}

// offlineHint returns what to do if the daemon does not answer. Without rows, it may never have run.
func (s *Shell) offlineHint() string {
	if s.w.Board.Len() == 0 {
		return "Try:  systemctl start cronring    in a clone: make run    cronring demo"
	}
	return "Start it: systemctl start cronring. To see the crontabs without it, quit and run: cronring"
}

func (s *Shell) linkError() string {
	if s.w.Link.Err == nil {
		return "cronringd does not answer"
	}
	text := s.w.Link.Err.Error()
	if _, reason, ok := strings.Cut(text, "cannot see the board: "); ok {
		return reason
	}
	return text
}

// retryIn counts down to the next attempt.
func (s *Shell) retryIn() string {
	left := s.w.Link.Retry - s.now.Sub(s.tried)
	return max(left, 0).Round(time.Second).String()
}

// drawToast draws the current message on the last lines of the body, and returns their number.
func (s *Shell) drawToast(body canvas.View) int {
	const most = 3
	if s.toast.text == "" {
		return 0
	}
	sign, style := s.w.Glyphs.OK, canvas.Style{Role: canvas.Good, Bold: true}
	if s.toast.bad {
		sign, style = s.w.Glyphs.Failed, canvas.Style{Role: canvas.Bad, Bold: true}
	}
	width := body.Width() - 4
	lines := len(page.Wrap(display.Text(s.toast.text), width, width))
	v := body.Below(body.Height() - min(lines, most))
	v.Fill(" ", canvas.Style{})
	s.w.OnClick(v, hides)
	v.Put(1, 0, sign, style)
	return page.DrawWrapped(v.In(3, 0, width, v.Height()), s.toast.text, canvas.Style{Bold: true}, s.w)
}

// hides does nothing, because Click already hides messages and hints. It keeps the click from what lies
// below.
func hides(int, int) []screen.Effect { return nil }

// usual are the keys on the last line of a screen that does not choose its own. Those
// of spare are dropped first if there is no room.
var (
	usual = []keys.Action{
		keys.Open, keys.Run, keys.Stop, keys.Pause, keys.Explain, keys.ShowOutput, keys.Edit, keys.Mark, keys.Filter,
		keys.States, keys.Sort, keys.Times, keys.Palette, keys.Help, keys.Leave,
	}
	spare = []keys.Action{
		keys.Leave, keys.Times, keys.Sort, keys.States, keys.Mark, keys.Edit, keys.Stop, keys.Pause, keys.Palette,
		keys.ShowOutput, keys.Open,
	}
)

// drawFoot draws the last line: the most useful keys of the screen.
func (s *Shell) drawFoot(row canvas.View) {
	actions, dropped := usual, spare
	if f, ok := s.front().(screen.Foot); ok {
		actions = f.Foot(s.w)
		dropped = nil
		for i := len(actions) - 1; i > 0; i-- {
			if actions[i] != keys.Help { // it lists the others
				dropped = append(dropped, actions[i])
			}
		}
	}
	x, gap := 1, 2
	if row.Width() < screen.FullWidth {
		x, gap = 0, 1
	}
	hints := s.hints(actions)
	for _, a := range dropped {
		if x+widthOf(hints, gap)-gap <= row.Width() {
			break
		}
		hints = without(hints, a)
	}
	for _, h := range hints {
		style := canvas.Style{}
		if h.off {
			style = canvas.Style{Role: canvas.Off}
		}
		keyStyle := style
		keyStyle.Bold = !h.off
		end := row.Put(row.Put(x, 0, h.key, keyStyle), 0, " "+h.word, style)
		s.w.ClickActs(row.In(x, 0, end-x, 1), h.action)
		x = end + gap
	}
}

// hint is one key at the foot.
type hint struct {
	action    keys.Action
	key, word string
	off       bool
}

func (s *Shell) hints(actions []keys.Action) []hint {
	var all []hint
	typist, ok := s.front().(screen.Typist)
	typing := ok && typist.Typing()
	for _, a := range actions {
		if b, ok := s.w.Keys.Binding(a); ok && len(b.Keys) > 0 {
			off := s.refuses(a) != "" || typing && types(b.Keys[0])
			all = append(all, hint{a, b.Keys[0], b.Short, off})
		}
	}
	return all
}

// types reports a key that, while text is typed, is part of the text or ends it.
func types(key string) bool {
	return utf8.RuneCountInString(key) == 1 || key == "space" || key == "enter"
}

func widthOf(hints []hint, gap int) int {
	n := 0
	for _, h := range hints {
		n += display.Width(h.key) + 1 + display.Width(h.word) + gap
	}
	return n
}

func without(hints []hint, a keys.Action) []hint {
	for i, h := range hints {
		if h.action == a {
			return append(hints[:i:i], hints[i+1:]...)
		}
	}
	return hints
}

// toastTime is the time that a message is shown.
const toastTime = 6 * time.Second

// toast is a message on the last lines of the body. The next key hides it.
type toast struct {
	text  string
	bad   bool
	until time.Time
}

// MessageIsOver reports that a message is on the screen whose time is over.
func (s *Shell) MessageIsOver(now time.Time) bool {
	return s.toast.text != "" && now.After(s.toast.until)
}

// showMessage shows a message, warn an error.
func (s *Shell) showMessage(text string) { s.toast = toast{text, false, s.now.Add(toastTime)} }
func (s *Shell) warn(text string)        { s.toast = toast{text, true, s.now.Add(toastTime)} }

// welcome are the hints for the first start: a key, and what it does.
var welcome = []struct {
	action keys.Action
	text   string
}{
	{keys.Explain, "on a job shows why it ran or did not, and what helps"},
	{keys.Palette, "finds commands, jobs and screens by some letters of their names"},
	{keys.Filter, "lists only the jobs that match, such as user:www state:fail"},
	{keys.Undo, "undoes your last change; you are asked before what cannot be undone"},
	{keys.Help, "lists all keys of the screen"},
}

// drawWelcome draws the hints on the last lines of the body, which they fill at most to a half.
func (s *Shell) drawWelcome(body canvas.View) {
	hints, wide := s.welcomeHints()
	height := min(len(hints)+1, body.Height()/2)
	if !s.welcome || height < 2 {
		return
	}
	v := body.Below(body.Height() - height)
	v.Fill(" ", canvas.Style{})
	s.w.OnClick(v, hides)
	page.DrawRule(v.Row(0), "Hints for the first start; any key hides them", s.w.Glyphs)
	for y, h := range hints[:height-1] {
		v.Put(1, y+1, h.key, canvas.Style{Bold: true})
		v.PutCut(wide+3, y+1, v.Width()-wide-4, h.word, s.w.Glyphs.Ellipsis, canvas.Style{})
		s.w.ClickActs(v.Row(y+1), h.action)
	}
}

// welcomeHints returns the hints about actions that have a key, and the width of the keys.
func (s *Shell) welcomeHints() (hints []hint, wide int) {
	for _, w := range welcome {
		if key := s.w.Keys.Key(w.action); key != "" {
			hints = append(hints, hint{action: w.action, key: key, word: w.text})
			wide = max(wide, display.Width(key))
		}
	}
	return hints, wide
}
