package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/atomicfile"
)

// native implements the journal's own protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL): a
// datagram of fields, or if that is too large a descriptor of a sealed memory file that holds them.
type native struct {
	path string
	conn *net.UnixConn
	buf  []byte
}

// maxKept is the maximum size of a buffer that is kept between entries, in bytes.
const maxKept = 1 << 20

func (j *native) write(n *note, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	if cap(j.buf) > maxKept {
		j.buf = nil
	}
	j.buf = encodeNote(j.buf[:0], n)
	err := j.send(deadline)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	j.close() // a restarted journal has another socket
	return j.send(deadline)
}

// prepare connects, if that is necessary.
func (j *native) prepare(deadline time.Time) error {
	if j.conn == nil {
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: j.path, Net: "unixgram"})
		if err != nil {
			return err
		}
		j.conn = conn
	}
	return j.conn.SetWriteDeadline(deadline)
}

func (j *native) send(deadline time.Time) error {
	if err := j.prepare(deadline); err != nil {
		return err
	}
	_, err := j.conn.Write(j.buf)
	if errors.Is(err, syscall.EMSGSIZE) || errors.Is(err, syscall.ENOBUFS) {
		return j.sendFile()
	}
	return err
}

// writeAs writes an entry as that of a process. Only root may do that, and only until
// the process is reaped.
func (j *native) writeAs(n *note, process int, wait time.Duration) error {
	j.buf = encodeNote(j.buf[:0], n)
	if err := j.prepare(time.Now().Add(wait)); err != nil {
		return err
	}
	as := unix.Ucred{Pid: int32(process), Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
	err := j.sendControl(j.buf, unix.UnixCredentials(&as))
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		j.close() // a restarted journal has another socket
	}
	return err
}

// limited reports whether a process is in the unit that jobs with limits share.
// journald limits the messages of that unit, so that those of one job could
// suppress the start messages of others.
func limited(process int) bool {
	group, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", process)) // sending finds out
	return strings.Contains(string(group), "/cronring-runs-")
}

func (j *native) sendFile() error {
	fd, err := atomicfile.Sealed("journal", j.buf) // the journal maps the file, and so takes none that could still change
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return j.sendControl(nil, unix.UnixRights(fd))
}

// sendControl sends data with a control message. UnixConn does that for streams
// alone, once it is connected.
func (j *native) sendControl(data, control []byte) error {
	raw, err := j.conn.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Write(func(to uintptr) bool {
		sent = unix.Sendmsg(int(to), data, control, nil, unix.MSG_NOSIGNAL)
		return sent != unix.EAGAIN
	})
	if err != nil {
		return err
	}
	return os.NewSyscallError("sendmsg", sent)
}

func (j *native) close() error {
	if j.conn == nil {
		return nil
	}
	err := j.conn.Close()
	j.conn = nil
	return err
}

// facility is cron's number in syslog.
const facility = 9

func encodeNote(b []byte, n *note) []byte {
	b = appendField(b, "MESSAGE", n.message)
	b = appendField(b, "PRIORITY", []byte{'0' + byte(n.priority)})
	b = appendField(b, "SYSLOG_FACILITY", strconv.AppendInt(nil, facility, 10))
	b = appendField(b, "SYSLOG_IDENTIFIER", []byte(n.from))
	if n.pid != 0 {
		b = appendField(b, "SYSLOG_PID", strconv.AppendInt(nil, int64(n.pid), 10))
	}
	for _, f := range n.fields {
		b = appendField(b, f.name, []byte(f.value))
	}
	return b
}

// appendField adds a field: NAME=value and a line feed, or for a value that
// has one itself the name, a line feed, the length in 64 bits little endian,
// the value and a line feed.
func appendField(b []byte, name string, value []byte) []byte {
	b = append(b, name...)
	if strings.IndexByte(string(value), '\n') < 0 {
		b = append(b, '=')
	} else {
		b = append(b, '\n')
		b = binary.LittleEndian.AppendUint64(b, uint64(len(value)))
	}
	b = append(b, value...)
	return append(b, '\n')
}
