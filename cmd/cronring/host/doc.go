// Package host owns the commands about the daemon itself: config, db, metrics, notify,
// ping, version, and bridge, which other hosts reach it through.
package host
