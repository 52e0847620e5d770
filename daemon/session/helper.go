package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/descriptor"
)

// helperConn is the connection between Start and the helper.
type helperConn struct {
	socket *os.File // the helper's standard input, which contains the order
	report *os.File // the helper's output
	text   []byte   // the part of the report that was read
	over   bool     // text is the whole report
}

// newHelperConn sends the order before the helper exists. The socket stores it.
func newHelperConn(spec Spec) (*helperConn, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	o := order{
		Argv: asBytes(spec.Argv), Env: asBytes(spec.Env), Dir: []byte(spec.Dir), Fallback: spec.Fallback,
		Umask: spec.OwnUmask, EnvFile: []byte(spec.EnvFile), Kept: spec.Kept, Sandbox: spec.Sandbox, Wants: wanted(spec),
	}
	if spec.NoNetwork {
		own, err := network()
		if err != nil {
			return nil, err
		}
		o.NotNetwork = own
	}
	file, err := orderIn(o)
	if err != nil {
		return nil, fmt.Errorf("write order: %w", err)
	}
	defer file.Close()
	report, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open report: %w", err)
	}
	defer write.Close()
	socket, err := post(file, write, spec.Files[0], spec.Files[1], spec.Files[2])
	if err != nil {
		return nil, errors.Join(fmt.Errorf("send order: %w", err), report.Close())
	}
	return &helperConn{socket: socket, report: report}, nil
}

func (e *helperConn) close() {
	_ = e.socket.Close() // systemd and the helper have their own
	_ = e.report.Close() // it has been read
}

// orderIn writes an order into an anonymous file, which other users cannot open.
func orderIn(o order) (*os.File, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	if len(text) > orderLimit {
		return nil, errors.New("command and environment are too long")
	}
	fd, err := atomicfile.Sealed("cronring-order", text)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "order"), nil
}

// post sends descriptors with one byte into a socket, and returns the end that receives them.
func post(files ...*os.File) (*os.File, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(ends[1])
	socket := os.NewFile(uintptr(ends[0]), "order socket")
	conns := make([]int, len(files))
	for i, file := range files {
		if conns[i], err = descriptor.Use(file, func(fd int) (int, error) { return fd, nil }); err != nil {
			return nil, errors.Join(err, socket.Close())
		}
	}
	err = unix.Sendmsg(ends[1], []byte{0}, unix.UnixRights(conns...), nil, unix.MSG_NOSIGNAL)
	runtime.KeepAlive(files)
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	return socket, nil
}

// setupReport is the content of a report.
type setupReport struct {
	note, failure string
	ready         bool
}

// read reads the report for at most while, and everything that is available.
func (e *helperConn) read(while time.Duration) {
	if e.over {
		time.Sleep(while)
		return
	}
	_ = e.report.SetReadDeadline(time.Now().Add(while)) // a pipe takes deadlines
	for buffer := make([]byte, reportLimit); !e.over; {
		n, err := e.report.Read(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			e.text = append(e.text, e.readReport()...)
			return
		}
		e.text = append(e.text, buffer[:n]...)
		e.over = err != nil || len(e.text) >= reportLimit
	}
}

// readReport returns the content of the pipe. It does not wait.
func (e *helperConn) readReport() []byte {
	buffer := make([]byte, reportLimit)
	n, _ := descriptor.Use(e.report, func(fd int) (int, error) { return unix.Read(fd, buffer) }) // an empty pipe is an error
	return buffer[:max(n, 0)]
}

// parseReport parses a report. It can be forged, because the process that writes it belongs to the
// user. It only affects whether the job counts as running.
func parseReport(text []byte) setupReport {
	var s setupReport
	for line := range bytes.Lines(text[:min(len(text), reportLimit)]) {
		words := plain(string(line[1:]))
		switch line[0] {
		case reportNote:
			s.note = words
		case reportError:
			s.failure = words
		case reportReady:
			s.ready = true
		}
	}
	return s
}

// plain returns text that is safe to print, on one line.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 || r == '\uFFFD' {
			return -1
		}
		return r
	}, text)
}
