// Package analysis owns summaries of past runs and forecasts of coming ones, such as statistics, the
// time line, and the minutes in which many start together.
package analysis
