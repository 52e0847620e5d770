package journal

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxSyslog is the maximum text of one message in bytes; longer text is split. Syslog daemons
// accept that by default.
const maxSyslog = 8 << 10

// syslog writes to a syslog daemon on this host in the form of the C library's syslog(3) (RFC 3164
// without the host's name).
type syslog struct {
	path   string
	zone   func() *time.Location // of the time stamps
	conn   net.Conn
	stream bool // the daemon has a stream socket, where a NUL ends a message
}

func (s *syslog) write(n *note, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	text := string(n.message)
	if n.raw {
		text = visible(n.message)
	}
	for {
		part := text[:min(len(text), maxSyslog)]
		if err := s.writePart(n, part, deadline); err != nil {
			return err
		}
		if text = text[len(part):]; text == "" {
			return nil
		}
	}
}

func (s *syslog) writePart(n *note, text string, deadline time.Time) error {
	b := appendPart(nil, n, text, s.zone())
	err := s.send(b, deadline)
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	s.close() // a restarted daemon has another socket
	return s.send(b, deadline)
}

// appendPart is one message. What would end it early is made visible: one
// datagram is one entry.
func appendPart(b []byte, n *note, text string, zone *time.Location) []byte {
	b = append(b, '<')
	b = strconv.AppendInt(b, facility<<3|int64(n.priority), 10)
	b = append(b, '>')
	b = n.at.In(zone).AppendFormat(b, time.Stamp)
	b = append(b, ' ')
	b = append(b, tag(n.from)...)
	if n.pid != 0 {
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(n.pid), 10)
		b = append(b, ']')
	}
	b = append(b, ": "...)
	return append(b, oneLine(text)...)
}

func oneLine(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0 {
		return text
	}
	return visible([]byte(text))
}

// tag is an identifier that a syslog daemon reads to its end.
func tag(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 64)]
}

func (s *syslog) send(b []byte, deadline time.Time) error {
	if s.conn == nil {
		if err := s.dial(deadline); err != nil {
			return err
		}
	}
	if err := s.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	if s.stream {
		b = append(b, 0)
	}
	_, err := s.conn.Write(b)
	if err != nil && s.stream {
		s.close() // a message may be half written
	}
	return err
}

func (s *syslog) dial(deadline time.Time) error {
	d := net.Dialer{Deadline: deadline}
	conn, err := d.Dial("unixgram", s.path)
	s.stream = errors.Is(err, syscall.EPROTOTYPE)
	if s.stream {
		conn, err = d.Dial("unix", s.path)
	}
	if err != nil {
		return err
	}
	s.conn = conn
	return nil
}

func (s *syslog) close() error {
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	s.conn = nil
	return err
}
