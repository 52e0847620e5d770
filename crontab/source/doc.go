// Package source owns the position in a crontab while it is read: the current line,
// how joined lines lie in the file, and the diagnostics so far.
package source
