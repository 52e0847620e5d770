// Package dashboard owns the command top: the dashboard, and its form for screen
// readers, which prints one line per event.
package dashboard
