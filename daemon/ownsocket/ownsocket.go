// Package ownsocket owns the socket of a program that answers requests of its own user only, and
// that leaves no files.
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
