package analysis

import (
	"maps"
	"testing"

	"github.com/cronring/cronring/crontab"
)

func TestSARIFColumnsCountCharacters(t *testing.T) {
	d := crontab.Diagnostic{File: "x", Line: 1, Column: 6, Length: 2} // the ü of "äöaü"
	got := region(d, []string{"äöaü"})
	if want := (object{"startLine": 1, "startColumn": 4, "endColumn": 5}); !maps.Equal(got, want) {
		t.Errorf("region of byte 6: got %v, want %v", got, want)
	}
}

func TestSARIFURI(t *testing.T) {
	for name, want := range map[string]string{
		"-": "-", "a b": "a%20b", "x:y": "./x:y", "/etc/cron.d/x": "file:///etc/cron.d/x",
	} {
		if got := fileURI(name); got != want {
			t.Errorf("URI of %q: got %q, want %q", name, got, want)
		}
	}
}
