// Package gossip owns what a host knows of the other members of its ring: who
// is there, since when, with which jobs, and what they took. It uses
// hashicorp/memberlist for that, and decides nothing about jobs.
//
// One goroutine of a Ring owns all its mutable state. memberlist's callbacks only
// add to an inbox, because they run under memberlist's locks: blocking there, or
// calling memberlist, would cause a deadlock.
package gossip
