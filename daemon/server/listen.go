package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxPath is the maximum length in the kernel's sockaddr_un, without its final NUL.
const maxPath = 107

// Listen makes the control socket at path. Root's daemon serves all users (each sees its own jobs
// only), so all may connect; another user's daemon has only that user's jobs, so others may not.
// The directory must exist. It replaces a socket of an ended daemon, after checking that no process
// answers on it. Closing the listener removes the socket.
func Listen(path string) (net.Listener, error) {
	mode := fs.FileMode(0o600)
	if os.Geteuid() == 0 {
		mode = 0o666
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("listen on %s: a socket's path has at most %d bytes, this one has %d", path, maxPath, len(path))
	}
	unlock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	defer unlock()
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := bind(path, mode)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return l, nil
}

// lockPatience is more than another daemon needs to make its socket.
const lockPatience = 2 * time.Second

// lockDir keeps two daemons that start together from each taking the other's
// new socket for a stale one. Every user can lock the directory, too, and must not
// keep the daemon from starting, so it does not wait for long.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	take := func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	err = take()
	for end := time.Now().Add(lockPatience); errors.Is(err, syscall.EWOULDBLOCK) && time.Now().Before(end); err = take() {
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { f.Close() }, nil
}

// removeStale removes the socket of a daemon that is gone, and nothing else.
// Only a refused connection proves that: a busy daemon lets callers wait.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("listen on %s: something is there that is not a socket", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return fmt.Errorf("listen on %s: another daemon answers there", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("listen on %s: cannot determine whether another daemon listens: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove stale socket: %w", err)
	}
	return nil
}

// bind makes the socket so that at no time more users can connect than allowed: Linux gives the new
// file the mode that the socket had before bind, less the umask (unix(7) does not mention it; see
// unix_bind_bsd in net/unix/af_unix.c).
func bind(path string, mode fs.FileMode) (net.Listener, error) {
	closed := func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), 0o600) })
		return errors.Join(err, failed)
	}
	l, err := (&net.ListenConfig{Control: closed}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
