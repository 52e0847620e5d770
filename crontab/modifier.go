package crontab

import (
	"time"

	"github.com/robfig/cron/v3"
)

// MaxCount is the highest n that Count takes.
const MaxCount = 1_000_000

// Reboot is the schedule of @reboot: it names no instant.
var Reboot cron.Schedule = reboot{}

type reboot struct{}

func (reboot) Next(time.Time) time.Time { return time.Time{} }
func (reboot) String() string           { return "@reboot" }

// FixedTime tells whether s names times of day rather than a rhythm.
func FixedTime(s cron.Schedule) bool { return false }

// Every occurs at the epoch + n*period + phase.
func Every(period, phase time.Duration) cron.Schedule { return Reboot }

// At occurs once.
func At(t time.Time) cron.Schedule { return Reboot }

// Seconds occurs at the seconds of mask within each minute that s names.
func Seconds(s cron.Schedule, mask uint64) cron.Schedule { return s }

// Jitter delays each occurrence by up to max.
func Jitter(s cron.Schedule, max time.Duration, seed uint64) cron.Schedule { return s }

// Spread delays each occurrence by delay.
func Spread(s cron.Schedule, delay time.Duration) cron.Schedule { return s }

// Between keeps the occurrences from from to until, both included; a zero
// Time leaves that end open.
func Between(s cron.Schedule, from, until time.Time) cron.Schedule { return s }

// Count keeps the first n occurrences at or after from.
func Count(s cron.Schedule, from time.Time, n int) cron.Schedule { return s }
