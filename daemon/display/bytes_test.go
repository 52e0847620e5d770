package display

import (
	"math"
	"testing"
)

func TestBytesHaveThreeDigits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "", 1: "1", 999: "999", 1000: "0.98K", 1024: "1.00K", 10 << 10: "10.0K", 12_600: "12.3K", 100 << 10: "100K",
		999 << 10: "999K", 1000 << 10: "0.98M", 3 << 29: "1.50G", math.MaxInt64: "8.00E",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}
