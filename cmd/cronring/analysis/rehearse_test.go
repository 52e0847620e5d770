package analysis

import (
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/effect"
)

// TestRehearsalHasTheBlackoutsOfTheHost: nothing starts in a blackout, and outside=wait starts at
// its end.
func TestRehearsalHasTheBlackoutsOfTheHost(t *testing.T) {
	file, _ := crontab.Parse("t", "0 * * * * skips\n#@ outside=wait window=00:00-24:00 catchup=once\n30 1 * * * waits\n", crontab.Config{User: "ann", Local: time.UTC})
	from := time.Date(2026, 11, 20, 0, 30, 0, 0, time.UTC)
	blackouts := timetable.Blackouts{{Name: "upgrade", From: from, Until: from.Add(2 * time.Hour)}}
	var got []string
	_, err := rehearse([]*crontab.File{file}, blackouts, from, from.Add(3*time.Hour), 0, func(at time.Time, e effect.Effect) error {
		if start, ok := e.(effect.Start); ok {
			got = append(got, at.Format("15:04 ")+start.Job.Command)
		}
		return nil
	})
	if want := []string{"02:30 waits", "03:00 skips"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
}
