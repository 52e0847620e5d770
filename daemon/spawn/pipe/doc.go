// Package pipe owns the pipes of standard files, with and without a name, and input
// that needs no writer.
package pipe
