package api

import (
	"os"
	"path/filepath"
)

// SystemSocket is where the host's own daemon listens.
const SystemSocket = "/run/cronring/cronring.sock"

// FindSocket is the socket to talk to: $CRONRING_SOCKET, else SystemSocket if
// it exists, else the one of a daemon that this user runs (UserSocket).
func FindSocket(getenv func(string) string) string {
	if named := getenv("CRONRING_SOCKET"); named != "" {
		return named
	}
	if _, err := os.Lstat(SystemSocket); err == nil {
		return SystemSocket
	}
	return UserSocket(getenv)
}

// UserSocket is where a daemon listens that a user runs in the foreground,
// unless it is told otherwise.
func UserSocket(getenv func(string) string) string {
	state := getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(getenv("HOME"), ".local", "state")
	}
	return filepath.Join(state, "cronring", "cronring.sock")
}
