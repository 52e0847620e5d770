// Package source owns the lines of a crontab as the parser reads them, with the position of each in
// the file and the diagnostics so far.
package source
