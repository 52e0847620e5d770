package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// extremeOptions are options that once kept Step busy forever, or made a wait of
// centuries end immediately, and similar ones.
var extremeOptions = []string{
	"at=2300-01-01", "at=9999-12-31", "at=2199-12-31T23:59:59", "at=0001-01-01", "from=2263-01-01", "from=2199-12-31", "until=9999-12-31",
	"expect=106751d23h47m", "expect=36525d notify=x notify-on=late", "every=106751d", "every=36525d phase=36524d", "every=1s jitter=52w",
	"sec=* jitter=1d", "jitter=36525d at=2026-12-24", "spread=36525d", "from=1970-01-01 count=1000000", "from=1970-01-01 count=1000 every=36525d",
	"timeout=36525d stop-grace=36525d", "timeout=1s stop-grace=36525d", "retry=1000 backoff=36525d retry-jitter=100%", "retry=3 backoff=1s..36525dx1e300",
	"breaker=1/36525d", "grace=36525d deadline=36525d catchup=all:1000 sec=*", "max-late=36525d max-run=36525d notify=x notify-on=late",
	"after=b wait=36525d", "on=job:b:done", "if=true every=1s overlap=queue-all", "keep=36525d",
}

// FuzzOptions runs a job with any options together with a plain one, for a while and
// after a year of sleep: each Step returns, Wake advances, and the plain job runs on
// time.
func FuzzOptions(f *testing.F) {
	for _, options := range extremeOptions {
		f.Add(options, "*/5 * * * *")
		f.Add(options, "0 0 29 2 *")
	}
	f.Fuzz(func(t *testing.T, options, fields string) {
		if len(options)+len(fields) > 300 || strings.ContainsAny(options+fields, "\n\r\x00") {
			t.Skip()
		}
		within(t, options+" above "+fields, func() { liveWith(t, options, fields) })
	})
}

func TestExtremeOptions(t *testing.T) {
	for _, options := range extremeOptions {
		within(t, options, func() { liveWith(t, options, "* * * * *") })
	}
}

func liveWith(t *testing.T, options, fields string) {
	h := newSimHost(t, extremeStart, time.UTC)
	h.now.Up = 40 * 24 * time.Hour
	h.crontabs = []*crontab.File{h.crontab("t", "#@ name=plain\n* * * * * b\n"), h.crontab("u", "#@ name=a "+options+"\n"+fields+" a\n#@ name=b\n*/2 * * * * b\n")}
	started, awake := 0, true
	h.check = func(h *simHost, effects []effect.Effect) {
		for _, e := range effects {
			if s, ok := e.(effect.Start); ok && s.Run.Job == "plain" {
				if late := h.now.Wall.Sub(s.Run.Due); late > time.Second && awake {
					t.Errorf("%q: the plain job starts %s late", options, late)
				}
				started++
			}
		}
	}
	h.start()
	live := func(d time.Duration) {
		end, still := h.now.Wall.Add(d), 0
		for {
			h.settle()
			for id := range h.checking {
				h.answer(id, job.Outcome{Kind: job.Exited})
			}
			for id := range h.measured {
				h.meet(id, event.Unmet{})
			}
			for id := range h.running {
				h.end(id, job.Outcome{Kind: job.Exited, Code: int(id) % 2})
			}
			h.settle()
			wake := h.engine.Wake()
			if wake.IsZero() || wake.After(end) {
				break
			}
			if wake.After(h.now.Wall) {
				h.pass(wake.Sub(h.now.Wall))
				still = 0
			} else if still++; still > 20_000 {
				t.Fatalf("%q: the engine wants to step again and again at %s", options, h.now.Wall)
			}
			h.step(event.Tick{})
		}
		h.pass(end.Sub(h.now.Wall))
	}
	live(5 * time.Minute)
	if started != 5 {
		t.Errorf("%q: the plain job ran %d times in 5 minutes", options, started)
	}
	awake = false
	h.pass(366 * 24 * time.Hour)
	live(time.Minute)
	if started < 6 {
		t.Errorf("%q: the plain job did not run after a year", options)
	}
}
