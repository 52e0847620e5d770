package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"runtime"
	"strings"
	"syscall"
)

var errNoAnswer = errors.New("no answer in time: it hangs, or systemd fails to start it")

// explain describes why no daemon was reached. It keeps an Error that a daemon sent, and the end of
// ctx, which is the caller's own.
func (c *Client) explain(ctx context.Context, purpose string, err error) error {
	if sent, ok := errors.AsType[*Error](err); ok {
		return sent
	}
	if errors.Is(context.Cause(ctx), errNoAnswer) {
		return &Error{
			V: Version, Kind: Unreachable, What: "cannot " + purpose + ": cronringd does not answer on " + c.socket,
			Why: errNoAnswer.Error(), Fix: "systemctl status cronring",
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", purpose, context.Cause(ctx))
	}
	e := &Error{V: Version, Kind: Unreachable, What: "cannot " + purpose + ": cronringd does not answer on " + c.socket}
	switch {
	case c.remote:
		e.Why = "the connection ended; if ssh printed a message, it has the reason"
		if !ended(err) { // such as ssh that cannot be started
			e.Why = cause(err)
		}
		e.Fix = "check that ssh connects without a prompt, and that cronring is installed there"
	case errors.Is(err, fs.ErrNotExist):
		e.Why = "there is no such socket (tried " + strings.Join(tried(c.socket), " and ") + "): the daemon is not running, or listens elsewhere"
		e.Fix = c.howToStart() + "    or name its socket: --socket PATH"
	case errors.Is(err, syscall.ECONNREFUSED) && isOther(c.socket):
		e.Why = "the path is not a socket"
		e.Fix = "name the socket of the daemon: --socket PATH"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Why = "the socket exists, but no process listens: the daemon has ended"
		e.Fix = c.howToStart() + "    or: systemctl status cronring"
	case ended(err):
		e.Why = "the connection ended before the answer: the daemon may have ended or been restarted"
		e.Fix = "systemctl status cronring"
	case errors.Is(err, syscall.EAGAIN):
		e.Why = "too many callers wait for a connection"
		e.Fix = "try again    or see who connects: ss -xp"
	case errors.Is(err, fs.ErrPermission):
		e.Kind, e.What = NotAllowed, "cannot "+purpose+": no permission to open the socket "+c.socket
		e.Why = "the socket belongs to another user"
		e.Fix = "run as that user or as root, or name your own daemon's socket: --socket PATH"
	case errors.Is(err, syscall.EINVAL):
		e.Kind, e.What = Usage, "cannot "+purpose+": "+c.socket+" cannot name a socket"
		e.Why = "a socket's path has at most 107 bytes"
		e.Fix = "use a shorter path"
	default:
		e.Why = cause(err)
		e.Fix = "systemctl status cronring"
	}
	return e
}

// tried returns the sockets that a search for the daemon tries if it ends at this one.
func tried(socket string) []string {
	if socket == UserSocket(os.Getenv) {
		return []string{SystemSocket, socket}
	}
	return []string{socket}
}

// ended reports whether a connection was made and has ended.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// isOther reports whether there is a file at path that is not a socket.
func isOther(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Type() != fs.ModeSocket
}

// howToStart is the command that starts the daemon of this socket.
func (c *Client) howToStart() string {
	if runtime.GOOS != "linux" {
		return "the daemon is on Linux only, name its host: -H user@HOST"
	}
	if c.socket == SystemSocket || len(tried(c.socket)) > 1 {
		return "systemctl start cronring    or in a clone: make run    or in a container: cronringd FILE..."
	}
	return "cronringd FILE..."
}

// cause leaves out the request's URL, which is made up for the socket.
func cause(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}
