// Package database owns the file of the history: its lock, its schema, the one connection that
// writes, and the connections that read.
package database
