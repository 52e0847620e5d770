package tui

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// patience bounds how long a test waits for what has to come, on the slowest machine.
const patience = 5 * time.Minute

var programs struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}

// program is the path of a program of this repository, built as it is shipped.
func program(t testing.TB, name string) string {
	t.Helper()
	programs.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "cronring-tui-"); programs.err == nil {
			programs.err = hosttest.PutPrograms(programs.dir)
		}
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return filepath.Join(programs.dir, name)
}

// host is a daemon that runs the jobs of one crontab.
type host struct {
	t      testing.TB
	dir    string
	table  string
	socket string
	daemon *exec.Cmd
}

// newHost starts a daemon on a crontab, and waits until it answers.
func newHost(t testing.TB, crontab string) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{t: t, dir: dir, table: filepath.Join(dir, "my.crontab"), socket: filepath.Join(dir, "s")}
	h.write(crontab)
	h.welcomed()
	t.Cleanup(func() { h.stop(syscall.SIGKILL) })
	h.start()
	return h
}

func (h *host) write(crontab string) {
	h.t.Helper()
	if err := os.WriteFile(h.table, []byte(crontab), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// welcomed records that the user has seen the hints for the first start.
func (h *host) welcomed() {
	h.t.Helper()
	if err := writeJSON(filepath.Dir(h.hints()), hintsFile, true); err != nil {
		h.t.Fatal(err)
	}
}

// hints returns the path of that record.
func (h *host) hints() string { return filepath.Join(h.dir, ".local", "state", "cronring", "hints") }

func (h *host) start() {
	h.t.Helper()
	h.daemon = exec.Command(program(h.t, "cronringd"), "--state", filepath.Join(h.dir, "state"), "--socket", h.socket, "--config", h.dir, h.table)
	h.daemon.Env = append(os.Environ(), "TZ=UTC")
	log, err := os.OpenFile(filepath.Join(h.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer log.Close()
	h.daemon.Stdout, h.daemon.Stderr = log, log
	if err := h.daemon.Start(); err != nil {
		h.t.Fatal(err)
	}
	client := api.Dial(h.socket)
	defer client.Close()
	for end := time.Now().Add(patience); ; {
		s, err := client.Status(context.Background())
		if err == nil && s.Crontabs > 0 {
			return
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(filepath.Join(h.dir, "log"))
			h.t.Fatalf("the daemon does not answer: %v\n%s", err, text)
		}
	}
}

// stop ends the daemon.
func (h *host) stop(how syscall.Signal) {
	if h.daemon != nil {
		h.daemon.Process.Signal(how)
		h.daemon.Wait()
		h.daemon = nil
	}
}

// skipped waits until an occurrence of a job was skipped.
func (h *host) skipped(id job.ID) {
	h.t.Helper()
	client := api.Dial(h.socket)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for e, err := range client.Events(ctx, string(id)) {
		if err != nil {
			h.t.Fatal(err)
		}
		if e.Record != nil && e.Record.Decision == job.DecideSkip {
			return
		}
	}
}

// demo is the crontab that "make run" starts.
func demo(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../testdata/crontab/demo.crontab")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
