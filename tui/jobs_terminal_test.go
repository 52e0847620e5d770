package tui

import (
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
	screen := x.wait("✗ FAIL", "exit 3", "fatal: no route to pg-2", "1 failing job, 1 cause: no route to pg-2 (broken)", "retry 1/2 at", "Output of run", "preparing")
	if !strings.Contains(screen, "✗ 1 failing") {
		t.Errorf("the first line does not count it:\n%s", screen)
	}
	x.keys("Enter")
	x.wait("broken  ✗ FAIL  exit 3", "[Why]", "It ran, and failed", "The chain")
	x.keys("Tab")
	x.wait("[History]", "out ✗", "Runs, newest first", "Last 6 days by hour")
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
	x.gone("cronring report stats") // two Escapes at once would be another key
	x.keys("Escape")
	x.gone("/sleepy")
	x.keys("f", "f")
	x.wait("Show only", "[*] f failing 1", "only failing")
	x.keys("Enter")
	x.gone("Show only")
	x.resize(40, 15)
	x.wait(">✗ sleepy")
}
