package find

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func texts(all ...string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, text := range all {
			if !yield(text, strings.ToLower(text)) {
				return
			}
		}
	}
}

// marked puts the letters that match into brackets.
func marked(m Match) string {
	var b strings.Builder
	for i := range len(m.Text) {
		if slices.Contains(m.Letters, i) {
			fmt.Fprintf(&b, "[%c]", m.Text[i])
		} else {
			b.WriteByte(m.Text[i])
		}
	}
	return b.String()
}

func TestBestComesFirst(t *testing.T) {
	jobs := texts("etl-orders", "cache-warm", "pg-backup", "report-daily", "orders-etl-late", "metal", "pause", "Geo-IP", "report stats")
	for _, tc := range []struct{ pattern, want string }{
		{"etl", "[e][t][l]-orders, orders-[e][t][l]-late, m[e][t]a[l], r[e]por[t]-dai[l]y"},
		{"ETL", "[e][t][l]-orders, orders-[e][t][l]-late, m[e][t]a[l], r[e]por[t]-dai[l]y"},
		{"pgb", "[p][g]-[b]ackup"},
		{"etlo", "[e][t][l]-[o]rders, orders-etl-late"},
		{"etlodrers", "etl-orders"},
		{"brokne", ""},
		{"psue", "pause"},
		{"backpu", "pg-backup"},
		{"rep stats", "[r][e][p]ort [s][t][a][t][s]"},
		{"geoip", "[G][e][o]-[I][P]"},
		{"x", ""}, {"", ""}, {"xy", ""}, {"xyz", ""},
	} {
		var got []string
		for _, m := range Best(tc.pattern, jobs) {
			got = append(got, marked(m))
		}
		if got := strings.Join(got, ", "); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.pattern, got, tc.want)
		}
	}
}

// Any bytes are safe, places are in the text, and a text that is searched for as it is comes first.
func FuzzBest(f *testing.F) {
	f.Add("etl", "etl-orders", "x")
	f.Add("İK", "İstanbul-K", "\xff")
	f.Fuzz(func(t *testing.T, pattern, one, other string) {
		found := Best(pattern, texts(one, other, pattern))
		for _, m := range found {
			for i, at := range m.Letters {
				if at < 0 || at >= len(m.Text) || i > 0 && at <= m.Letters[i-1] {
					t.Fatalf("%q in %q: bytes %v", pattern, m.Text, m.Letters)
				}
			}
		}
		plain := strings.ToLower(pattern) == pattern && !strings.ContainsAny(pattern, " \x00")
		if plain && pattern != "" && (len(found) == 0 || !strings.HasPrefix(strings.ToLower(found[0].Text), pattern)) {
			t.Fatalf("%q: got %v, want it first", pattern, found)
		}
	})
}

// BenchmarkBest searches 100,000 names of jobs.
func BenchmarkBest(b *testing.B) {
	names, r := make([]string, 100_000), rand.New(rand.NewPCG(1, 2))
	for i := range names {
		names[i] = fmt.Sprintf("tenants-%d.app.%08x", i/100, r.Uint32())
	}
	slices.Sort(names)
	all := func(yield func(string, string) bool) {
		for _, name := range names {
			if !yield(name, name) {
				return
			}
		}
	}
	for _, pattern := range []string{"t", "ts9", "app", "tnts", "tenatns", "99999999", "1a2b3c4d", "nowhere", "aaaaapp"} {
		b.Run(pattern, func(b *testing.B) {
			for b.Loop() {
				Best(pattern, all)
			}
		})
	}
}
