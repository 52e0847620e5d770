// Package screen owns what the dashboard shows and how it answers: the screens,
// what lies over them, and the shell that holds them together. It draws on a
// canvas and speaks in effects; terminals and sockets are the tui package's.
//
// The straight line: a key becomes an action (keys.Map), the front screen or the
// shell answers with effects, the tui package carries them out, and what comes of
// them returns as an Answer. Nothing here waits, reads a clock or starts a
// goroutine, so that every screen is tested by keys in and pictures out.
package screen
