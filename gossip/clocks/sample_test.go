package clocks

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cronring/cronring/gossip/holders"
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

// FuzzDecode reads any answer of another member, and compares clocks with it.
func FuzzDecode(f *testing.F) {
	now := time.Unix(1_700_000_000, 0)
	f.Add(Encode(now.Add(2*time.Second), true, 3, 4), int64(2*time.Second))
	f.Add(append(Encode(time.Unix(0, math.MinInt64), false, math.MaxUint32, math.MaxUint64), "more"...), int64(math.MaxInt64))
	f.Add(Encode(time.Unix(0, math.MaxInt64), true, 0, 0), int64(0))
	f.Add(Encode(time.Time{}, true, 0, 0), int64(1))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), int64(-1))
	f.Fuzz(func(t *testing.T, b []byte, trip int64) {
		s, ok := Decode(b, time.Duration(trip), now)
		if longer, okLonger := Decode(append(b[:len(b):len(b)], "more"...), time.Duration(trip), now); ok && (!okLonger || longer != s) {
			t.Errorf("%x is %+v, with more bytes %+v, %t", b, s, longer, okLonger)
		}
		if !ok {
			return
		}
		if s.Load < 0 || s.Trip < 0 {
			t.Errorf("%x has the load %d and the trip %s", b, s.Load, s.Trip)
		}
		theirs := now.Add(s.Offset - s.Trip/2)
		if again, ok := Decode(Encode(theirs, s.Sure, uint32(s.Load), s.ViewSum), s.Trip, now); s.Offset.Abs() < 1<<60 && s.Trip < 1<<60 && (!ok || again != s) {
			t.Errorf("read %+v, written and read again %+v, %t", s, again, ok)
		}
		var other Samples
		for range maxSamples + 1 {
			other.Add(s)
		}
		if offset, ok := other.Offset(); !ok || offset != s.Offset || other.Last() != s || other.Slowest() != s.Trip || len(other.list) != maxSamples {
			t.Errorf("samples of %+v: %+v", s, other)
		}
		var c Check
		c.Begin(0)
		wrong := s.Offset.Abs() > holders.MaxSkew
		if fault := c.Fault([]*Samples{&other, {}}, confirmTime, ""); (fault != "") != (wrong || c.Open) || strings.ContainsFunc(fault, unicode.IsControl) {
			t.Errorf("with the offset %s the fault is %q", s.Offset, fault)
		}
	})
}
