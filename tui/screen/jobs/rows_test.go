package jobs

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// typeAmongMany types a filter of more jobs than are searched immediately.
func typeAmongMany(t *testing.T, typed string) (*Jobs, *screen.World, []screen.Effect) {
	t.Helper()
	s, w := manyJobs(t, 3000)
	s.Act(w, keys.Filter)
	var effects []screen.Effect
	for _, key := range typed {
		effects, _ = s.Type(w, screen.Key{Name: string(key), Text: string(key)})
	}
	return s, w, effects
}

func text(s *Jobs, w *screen.World) string {
	c := canvas.New(80, 22)
	s.Draw(c.View(), w)
	return c.Text()
}

// Among many jobs a regular expression does not delay the answer to a key.
func TestJobsSearchAmongMany(t *testing.T) {
	s, w, effects := typeAmongMany(t, "/-[0-9]{5}7$/")
	if got := text(s, w); !strings.Contains(got, "searching") || !strings.Contains(got, "Searching 3000 jobs ...") {
		t.Errorf("before the search:\n%s", got)
	}
	screentest.Settle(t, s, w, screentest.NewDaemon(), effects)
	if got := text(s, w); strings.Contains(got, "searching") || !strings.Contains(got, "1/300") {
		t.Errorf("after the search:\n%s", got)
	}
}

// A search that the filter no longer needs is ended.
func TestJobsEndSearch(t *testing.T) {
	s, w, effects := typeAmongMany(t, "/0$/")
	search := func(e screen.Effect) bool {
		ask, ok := e.(screen.Ask)
		return ok && ask.Slot == SlotSearch
	}
	if n := len(filter(effects, search)); n != 1 {
		t.Fatalf("%d searches are requested, want 1", n)
	}
	if again := filter(s.Refresh(w), search); len(again) != 0 {
		t.Error("the search is requested again while it is under way")
	}
	effects, _ = s.Type(w, screen.Key{Name: "backspace"})
	ended := filter(effects, func(e screen.Effect) bool { return e == screen.Forget{Slot: SlotSearch} })
	if len(ended) != 1 || strings.Contains(text(s, w), "searching") {
		t.Errorf("after a change of the filter the search is not ended:\n%s", text(s, w))
	}
}

func filter(effects []screen.Effect, is func(screen.Effect) bool) (some []screen.Effect) {
	for _, e := range effects {
		if is(e) {
			some = append(some, e)
		}
	}
	return some
}
