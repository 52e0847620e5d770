package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/groups"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/shim"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/watchfiles"
)

// The tests run the real program: the test binary under another name.
const beDaemon = "CRONRINGD_TEST_MAIN"

func TestMain(m *testing.M) {
	spawn.Helper()
	shim.Main()
	groups.Main()
	watchfiles.Main()
	if os.Getenv(beDaemon) != "" {
		main()
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// running is a daemon under test.
type running struct {
	t       *testing.T
	cmd     *exec.Cmd
	dir     string
	client  *api.Client
	lines   chan string // standard output
	mu      sync.Mutex
	message strings.Builder // standard error and output, for failures
}

// crontabFile writes a crontab and returns its path.
func crontabFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crontab")
	filetest.Write(t, path, text, 0o600)
	return path
}

// launch starts a daemon on a state directory and waits until it answers.
func launch(t *testing.T, dir string, args ...string) *running {
	t.Helper()
	return launchAs(t, dir, nil, args...)
}

// launchAs is launch under another program, such as unshare.
func launchAs(t *testing.T, dir string, wrapper []string, args ...string) *running {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return begin(t, dir, append(append(wrapper, self), args...)...)
}

// begin is launch with a complete command line except for the directory.
func begin(t *testing.T, dir string, argv ...string) *running {
	t.Helper()
	d := prepare(t, dir, argv...)
	d.begin()
	return d
}

// prepare is begin without the start.
func prepare(t *testing.T, dir string, argv ...string) *running {
	d := &running{t: t, dir: dir, cmd: exec.Command(argv[0], append(argv[1:], "--state", dir)...), client: api.Dial(filepath.Join(dir, "cronring.sock"))}
	d.cmd.Env = append(os.Environ(), beDaemon+"=1")
	return d
}

// begin starts the command and waits until it is ready, or has ended.
func (d *running) begin() {
	t := d.t
	t.Helper()
	d.lines = make(chan string, 10_000)
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	var once sync.Once
	go d.read(stdout, func(line string) { d.lines <- line }, func() { close(d.lines) })
	go d.read(stderr, func(line string) {
		if strings.Contains(line, "msg=ready") || strings.Contains(line, `"msg":"ready"`) {
			once.Do(func() { close(ready) })
		}
	}, func() { once.Do(func() { close(ready) }) })
	t.Cleanup(func() {
		d.client.Close()
		d.cmd.Process.Kill()
		d.cmd.Wait()
		if t.Failed() {
			d.mu.Lock()
			t.Logf("the daemon said:\n%s", d.message.String())
			d.mu.Unlock()
		}
	})
	<-ready
}

func (d *running) read(r io.Reader, each func(string), end func()) {
	defer end()
	for s := bufio.NewScanner(r); s.Scan(); {
		d.mu.Lock()
		fmt.Fprintln(&d.message, s.Text())
		d.mu.Unlock()
		each(s.Text())
	}
}

// await reads standard output until a line has all of the words.
func (d *running) await(words ...string) string {
	d.t.Helper()
	limit := time.After(hosttest.Patience)
	for {
		select {
		case line, ok := <-d.lines:
			if !ok {
				d.t.Fatalf("the daemon ended while a line with %q was awaited", words)
			}
			if hasAll(line, words) {
				return line
			}
		case <-limit:
			d.t.Fatalf("no line with %q came", words)
		}
	}
}

// count returns the number of buffered lines that contain all the words.
func (d *running) count(words ...string) (n int) {
	for {
		select {
		case line, ok := <-d.lines:
			if !ok {
				d.t.Fatal("the daemon ended")
			}
			if hasAll(line, words) {
				n++
			}
		default:
			return n
		}
	}
}

func hasAll(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// signal sends a signal and returns the exit status.
func (d *running) signal(s syscall.Signal) int {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
	return d.wait()
}

func (d *running) wait() int {
	for range d.lines { // until it has closed its output
	}
	err := d.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return d.cmd.ProcessState.ExitCode()
}

func (d *running) status() api.Status {
	d.t.Helper()
	s, err := d.client.Status(context.Background())
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}
