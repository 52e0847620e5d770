// Package clitest owns stand-ins for tests of commands, such as a daemon with fixed answers, a
// terminal, and the program ssh.
package clitest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// OpenTerminal returns the two ends of a new terminal.
func OpenTerminal(t *testing.T) (outside, inside *os.File) {
	t.Helper()
	outside, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		hosttest.Missing(t, "no terminal can be made here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(outside.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(outside.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	inside, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		hosttest.Missing(t, "no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { outside.Close(); inside.Close() })
	return outside, inside
}

// Scripted serves fixed answers by method and path, like a daemon. Other requests get a
// "not found" error.
func Scripted(t *testing.T, answers map[string][]any) (socket string) {
	t.Helper()
	return Served(t, func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.Method+" "+r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = []any{api.Error{V: 1, What: "cannot find that", Kind: api.NotFound}}
		}
		for _, part := range answer {
			if err := json.NewEncoder(w).Encode(part); err != nil {
				t.Error(err)
			}
		}
	})
}

// Served listens like a daemon.
func Served(t *testing.T, answer http.HandlerFunc) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: answer}
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return socket
}

// FakeProgram puts a script in the place of a program.
func FakeProgram(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, name), "#!/bin/sh\n"+script, 0o700)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}
