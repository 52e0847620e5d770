// Package doctor owns the command doctor, which checks the host, the daemon and other crons, and
// proposes or runs remedies.
package doctor
