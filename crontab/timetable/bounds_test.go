package timetable

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// TestSpacingEqualsBruteForce iterates random schedules over the years in which dates and weekdays
// repeat.
func TestSpacingEqualsBruteForce(t *testing.T) {
	seed, _ := bruteSettings(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		b := &bruteSchedule{
			{text: fmt.Sprint(r.IntN(60))}, {text: fmt.Sprint(r.IntN(24))},
			randomField(r, 1, 31, -1), randomField(r, 1, 12, -1), randomField(r, 0, 7, -1),
		}
		if r.IntN(2) == 0 {
			b[0], b[1] = bruteField{text: fmt.Sprintf("%d,%d", r.IntN(60), r.IntN(60))}, bruteField{text: fmt.Sprintf("%d,%d", r.IntN(24), r.IntN(24))}
		}
		s := mustSchedule(t, b.spec(), nil)
		var want time.Duration
		end := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
		for at := s.Next(time.Date(1999, 12, 31, 23, 59, 0, 0, time.UTC)); !at.IsZero() && at.Before(end); {
			next := s.Next(at)
			if !next.IsZero() {
				want = shorter(want, next.Sub(at))
			}
			at = next
		}
		if got := Spacing(s); got != want {
			t.Errorf("%q: got %s, want %s (CRONRING_SEED=%d)", b.spec(), got, want, seed)
		}
	}
}

// TestSchedulesEndWithLastYear holds that no modifier moves an occurrence
// behind the last instant.
func TestSchedulesEndWithLastYear(t *testing.T) {
	end := time.Date(LastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)
	minutes := mustSchedule(t, "* * * * *", nil)
	for _, s := range []cron.Schedule{
		minutes, Every(time.Second, 0), Every(MaxDuration*2, 0), At(end), At(end.AddDate(5000, 0, 0)), Seconds(minutes, 1<<60-1),
		Jitter(minutes, 59*time.Second, 1), Jitter(At(end.Add(-time.Second)), MaxDuration, 1), Spread(minutes, MaxDuration*2),
		Between(minutes, end, time.Time{}), Between(Every(MaxDuration, 0), time.Unix(0, 0), end.AddDate(100, 0, 0)), Count(minutes, end, 5),
	} {
		for _, after := range []time.Time{{}, time.Unix(0, 0), end.Add(-24 * time.Hour), end.Add(-time.Minute), end.Add(-time.Second), end, end.AddDate(7000, 0, 0)} {
			if got := s.Next(after); !got.IsZero() && (!got.After(after) || !got.Before(end)) {
				t.Errorf("%v after %s: got %s", s, after, got)
			}
		}
	}
}
