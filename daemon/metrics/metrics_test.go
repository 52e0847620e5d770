package metrics

import (
	"math"
	"testing"
)

func TestTextIsPrometheus(t *testing.T) {
	text := New("host", "db-01")
	text.Family("cronring_up", Gauge, "Whether it is \\ there,\nor not.")
	text.Add(1)
	text.Family("cronring_runs_total", Counter, "Runs.")
	text.Add(12, "outcome", "ok")
	text.Add(0.25, "outcome", "failed", "job", "a\"b\\c\nd\xff")
	text.Family("cronring_start_time_seconds", Gauge, "When.")
	text.Add(1795340000.5)
	text.Add(1795340000)
	text.Add(math.Inf(-1))
	text.Add(math.NaN())
	text.Family("cronring_lag_seconds", Histogram, "Lag.")
	text.Distribution([]float64{0.001, 1}, []uint64{3, 0, 2}, 7.5)
	const want = `# HELP cronring_up Whether it is \\ there,\nor not.
# TYPE cronring_up gauge
cronring_up{host="db-01"} 1
# HELP cronring_runs_total Runs.
# TYPE cronring_runs_total counter
cronring_runs_total{host="db-01",outcome="ok"} 12
cronring_runs_total{host="db-01",outcome="failed",job="a\"b\\c\nd` + "\ufffd" + `"} 0.25
# HELP cronring_start_time_seconds When.
# TYPE cronring_start_time_seconds gauge
cronring_start_time_seconds{host="db-01"} 1.7953400005e+09
cronring_start_time_seconds{host="db-01"} 1795340000
cronring_start_time_seconds{host="db-01"} -Inf
cronring_start_time_seconds{host="db-01"} NaN
# HELP cronring_lag_seconds Lag.
# TYPE cronring_lag_seconds histogram
cronring_lag_seconds_bucket{host="db-01",le="0.001"} 3
cronring_lag_seconds_bucket{host="db-01",le="1"} 3
cronring_lag_seconds_bucket{host="db-01",le="+Inf"} 5
cronring_lag_seconds_sum{host="db-01"} 7.5
cronring_lag_seconds_count{host="db-01"} 5
`
	if got := string(text.Bytes()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTextWithoutLabels(t *testing.T) {
	text := New()
	text.Family("x", Gauge, "X.")
	text.Add(2)
	text.Add(3, "a", "")
	if got, want := string(text.Bytes()), "# HELP x X.\n# TYPE x gauge\nx 2\nx{a=\"\"} 3\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTextRefusesWhatTheFormatHasNot(t *testing.T) {
	for name, write := range map[string]func(){
		"a family twice":           func() { x := New(); x.Family("x", Gauge, ""); x.Family("x", Gauge, "") },
		"a counter without _total": func() { New().Family("x", Counter, "") },
		"a gauge with it":          func() { New().Family("x_total", Gauge, "") },
		"no name":                  func() { New().Family("", Gauge, "") },
		"a digit in front":         func() { New().Family("1x", Gauge, "") },
		"a hyphen":                 func() { New().Family("a-b", Gauge, "") },
		"a label with a colon":     func() { New("a:b", "c") },
		"other buckets":            func() { x := New(); x.Family("x", Histogram, ""); x.Distribution([]float64{1}, []uint64{1}, 0) },
		"buckets of a gauge":       func() { x := New(); x.Family("x", Gauge, ""); x.Distribution([]float64{1}, []uint64{1, 1}, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: got no panic, want one", name)
				}
			}()
			write()
		}()
	}
}
