package analysis

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// A run that begins at the start of a cell lies in that cell or a later one, for any division of
// the time: a time line whose jobs fire each second is drawn from cell to cell.
func TestAxisAlwaysGetsOn(t *testing.T) {
	from := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, span := range []time.Duration{263 * time.Hour, longestLine, time.Hour, api.MaxCells} {
		for cells := 1; cells <= api.MaxCells; cells++ {
			a := axis{from: from, to: from.Add(span), now: from, cells: cells}
			for k := range cells {
				b := a.begin(k)
				if got := a.cell(b); got < k || !a.begin(got+1).After(b) || a.cell(b.Add(-1)) >= k {
					t.Fatalf("%s in %d cells: cell %d begins %s, which lies in cell %d", span, cells, k, b, got)
				}
			}
		}
	}
	if a := (axis{from: from, to: from.Add(longestLine), cells: api.MaxCells}); a.cell(from.AddDate(200, 0, 0)) != api.MaxCells {
		t.Error("what lies far behind the last cell is not behind it")
	}
}
