// Package daemon owns the main loop of cronringd, one goroutine that steps the scheduler (package
// engine), stores its decisions and then performs them.
//
// A step is: read the clock once, Step, Commit (one transaction), publish an
// immutable view, perform the acts in order, set the alarm to Wake. Acts only
// begin things; their results arrive as events. If the store fails, jobs still run, records wait in
// a bounded queue, and the status reports it.
//
// A daemon without files replaces the host's cron. Running jobs survive it: over exec
// (package handover), through the service manager's store of descriptors after a crash (inherit.go), and
// through a shim when it is stopped (package shim).
//
// In a ring a step is: engine, ring, and engine again until neither has a message for the other;
// then Commit. The ring's claims go to gossip, or to the ledger of the voters, and their answers
// come back as events of the ring (package member).
//
// .github/CONTRIBUTING.md lists the packages from the top layer to the bottom, and layers_test.go checks
// their imports.
//
// Three packages handle changes of time: crontab for daylight saving time, engine for a clock that
// was set, clock for suspend.
package daemon
