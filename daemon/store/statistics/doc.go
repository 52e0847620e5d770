// Package statistics owns the queries that read very many runs and skips for statistics: runs in
// brief, samples, the prepared blocks that samples are read from, and totals.
package statistics
