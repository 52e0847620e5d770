package shell

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// act performs an action, or shows why it does nothing now.
func (s *Shell) act(a keys.Action) {
	if why := s.refuses(a); why != "" {
		s.warn(s.word(a) + ": " + why)
		return
	}
	if moves[a] {
		s.moved = s.now
		s.w.Busy = true
	}
	front := s.front()
	if s.everywhere(a) || a != keys.Open && s.do(a, front.Subject(s.w)) {
		return
	}
	effects, ok := front.Act(s.w, a)
	s.perform(front, effects)
	if !ok {
		s.warn(s.word(a) + ": nothing here to do that with")
	}
}

// moves are the actions after which lists are not sorted for a while.
var moves = map[keys.Action]bool{
	keys.Down: true, keys.Up: true, keys.First: true, keys.Last: true, keys.HalfDown: true, keys.HalfUp: true,
	keys.PageDown: true, keys.PageUp: true, keys.Mark: true, keys.Range: true,
}

// word returns the short name of an action.
func (s *Shell) word(a keys.Action) string {
	if b, ok := s.w.Keys.Binding(a); ok {
		return b.Short
	}
	return string(a)
}

// actOn performs an action on a subject that a screen chose.
func (s *Shell) actOn(a keys.Action, about screen.Subject) {
	switch why := s.refusesFor(a, about); {
	case why != "":
		s.warn(s.word(a) + ": " + why)
	case !s.do(a, about):
		s.warn(s.word(a) + ": nothing here to do that with")
	}
}

// refuses returns why an action does nothing now, or "".
func (s *Shell) refuses(a keys.Action) string {
	if why := s.refusesFor(a, s.front().Subject(s.w)); why != "" {
		return why
	}
	return s.front().Refuses(s.w, a)
}

// refusesFor returns why an action does nothing to a subject, or "".
func (s *Shell) refusesFor(a keys.Action, about screen.Subject) string {
	if why := s.refusesAll(a, about); why != "" {
		return why
	}
	if a == keys.Undo {
		return s.refusesUndo(about)
	}
	if why := s.refusesSubject(a, about); why != "" {
		return why
	}
	return s.world(about).Denied(a, about)
}

// refusesAll returns why an action does nothing to any subject in a world, or "".
func (s *Shell) refusesAll(a keys.Action, about screen.Subject) string {
	if changes[a] {
		switch l := s.world(about).Link; {
		case s.w.ReadOnly != "":
			return s.w.ReadOnly
		case !l.Live:
			return "the daemon does not answer"
		}
	}
	if needsDaemon[a] && s.w.Status.NoDaemon != "" {
		return screen.NeedsDaemon
	}
	if a == keys.Reload && s.w.Status.Denied.Reload != "" {
		return s.w.Status.Denied.Reload
	}
	if a == keys.Previous && len(s.previous) == 0 {
		return "no previous view"
	}
	return ""
}

// changes are the actions that need write access and a connection to the daemon.
var changes = map[keys.Action]bool{
	keys.Run: true, keys.Stop: true, keys.Pause: true, keys.Acknowledge: true, keys.Backfill: true, keys.Retry: true,
	keys.Delete: true, keys.Add: true, keys.Edit: true, keys.Undo: true, keys.Reload: true, keys.Save: true, keys.Try: true,
}

// needsDaemon are the actions that only a daemon can perform. Without one, crontabs can still be changed.
var needsDaemon = map[keys.Action]bool{
	keys.Run: true, keys.Stop: true, keys.Pause: true, keys.Acknowledge: true, keys.Backfill: true, keys.Retry: true,
	keys.Undo: true, keys.Try: true, keys.External: true,
}

// everywhere performs actions that are the same on all screens, and reports whether
// the action is one of them.
func (s *Shell) everywhere(a keys.Action) bool {
	if root, ok := s.roots[a]; ok {
		s.switchTo([]screen.Screen{root})
		return true
	}
	switch a {
	case keys.Help:
		s.over = &help{scopes: []keys.Scope{s.front().Scope(), keys.Subject, keys.List, keys.Everywhere}}
	case keys.CommandLog:
		s.over = &commandLog{}
	case keys.Palette:
		s.openPalette()
	case keys.Undo:
		s.takeBack()
	case keys.Previous:
		s.switchTo(s.previous)
	case keys.Times:
		s.w.Absolute = !s.w.Absolute
	case keys.Zone:
		s.nextZone()
	case keys.Views:
		s.openViews()
	case keys.Mouse:
		s.toggleMouse()
	case keys.Reload:
		s.confirm(nil, reload())
	case keys.Quit:
		s.order(nil, screen.Quit{})
	case keys.Redraw:
		s.order(nil, screen.Redraw{})
	case keys.Back:
		s.back(a)
	case keys.Leave:
		if !s.back(a) {
			s.order(nil, screen.Quit{})
		}
	default:
		return false
	}
	return true
}

// back goes back, unless the screen handles the key itself, for example to clear a filter or marks.
func (s *Shell) back(a keys.Action) bool {
	front := s.front()
	effects, ok := front.Act(s.w, a)
	s.perform(front, effects)
	return ok || s.pop()
}

func (s *Shell) nextZone() {
	s.w.Zone = (s.w.Zone + 1) % (screen.ZoneUTC + 1)
	s.showMessage("times are in " + map[screen.ZoneMode]string{
		screen.ZoneLocal: "the zone of this terminal", screen.ZoneJob: "the zone of each job", screen.ZoneUTC: "UTC"}[s.w.Zone])
}

func (s *Shell) toggleMouse() {
	s.perform(nil, []screen.Effect{screen.Mouse{On: !s.mouse}})
	if s.mouse {
		s.showMessage("the mouse clicks and scrolls; to select text, hold shift")
	} else {
		s.showMessage("the mouse selects text")
	}
}

// do performs an action on jobs or runs, which is the same on every screen. It reports whether the
// action is such an action.
func (s *Shell) do(a keys.Action, about screen.Subject) bool {
	w := s.world(about)
	if open, ok := s.screens.Opened[a]; ok {
		s.push(open(s.w, about))
		return true
	}
	switch a {
	case keys.Run:
		s.propose(about, change.Run(w, about))
	case keys.Stop:
		s.propose(about, change.Stop(w, about))
	case keys.Pause:
		s.pause(about)
	case keys.Acknowledge:
		s.propose(about, change.Acknowledge(w, about))
	case keys.Delete:
		s.propose(about, change.Remove(w, about))
	case keys.Retry:
		s.propose(about, change.Retry(w, about))
	case keys.Backfill:
		s.backfill(about)
	case keys.Copy:
		s.over = newCopyMenu(s.w, about)
	default:
		return false
	}
	return true
}

// refusesSubject returns why an action does not apply to a subject, or "".
func (s *Shell) refusesSubject(a keys.Action, about screen.Subject) string {
	if b, _ := s.w.Keys.Binding(a); b.Scope != keys.Subject || a == keys.Add {
		return ""
	}
	if len(about.Jobs) == 0 && about.Run == 0 && (a != keys.Edit || about.File == "") {
		return "nothing is selected"
	}
	rows := s.world(about).Rows(about)
	if changes[a] && a != keys.Stop && (a != keys.Edit || about.File == "") &&
		len(about.Jobs) > 0 && len(rows) == 0 && s.world(about).Board.Complete() {
		return "the job no longer exists"
	}
	switch a {
	case keys.Stop:
		if about.Run == 0 && !slices.ContainsFunc(rows, func(r api.Row) bool { return r.Live > 0 }) {
			return "not running"
		}
	case keys.Acknowledge:
		if !slices.ContainsFunc(rows, func(r api.Row) bool { return r.State == job.StateFailing }) {
			return "no failure"
		}
	case keys.Backfill:
		if len(about.Jobs) != 1 {
			return "one job at a time"
		}
	case keys.ShowOutput, keys.PageOutput:
		if about.Run == 0 && len(rows) > 0 && rows[0].LastRun == 0 && rows[0].Live == 0 {
			return "no run is known"
		}
	}
	return ""
}

// reload has the daemon read all crontab files again.
func reload() screen.Do {
	return screen.Do{
		Class: screen.Undoable, Question: "read all crontab files again", Command: []string{"cronring", "reload"},
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			diagnostics, err := d.Reload(ctx)
			return fmt.Sprintf("read all crontab files again: %d diagnostics", len(diagnostics)), err
		},
	}
}

// customOn returns the command of the user's settings that a key runs on the front screen, or nil.
// The keys of the dashboard come first.
func (s *Shell) customOn(key string) *custom.Command {
	i := slices.IndexFunc(s.custom, func(c custom.Command) bool { return c.Key == key && c.WorksOn(s.front().Scope()) })
	if i < 0 {
		return nil
	}
	return &s.custom[i]
}

// runCustom runs a command of the user's settings about the selection, or shows why it cannot.
func (s *Shell) runCustom(c *custom.Command) {
	if why := s.refusesCustom(c); why != "" {
		s.warn(c.Name + ": " + why)
		return
	}
	values, environment := s.values(), s.w.Environment()
	process := func(ctx context.Context) *exec.Cmd { return c.Process(ctx, values, environment) }
	d := screen.Do{Class: screen.Undoable, Question: c.Name, Shell: c.Text(values)}
	if c.Confirm {
		d.Class, d.Question = screen.Effects, "Run this command?  "+d.Shell
	}
	switch c.Output {
	case custom.Terminal:
		d.Program = func() *exec.Cmd { return process(context.Background()) }
	case custom.Message:
		d.Call = func(ctx context.Context, _ screen.Daemon) (string, error) { return custom.LastLine(process(ctx)) }
	default:
		d.Show = s.screens.Process(d.Shell, process)
	}
	s.confirm(s.front(), d)
}

// refusesCustom returns why a command of the user's settings cannot run now, or "".
func (s *Shell) refusesCustom(c *custom.Command) string {
	if s.elsewhere(s.front().Subject(s.w)) != nil {
		return "on its host: enter opens the job there"
	}
	return cmp.Or(s.w.ReadOnly, c.Refuses(s.values()))
}

// values returns the values of the placeholders in commands.
func (s *Shell) values() custom.Values {
	about := s.w.Placed(s.front().Subject(s.w))
	v := custom.Values{"job": screen.Refs(about)}
	add := func(name, value string) {
		if value != "" && value != "0" {
			v[name] = []string{value}
		}
	}
	run := about.Run
	if row, ok := s.w.Row(about); ok && run == 0 {
		run = row.LastRun
	}
	add("run", run.String())
	add("file", about.File)
	add("line", strconv.Itoa(about.Line))
	add("host", cmp.Or(s.w.Remote, s.w.Status.Host))
	return v
}
