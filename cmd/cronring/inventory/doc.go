// Package inventory owns what is known of cron on a host: its crontabs, its settings of
// other crons, its scripts and what its programs report. The host is this one, or a
// directory with the files of another.
package inventory
