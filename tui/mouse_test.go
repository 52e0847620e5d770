package tui

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell"
)

// mouse is a dashboard that is used with keys and the mouse.
type mouse struct {
	t *testing.T
	s *shell.Shell
	d *screentest.Daemon
	c *canvas.Canvas
}

func newMouse(t *testing.T, d *screentest.Daemon) *mouse {
	t.Helper()
	m := &mouse{t, newShell(Options{Start: shell.Start{World: *screentest.NewWorld(t)}}), d, canvas.New(100, 30)}
	carryAll(t, m.s, d, m.s.Init(screentest.Now))
	return m
}

func (m *mouse) keys(names ...string) *mouse {
	for _, name := range names {
		carryAll(m.t, m.s, m.d, m.s.Key(screentest.Now, screen.KeyNamed(name)))
	}
	return m
}

func (m *mouse) screen() string {
	m.c.Clear()
	m.s.Draw(m.c.View())
	return m.c.Text()
}

// click clicks on the first place of a text on the screen.
func (m *mouse) click(text string) {
	m.t.Helper()
	for y, line := range strings.Split(m.screen(), "\n") {
		if before, _, found := strings.Cut(line, text); found {
			carryAll(m.t, m.s, m.d, m.s.Click(screentest.Now, len([]rune(before)), y))
			return
		}
	}
	m.t.Fatalf("no %q on the screen:\n%s", text, m.screen())
}

// Each screen and overlay answers to clicks on what it lists and offers.
func TestEveryScreenAnswersToClicks(t *testing.T) {
	for _, tc := range []struct {
		name, keys, click, want string
	}{
		{"name of a screen", "2", "1 Jobs", "[1 Jobs]"},
		{"key of the last line", "1", "? help", "search:"},
		{"jobs", "1", " sitemap ", ">✓ ok     sitemap"},
		{"title of a column", "1", "JOB ", "sort job"},
		{"details of a job", "1", "a acknowledge", "acknowledged etl-orders"},
		{"order of jobs", "1", "sort state", "sort "},
		{"times of jobs", "1 t", "times CET", "2m49s"},
		{"states that are shown", "1 f f enter", "only failing", "Show only"},
		{"preset of runs", "2", "runs: all", "runs: failed"},
		{"states of jobs", "1 f", "f failing", "only failing"},
		{"keys of the states", "1 f f", "a all", "[ ] f failing"},
		{"columns of jobs", "1 C", "] took", ">[ ] took"},
		{"keys of the columns", "1 C", "enter done", "r run"},
		{"filter of jobs", "1 / e t l enter", "/etl", "/etl▏"},
		{"text of a filter", "1 / e t l", "tl▏", "/etl "},
		{"runs", "2", "metrics-push", "of metrics-push: ok"},
		{"timeline", "3", " sitemap ", ">sitemap"},
		{"keys of the timeline", "3", "- zoom", "1 cell = 1 h"},
		{"list of clashes", "3", "c clash list", "Clashes:"},
		{"clashes", "3 c", "02:30 Sat", ">02:30 Sat"},
		{"files", "5", "crontab billing", ">✓ crontab billing"},
		{"versions", "5 v", "28  18d", "From now to revision 28"},
		{"settings", ",", " clock ", ">clock"},
		{"values of a setting", ", enter", "esc leave", "colours of the dashboard"},
		{"keys of a setting", ", / k e y s . r u n enter enter m", "enter save", "changed keys.runs"},
		{"incident", "i", "DNS problem", ">✗ 1x"},
		{"title of statistics", "%", "SLOWEST", "by slowest"},
		{"statistics", "% tab", " logrotate ", ">logrotate"},
		{"next hour", "H", "18:05:00", "> 18:05:00"},
		{"jobs that clock changes touch", "ctrl+t tab", "pg-backup ", ">pg-backup"},
		{"tab of a job", "1 enter", " History ", "[History]"},
		{"history of a job", "1 enter tab", " 1656 ", ">✓ 17m11s"},
		{"why", "1 w", "1  see its output", "Output: etl-orders  run 1685"},
		{"why, its command", "1 w", "cronring logs 1685", "Output: etl-orders  run 1685"},
		{"tab why of a job", "1 enter", "1  see its output", "Output: etl-orders  run 1685"},
		{"search in an output", "1 o / p s q enter", "/psq", "/psq▏"},
		{"editor", "1 e", "MAILTO", "─ Line 3: "},
		{"form", "1 e f2", "hour ", ">hour"},
		{"keys of a form", "1 e f2", "esc cancel", "Save would"},
		{"help", "?", "what it printed", "Output: etl-orders"},
		{"log of commands", "@", "esc close", "[1 Jobs]"},
		{"views", "V", "s save this view", "Save this view as:"},
		{"finder", ": t i m e l", "timeline ", "[3 Timeline]"},
		{"length of a pause", "p", "1 1h", "Reason:"},
		{"what to copy", "y", "name ", "copied the name"},
		{"question", "r", "y run   w", "cronring run etl-orders"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := screentest.FilesDaemon()
			d.Real = screentest.NewDaemon().Real
			m := newMouse(t, d).keys(strings.Fields(tc.keys)...)
			before := m.screen()
			m.click(tc.click)
			if got := m.screen(); !strings.Contains(got, tc.want) || got == before {
				t.Errorf("after a click on %q: no %q on the screen:\n%s\nbefore:\n%s", tc.click, tc.want, got, before)
			}
		})
	}
}

// The wheel scrolls each screen and overlay, and back. A number behind the keys is the height of the
// terminal.
func TestWheelScrollsEveryScreen(t *testing.T) {
	for name, keys := range map[string]string{
		"jobs": "1", "states of jobs": "1 f", "columns of jobs": "1 C", "filter of jobs": "1 / e", "runs": "2", "timeline": "3", "clashes": "3 c",
		"ring": "4", "files": "5", "versions": "5 v", "settings": ",", "values of a setting": ", enter", "incident": "i 10", "statistics": "% tab 20",
		"next hour": "H", "clock changes": "ctrl+t tab", "clock changes of a job": "ctrl+t", "why": "1 w", "history of a job": "1 enter tab 20",
		"next of a job": "1 enter tab tab", "configuration of a job": "1 enter shift+tab", "output": "1 o g 10", "form": "1 e f2", "help": "?",
		"finder": ":",
	} {
		t.Run(name, func(t *testing.T) {
			d := screentest.FilesDaemon()
			d.Real = screentest.NewDaemon().Real
			m := newMouse(t, d)
			words, height := strings.Fields(keys), 12
			if n, err := strconv.Atoi(words[len(words)-1]); err == nil && n > 9 {
				words, height = words[:len(words)-1], n
			}
			m.c.Resize(80, height)
			m.screen()
			m.keys(words...).screen() // columns follow the texts in view once the height is known
			before := m.screen()
			carryAll(t, m.s, d, m.s.Wheel(screentest.Now, true, 20, height-4))
			if got := m.screen(); got == before {
				t.Errorf("the wheel changes nothing:\n%s", got)
			}
			carryAll(t, m.s, d, m.s.Wheel(screentest.Now, false, 20, height-4))
			if got := m.screen(); got != before {
				t.Errorf("the wheel does not scroll back:\n%s\nbefore:\n%s", got, before)
			}
		})
	}
}
