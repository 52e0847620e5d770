package option

import (
	"strings"
	"testing"
)

func TestVocabularyIsWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Vocabulary() {
		if seen[s.Key] || s.Meaning == "" || s.Values == "" || s.Loss == "" || strings.HasSuffix(s.Loss, ".") {
			t.Errorf("%s: twice, or without meaning, values or what a plain cron does", s.Key)
		}
		seen[s.Key] = true
	}
	for alias, key := range KeyAliases {
		if !seen[key] {
			t.Errorf("%s is an alias of %s, which is not known", alias, key)
		}
	}
}
