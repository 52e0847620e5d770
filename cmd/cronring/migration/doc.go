// Package migration owns the commands that move jobs between cronring and other
// schedulers: import from cron, anacron and systemd timers, and export.
package migration
