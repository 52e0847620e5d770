// Package spool owns crontab files on disk: where they stand, whom the host
// may believe, how they are read and noticed to change, and what this host
// means by what stands in them. The daemon and the commands that need no
// daemon read them through it, so that lint says what the daemon will do.
//
// A file passes: its name (trust_name.go), its trust (trust.go: every refusal,
// in one function), its reading (Load), its parsing (Source). A Source scans
// what may have changed (scan.go) when Watch says so, or once a minute.
package spool
