package crontab

import "github.com/robfig/cron/v3"

// Reboot is the schedule of @reboot: it names no instant.
var Reboot cron.Schedule = reboot{}

// parseNickname reads the nickname at byte at of line, @ included. For @reboot
// reboot is true and f is empty.
func parseNickname(line string, at int, report func(col, length int, code Code, sev Severity, message, fix string)) (f fieldSet, end int, reboot, ok bool) {
	return fieldSet{}, at, false, false
}
