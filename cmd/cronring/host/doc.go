// Package host owns the commands about the daemon itself, which are config, db, metrics, notify, ping,
// version, and bridge, which other hosts reach it through.
package host
