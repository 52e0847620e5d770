package cli

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
)

// Messages of ssh must neither be written over the dashboard nor be lost.
func TestSSHTalkIsHeldWhileTheDashboardIsDrawn(t *testing.T) {
	clitest.FakeProgram(t, "ssh", `echo "$*" >&2; printf 'Warning: a key\r\nssh: \033[31mno route to host\r\n' >&2; exit 255`)
	for _, drawn := range []bool{true, false} {
		var message bytes.Buffer
		a := New(strings.NewReader(""), os.Stdout, os.Stderr)
		a.Err, a.Host, a.Drawing = &message, "ann@far", drawn
		client := a.Daemon()
		_, err := client.Health(t.Context())
		client.Close()
		if api.KindOf(err) != api.Unreachable {
			t.Errorf("drawn %v: got %v, want that the daemon is not reached", drawn, err)
		}
		if got := strings.Contains(err.Error(), "ann@far through ssh: ssh: ") && strings.Contains(err.Error(), "no route to host"); got != drawn || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("drawn %v: got the error %q, want what ssh said there if drawn", drawn, err)
		}
		if got := message.Len() == 0; got != drawn {
			t.Errorf("drawn %v: got %q on stderr, want nothing there if drawn", drawn, message.String())
		}
		if asks := !strings.Contains(message.String(), "BatchMode"); !drawn && !asks {
			t.Errorf("not drawn: got %q, want that ssh may ask", message.String())
		}
	}
}

// The error of cronring on the other host has three lines, and the first says what failed.
func TestHeldTalkNamesWhatFailed(t *testing.T) {
	var h messageTail
	h.Write([]byte("Welcome\ncronring: cannot reach the daemon: it does not answer\n  why   no such file\n  fix   systemctl status cronring\n"))
	if got := h.last(); got != "cannot reach the daemon: it does not answer" {
		t.Errorf("got %q, want the line that says what failed", got)
	}
}

func TestHeldTalkIsBounded(t *testing.T) {
	var h messageTail
	for range 100 {
		h.Write([]byte(strings.Repeat("x", 1000) + "\n"))
	}
	h.Write([]byte("the end\n\n"))
	if len(h.text) > maxMessageTail || h.last() != "the end" {
		t.Errorf("got %d bytes that end with %q, want at most %d and the last line", len(h.text), h.last(), maxMessageTail)
	}
}

// A dashboard asks for the crontabs of a host on which no daemon answered, unless the cronring there
// is older. Other commands need the daemon.
func TestSSHAsksForCrontabsWithoutADaemon(t *testing.T) {
	clitest.FakeProgram(t, "ssh", `echo "$*" >&2; case "$*" in *--crontabs) exit 2;; esac; exit 5`)
	for _, dashboard := range []bool{true, false} {
		a := New(strings.NewReader(""), os.Stdout, os.Stderr)
		a.Host, a.Drawing = "far", true // its errors contain what ssh prints
		if dashboard {
			a.ShowCrontabs()
		}
		client := a.Daemon()
		for _, want := range []bool{false, dashboard, false} {
			_, err := client.Health(t.Context())
			if got := strings.HasSuffix(err.Error(), "cronring bridge --crontabs"); got != want {
				t.Errorf("dashboard %v: ssh had the arguments %q, want --crontabs %v", dashboard, err, want)
			}
		}
		client.Close()
	}
}

func TestSSHFindsNoCronring(t *testing.T) {
	clitest.FakeProgram(t, "ssh", `echo "sh: 1: cronring: not found" >&2; exit 127`)
	a := New(strings.NewReader(""), os.Stdout, os.Stderr)
	a.Host, a.Drawing = "far", true
	client := a.Daemon()
	defer client.Close()
	if _, err := client.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "cronring is not installed there") {
		t.Errorf("got %v, want that cronring is not installed there", err)
	}
}

func TestSSHIsNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	a := New(strings.NewReader(""), os.Stdout, os.Stderr)
	a.Host = "far"
	client := a.Daemon()
	defer client.Close()
	_, err := client.Health(t.Context())
	e, ok := errors.AsType[*api.Error](err)
	if !ok || !strings.Contains(e.Why, "ssh is not installed") || !strings.Contains(e.Fix, "apt install openssh-client") {
		t.Errorf("got %+v, want that ssh is not installed and how to install it", err)
	}
}
