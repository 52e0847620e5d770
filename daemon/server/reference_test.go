package server

import (
	"path"
	"strings"
	"testing"
)

func TestParseRunRef(t *testing.T) {
	for text, want := range map[string]runRef{
		"42":                     {id: 42},
		"a":                      {job: "a", back: 1},
		"a@last":                 {job: "a", back: 1},
		"a@-3":                   {job: "a", back: 3},
		"a@failed":               {job: "a", failed: true},
		"t.ann@corp.com.ab@last": {job: "t.ann@corp.com.ab", back: 1},
		"t.ann@corp.com.ab":      {job: "t.ann@corp.com.ab", back: 1},
		"etl:14@failed":          {job: "etl:14", failed: true},
		"@failed":                {job: "@failed", back: 1},
	} {
		if got, err := parseRunRef(text); err != nil || got != want {
			t.Errorf("parseRunRef(%q): %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "a@-", "a@-0", "a@--1", "a@-+1", "a@-99999999"} {
		if got, err := parseRunRef(text); err == nil {
			t.Errorf("parseRunRef(%q): %+v, want an error", text, got)
		}
	}
}

func FuzzJobRef(f *testing.F) {
	for _, text := range []string{"a", "*", "[", "@failed", "@", "/etc/cron.d/etl:14", "etl:0", ":1", "a:+1", "a:99999999999"} {
		f.Add(text, "/etc/cron.d/etl", 14)
	}
	f.Fuzz(func(t *testing.T, text, table string, line int) {
		r, err := parseJobRef(text)
		if err != nil {
			return
		}
		if r.glob {
			if _, err := path.Match(text, table); err != nil {
				t.Errorf("%q is taken for a pattern: %v", text, err)
			}
		}
		if r.line > 0 && (r.glob || r.set != "" || r.file == "" || !strings.HasPrefix(text, r.file+":")) {
			t.Errorf("%q reads as %+v", text, r)
		}
		if r.line > 0 && r.matchesPlace(table, line) && !strings.HasSuffix(table, r.file) {
			t.Errorf("%q matches line %d of %q", text, line, table)
		}
	})
}

func FuzzRunRef(f *testing.F) {
	for _, text := range []string{"1", "a@last", "a@-2", "a@failed", "@last", "a@b@last"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRunRef(text)
		if err != nil {
			return
		}
		if (r.id > 0) == (r.job != "") {
			t.Errorf("%q reads as %+v: a number or a job is wanted", text, r)
		}
		if r.job != "" && (r.failed == (r.back > 0) || r.back > maxBack || !strings.HasPrefix(text, r.job)) {
			t.Errorf("%q reads as %+v", text, r)
		}
	})
}
