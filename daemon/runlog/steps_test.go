package runlog

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
)

// worded is a sink that keeps the words of records and of the daemon's own log.
type worded struct {
	journal.Sink // Flush and Close
	said         []string
	records      int
}

func (w *worded) Record(r *journal.Record) {
	w.records++
	if r.Words != "" {
		w.said = append(w.said, r.Words)
	}
}

func (w *worded) Log(e *journal.Entry) {
	said := e.Level.String() + " " + e.Message
	for _, a := range e.Attrs {
		said += fmt.Sprintf(" %s=%s", a.Key, a.Value)
	}
	w.said = append(w.said, said)
}

// stepTo is what the engine records of a clock that was set.
func stepTo(at time.Time, by time.Duration) *job.Record {
	return &job.Record{At: at, Kind: job.Stepped, Was: at.Add(-by), Detail: job.Text(fmt.Sprintf("the clock was set by %s", by))}
}

// A clock that is set now and then is told of each time. One that flaps gets an
// entry a minute, the last of which says what the clock shows; machines get every
// record.
func TestClockThatFlapsIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worded{Sink: journal.NewText(io.Discard)}
		v := New(w, false)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- v.Run(ctx) }()
		all := func() string { synctest.Wait(); return strings.Join(w.said, "\n") }

		v.Record(stepTo(noon, time.Hour))
		want := "the clock was set by 1h0m0s, from 2026-11-20T11:00:00Z to 2026-11-20T12:00:00Z: the skipped occurrences are late, and catchup= decides"
		if got := all(); got != want {
			t.Errorf("at once: got\n%s\nwant\n%s", got, want)
		}
		time.Sleep(2 * time.Minute)
		w.said = nil
		v.Record(stepTo(noon, time.Hour))
		if got := all(); got != want {
			t.Errorf("two minutes later: got\n%s\nwant\n%s", got, want)
		}
		v.Record(stepTo(noon, -time.Hour))
		time.Sleep(time.Minute)
		synctest.Wait()
		const more = " MESSAGE_ID=" + journal.SteppedID + " kind=stepped"
		back := "the clock was set by -1h0m0s, from 2026-11-20T13:00:00Z to 2026-11-20T12:00:00Z: entries with fixed times of day do not run " +
			"until the clock reaches the time that it had before; entries that follow the clock run again" + more
		if len(w.said) != 2 || w.said[1] != "WARN "+back {
			t.Errorf("a second one in the same minute: got\n%s\nwant at last\nWARN %s", all(), back)
		}

		w.said, w.records = nil, 0
		for range 175 {
			time.Sleep(time.Second)
			v.Record(stepTo(noon, time.Hour))
			v.Record(stepTo(noon, -time.Hour))
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if w.records != 350 {
			t.Errorf("records: got %d, want each of 350", w.records)
		}
		left := 0
		for i, said := range w.said {
			var n int
			if _, err := fmt.Sscanf(said, "WARN %d times that the clock was set are left out here; then the clock", &n); err != nil || !strings.HasSuffix(said, fmt.Sprintf("%s count=%d", more, n)) {
				t.Errorf("entry %d of a flapping clock: %q: %v", i, said, err)
			}
			left += n
		}
		if len(w.said) != 3 || left != 350-len(w.said) {
			t.Errorf("three minutes of flapping: got %d entries that leave out %d, want 3 that leave out the rest of 350", len(w.said), left)
		}
		if last := w.said[len(w.said)-1]; !strings.Contains(last, "from 2026-11-20T13:00:00Z to 2026-11-20T12:00:00Z") {
			t.Errorf("the last entry is not of the last change: %q", last)
		}
	})
}

// What the log says that follows is what cronring-time(7) says.
func TestStepWordsAreThoseOfThePage(t *testing.T) {
	text, err := os.ReadFile("../../man/cronring-time.7")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), ".Sh CHANGES OF THE CLOCK")
	section, _, _ = strings.Cut(section, ".Sh ")
	page := map[string]string{}
	for _, item := range strings.Split(section, "\n.It ")[1:] {
		head, body, _ := strings.Cut(item, "\n")
		body = regexp.MustCompile(`(?m)^\.[A-Z][a-z] `).ReplaceAllString(body, "")
		page[head] = strings.ToLower(strings.Join(strings.Fields(body), " "))
	}
	for by, head := range map[time.Duration]string{
		time.Minute: "forward", 24 * time.Hour: "forward",
		-time.Minute: "back, by less than three hours", 1 - agenda.Correction: "back, by less than three hours",
		-agenda.Correction: "back, by three hours or more", -24 * time.Hour: "back, by three hours or more",
	} {
		_, then, _ := strings.Cut(stepWords(stepTo(noon, by)), "Z: ")
		for _, said := range strings.Split(strings.ReplaceAll(then, "catchup=", "catchup"), "; ") {
			if !strings.Contains(page[head], said) {
				t.Errorf("by %s: the log says %q, the page of %q %q", by, said, head, page[head])
			}
		}
	}
	if agenda.Correction != 3*time.Hour {
		t.Errorf("Correction: got %s, want the page's three hours", agenda.Correction)
	}
}
