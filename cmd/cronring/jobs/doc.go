// Package jobs owns the commands that show jobs and change how they are run: list, show,
// status, why, graph, env, pause, resume, ack, beat and state.
package jobs
