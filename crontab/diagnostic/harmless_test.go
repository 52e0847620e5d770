package diagnostic

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHarmless(t *testing.T) {
	long := strings.Repeat("x", MaxSentence)
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"a\tb\x1b[31m\u202e\n", "a b?[31m??"},
		{"a\x80b", "a\uFFFDb"},
		{long, long},
		{long + "x", long[:MaxSentence-3] + "…"},
		{strings.Repeat("é", MaxSentence), strings.Repeat("é", 148) + "…"},
		{"x" + strings.Repeat("é", MaxSentence), "x" + strings.Repeat("é", 148) + "…"},
		{strings.Repeat("\xf0", MaxSentence), strings.Repeat("\uFFFD", 99) + "…"}, // each takes three bytes
		{strings.Repeat("\xf0", MaxSentence/3), strings.Repeat("\uFFFD", 100)},
	} {
		got := Harmless(test.text)
		if got != test.want || Harmless(got) != got || !utf8.ValidString(got) {
			t.Errorf("%.40q becomes %q, want %q", test.text, got, test.want)
		}
	}
}

func TestQuoteCutsBetweenCharacters(t *testing.T) {
	for word, want := range map[string]string{
		"short": `"short"`,
		"日本語の名前のとても長いジョブ":          `"日本語の名前のとても長い..."`,
		strings.Repeat("x", 41):    `"` + strings.Repeat("x", 37) + `..."`,
		strings.Repeat("\x80", 41): `"` + strings.Repeat(`\x80`, 33) + `..."`,
	} {
		if got := Quote(word); got != want {
			t.Errorf("Quote(%q) = %s, want %s", word, got, want)
		}
	}
}
