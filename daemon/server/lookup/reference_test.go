package lookup

import (
	"path"
	"strings"
	"testing"
)

func TestParseRunRef(t *testing.T) {
	for text, want := range map[string]runRef{
		"42":                     {ID: 42},
		"a":                      {Job: "a", back: 1},
		"a@last":                 {Job: "a", back: 1},
		"a@-3":                   {Job: "a", back: 3},
		"a@failed":               {Job: "a", failed: true},
		"t.ann@corp.com.ab@last": {Job: "t.ann@corp.com.ab", back: 1},
		"t.ann@corp.com.ab":      {Job: "t.ann@corp.com.ab", back: 1},
		"etl:14@failed":          {Job: "etl:14", failed: true},
		"@failed":                {Job: "@failed", back: 1},
	} {
		if got, err := ParseRunRef(text); err != nil || got != want {
			t.Errorf("parseRunRef(%q): %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "a@-", "a@-0", "a@--1", "a@-+1", "a@-99999999"} {
		if got, err := ParseRunRef(text); err == nil {
			t.Errorf("parseRunRef(%q): %+v, want an error", text, got)
		}
	}
}

func FuzzJobRef(f *testing.F) {
	for _, text := range []string{"a", "*", "[", "@failed", "@", "/etc/cron.d/etl:14", "etl:0", ":1", "a:+1", "a:99999999999"} {
		f.Add(text, "/etc/cron.d/etl", 14)
	}
	f.Fuzz(func(t *testing.T, text, file string, line int) {
		r, err := ParseJobRef(text)
		if err != nil {
			return
		}
		if r.Glob {
			if _, err := path.Match(text, file); err != nil {
				t.Errorf("%q is taken for a pattern: %v", text, err)
			}
		}
		if r.line > 0 && (r.Glob || r.set != "" || r.file == "" || !strings.HasPrefix(text, r.file+":")) {
			t.Errorf("%q reads as %+v", text, r)
		}
		if r.line > 0 && r.matchesPlace(file, line) && !strings.HasSuffix(file, r.file) {
			t.Errorf("%q matches line %d of %q", text, line, file)
		}
	})
}

func FuzzRunRef(f *testing.F) {
	for _, text := range []string{"1", "a@last", "a@-2", "a@failed", "@last", "a@b@last"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRunRef(text)
		if err != nil {
			return
		}
		if (r.ID > 0) == (r.Job != "") {
			t.Errorf("%q reads as %+v: a number or a job is wanted", text, r)
		}
		if r.Job != "" && (r.failed == (r.back > 0) || r.back > maxBack || !strings.HasPrefix(text, r.Job)) {
			t.Errorf("%q reads as %+v", text, r)
		}
	})
}
