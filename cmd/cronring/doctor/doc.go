// Package doctor owns the command doctor: its checks of the host, of the daemon and of
// other crons, and the remedies that it proposes or runs.
package doctor
