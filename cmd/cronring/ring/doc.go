// Package ring owns the command ring: the hosts that share jobs, their setup, and checks
// of their configuration.
package ring
