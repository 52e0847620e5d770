// Package ownsocket owns the control socket of a program that takes the place of the daemon for one
// user, such as cronring demo. The socket is abstract, so it leaves no file, and it is closed when
// the user's dashboard ends.
package ownsocket

import (
	"context"
	"fmt"
	"io"
	"net"
)

// Serve calls serve with an abstract socket, and ends its context when in ends. It writes the address
// of the socket to out.
func Serve(in io.Reader, out io.Writer, serve func(context.Context, net.Listener) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l, err := new(net.ListenConfig).Listen(ctx, "unix", "") // the kernel chooses the address
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- serve(ctx, l) }()
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	go func() {
		io.Copy(io.Discard, in)
		cancel()
	}()
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	return err
}
