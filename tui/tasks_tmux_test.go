package tui

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// maxKeys limits the keys of a usual task. Typed text, such as a name or a reason, is
// not counted.
const maxKeys = 4

// tasksCrontab has jobs that fail, that run until they are stopped, and that share a minute of each
// hour. That minute is half an hour away: no occurrence comes while a test counts runs.
var tasksCrontab = fmt.Sprintf(`#@ name=broken
0 0 1 1 * echo "preparing"; echo "fatal: no route to pg-2" >&2; exit 3
#@ name=fine
0 0 1 1 * echo all is well
#@ name=sleepy
0 0 1 1 * echo going to bed; exec sleep 600
#@ name=often-a
%[1]d * * * * true
#@ name=often-b
%[1]d * * * * true
`, time.Now().UTC().Add(30*time.Minute).Minute())

// taskScreen is a dashboard in which a user does one task. It counts the keys.
type taskScreen struct {
	*terminal
	pressed int
}

func (x *taskScreen) press(names ...string) {
	x.t.Helper()
	x.pressed += len(names)
	x.keys(names...)
}

// tasks are what users of a dashboard do most. job is the job under the cursor. The first run of
// broken has ended.
var tasks = []struct {
	name, job string
	do        func(h *host, x *taskScreen)
}{
	{"find a failing job", "", func(h *host, x *taskScreen) {
		x.wait(">✗ FAIL broken", "✗ 1 failing")
	}},
	{"why", "broken", func(h *host, x *taskScreen) {
		x.press("w")
		x.wait("Why: broken", "It ran, and failed")
	}},
	{"output", "broken", func(h *host, x *taskScreen) {
		x.press("o")
		x.wait("Output: broken", "fatal: no route to pg-2")
	}},
	{"search", "broken", func(h *host, x *taskScreen) {
		x.press("o")
		x.wait("Output: broken", "fatal")
		x.press("/")
		x.typing("prep")
		x.wait("in 1 line")
	}},
	{"follow", "sleepy", func(h *host, x *taskScreen) {
		h.begin("sleepy")
		x.wait("► run  sleepy")
		x.press("o")
		x.wait("Output: sleepy", "going to bed", "follow")
	}},
	{"rerun", "broken", func(h *host, x *taskScreen) {
		x.press("C-r")
		x.wait("Run the last failure of broken again")
		x.press("y")
		x.wait("started run 2 of broken", "cronring retry broken")
	}},
	{"run and watch", "fine", func(h *host, x *taskScreen) {
		x.press("r")
		x.wait("Run fine now")
		x.press("w")
		x.wait("Output: fine", "all is well", "ok after")
	}},
	{"stop", "sleepy", func(h *host, x *taskScreen) {
		h.begin("sleepy")
		x.wait("► run  sleepy")
		x.press("x")
		x.wait("Stop sleepy?")
		x.press("y")
		x.wait("stopped by ")
	}},
	{"pause for 2 h with a reason", "fine", func(h *host, x *taskScreen) {
		x.press("p")
		x.wait("Pause fine for how long?", "2h")
		x.press("2")
		x.wait("Reason:")
		x.typing("moving the disk")
		x.press("Enter")
		x.wait("paused fine", "--reason")
	}},
	{"resume", "fine", func(h *host, x *taskScreen) {
		h.pause("fine")
		x.wait("‖ 1")
		x.press("p")
		x.wait("resumed fine")
	}},
	{"edit with preview", "fine", func(h *host, x *taskScreen) {
		x.press("e")
		x.wait("Edit ", "all is well", "Save would")
		x.typing("3")
		x.wait("Line 4: at 00:30 on 1 January", "next ", "year ", "~1 changed (fine: schedule)")
		x.press("C-s")
		x.wait("saved ")
	}},
	{"add", "fine", func(h *host, x *taskScreen) {
		x.press("A")
		x.wait("New entry", "minute")
		x.typing("30 4 * * 1-5 echo backup")
		x.wait("at 04:30 on Monday to Friday")
		x.press("Enter")
		x.wait("+1 added")
		x.press("C-s")
		x.wait("saved ", "z undo")
		if text := h.read(); !strings.Contains(text, "\n30 4 * * 1-5 echo backup\n") {
			x.t.Errorf("added: got %q", text)
		}
	}},
	{"undo", "fine", func(h *host, x *taskScreen) {
		x.keys("D")
		x.wait("Type 1 to confirm")
		x.typing("1")
		x.wait("deleted fine", "z undo")
		x.press("z")
		x.wait("put fine back")
		if text := h.read(); text != tasksCrontab {
			x.t.Errorf("undone: got %q", text)
		}
	}},
	{"next hour", "fine", func(h *host, x *taskScreen) {
		x.press("H")
		x.wait("Next hour: ", "often-a")
	}},
	{"clashes", "fine", func(h *host, x *taskScreen) {
		x.press("3")
		x.wait("[3 Timeline]")
		x.press("c")
		x.wait("Clashes: minutes with several starts", "often-a")
	}},
	{"30 days", "fine", func(h *host, x *taskScreen) {
		x.press("%")
		x.wait("Statistics: fine, 30 days")
	}},
	{"compare two runs", "broken", func(h *host, x *taskScreen) {
		h.runNow("broken")
		x.press("2")
		x.wait("[2 Runs]")
		x.wait("broken", "1/2")
		x.press("v", "j", "=")
		x.wait("run 2 against 1")
	}},
	{"acknowledge", "broken", func(h *host, x *taskScreen) {
		x.press("a")
		x.wait("acknowledged broken", "✗ ack")
	}},
	{"another host", "fine", func(h *host, x *taskScreen) {
		x.press(":")
		x.typing("host db2")
		x.wait("host db-02", "open its dashboard")
		x.press("Enter")
		x.wait("elsewhere", "live ")
		x.keys("q")
		x.wait("sleepy", "live ")
	}},
	{"another host of the list", "fine", func(h *host, x *taskScreen) {
		x.press("6")
		x.wait("Hosts: 2 hosts", "db-02", "nothing is planned")
		x.press("j", "Enter")
		x.wait("elsewhere", "live ")
		x.keys("q")
		x.wait("Hosts: 2 hosts")
	}},
	{"another host and this one", "fine", func(h *host, x *taskScreen) {
		x.press("6")
		x.wait("Hosts: 2 hosts")
		x.press("a")
		x.wait("Jobs of 2 hosts", "6 jobs", "elsewhere", "sleepy")
	}},
}

// elsewhere makes the host db-02 known. In the place of ssh is a program that leads to a daemon on
// this computer. path finds that program.
func (h *host) elsewhere() (path string, other *host) {
	h.t.Helper()
	other = newHost(h.t, "#@ name=elsewhere enabled=no\n0 0 1 1 * true\n")
	h.configure("[[host]]\nname = \"db-02\"\naddress = \"ops@db-02.example.org\"\n")
	bin := filepath.Join(h.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		h.t.Fatal(err)
	}
	script := "#!/bin/sh\ncase \"$*\" in *'-- ops@db-02.example.org cronring bridge') exec " + shellWords([]string{program(h.t, "cronring"), "bridge", "--socket", other.socket}) + ";; esac\necho \"ssh $*\" >&2; exit 255\n"
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(script), 0o700); err != nil {
		h.t.Fatal(err)
	}
	return bin + ":" + os.Getenv("PATH"), other
}

// TestTerminalTasks does each task of a list against a daemon, and counts the keys that it takes.
func TestTerminalTasks(t *testing.T) {
	for _, task := range tasks {
		t.Run(strings.ReplaceAll(task.name, " ", "-"), func(t *testing.T) {
			h := newHost(t, tasksCrontab)
			h.runNow("broken")
			var flags []string
			if task.job != "" {
				flags = []string{"--job", task.job}
			}
			path := os.Getenv("PATH")
			if strings.HasPrefix(task.name, "another host") {
				path, _ = h.elsewhere()
			}
			x := &taskScreen{terminal: h.openWith([]string{"LANG=C.UTF-8", "TERM=tmux-256color", "PATH=" + path}, 100, 30, flags...)}
			x.wait("live ", "sleepy", cmp.Or(task.job, "broken")+": ")
			task.do(h, x)
			if x.pressed > maxKeys {
				t.Errorf("it took %d keys, want at most %d", x.pressed, maxKeys)
			}
			t.Logf("%d keys", x.pressed)
		})
	}
}

// begin starts a job.
func (h *host) begin(ref string) {
	h.t.Helper()
	client := api.Dial(h.socket)
	defer client.Close()
	if _, err := client.Run(h.t.Context(), api.RunRequest{Refs: []string{ref}}); err != nil {
		h.t.Fatal(err)
	}
}

// pause pauses a job.
func (h *host) pause(ref string) {
	h.t.Helper()
	client := api.Dial(h.socket)
	defer client.Close()
	if _, err := client.Pause(h.t.Context(), api.PauseRequest{Refs: []string{ref}}); err != nil {
		h.t.Fatal(err)
	}
}
