// Package analysis owns summaries of past runs and forecasts of coming ones: statistics, the past
// and the coming runs of jobs, their time line, and the minutes in which many start together.
package analysis
