// Package pipe owns the pipes for the standard input, output and error of runs, with and without a
// name, and input that needs no writer.
package pipe
