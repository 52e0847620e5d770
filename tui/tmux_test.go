package tui

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/hosttest"
)

// terminal is a tmux pane in which a program runs.
type terminal struct {
	t       *testing.T
	server  string // socket of tmux
	changed chan struct{}
	exit    chan string // the exit code of the program, once

	mu    sync.Mutex
	bytes []byte // what the program has written
}

// open starts the dashboard of a host in a terminal of a size.
func (h *host) open(width, height int, flags ...string) *terminal {
	return h.openWith([]string{"LANG=C.UTF-8", "TERM=tmux-256color"}, width, height, flags...)
}

// openWith does so with variables of the environment.
func (h *host) openWith(env []string, width, height int, flags ...string) *terminal {
	h.t.Helper()
	return h.openCommand(env, width, height, append([]string{"top"}, flags...)...)
}

// openCommand starts a command of cronring that draws on the terminal.
func (h *host) openCommand(env []string, width, height int, command ...string) *terminal {
	h.t.Helper()
	t := h.t.(*testing.T)
	if _, err := exec.LookPath("tmux"); err != nil {
		hosttest.Missing(t, "tmux is not installed, so the dashboard is not driven in a terminal")
	}
	dir := t.TempDir()
	x := &terminal{t: t, server: filepath.Join(dir, "tmux"), changed: make(chan struct{}, 1), exit: make(chan string, 1)}
	pipe, gate, exit := filepath.Join(dir, "pipe"), filepath.Join(dir, "gate"), filepath.Join(dir, "exit")
	for _, fifo := range []string{pipe, gate, exit} {
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	words := append([]string{"env", "-u", "NO_COLOR", "-u", "COLORTERM", "HOME=" + h.dir, "TZ=UTC", "CRONRING_SOCKET=" + h.socket}, env...)
	words = append(append(words, program(t, "cronring")), command...)
	// The program starts when its bytes are read, and what it leaves stays to be seen.
	x.tmux("-f", "/dev/null", "new-session", "-d", "-c", h.dir, "-x", strconv.Itoa(width), "-y", strconv.Itoa(height),
		"read go <"+gate+"; "+shellWords(words)+" 2>"+filepath.Join(h.dir, "stderr")+"; echo $? >"+exit+"; read forever <"+gate)
	t.Cleanup(func() { exec.Command("tmux", "-S", x.server, "kill-server").Run() })
	x.tmux("set-option", "-g", "escape-time", "0")
	x.tmux("pipe-pane", "cat >"+pipe)
	from, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	go x.read(from)
	go func() {
		code, _ := os.ReadFile(exit)
		x.exit <- strings.TrimSpace(string(code))
	}()
	if err := os.WriteFile(gate, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return x
}

func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// read stores the output of the program, and signals each change.
func (x *terminal) read(from *os.File) {
	defer from.Close()
	for {
		buffer := make([]byte, 1<<16)
		n, err := from.Read(buffer)
		x.mu.Lock()
		x.bytes = append(x.bytes, buffer[:n]...)
		x.mu.Unlock()
		select {
		case x.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// written returns the output of the program until now. It may be behind the screen.
func (x *terminal) written() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.bytes)
}

// quit ends the program, and returns everything that it has written.
func (x *terminal) quit() string {
	x.t.Helper()
	x.keys("C-c")
	x.ended()
	const last = "\x1b[?1049l" // leaves the alternate screen
	x.until("all is read that was written", func(string) bool { return strings.Contains(x.written(), last) })
	return x.written()
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", x.server}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// keys presses keys as tmux names them: j, Enter, Escape, C-d.
func (x *terminal) keys(names ...string) {
	x.t.Helper()
	for _, name := range names {
		x.tmux("send-keys", name)
	}
}

// typing types a text.
func (x *terminal) typing(text string) {
	x.t.Helper()
	x.tmux("send-keys", "-l", text)
}

func (x *terminal) resize(width, height int) {
	x.t.Helper()
	x.tmux("resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
}

// screen returns the current content of the screen.
func (x *terminal) screen() string {
	x.t.Helper()
	return x.tmux("capture-pane", "-p")
}

// wait waits until the screen shows all of some texts.
func (x *terminal) wait(texts ...string) string {
	x.t.Helper()
	return x.until(fmt.Sprintf("the screen shows %q", texts), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// gone waits until the screen shows a text no more. Wait for the text first: a screen may be half painted,
// and a key right after Escape is another key.
func (x *terminal) gone(text string) string {
	x.t.Helper()
	return x.until(fmt.Sprintf("the screen does not show %q", text), func(screen string) bool { return !strings.Contains(screen, text) })
}

// until looks at the screen each time that the program has written something.
func (x *terminal) until(what string, holds func(screen string) bool) string {
	x.t.Helper()
	late := time.After(patience)
	for {
		screen := x.screen()
		if holds(screen) {
			return screen
		}
		select {
		case <-x.changed:
		case <-late:
			x.t.Fatalf("after %s it is not so that %s:\n%s", patience, what, screen)
		}
	}
}

// ended waits until the program has ended, and returns its exit code.
func (x *terminal) ended() string {
	x.t.Helper()
	select {
	case code := <-x.exit:
		return code
	case <-time.After(patience):
		x.t.Fatalf("the program has not ended:\n%s", x.screen())
		return ""
	}
}

func TestTerminalShowsTheDemo(t *testing.T) {
	h := newHost(t, demo(t))
	x := h.open(80, 24)
	x.wait("[1 Jobs]", "live ", "metronome", "? help")
	x.keys("?")
	x.wait("run now", "type to search")
	x.keys("Escape")
	x.gone("type to search")
	x.keys("/")
	x.typing("metro")
	x.until("only what matches is shown", func(s string) bool { return strings.Contains(s, "metronome") && !strings.Contains(s, "pulse") })
	x.keys("Enter")
	x.keys("p")
	x.wait("Pause metronome for how long?", "until resumed")
	x.keys("2")
	x.wait("Reason:")
	x.typing("maintenance")
	x.keys("Enter")
	x.wait("paused metronome", "cronring pause metronome --until", "--reason maintenance")
	x.keys("z")
	x.wait("resumed metronome")
	x.keys("@")
	x.wait("cronring pause metronome", "cronring resume metronome")
	x.keys("q")
	x.gone("cronring resume")
	x.keys("r")
	x.wait("Run metronome now")
	x.keys("r", "Enter")
	x.keys("y")
	x.wait("started run")
	x.keys("C-c")
	if code := x.ended(); code != "0" {
		t.Errorf("got exit %s, want 0", code)
	}
	x.gone("metronome") // the screen before is back
}

func TestTerminalOfAnySize(t *testing.T) {
	h := newHost(t, demo(t))
	x := h.open(80, 24)
	x.wait("metronome")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		x.resize(1+random.IntN(200), 1+random.IntN(60))
	}
	x.resize(39, 9)
	x.wait("too small: 39x9, need 40x10")
	x.resize(40, 15)
	x.wait("? help")
	x.resize(160, 48)
	x.until("all 48 lines of 160x48 are in use", func(screen string) bool {
		lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
		return len(lines) == 48 && strings.Contains(screen, "[1 Jobs]") && strings.Contains(lines[47], "? help")
	})
}

func TestTerminalSurvivesRandomKeys(t *testing.T) {
	h := newHost(t, demo(t))
	x := h.open(80, 24, "--read-only")
	x.wait("metronome")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	all := []string{"j", "k", "g", "G", "Enter", "Escape", "/", "n", "N", "f", "s", "S", "space", "v", "*", ":", "?", "@", "-", "i", "t", "Z",
		"Tab", "BTab", "1", "2", "3", "4", "5", "r", "x", "p", "w", "o", "e", "A", "D", "a", "b", "y", "[", "]", "z", "R", "C-l", "C-d", "C-u",
		"C-f", "C-b", "C-w", "C-g", "C-t", "C-s", "C-n", "C-y", "C-r", "F2", "Home", "End", "PPage", "NPage", "Left", "Right", "Up", "Down",
		"BSpace", "DC", "+", "=", "0", "c", "F", "W", "T", "V", "h", "l", "é", "中", ","}
	for range 500 {
		key := all[random.IntN(len(all))]
		x.keys(key)
		select {
		case code := <-x.exit: // no key of these ends it
			text, _ := os.ReadFile(filepath.Join(h.dir, "stderr"))
			t.Fatalf("the dashboard ended after %s with exit %s:\n%s\n%s", key, code, x.screen(), text)
		default:
		}
	}
	for range 5 {
		x.keys("Escape")
	}
	x.keys("C-c")
	if code := x.ended(); code != "0" {
		text, _ := os.ReadFile(filepath.Join(h.dir, "stderr"))
		t.Errorf("got exit %s, want 0\n%s\n%s", code, x.screen(), text)
	}
}

func TestTerminalFindsTheDaemonAgain(t *testing.T) {
	h := newHost(t, demo(t))
	x := h.open(80, 24)
	x.wait("metronome", "live ")
	h.stop(syscall.SIGKILL)
	x.wait("OFFLINE", "does not answer", "times are frozen", "Start it: systemctl start cronring", "metronome")
	x.keys("r")
	x.wait("the daemon does not answer")
	h.write("#@ name=another\n* * * * * true\n")
	h.start()
	x.wait("live ", "another")
	x.gone("metronome")
}

func TestTerminalWithoutADaemon(t *testing.T) {
	h := newHost(t, demo(t))
	h.stop(syscall.SIGKILL)
	x := h.open(80, 24)
	x.wait("OFFLINE", "does not answer", "systemctl start cronring", "make run", "cronring demo")
	x.keys("q")
	if code := x.ended(); code != "0" {
		t.Errorf("got exit %s, want 0", code)
	}
}

// The demo shows a host without a daemon and without files, runs its jobs, and leaves nothing.
func TestTerminalDemo(t *testing.T) {
	h := &host{t: t, dir: t.TempDir(), socket: "/nonexistent"}
	x := h.openCommand([]string{"LANG=C.UTF-8", "TERM=tmux-256color"}, 100, 30, "demo")
	x.wait("cronring db-01", "✗ FAIL   etl-orders", "‖ paused report-daily", welcomeTitle, "live ")
	x.keys("t")
	x.wait("connection to server at \"pg-2\"")
	x.keys("4")
	x.wait("[4 Ring]", "db-02", "db-03")
	x.keys("1")
	x.wait("[1 Jobs]")
	x.keys("/")
	x.typing("sitemap")
	x.keys("Enter", "r")
	x.wait("Run sitemap now")
	x.keys("y")
	x.wait("started run")
	x.keys(":")
	x.typing("report stats --by user")
	x.keys("Enter")
	x.wait("cronring report stats --by user", "postgres")
	x.quit()
	if left, err := os.ReadDir(h.dir); err != nil || len(left) != 1 || left[0].Name() != "stderr" { // which the test made
		t.Errorf("the demo left %v, error %v", left, err)
	}
}

func TestTerminalTiers(t *testing.T) {
	h := newHost(t, demo(t))
	color := regexp.MustCompile(`\x1b\[[0-9;:]*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[0-9;:]*m`)
	for _, tc := range []struct {
		name  string
		env   []string
		flags []string
		ascii bool
		color bool
	}{
		{"plain", []string{"LANG=C.UTF-8", "TERM=tmux-256color"}, nil, false, true},
		{"NO_COLOR", []string{"LANG=C.UTF-8", "TERM=tmux-256color", "NO_COLOR=1"}, nil, false, false},
		{"--color=never", []string{"LANG=C.UTF-8", "TERM=tmux-256color"}, []string{"--color=never"}, false, false},
		{"--color=always over NO_COLOR", []string{"LANG=C.UTF-8", "TERM=tmux-256color", "NO_COLOR=1"}, []string{"--color=always"}, false, true},
		{"locale C", []string{"LC_ALL=C", "TERM=tmux-256color"}, nil, true, true},
		{"--ascii", []string{"LANG=C.UTF-8", "TERM=tmux-256color"}, []string{"--ascii"}, true, true},
		{"TERM=linux", []string{"LANG=C.UTF-8", "TERM=linux"}, nil, false, true},
		{"TERM=vt100", []string{"LANG=C.UTF-8", "TERM=vt100"}, nil, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			here := *h
			here.t = t
			x := here.openWith(tc.env, 80, 24, tc.flags...)
			x.wait("metronome", "? help")
			got := x.quit()
			if ascii := strings.IndexFunc(got, func(r rune) bool { return r > 0x7e }) < 0; ascii != tc.ascii {
				t.Errorf("got ASCII alone: %v, want %v", ascii, tc.ascii)
			}
			if found := color.FindString(got); (found != "") != tc.color {
				t.Errorf("got the colour %q, want one: %v", found, tc.color)
			}
		})
	}
}

// TestTerminalThatAnswersNothing has a terminal that is asked for what it can do
// and keeps silent.
func TestTerminalThatAnswersNothing(t *testing.T) {
	h := newHost(t, demo(t))
	p := openPTY(t, 80, 24)
	defer p.close()
	cmd := p.start(t, []string{"TERM=xterm-256color", "LANG=C.UTF-8", "CRONRING_SOCKET=" + h.socket, "HOME=" + h.dir}, program(t, "cronring"))
	p.wait(t, "metronome")
	p.write(t, "\x03")
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want a good end", err)
	}
}

// TestTerminalThatGoesAway closes a terminal while a dashboard runs that receives no SIGHUP, such
// as one started by a program of another user.
func TestTerminalThatGoesAway(t *testing.T) {
	h := newHost(t, demo(t))
	p := openPTY(t, 80, 24)
	defer p.close()
	cmd := p.start(t, []string{"TERM=xterm-256color", "LANG=C.UTF-8", "CRONRING_SOCKET=" + h.socket, "HOME=" + h.dir},
		"/bin/sh", "-c", `trap "" HUP; exec "$0" top`, program(t, "cronring"))
	p.wait(t, "metronome")
	p.close()
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer late.Stop()
	if cmd.Wait(); !cmd.ProcessState.Exited() {
		t.Errorf("after %s without a terminal it is still there: %s", patience, cmd.ProcessState)
	}
}

// pty is a terminal without anybody behind it.
type pty struct {
	master, slave *os.File
	got           strings.Builder
}

func openPTY(t testing.TB, width, height int) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		hosttest.Missing(t, "no terminal can be made: %v", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(width), Row: uint16(height)})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &pty{master: master, slave: slave}
}

func (p *pty) close() {
	p.master.Close()
	p.slave.Close()
}

// start starts a program on the terminal.
func (p *pty) start(t testing.TB, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "TZ=UTC")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

func (p *pty) write(t testing.TB, text string) {
	t.Helper()
	if _, err := io.WriteString(p.master, text); err != nil {
		t.Fatal(err)
	}
}

// wait reads until a text was written since the last wait.
func (p *pty) wait(t testing.TB, text string) {
	t.Helper()
	p.got.Reset()
	buffer := make([]byte, 1<<16)
	late := time.AfterFunc(patience, func() { p.master.Close() })
	defer late.Stop()
	for !strings.Contains(p.got.String(), text) {
		n, err := p.master.Read(buffer)
		if err != nil {
			t.Fatalf("wait for %q: %v, after %q", text, err, p.got.String())
		}
		p.got.Write(buffer[:n])
	}
}

// sequences are all sequences that the dashboard itself writes: cursor movement, styles, and those
// that take and release the terminal.
var sequences = regexp.MustCompile(`\x1b\[(\d+;\d+H|\d+G|[\d;:]*m|H|2J|\?(1049|25|2004|1002|1006)[hl])|\r?\n`)

// TestTerminalShowsAnAttackAsText has jobs whose output, command and error try to
// take the terminal over.
func TestTerminalShowsAnAttackAsText(t *testing.T) {
	h := newHost(t, `#@ name=attack
@reboot printf 'before\033[2J\033[31mred\033]0;owned\007\033]52;c;b3duZWQ=\007\033[?1049l\033c\342\200\256rtl\377\376after\n' >&2; printf '\033[5;5Hsneaky\n\033P+q544e\033\\' >&2; head -c 10000000 /dev/zero | tr '\0' x >&2; exit 1
#@ name=quiet
@daily true 'a`+"\u202e\u009b"+`b'
`)
	x := h.open(80, 24)
	x.wait("attack", "FAIL")
	x.keys("o")
	x.wait("Output: attack", "line cut")
	x.keys("g")
	x.wait("beforered", "sneaky")
	x.keys("Escape")
	x.wait("[1 Jobs]")
	x.keys("w")
	x.wait("Why")
	x.keys("Escape")
	x.wait("[1 Jobs]")
	x.keys("Enter")
	x.wait("attack")
	text := sequences.ReplaceAllString(x.quit(), "")
	for i, r := range text {
		if r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u202e' {
			t.Fatalf("the terminal got %q, in %q", r, text[max(0, i-40):min(len(text), i+40)])
		}
	}
}

// TestReadmeFirstMinute walks the README's first minute, and holds the screen that
// it shows to the real one: every line of it that has no number in it.
func TestReadmeFirstMinute(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "## The first minute")
	_, rest, _ = strings.Cut(rest, "```\n")
	recorded, _, ok := strings.Cut(rest, "```\n")
	if !ok || strings.Count(recorded, "\n") < 15 {
		t.Fatalf("README.md shows no screen in its first minute: %q", recorded)
	}
	h := newHost(t, demo(t))
	x := h.open(100, 40)
	x.wait("slow")
	h.skipped("slow")
	x.keys("/")
	x.typing("slow")
	x.keys("Enter")
	x.wait("slow", "1/1")
	x.keys("w")
	words := func(text string) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(text, "─", " ")), " ")
	}
	x.wait("It did not start", "overlap=queue")
	for line := range strings.Lines(recorded) {
		if line := words(line); !strings.ContainsAny(line, "0123456789") {
			x.until(fmt.Sprintf("the screen shows %q, as the README does", line), func(screen string) bool { return strings.Contains(words(screen), line) })
		}
	}
}
