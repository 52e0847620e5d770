// Package cgroup owns the control groups of runs: the limits of a run's memory, processor time and
// number of processes, the end of all of its processes, and the measurement of its usage.
//
// Groups are made in a delegated part of the tree. On a host with systemd that is a unit with
// Delegate=yes, one for each slice that is needed. Its only process is a holder: this program under
// another name, which keeps systemd from removing the unit's group, and exits when its daemon has
// ended and the last run has left. The daemon's own unit is not suitable, because systemd could not
// start the daemon again there while an earlier run is alive: version 2 allows no process in a
// group that delegates controllers. Without systemd, as in a container, it is a group beside the
// daemon's own.
//
// The other way would be a unit of systemd for each run. It was measured: see
// BenchmarkGroups500 of package spawn, BenchmarkUnits of package session. A
// group costs a tenth of a millisecond and a unit several of them, and systemd
// removes a unit's group before anybody can read what was used in it.
//
// Version 2 is used if it has what is needed, version 1 otherwise, and both together on a host that
// has both: then version 2 counts and kills, and version 1 limits. A limit that neither supports is
// not set: Missing reports that before, and Make at the start of a run.
package cgroup
