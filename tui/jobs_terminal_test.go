package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const brokenCrontab = `
#@ name=broken retry=2 backoff=10m
0 0 1 1 * echo "preparing"; echo "fatal: no route to pg-2" >&2; exit 3
#@ name=sleepy
0 0 1 1 * echo "going to bed"; exec sleep 600
#@ name=` + "\u202ered" + `
0 0 1 1 * true
`

// A person finds out on the screen of the jobs what went wrong with one.
func TestTerminalShowsAJob(t *testing.T) {
	h := newHost(t, brokenCrontab)
	x := h.open(160, 48)
	x.wait("broken", "sleepy", "live ")
	x.keys("/")
	x.typing("broken")
	x.wait("/broken", "1/1")
	x.keys("Enter", "r")
	x.wait("Run broken now")
	x.keys("y")
	x.wait("✗ 1 failing", "✗ FAIL", "exit 3", "fatal: no route to pg-2", "1 failing job, 1 cause: no route to pg-2 (broken)", "retry 1/2 at", "Output of run", "preparing")
	x.keys("Enter")
	x.wait("broken  ✗ FAIL  exit 3", "[Why]", "It ran, and failed", "The chain")
	x.keys("Tab")
	x.wait("[History]", "out ✗", "runs of broken: all", "waiting", "retry", "Last 6 days by hour")
	x.keys("Tab")
	newYear := time.Date(time.Now().UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	x.wait("[Next]", newYear.Format("Mon 2 Jan"), "In a shell")
	x.keys("Tab")
	x.wait("[Output]", "out  preparing", "err  fatal: no route to pg-2")
	x.keys("Tab")
	x.wait("[Config]", "backoff", "my.crontab:2", "Defaults")
	x.keys("Escape")
	x.wait("[1 Jobs]", "✗ 1 failing")
	x.keys("a")
	x.wait("acknowledged broken", "cronring ack broken")
	x.gone("✗ 1 failing")
	x.keys("Escape")
	x.wait("sleepy")
	x.resize(80, 24)
	x.keys("/")
	x.typing("sleepy")
	x.keys("Enter", "r")
	x.wait("Run sleepy now")
	x.keys("y")
	x.wait("► run  sleepy", "sleepy: running for ")
	x.keys("x")
	x.wait("Stop sleepy?")
	x.keys("y")
	x.wait("✗ FAIL sleepy", "stopped by ")
	x.keys(":")
	x.typing("report stats --by user")
	x.keys("Enter")
	x.wait("cronring report stats --by user", "RUNS")
	x.keys("Escape")
	x.gone("cronring report stats")
	x.wait("/sleepy") // two Escapes at once would be another key
	x.keys("Escape")
	x.gone("/sleepy")
	x.keys("f", "f")
	x.wait("Show only", "[*] f failing 1", "only failing")
	x.keys("Enter")
	x.gone("Show only")
	x.resize(40, 15)
	x.wait(">✗ sleepy")
}

// A person finds a failing job by a misspelled name, follows events, and has a command repeated.
func TestTerminalFindsWithTypos(t *testing.T) {
	h := newHost(t, brokenCrontab)
	x := h.open(100, 30)
	x.wait("broken", "sleepy", "live ")
	x.keys("C-p")
	x.typing("brokne")
	x.wait("> broken", "job")
	x.keys("Enter")
	x.wait("[Why]")
	x.keys(":")
	x.typing("run --force brok")
	x.wait("run --force broken")
	x.keys("Down", "Enter")
	x.wait("Run this command?  cronring run --force broken")
	x.keys("y")
	x.wait("cronring run --force broken", "run 1  broken  starting")
	x.keys("@")
	x.wait("What was done here", "✓", "run --force broken", "run 1  broken  starting")
	x.keys("Escape")
	x.gone("What was done here")
	x.keys(":")
	x.typing("rpevents")
	x.wait("> report events")
	x.keys("Enter")
	x.wait("cronring report events", "Nothing yet: new lines appear here")
	x.keys("Escape")
	x.gone("cronring report events")
	x.keys(":")
	x.wait("> report events", "recent")
}

// mouse sends a gesture of the mouse on the first place of a text: 0 a click, 64 the wheel up, 65 down.
func (x *terminal) mouse(button int, text string) {
	x.t.Helper()
	screen := x.wait(text)
	for y, line := range strings.Split(screen, "\n") {
		if before, _, found := strings.Cut(line, text); found {
			at := fmt.Sprintf("\x1b[<%d;%d;%d", button, len([]rune(before))+1, y+1)
			if x.typing(at + "M"); button == 0 {
				x.typing(at + "m") // a wheel is not released
			}
			return
		}
	}
	x.t.Fatalf("no %q on the screen:\n%s", text, screen)
}

func (x *terminal) click(text string) {
	x.t.Helper()
	x.mouse(0, text)
}

// The mouse is on from the start: names of screens, titles of columns, rows, menus, remedies, and the
// text and the form of the editor answer to a click, and the wheel scrolls.
func TestTerminalMouse(t *testing.T) {
	x := newHost(t, brokenCrontab).open(80, 24)
	x.wait("broken", "sleepy", "live ")
	x.click("JOB ")
	x.wait("sort job")
	x.click("sleepy")
	x.wait("─ sleepy: ")
	x.keys("f")
	x.wait("Show only")
	x.click("n new")
	x.wait("[*] n new", "only new")
	x.mouse(64, "Show only") // which leaves the menu open
	x.wait(">· new  broken")
	x.click("a all")
	x.wait("[ ] n new")
	x.click("enter done")
	x.gone("Show only")
	x.click("r run  x")
	x.wait("Run broken now")
	x.click("y run")
	x.wait("✗ FAIL broken")
	x.keys("w")
	x.wait("Do one of these", "see its output")
	x.click("see its output")
	x.wait("Output: broken", "err  fatal: no route to pg-2")
	x.keys("Escape")
	x.wait("Do one of these")
	x.keys("Escape")
	x.wait("[1 Jobs]")
	x.click("2 Runs")
	x.wait("[2 Runs]")
}

// A click places the cursor of the editor, and chooses a field of its form; the wheel scrolls.
func TestTerminalMouseInTheEditor(t *testing.T) {
	x := newHost(t, brokenCrontab+strings.Repeat("# filled\n", 40)).open(80, 24)
	x.wait("broken", "sleepy", "live ")
	x.keys("e")
	x.wait("#@ name=sleepy", "─ Line 3: ")
	x.click("sleepy")
	x.wait("─ Line 4: ")
	x.typing("very")
	x.wait("#@ name=verysleepy")
	x.mouse(65, "#@ name=verysleepy")
	x.gone("#@ name=broken")
	x.mouse(64, "#@ name=verysleepy")
	x.wait("#@ name=broken")
	x.click("exec sleep")
	x.wait("─ Line 5: ")
	x.click("f2 form")
	x.wait("Line 5 ─", ">minute")
	x.click("hour ")
	x.wait(">hour")
	x.click("esc cancel")
	x.gone(">hour")
}

// With --notify a failure rings the bell, is shown on the desktop and counted in the title, and the
// terminal has its own title back in the end.
func TestTerminalNotifies(t *testing.T) {
	x := newHost(t, brokenCrontab).open(80, 24, "--notify", "--job", "broken")
	x.wait(">· new  broken", "live ")
	x.keys("r")
	x.wait("Run broken now")
	x.keys("y")
	x.wait("✗ FAIL broken")
	x.until("the terminal is notified", func(string) bool { return strings.Contains(x.written(), "\x1b]777;notify;cronring;") })
	got := x.quit()
	for _, want := range []string{"\x1b[22;2t", "\x1b]2;✗1 cronring ", "\a\x1b]9;", "1 new failure: broken\x1b\\", "\x1b]777;notify;cronring;", "\x1b[23;2t"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// A person filters the jobs by fields, is told of a mistake, and keeps the list meanwhile.
func TestTerminalFiltersByField(t *testing.T) {
	h := newHost(t, brokenCrontab+"#@ name=web labels=team:web\n0 0 1 1 * true\n")
	x := h.open(100, 30)
	x.wait("broken", "sleepy", "web", "live ")
	x.keys("/")
	x.typing("label:team:web !slee")
	x.wait("/label:team:web !slee", "1/1", "web")
	x.keys("C-u")
	x.typing("lable:web")
	x.wait("no field is called lable: did you mean label?", "web")
	x.keys("C-u")
	x.typing("state:new /^(brok|slee)/")
	x.wait("1/2", "broken", "sleepy")
	x.keys("C-u")
	x.typing("brokne")
	x.wait("1/1", ">· new  broken")
}
