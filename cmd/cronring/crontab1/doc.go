// Package crontab1 owns the program crontab, with the options, messages and exit codes of
// Debian's and cronie's crontab. It runs when cronring is called as crontab. Old scripts depend on
// these messages and exit codes, so they differ from those of other commands.
package crontab1
