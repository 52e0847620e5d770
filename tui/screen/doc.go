// Package screen owns the interface between the dashboard's screens and the frame around them (package
// shell), with the effects that a screen returns and the state that all screens see.
//
// A key becomes an action (keys.Map). The front screen or the shell returns effects,
// package tui performs them, and their results come back as Answers. No screen waits,
// reads a clock or starts a goroutine, so tests press keys and compare pictures.
package screen
