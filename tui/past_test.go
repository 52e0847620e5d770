package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
)

// attack writes what would take a terminal over, and then fails.
const attack = `printf '\033[2J\033[Hcleared\n\033]0;owned\007title\n\033]52;c;b3duZWQ=\007clip\n\033P+q544e\033\\device\n\233 c1\n\377\376 bytes\n'
printf 'user \342\200\256gpj.exe\n10%%\r50%%\r100%%\n\033[31mred\033[0m\ttab\n'
head -c 10000000 /dev/zero | tr '\0' x; echo
printf 'psql: error: connection to server at "pg-2" (10.0.0.7) failed: \033]0;owned\007timeout\n' >&2
exit 3
`

// runNow runs jobs and waits for their ends.
func (h *host) runNow(refs ...string) {
	h.t.Helper()
	client := api.Dial(h.socket)
	defer client.Close()
	if _, err := client.Run(h.t.Context(), api.RunRequest{Refs: refs, Wait: true}); err != nil {
		h.t.Fatal(err)
	}
}

func TestTerminalShowsThePast(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "attack")
	if err := os.WriteFile(script, []byte(attack), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, "#@ name=attack\n0 0 1 1 * sh "+script+"\n#@ name=fine\n0 0 1 1 * echo all is well\n")
	h.runNow("attack")
	h.runNow("fine")
	x := h.open(80, 24)
	x.wait("[1 Jobs]", "attack", "psql: error: connection to server")
	x.keys("2")
	x.wait("runs: all", "exit 3", "fine")
	x.keys("f")
	x.wait("runs: failed")
	x.gone("fine")
	x.wait("1/1")
	x.keys("Enter")
	x.wait("Output: attack", "exit 3 after")
	x.keys("g")
	x.wait("cleared", "title", "clip", "device", " c1", "user gpj.exe", "out  100%", "red     tab")
	x.keys("/")
	x.typing("PSQL")
	x.wait("in 1 line", ">", "psql: error")
	x.keys("Enter")
	x.keys("Escape")
	x.gone("in 1 line")
	x.keys("w")
	x.wait("Why: attack", "The chain, first cross wins", "same text in a shell")
	x.keys("i")
	x.wait("Incident: 1 failure", "1 cause", "psql: error")
	x.keys("C-s")
	x.wait("written to incident-")
	if found, _ := filepath.Glob(filepath.Join(h.dir, "incident-*.md")); len(found) != 1 {
		t.Errorf("got the write-ups %v, want one", found)
	}
	checkUnharmed(t, x)
}

// checkUnharmed quits, and checks that nothing of the attack came through to the
// terminal.
func checkUnharmed(t *testing.T, x *terminal) {
	t.Helper()
	title := x.tmux("display-message", "-p", "#{pane_title}")
	if strings.Contains(title, "owned") {
		t.Errorf("the title of the terminal is %q", title)
	}
	got := x.quit()
	for _, sequence := range []string{"owned", "b3duZWQ", "\x1bP", "\x9b", "\u202e", "\r50%"} {
		if i := strings.Index(got, sequence); i >= 0 {
			t.Errorf("the dashboard wrote %q", got[max(i-40, 0):min(i+40, len(got))])
		}
	}
}

func TestTerminalFollowsOutput(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	h := newHost(t, "#@ name=slow\n0 0 1 1 * echo first; until test -e "+gate+"; do sleep 0.05; done; echo second\n")
	client := api.Dial(h.socket)
	defer client.Close()
	if _, err := client.Run(t.Context(), api.RunRequest{Refs: []string{"slow"}}); err != nil {
		t.Fatal(err)
	}
	x := h.open(80, 24)
	x.wait("slow", "► run")
	x.keys("o")
	x.wait("Output: slow", "first", "follow")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x.wait("second", "ok after")
	h.runNow("slow")
	x.keys("]")
	x.wait("run 2", "ok after")
	x.keys("=")
	x.wait("run 2 against 1", "The output is the same")
	x.keys("Escape")
	x.gone("against")
	x.keys("[")
	x.wait("run 1", "second")
	x.keys("]")
	x.wait("run 2", "second")
	x.keys("]")
	x.wait("run 2 is the newest of slow")
}
