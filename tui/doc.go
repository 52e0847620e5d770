// Package tui owns the terminal of the dashboard: it reads keys, carries out what
// the screens want of the daemon, and writes the frames that they draw. Nothing
// else in the program knows of Bubble Tea and Lip Gloss.
package tui
