// Package database owns the SQLite file of the history, with its lock, its schema, the one connection
// that writes, and the connections that read.
package database
