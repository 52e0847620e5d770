// Package cgroup owns the control groups of runs: what bounds the memory, the
// processor and the number of processes of a run, what ends all of it at once,
// and what tells afterwards how much it has used.
//
// Groups are made in a part of the tree that somebody gave away. On a host with
// systemd that is a unit with Delegate=yes, one for each slice that is asked
// for, in which nothing lives but a holder: this program under another name,
// which keeps systemd from removing the unit's group, and which goes when the
// daemon that asked for it is gone and the last run has left. It is not the
// daemon's own unit, as systemd could not start the daemon again there while a
// run of the one before goes on: version 2 lets no process into a group that
// hands controllers on to others. Without systemd, as in a container, it is a
// group beside the daemon's own.
//
// The other way would be a unit of systemd for each run. It was measured: see
// BenchmarkGroups500 of package spawn, BenchmarkUnits of package session. A
// group costs a tenth of a millisecond and a unit several of them, and systemd
// removes a unit's group before anybody can read what was used in it.
//
// Version 2 is used where it has what is needed, version 1 elsewhere, and both
// together on a host that has both: then version 2 counts and kills, and
// version 1 limits. What neither can do is not done at all: Missing says so
// before, and Make says so at the start of a run.
package cgroup
