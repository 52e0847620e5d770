package ring

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/filetest"
)

// A name with an empty label cannot be resolved, and no server is asked.
func TestGreeterReportsNames(t *testing.T) {
	f := greeter(&config.Ring{Name: "main"})(t.Context(), "a..b:7946")
	if f == nil || f.why != "the name of a..b:7946 cannot be resolved" || !strings.Contains(f.fix, "/etc/hosts") {
		t.Errorf("got %+v, want the name as the reason", f)
	}
}

// A member that does not answer in time is not reported as one with another key.
func TestGreeterDistinguishesSilence(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	filetest.Write(t, key, newKey(), 0o600)
	hello := greeter(&config.Ring{Name: "main", KeyFile: key})
	for _, tc := range []struct {
		name string
		// accepted does what the other side does with a connection; end ends the time to answer.
		accepted func(c net.Conn, end func())
		why, fix string
	}{
		{"silent", func(_ net.Conn, end func()) { end() }, "did not answer within 2s", "firewalls"},
		{"another program", func(c net.Conn, _ func()) { c.Write([]byte("SSH-2.0-OpenSSH\r\n")) }, "has another key", "key file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				if c, err := l.Accept(); err == nil {
					defer c.Close()
					tc.accepted(c, end)
					c.Read(make([]byte, 1<<16)) // until the other side gives up
				}
			}()
			f := hello(ctx, l.Addr().String())
			if f == nil || !strings.Contains(f.why, tc.why) || !strings.Contains(f.fix, tc.fix) {
				t.Errorf("got %+v, want %q and %q", f, tc.why, tc.fix)
			}
		})
	}
}
