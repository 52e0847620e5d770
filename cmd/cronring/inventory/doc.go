// Package inventory owns the search of a host for everything that belongs to cron, such as crontabs,
// scripts and the settings of other crons, for the commands doctor, import and lint. The host is this
// one, or a directory with the files of another.
package inventory
