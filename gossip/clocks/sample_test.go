package clocks

import (
	"testing"
	"time"
)

// A sample of a later version may have more fields at its end; they are ignored.
func TestSampleOfALaterVersion(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	b := append(Encode(now.Add(2*time.Second), true, 3, 4), "more"...)
	want := Sample{Offset: 3 * time.Second, Trip: 2 * time.Second, Load: 3, ViewSum: 4, Sure: true}
	if got, ok := Decode(b, 2*time.Second, now); !ok || got != want {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
}
