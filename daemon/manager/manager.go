package manager

import (
	"fmt"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/cronring/cronring/daemon/job"
)

// Manager is the service manager. Its methods may be called concurrently, and never wait for it.
// They ignore messages that cannot be delivered: the manager supervises the daemon, not the daemon
// the manager.
type Manager struct {
	conn     *net.UnixConn // nil: none
	watchdog time.Duration
	passed   []passedFile
	outbox   outbox
}

// Open reads the environment. It removes the descriptors that came with the start from it, because
// they are passed once; the notification socket stays for the next execution of this program.
func Open() (*Manager, error) {
	m := &Manager{passed: takePassed()}
	m.outbox.wake = make(chan struct{}, 1)
	m.outbox.kept = map[job.RunID]bool{}
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return m, nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("reach the service manager: %w", err)
	}
	m.conn = conn
	if m.watchdog, err = daemon.SdWatchdogEnabled(false); err != nil {
		return nil, fmt.Errorf("read the watchdog's time: %w", err)
	}
	return m, nil
}

// Present reports whether a service manager is there.
func (m *Manager) Present() bool { return m.conn != nil }

// Close ends the talk.
func (m *Manager) Close() {
	if m.conn != nil {
		m.conn.Close()
	}
}

// Watchdog returns the maximum time between two calls of Alive; 0: no limit.
func (m *Manager) Watchdog() time.Duration { return m.watchdog / 2 }

// Alive feeds the watchdog.
func (m *Manager) Alive() { m.notify(daemon.SdNotifyWatchdog) }

// Ready reports that the daemon serves. status is one line for people.
func (m *Manager) Ready(status string) {
	m.notify(daemon.SdNotifyReady + "\nSTATUS=" + status + fmt.Sprintf("\nMAINPID=%d", os.Getpid()))
}

// Status replaces the line for people.
func (m *Manager) Status(status string) { m.notify("STATUS=" + status) }

// Reloading reports that the daemon is busy until the next Ready.
func (m *Manager) Reloading() {
	m.notify(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec() + "STATUS=replacing itself")
}

// upgradeTime is the maximum time for the upgrade of a history.
const upgradeTime = time.Hour

// Upgrading reports that the start takes long, as the history is being upgraded, and
// feeds the watchdog until done is called.
func (m *Manager) Upgrading() (done func()) {
	m.notify(fmt.Sprintf("STATUS=upgrading the history\nEXTEND_TIMEOUT_USEC=%d", upgradeTime.Microseconds()))
	if m.watchdog == 0 {
		return func() {}
	}
	over := make(chan struct{})
	go func() {
		for feed := time.NewTicker(m.Watchdog()); ; {
			select {
			case <-over:
				feed.Stop()
				return
			case <-feed.C:
				m.Alive()
			}
		}
	}()
	return func() { close(over) }
}

// Stopping reports that the daemon is about to end.
func (m *Manager) Stopping() { m.notify(daemon.SdNotifyStopping) }

func (m *Manager) notify(state string) {
	if m.conn == nil {
		return
	}
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	m.send(message{state: []byte(state)})
}
