// Package tui owns the terminal of the dashboard: it reads keys, sends the requests
// of screens to the daemon, and writes frames. No other package uses Bubble Tea or
// Lip Gloss.
package tui
