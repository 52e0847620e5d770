// Package spool owns the crontab files on disk, which it finds, checks for trust, reads, watches,
// interprets for this host, and writes. The daemon and the commands that need no daemon both use it,
// so that lint reports what the daemon will do.
//
// A file passes checks of its name (trust_name.go) and its trust (trust.go: all refusals, in one
// function), is read (Load) and parsed (Source). A Source scans what may have changed (scan.go)
// when Watch reports it, or once a minute.
package spool
