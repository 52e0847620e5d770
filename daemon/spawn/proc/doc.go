// Package proc owns what the kernel reports about processes, in /proc and when they
// are reaped.
package proc
