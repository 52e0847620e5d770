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
		if !s.Extend && !s.Built() && s.check == nil {
			t.Errorf("%s: a core option without a check of its value", s.Key)
		}
		if s.Built() && s.check != nil {
			t.Errorf("%s: built, and yet has what only others need", s.Key)
		}
	}
	for alias, key := range KeyAliases {
		if !seen[key] {
			t.Errorf("%s is an alias of %s, which is not known", alias, key)
		}
	}
	for key := range builtIns {
		if !seen[key] {
			t.Errorf("%s has a built-in value and is not an option", key)
		}
	}
}
