package watchfiles

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/starter"
)

// flag is the argument of a user's process.
const flag = "--watch-files"

// name appears in ps(1).
const name = "cronring-files"

// socket is the descriptor of the connection to the daemon, in a user's process.
const socket = 0

// Main is the whole program of a user's process, and nothing in any other process. It must be called
// first.
//
// It is safe that everybody can run the program like this: it has only its caller's rights.
func Main() {
	if len(os.Args) != 2 || os.Args[1] != flag {
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve() error {
	if err := cmp.Or(starter.RejectSetID(), starter.RequireSocket(socket)); err != nil {
		return err
	}
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // for ps, which would show exe
	events, err := openInotify(time.Now())
	if err != nil {
		text := err.Error()
		return errors.Join(err, send(report{Fault: &text}))
	}
	defer events.close()
	return work(newTree(events))
}

// work follows orders until the daemon closes the connection.
func work(t *tree) error {
	var orders orderReader
	var synced time.Time
	for {
		ready := []unix.PollFd{{Fd: socket, Events: unix.POLLIN}, {Fd: int32(t.events.fd), Events: unix.POLLIN}}
		wait := max(time.Until(t.next())+time.Millisecond, 0)
		if _, err := unix.Poll(ready, int(wait.Milliseconds())); err != nil && err != unix.EINTR {
			return fmt.Errorf("wait for events: %w", err)
		}
		var latest *order
		if ready[0].Revents != 0 {
			var err error
			if latest, err = orders.read(); err != nil || latest == nil && orders.over {
				return err
			}
		}
		if latest != nil {
			t.follow(latest)
		}
		reports, err := t.step(time.Now())
		if err != nil {
			return err
		}
		if !t.synced.Equal(synced) {
			synced = t.synced
			reports = append(reports, report{Ready: true})
		}
		for _, r := range reports {
			if err := send(r); err != nil {
				return err
			}
		}
	}
}

// orderReader puts orders together from what the socket has ready.
type orderReader struct {
	text []byte
	over bool
}

// read returns the latest complete order, if there is one, without waiting.
func (r *orderReader) read() (latest *order, err error) {
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(socket, buf, unix.MSG_DONTWAIT)
		if err == unix.EINTR {
			continue
		}
		r.over = n == 0 && err == nil || err == unix.ECONNRESET
		if n <= 0 {
			break
		}
		r.text = append(r.text, buf[:n]...)
	}
	for {
		line, rest, ok := bytes.Cut(r.text, []byte("\n"))
		if !ok {
			return latest, nil
		}
		r.text = rest
		latest = new(order)
		if err := json.Unmarshal(line, latest); err != nil {
			return nil, fmt.Errorf("read order: %w", err)
		}
	}
}

// send waits while the daemon does not read.
func send(r report) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("send report: %w", err)
	}
	for line = append(line, '\n'); len(line) > 0; {
		n, err := unix.SendmsgN(socket, line, nil, nil, unix.MSG_NOSIGNAL)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("send report: %w", err)
		}
		line = line[max(n, 0):]
	}
	return nil
}
