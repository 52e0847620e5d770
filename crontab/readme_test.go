package crontab

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestReadmeCrontab parses the crontab at the top of the README: it is valid, and
// has the options that the text below it describes.
func TestReadmeCrontab(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```crontab\n")
	text, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("README.md shows no crontab")
	}
	file, diagnostics := Parse("README.md", text, Config{Zone: time.LoadLocation})
	for _, d := range diagnostics {
		t.Errorf("%v", d)
	}
	if len(file.Entries) != 3 {
		t.Errorf("%d entries, want 3", len(file.Entries))
	}
	for option := range strings.FieldsSeq("tz=Europe/Berlin overlap=skip timeout=1h retry=3 backoff=30s..10m catchup=once on=job:pg-backup") {
		if !strings.Contains(text, option) || !strings.Contains(rest[len(text):], option) {
			t.Errorf("%s is missing in the crontab or in the text below it", option)
		}
	}
}
