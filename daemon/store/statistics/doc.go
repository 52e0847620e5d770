// Package statistics owns queries of very many runs and skips: runs in brief, samples, the prepared
// blocks that samples are read from, and totals.
package statistics
