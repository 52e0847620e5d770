// Package cgroup owns the control groups of runs, which limit a run's memory, processor time and
// number of processes, end all of its processes, and measure its usage.
//
// Groups are made in a delegated part of the tree. On a host with systemd that is a unit with
// Delegate=yes, one for each slice that is needed. Its only process is a holder: this program under
// another name, which keeps systemd from removing the unit's group, and exits when its daemon has
// ended and the last run has left. The daemon's own unit is not suitable, because systemd could not
// start the daemon again there while an earlier run is alive: version 2 allows no process in a
// group that delegates controllers. Without systemd, as in a container, it is a group beside the
// daemon's own.
//
// The alternative would be a systemd unit for each run. It is slower: a group costs
// a tenth of a millisecond, and a unit several milliseconds; see BenchmarkGroups500
// of package spawn and BenchmarkUnits of package session. Besides, systemd removes a
// unit's group before its resource usage can be read.
//
// Version 2 is used if it has the needed controllers, and version 1 otherwise. On a host that has
// both, version 2 counts and kills, and version 1 sets limits. If neither supports a limit, it is
// not set: Missing reports that in advance, and Make at the start of a run.
package cgroup
