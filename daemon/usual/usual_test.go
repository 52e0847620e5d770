package usual

import (
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	seconds := func(values ...int) (list []time.Duration) {
		for _, v := range values {
			list = append(list, time.Duration(v)*time.Second)
		}
		return list
	}
	for name, c := range map[string]struct {
		before []time.Duration
		want   Spread
		usual  []time.Duration
		odd    []time.Duration
	}{
		"varied":         {seconds(50, 60, 70, 55, 65), Spread{time.Minute, 5 * time.Second}, seconds(35, 60, 85), seconds(34, 86, 600, 0)},
		"one odd":        {seconds(60, 60, 61, 59, 3600), Spread{time.Minute, time.Second}, seconds(55, 66), seconds(53, 67)},
		"equal":          {seconds(100, 100, 100, 100), Spread{100 * time.Second, 0}, seconds(90, 110), seconds(89, 111)},
		"instant":        {seconds(0, 0, 0), Spread{}, seconds(0, 1), seconds(2)},
		"an even number": {seconds(10, 20, 30, 40), Spread{25 * time.Second, 10 * time.Second}, seconds(0, 75), seconds(76)},
	} {
		got := SpreadOf(c.before)
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for _, d := range c.usual {
			if got.Odd(d) {
				t.Errorf("%s: %v is odd", name, d)
			}
		}
		for _, d := range c.odd {
			if !got.Odd(d) {
				t.Errorf("%s: %v is usual", name, d)
			}
		}
	}
	if SpreadOf(nil) != (Spread{}) {
		t.Error("no durations have a spread")
	}
}
