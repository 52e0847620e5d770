package engine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/man/mantest"
)

const timePage = "../../man/cronring-time.7"

// checkTimePage compares tables of man/cronring-time.7 with the engine's behaviour; with
// UPDATE_SCRIPTS=1 it rewrites them.
func checkTimePage(t *testing.T, about string, least int, say func(table mantest.Table, row []string) []string) {
	t.Helper()
	wrong, checked, err := mantest.CheckTables(timePage, about, os.Getenv("UPDATE_SCRIPTS") != "", say)
	if err != nil {
		t.Fatal(err)
	}
	if checked < least {
		t.Errorf("got %d rows, want at least %d", checked, least)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestTimePageSaysWhatIsMadeUp loads an entry with each value of catchup= and counts the
// runs that start after an absence. The result must be the same whether the host slept or
// the daemon did not run; the test tries both.
func TestTimePageSaysWhatIsMadeUp(t *testing.T) {
	checkTimePage(t, "away", 10, func(table mantest.Table, row []string) (cells []string) {
		for _, rule := range table.Head[1:] {
			slept := startsAfter(t, table.About[1:], rule, row[0], false)
			stopped := startsAfter(t, table.About[1:], rule, row[0], true)
			if slept != stopped {
				t.Errorf("%s, catchup=%s: %d starts after a sleep, %d when the daemon is back", row[0], rule, slept, stopped)
			}
			cells = append(cells, strconv.Itoa(slept))
		}
		return cells
	})
}

// startsAfter counts the runs that start at the end of an absence, such as "02:00 to
// 09:00" or "02:00 to 09:00, 7 days later".
func startsAfter(t *testing.T, fields []string, rule, absence string, stopped bool) int {
	t.Helper()
	times, days, _ := strings.Cut(absence, ", ")
	from, to, _ := strings.Cut(times, " to ")
	later, _ := strconv.Atoi(strings.TrimSuffix(days, " days later"))
	begin, end := clockOf(t, from), clockOf(t, to).AddDate(0, 0, later)

	h := newSimHost(t, clockOf(t, "01:59:00"), time.UTC)
	h.crontabs = []*crontab.File{h.crontab("page", fmt.Sprintf("#@ name=job catchup=%s\n%s job\n", rule, strings.Join(fields, " ")))}
	h.start()
	h.advance(begin)
	starts := countStarts(h, func(job.Run) bool { return true })
	if stopped {
		h.die()
		h.pass(end.Sub(h.now.Wall))
		h.start()
	} else {
		h.pass(end.Sub(h.now.Wall))
		h.step()
	}
	return *starts
}

// countStarts counts the runs that start from here on.
func countStarts(h *simHost, counts func(job.Run) bool) *int {
	n := 0
	h.log = func(e effect.Effect) {
		if s, ok := e.(effect.Start); ok && counts(s.Run) {
			n++
		}
	}
	return &n
}

// clockOf parses a time of day in the page.
func clockOf(t *testing.T, text string) time.Time {
	t.Helper()
	if strings.Count(text, ":") == 1 {
		text += ":00"
	}
	at, err := time.Parse("2006-01-02 15:04:05", "2027-01-12 "+text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestTimePageSaysWhatASetClockDoes counts how often the occurrence of 02:30 runs
// until the clock shows 12:00.
func TestTimePageSaysWhatASetClockDoes(t *testing.T) {
	checkTimePage(t, "set", 7, func(table mantest.Table, row []string) (cells []string) {
		times, _ := strings.CutSuffix(row[0], ", the day before")
		from, to, _ := strings.Cut(times, " to ")
		by := clockOf(t, to).Sub(clockOf(t, from))
		if times != row[0] {
			by -= 24 * time.Hour
		}
		for _, fields := range table.Head[1:] {
			h := newSimHost(t, clockOf(t, "01:59:00"), time.UTC)
			h.crontabs = []*crontab.File{h.crontab("page", "#@ name=job\n"+fields+" job\n")}
			h.start()
			starts := countStarts(h, func(r job.Run) bool { return r.Due.Equal(clockOf(t, "02:30")) })
			h.advance(clockOf(t, from))
			h.set(by)
			h.step()
			h.advance(clockOf(t, "12:00"))
			cells = append(cells, strconv.Itoa(*starts))
		}
		return cells
	})
}

// TestTimePageClaims checks sentences of the page that are not in a table.
func TestTimePageClaims(t *testing.T) {
	for _, tc := range []struct {
		claim, text string
		then        func(h *simHost) string
		want        string
	}{
		{"a timeout counts what the host slept", "#@ name=job timeout=1h\n30 2 * * * job\n", func(h *simHost) string {
			h.advance(clockOf(t, "02:31"))
			h.pass(2 * time.Hour)
			return strings.Join(said(h), " ")
		}, "kill 1 terminated"},
		{"a timeout does not count what the clock was set", "#@ name=job timeout=1h\n30 2 * * * job\n", func(h *simHost) string {
			h.advance(clockOf(t, "02:31"))
			h.set(2 * time.Hour)
			return strings.Join(said(h), " ")
		}, ""},
		{"what runs again has another invocation", "#@ name=job\n*/10 * * * * job\n", func(h *simHost) string {
			seen := map[string]int{}
			h.log = func(e effect.Effect) {
				if s, ok := e.(effect.Start); ok && s.Run.Due.Equal(clockOf(t, "02:30")) {
					seen[s.Run.Invocation]++
				}
			}
			h.advance(clockOf(t, "02:40"))
			h.set(-time.Hour)
			h.step()
			h.advance(clockOf(t, "02:40"))
			return fmt.Sprint(len(seen))
		}, "2"},
		{"nothing is made up from before an entry was read", "#@ name=job catchup=all deadline=30d\n30 1 * * * job\n", func(h *simHost) string {
			return strings.Join(said(h), " ")
		}, ""},
		{"a clock that began in the past makes the last night up", "#@ name=job\n30 1 * * * job\n", func(h *simHost) string {
			h.die()
			h.now.Wall = time.Unix(60, 0).UTC()
			h.start()
			h.set(clockOf(t, "03:00").Sub(h.now.Wall))
			return strings.Join(said(h), " ")
		}, "start 1 job attempt=1 trigger=catchup"},
	} {
		h := newSimHost(t, clockOf(t, "01:59:00"), time.UTC)
		h.crontabs = []*crontab.File{h.crontab("page", tc.text)}
		h.start()
		h.settle()
		if got := tc.then(h); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.claim, got, tc.want)
		}
	}
}

// said returns the engine's effects at this instant, except records.
func said(h *simHost) (all []string) {
	for _, e := range h.step() {
		switch e.(type) {
		case effect.Start, effect.Kill:
			all = append(all, strings.TrimSpace(h.notify(e)))
		}
	}
	return all
}
