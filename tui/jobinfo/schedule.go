package jobinfo

import (
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// shaping are the options that, beside the time fields, say which instants a
// schedule names. What delays each start by chance is not among them.
var shaping = []string{"dst", "sec", "from", "until", "count", "day", "year", "weeks"}

// ReadSchedule parses the schedule of a job as the daemon does: its time fields, with
// ~ replaced by the values of the next occurrence, and the options that alter the
// schedule. s is nil if the job does not run by the clock, or if the result disagrees
// with the occurrences that the daemon reported.
func ReadSchedule(j *api.Job, zone *timetable.Zone) (spec string, s cron.Schedule) {
	spec = job.FieldsOf(j.Job.StartsOn())
	switch {
	case j.Job.Options["calendar"] != "" || j.Job.Options["except"] != "":
		return spec, nil // the dates are not known here
	case spec != j.Job.Schedule, strings.ContainsAny(spec, "\n\r"), len(j.Upcoming) == 0 && strings.Contains(spec, "~"):
		return spec, nil
	case len(j.Upcoming) > 0:
		spec = pinned(spec, j.Upcoming[0].In(zone.Location()))
	}
	draft := draft.New(spec+" x\n", crontab.User)
	line, err := 1, error(nil)
	for _, key := range shaping {
		if value := j.Job.Options[key]; value != "" && err == nil {
			line, err = draft.Set(line, key, value)
		}
	}
	file, _ := crontab.Parse("-", draft.Text(), crontab.Config{Format: crontab.User, Local: zone.Location(), Zone: time.LoadLocation})
	if err != nil || len(file.Entries) != 1 {
		return spec, nil
	}
	s = file.Entries[0].Schedule
	if !Delayed(j) && !agrees(s, j.Upcoming) {
		return spec, nil
	}
	return spec, s
}

// Delayed reports whether starts are delayed by a random time.
func Delayed(j *api.Job) bool { return j.Job.Options["jitter"] != "" || j.Job.Options["spread"] != "" }

func agrees(s cron.Schedule, upcoming []time.Time) bool {
	for i, want := range upcoming {
		after := want.Add(-1)
		if i > 0 {
			after = upcoming[i-1]
		}
		if !s.Next(after).Equal(want) {
			return false
		}
	}
	return true
}

// pinned puts what an occurrence shows into the fields of minutes and hours that
// leave the choice to the host.
func pinned(spec string, at time.Time) string {
	fields := strings.Fields(spec)
	if len(fields) != 5 || !strings.Contains(spec, "~") {
		return spec
	}
	for i, value := range []int{at.Minute(), at.Hour()} {
		if strings.Contains(fields[i], "~") {
			fields[i] = strconv.Itoa(value)
		}
	}
	return strings.Join(fields, " ")
}
