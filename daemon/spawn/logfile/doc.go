// Package logfile owns the program that appends the output of a run to a file, as the
// user of the run (option log=).
package logfile
