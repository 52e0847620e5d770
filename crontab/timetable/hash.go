package timetable

// Mix is FNV-1a over seed and text with a final mixing step, because the last
// bytes have little effect on the high bits of FNV.
func Mix(seed uint64, text string) uint64 {
	const prime = 1_099_511_628_211
	h := seed ^ 14_695_981_039_346_656_037
	for i := 0; i < len(text); i++ {
		h = (h ^ uint64(text[i])) * prime
	}
	h = (h ^ h>>32) * 0x9e37_79b9_7f4a_7c15
	return h ^ h>>29
}

// hash mixes a seed with a number (SplitMix64), for random choices that must stay
// the same.
func hash(seed, n uint64) uint64 {
	h := seed + (n+1)*0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
