// Package tui owns the main loop of the dashboard, which reads keys, sends the requests of screens
// to the daemon, and draws on the terminal. No other package uses Bubble Tea or Lip Gloss.
package tui
