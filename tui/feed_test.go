package tui

import (
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/cronring/cronring/daemon/api"
)

// Updates that arrive faster than the screen can show them are merged, and the program receives
// one message.
func TestFeedGivesParts(t *testing.T) {
	notified := 0
	f := feed{send: func(tea.Msg) { notified++ }}
	rows := []int{64, mostRows - 64, 5, 0, 1, mostRows + 1, 7}
	for _, n := range rows {
		f.put(api.BoardUpdate{Rows: make([]api.Row, n)})
	}
	if notified != 1 {
		t.Errorf("the program was told %d times, want once", notified)
	}
	for i, want := range [][]int{{64, mostRows - 64}, {5, 0, 1, mostRows + 1}, {7}} {
		some, more := f.take()
		var got []int
		for _, u := range some {
			got = append(got, len(u.Rows))
		}
		if !slices.Equal(got, want) || more != (i < 2) {
			t.Errorf("part %d has updates of %v rows, more %t, want %v", i, got, more, want)
		}
	}
	f.put(api.BoardUpdate{})
	if notified != 2 {
		t.Errorf("the program was told %d times, want once more as all was taken", notified)
	}
}
