package api

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReasonOfAFailedConnection(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "s")
	for _, test := range []struct {
		name   string
		client func(string, func(context.Context) (net.Conn, error)) *Client
		err    error
		want   string
	}{
		{"ssh ended", Through, io.EOF, "the connection ended; if ssh printed a message, it has the reason"},
		{"ssh cannot be started", Through, errors.New("run ssh: permission denied"), "run ssh: permission denied"},
		{"the socket was removed after the attempt", DialWith, syscall.ECONNREFUSED, "no process listens"},
	} {
		c := test.client(missing, func(context.Context) (net.Conn, error) { return nil, test.err })
		_, err := c.Status(t.Context())
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Why, test.want) {
			t.Errorf("%s: got %v, want the reason %q", test.name, err, test.want)
		}
	}
}
