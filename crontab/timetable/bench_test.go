package timetable

import (
	"testing"
	"time"

	"github.com/adhocore/gronx"
	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// benchSpecs are schedules of real crontabs, in spellings that all three
// libraries read.
var benchSpecs = []string{
	"* * * * *", "*/2 * * * *", "*/5 * * * *", "*/10 * * * *", "*/15 * * * *",
	"*/30 * * * *", "0 * * * *", "17 * * * *", "5,35 * * * *", "0-59/7 * * * *",
	"0 */2 * * *", "0 */6 * * *", "30 */4 * * *", "0 0 * * *", "25 6 * * *",
	"30 2 * * *", "0 3 * * *", "15 4 * * *", "59 23 * * *", "0 9-17 * * *",
	"*/15 9-17 * * *", "0 8,12,18 * * *", "47 6 * * 0", "0 0 * * 0", "30 9 * * 1-5",
	"0 18 * * 1-5", "*/10 8-18 * * 1-5", "0 22 * * 6", "0 12 * * 1,3,5", "0 0 1 * *",
	"52 6 1 * *", "0 4 15 * *", "0 0 1,15 * *", "30 3 28 * *", "0 5 1-7 * *",
	"0 6 31 * *", "0 0 1 1 *", "0 0 1 */3 *", "30 8 1 1,4,7,10 *", "0 12 25 12 *",
	"0 7 * 6-8 *", "*/20 7 * 6 1-5", "0 0 13 * 5", "0 1 1 * 1", "5 4 29 2 *",
}

var benchStart = time.Date(2026, 11, 20, 21, 7, 31, 0, time.UTC)

// BenchmarkNext walks each schedule from occurrence to occurrence, in UTC and
// in a zone with DST.
func BenchmarkNext(b *testing.B) {
	for _, zone := range []struct{ name, file string }{{"utc", "Etc/UTC"}, {"new-york", "America/New_York"}} {
		loc := time.UTC
		if zone.name != "utc" {
			loc = zoneFile(b, "slim", zone.file)
		}
		b.Run(zone.name+"/cronring", func(b *testing.B) {
			z := NewZone(loc)
			schedules := make([]cron.Schedule, len(benchSpecs))
			for i, spec := range benchSpecs {
				schedules[i] = mustSchedule(b, spec, z)
			}
			benchmarkSchedules(b, schedules, loc)
		})
		b.Run(zone.name+"/robfig", func(b *testing.B) {
			schedules := make([]cron.Schedule, len(benchSpecs))
			for i, spec := range benchSpecs {
				s, err := cron.ParseStandard(spec)
				if err != nil {
					b.Fatal(err)
				}
				s.(*cron.SpecSchedule).Location = loc
				schedules[i] = s
			}
			benchmarkSchedules(b, schedules, loc)
		})
		b.Run(zone.name+"/gronx", func(b *testing.B) {
			schedules := make([]cron.Schedule, len(benchSpecs))
			for i, spec := range benchSpecs {
				schedules[i] = gronxSchedule(spec)
			}
			benchmarkSchedules(b, schedules, loc)
		})
	}
}

// gronxSchedule reads its text at each call: gronx has no other way.
type gronxSchedule string

func (s gronxSchedule) Next(t time.Time) time.Time {
	next, err := gronx.NextTickAfter(string(s), t, false)
	if err != nil {
		return time.Time{}
	}
	return next
}

func benchmarkSchedules(b *testing.B, schedules []cron.Schedule, loc *time.Location) {
	b.ReportAllocs()
	starts := make([]time.Time, len(schedules))
	for i := range starts {
		starts[i] = benchStart.In(loc)
	}
	i, last := 0, benchStart.Unix()+50*366*secondsPerDay
	for b.Loop() {
		starts[i] = schedules[i].Next(starts[i])
		if starts[i].Unix() > last {
			starts[i] = benchStart.In(loc)
		}
		if i++; i == len(schedules) {
			i = 0
		}
	}
}

func BenchmarkNewZone(b *testing.B) {
	loc := zoneFile(b, "slim", "America/New_York")
	b.ReportAllocs()
	for b.Loop() {
		NewZone(loc)
	}
}

// BenchmarkParseFields reads one corpus entry per iteration.
func BenchmarkParseFields(b *testing.B) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		_, _, ok := ParseFields(benchSpecs[i], 0, 1, func(int, int, diagnostic.Code, string, string) {})
		if !ok {
			b.Fatal(benchSpecs[i])
		}
		if i++; i == len(benchSpecs) {
			i = 0
		}
	}
}
