package display

import "strconv"

// Bytes writes a number of bytes in the units of memory=, with at least three
// digits: 900, 12.3K, 1.50G; "" for none.
func Bytes(n int64) string {
	const units = "KMGTPE"
	switch {
	case n <= 0:
		return ""
	case n < 1000:
		return strconv.FormatInt(n, 10)
	}
	f, unit := float64(n), -1
	for ; f >= 999.5; unit++ {
		f /= 1024
	}
	decimals := 0
	if f < 99.95 {
		decimals++
	}
	if f < 9.995 {
		decimals++
	}
	return strconv.FormatFloat(f, 'f', decimals, 64) + units[unit:unit+1]
}
