// Package spool owns crontab files on disk: how they are read, and what this
// host means by what stands in them. The daemon and the commands that need no
// daemon read them through it, so that lint says what the daemon will do.
package spool
