// Package crontab1 owns crontab(1): the program that runs when cronring is called as
// crontab, with the options, messages and exit codes of Debian's and cronie's crontab. Old scripts
// depend on these messages and exit codes, so they differ from those of other commands.
package crontab1
