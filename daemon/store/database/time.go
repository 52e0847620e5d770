package database

import (
	"database/sql"
	"database/sql/driver"
	"math"
	"time"
)

// Nanos returns the stored form of a time: NULL for the zero time.
func Nanos(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

// NanosBound returns a time as the end of a range. Times that no row can hold, such
// as the zero time, are as good as the first or the last one it can.
func NanosBound(t time.Time) int64 {
	switch n := t.UnixNano(); {
	case time.Unix(0, n).Equal(t):
		return n
	case t.Year() < 1970:
		return math.MinInt64
	default:
		return math.MaxInt64
	}
}

// FromNanos returns the time of a stored form that is not NULL.
func FromNanos(n int64) time.Time { return time.Unix(0, n).UTC() }

// Instant returns the time of a stored form: the zero time for NULL.
func Instant(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return FromNanos(n.Int64)
}
