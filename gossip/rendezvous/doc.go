// Package rendezvous owns weighted rendezvous hashing, which orders the members of a group for a key
// so that programs of every language, architecture and version agree without communicating: Thaler and
// Ravishankar 1998, weights after Schindelhauer and Schomaker 2005, specified to the last bit.
//
// # The specification, version 1
//
// All words are unsigned, of 64 bits, and wrap around.
//
//	fnv(s):   h = 14695981039346656037; for each byte b of s: h = (h xor b) * 1099511628211
//	mix(x):   x = (x xor x>>30) * 0xbf58476d1ce4e5b9
//	          x = (x xor x>>27) * 0x94d049bb133111eb
//	          x xor x>>31
//	draw:     h = mix(key xor mix(fnv(id) + 0x9e3779b97f4a7c15)); 0 counts as 1
//	cost:     c = -log2(h / 2^64) in units of 2^-48, rounded up: see below
//	order:    by c/weight, the smaller first, compared exactly as c1*weight2 < c2*weight1
//	          in 128 bits; of equal ones the larger h first; then the smaller id, as bytes
//
// A key that is a text is its fnv. A weight is a number of 65,536ths: see
// Weight. The 48 binary digits of the logarithm come from squaring. Floating
// point is not used, because its rounding depends on the architecture:
//
//	z = number of leading zeros of h; m = h << z
//	48 times: m*m, 128 bits long, is at least 2^127 if its first bit is set:
//	          then the digit is 1, and m the upper 64 bits;
//	          else the digit is 0, and m the upper 64 bits of 2*m*m
//	c = (z+1) * 2^48 - the digits, read as a number
//
// The cost is monotone in h. Therefore nodes of equal weight are in the order of
// h, and their logarithms are not computed. testdata/vectors.txt has examples. It
// is frozen, and so is this text: a different order requires a new Version.
//
// # How even it is
//
// If each key is assigned independently, no function distributes n keys among m
// nodes more evenly than random assignment does. The number of keys of a node is
// binomial, and its standard deviation is sqrt((m-1)/n) of the mean. That is 2 %
// for 10,000 keys and 5 nodes. The node with the most keys then has 2.3 % more
// than the mean on average.
package rendezvous
