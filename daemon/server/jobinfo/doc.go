// Package jobinfo owns what users read of jobs: the list, one job, the graph of dependencies, options
// and environment; and the values that jobs keep.
package jobinfo
