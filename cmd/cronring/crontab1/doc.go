// Package crontab1 owns crontab(1): the program that cronring is when it is called as
// crontab, with the options, messages and exit codes of Debian's and cronie's.
package crontab1
