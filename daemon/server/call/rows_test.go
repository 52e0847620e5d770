package call

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deadlines is a ResponseWriter that records how long each write may take.
type deadlines struct {
	http.ResponseWriter
	limits []time.Duration
	begun  time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.limits = append(d.limits, t.Sub(d.begun))
	return nil
}

func TestRowsMustBeReadInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{ResponseWriter: httptest.NewRecorder(), begun: time.Now()}
		row := strings.Repeat("x", slowestRate)
		err := AnswerRows(t.Context(), &Call{Writer: d}, "rows", func(yield func(string, error) bool) {
			for range 3 {
				if !yield(row, nil) {
					return
				}
			}
		})
		if err != nil || len(d.limits) == 0 {
			t.Fatalf("%d writes, %v", len(d.limits), err)
		}
		for i, limit := range d.limits {
			if limit < WriteTimeout || limit > WriteTimeout+4*time.Second {
				t.Errorf("write %d of %d must end after %s", i, len(d.limits), limit)
			}
		}
	})
}
