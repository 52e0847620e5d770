package beats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/descriptor"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/unixconn"
)

// socket receives WATCHDOG=1, as in sd_notify(3), from the processes of a run.
type socket struct {
	run  job.RunID
	user string
	conn unixconn.Conn
	end  context.CancelFunc
}

func (s *socket) close() {
	s.end()
	_ = s.conn.Close() // nothing was written to it
}

// Path returns the path of the socket of a run. It does not change when the daemon is replaced.
func (b *Receiver) Path(run job.RunID) string { return filepath.Join(b.dir, run.String()) }

// Open opens the socket of a run. Only the user with the number uid, and root, can send to it.
func (b *Receiver) Open(run job.RunID, user string, uid uint32) error {
	if err := os.Mkdir(b.dir, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory of sockets: %w", err)
	}
	conn, err := listen(b.Path(run), uid)
	if err == nil {
		b.begin(run, user, conn)
	}
	return err
}

// listen replaces the socket of another daemon. The mode is set before the socket has a name.
func listen(path string, uid uint32) (*net.UnixConn, error) {
	private := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(fd uintptr) {
			err = errors.Join(unix.Fchmod(int(fd), 0o600), unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1))
		}), err)
	}}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	conn, err := private.ListenPacket(context.Background(), "unixgram", path)
	if err != nil {
		return nil, err
	}
	if err := os.Lchown(path, int(uid), -1); err != nil {
		return nil, errors.Join(err, conn.Close(), os.Remove(path))
	}
	return conn.(*net.UnixConn), nil
}

// begin reads a socket until it is closed.
func (b *Receiver) begin(run job.RunID, user string, conn *net.UnixConn) {
	ctx, end := context.WithCancel(context.Background())
	s := &socket{run: run, user: user, conn: unixconn.Conn{UnixConn: conn}, end: end}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sockets[run] = s
	b.readers.Go(func() { b.read(ctx, s) })
}

// Takes reports whether a run can send signs of life. It returns false if the socket of the run is lost.
// Without a directory of sockets, runs use the control socket.
func (b *Receiver) Takes(run job.RunID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dir == "" || b.sockets[run] != nil
}

// Close closes and removes the socket of a run, and reports whether there was one.
func (b *Receiver) Close(run job.RunID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sockets[run]
	if s == nil {
		return false
	}
	delete(b.sockets, run)
	s.close()
	_ = os.Remove(b.Path(run)) // otherwise the next daemon removes it
	return true
}

// Count returns the number of open sockets.
func (b *Receiver) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sockets)
}

// Shut closes all sockets and waits for their readers. The sockets keep their names, for the next
// daemon.
func (b *Receiver) Shut() {
	b.mu.Lock()
	for _, s := range b.sockets {
		s.close()
	}
	clear(b.sockets)
	b.mu.Unlock()
	b.readers.Wait()
}

// Handover returns copies of the descriptors of sockets, for Restore in the program that replaces this
// one: programs that are connected to a socket stay connected. If too many files are open, some are missing.
func (b *Receiver) Handover() map[job.RunID]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	copies := make(map[job.RunID]int, len(b.sockets))
	for run, s := range b.sockets {
		if fd, err := descriptor.Copy(s.conn); err == nil {
			copies[run] = fd
		}
	}
	return copies
}

// Restore reopens the sockets of running runs, which the previous daemon opened, and removes all other
// sockets. runs contains the user of each run. kept are descriptors of Handover.
func (b *Receiver) Restore(running map[job.RunID]string, kept map[job.RunID]int) (err error) {
	entries, _ := os.ReadDir(b.dir) // there is none before the first run with a socket
	for _, entry := range entries {
		path := filepath.Join(b.dir, entry.Name())
		id, noRun := strconv.ParseInt(entry.Name(), 10, 64)
		run := job.RunID(id)
		user, lives := running[run]
		if noRun != nil || !lives {
			err = errors.Join(err, os.Remove(path))
			continue
		}
		conn, failed := reopen(path, kept[run])
		delete(kept, run)
		if err = errors.Join(err, failed); failed == nil {
			b.begin(run, user, conn)
		}
	}
	for _, fd := range kept {
		_ = syscall.Close(fd) // nothing was written to it
	}
	return err
}

// reopen takes a descriptor of a socket over. Without one, which is 0, it opens the socket at path again
// for its owner.
func reopen(path string, fd int) (*net.UnixConn, error) {
	if fd == 0 {
		var status unix.Stat_t
		if err := unix.Lstat(path, &status); err != nil {
			return nil, err
		}
		return listen(path, status.Uid)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	conn, err := net.FilePacketConn(f)
	if err != nil {
		return nil, err
	}
	own, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s: descriptor %d is not a socket for messages", path, fd), conn.Close())
	}
	return own, nil
}
