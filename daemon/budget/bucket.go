package budget

import "time"

// Bucket is a token bucket: it limits how often something happens on average, and how often at the same
// time. The zero value is full. It is for one goroutine at a time.
type Bucket struct {
	spent float64 // and not refilled
	at    time.Time
}

// Has reports whether a token is left in a bucket of size tokens that receives rate tokens a second.
func (b *Bucket) Has(now time.Time, rate, size float64) bool {
	b.spent = max(0, b.spent-max(0, now.Sub(b.at).Seconds())*rate)
	b.at = now
	return b.spent <= size-1
}

// Spend removes tokens. If there are fewer, the bucket is empty until the rest is paid, too.
func (b *Bucket) Spend(tokens int) { b.spent += float64(tokens) }

// Reserve removes tokens in any case, and returns how long the caller must wait until the bucket has
// received them. Callers that wait do not overtake each other.
func (b *Bucket) Reserve(now time.Time, tokens int, rate, size float64) time.Duration {
	b.Has(now, rate, size)
	b.Spend(tokens)
	return time.Duration(max(0, b.spent-size) / rate * float64(time.Second))
}
