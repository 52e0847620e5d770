// Package jobstate owns the states of jobs as a user of the control socket sees them. It derives
// them from the engine's view, from a cache of the newest ended run of each job, and from what
// other members of the ring have claimed.
package jobstate
