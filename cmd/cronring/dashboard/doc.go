// Package dashboard owns the command top, which starts the dashboard or its form for screen readers,
// which prints one line per event.
package dashboard
