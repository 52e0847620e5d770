// Package jobinfo owns the requests that show jobs, such as the list, one job, the graph of
// dependencies, options, environment and saved values.
package jobinfo
