// Package statistics owns reading of very many runs and skips at once: in brief, as samples, from
// blocks that are prepared for that, and summed up.
package statistics
