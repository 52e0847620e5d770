package manager

import (
	"fmt"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/cronring/cronring/daemon/job"
)

// Manager is the service manager as the daemon sees it. Its methods may be
// called concurrently, and never wait for it. That a message is not delivered
// is nobody's business but the manager's: it watches us, not we it.
type Manager struct {
	conn     *net.UnixConn // nil: none
	watchdog time.Duration
	given    []given
	outbox   outbox
}

// Open reads what the environment says. The descriptors that came with the
// start are taken out of it, as they are given once; the notification socket
// stays for who executes this program anew.
func Open() (*Manager, error) {
	m := &Manager{given: takeGiven()}
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

// Watchdog is how often Alive has to be called at least; 0: never.
func (m *Manager) Watchdog() time.Duration { return m.watchdog / 2 }

// Alive feeds the watchdog.
func (m *Manager) Alive() { m.tell(daemon.SdNotifyWatchdog) }

// Ready says that the daemon serves. status is one line for people.
func (m *Manager) Ready(status string) {
	m.tell(daemon.SdNotifyReady + "\nSTATUS=" + status + fmt.Sprintf("\nMAINPID=%d", os.Getpid()))
}

// Status replaces the line for people.
func (m *Manager) Status(status string) { m.tell("STATUS=" + status) }

// Reloading says that the daemon is busy with itself until the next Ready.
func (m *Manager) Reloading() {
	m.tell(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec() + "STATUS=executing itself anew")
}

// upgradeTime is how long the upgrade of a history may take.
const upgradeTime = time.Hour

// Upgrading reports that the start takes long, as the history is being upgraded, and
// feeds the watchdog until done is called.
func (m *Manager) Upgrading() (done func()) {
	m.tell(fmt.Sprintf("STATUS=upgrading the history\nEXTEND_TIMEOUT_USEC=%d", upgradeTime.Microseconds()))
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

// Stopping says that the daemon is about to end.
func (m *Manager) Stopping() { m.tell(daemon.SdNotifyStopping) }

func (m *Manager) tell(state string) {
	if m.conn == nil {
		return
	}
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	m.send(message{state: []byte(state)})
}
