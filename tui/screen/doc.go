// Package screen owns what a screen of the dashboard is: the interface between screens
// and shell, the effects that a screen returns, and what all screens see.
//
// A key becomes an action (keys.Map). The front screen or the shell returns effects,
// package tui performs them, and their results come back as Answers. No screen waits,
// reads a clock or starts a goroutine, so tests press keys and compare pictures.
package screen
