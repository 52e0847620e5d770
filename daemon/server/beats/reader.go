package beats

import (
	"bytes"
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn/proc"
	"github.com/cronring/cronring/daemon/wake"
)

// maxMessage is the length of the longest message that is not ignored, the same as systemd's.
const maxMessage = 4096

// read reads messages until the socket is closed. There is no room for descriptors in control, so the
// kernel closes those that come with a message. systemd-notify waits for that.
func (b *Receiver) read(ctx context.Context, s *socket) {
	text, control := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	for ctx.Err() == nil {
		n, size, flags, err := s.conn.ReadMessage(text, control)
		if err == nil && flags&unix.MSG_TRUNC == 0 && isSign(text[:n]) {
			b.forward(ctx, s, senderOf(control[:size]))
		}
		_ = wake.Sleep(ctx, b.admission.delay(s.user, time.Now()))
	}
}

// isSign reports whether a line of a message is a sign of life.
func isSign(text []byte) bool {
	for line := range bytes.Lines(text) {
		if string(bytes.TrimRight(line, "\n")) == "WATCHDOG=1" {
			return true
		}
	}
	return false
}

// senderOf returns the process that sent a message, as the kernel reports it, or 0.
func senderOf(control []byte) int {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) == 0 || len(messages[0].Data) < unix.SizeofUcred { // the next function does not check the length
		return 0
	}
	sender, err := unix.ParseUnixCredentials(&messages[0])
	if err != nil {
		return 0
	}
	return int(sender.Pid)
}

// forward passes a sign of life to the loop if it is fresh and a process of the run sent it. Checking
// the process is expensive, so the sign is counted first.
func (b *Receiver) forward(ctx context.Context, s *socket, pid int) {
	now := time.Now()
	if fresh, _ := b.admission.try(s.user, s.run, now); !fresh {
		return
	}
	view := b.daemon.View()
	if view == nil {
		return
	}
	run, ok := view.Run(s.run)
	if !ok || run.State != job.RunRunning || !proc.IsOf(pid, run.PID) {
		return
	}
	b.admission.pass(s.run, now)
	_ = b.send(ctx, s.run) // it is refused if the run has just ended
}
