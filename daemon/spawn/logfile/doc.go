// Package logfile owns the program that appends a run's output to the file of
// log=file:PATH, as the user of the run.
package logfile
