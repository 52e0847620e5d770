// Package gossip owns what a host knows of the other members of its ring: who
// is there, since when, with which jobs, and what they took. It keeps to
// hashicorp/memberlist for that, and decides nothing about jobs.
//
// A Ring has one goroutine that owns all that changes. memberlist's callbacks
// leave what they have in an inbox and go: they run under memberlist's locks,
// where waiting or asking it something would stop it for good.
package gossip
