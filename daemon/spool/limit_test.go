package spool

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
)

// TestSourceReadsACrontabAsFarAsTheLimit covers a file that reached the spool
// without crontab(1): it is reported once, stays in memory only as far as it is
// loaded, and is read further when the limit rises.
func TestSourceReadsACrontabAsFarAsTheLimit(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	text := strings.Repeat("1 1 * * * bobs\n", 12)
	h.write(h.user("bob"), text, 0o600, bobUID)
	h.write(h.user("root"), text, 0o600, 0)
	h.write(h.system("pkg"), strings.Repeat("1 1 * * * bob bobs\n", 12), 0o644, 0)
	r := h.open()
	r.Configure(Settings{MaxEntries: 10})
	entries := func(want ...int) {
		t.Helper()
		for i, file := range r.Crontabs {
			if got := len(file.Entries); got != want[i] || file.Truncated() != (want[i] < 12) {
				t.Errorf("%s has %d entries and Truncated() is %t; want %d entries", file.Name, got, file.Truncated(), want[i])
			}
		}
	}
	r.scan().expect("=pkg", "=bob", "=root", "pkg loaded", "bob loaded", "root loaded")
	entries(12, 10, 12)
	if len(r.Diagnostics) != 1 || r.Diagnostics[0].Code != crontab.CodeLimit || !r.Changes[1].Truncated || r.Changes[1].Text != text {
		t.Errorf("diagnostics %v, change %+v; want the limit reported", r.Diagnostics, r.Changes[1])
	}
	if kept := r.files[h.user("bob")].text; kept != "" {
		t.Errorf("%d bytes of a truncated crontab stay in memory", len(kept))
	}
	r.fresh = 0
	r.scan().expect("=pkg", "=bob", "=root")
	r.Configure(Settings{MaxEntries: 11})
	r.scan().expect("=pkg", "=bob", "=root")
	entries(12, 11, 12)
	h.write(h.user("bob"), text[:10*len("1 1 * * * bobs\n")], 0o600, bobUID)
	r.scan().expect("=pkg", "=bob", "=root", "bob reloaded")
	if len(r.Diagnostics) != 0 || r.Crontabs[1].Truncated() {
		t.Errorf("after the edit: diagnostics %v", r.Diagnostics)
	}
}

// TestSourceForgetsSchedulesOfReplacedEntries installs crontabs whose schedules
// all differ: the cache that crontabs share must not keep those of every version.
func TestSourceForgetsSchedulesOfReplacedEntries(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	r := h.open()
	for version := range 8 {
		var text strings.Builder
		for minute := range 60 {
			for hour := range 24 {
				text.WriteString(strings.Join([]string{word(minute), word(hour), word(1 + version), "* * job\n"}, " "))
			}
		}
		h.write(h.user("bob"), text.String(), 0o600, bobUID)
		r.scan()
		if most := 1000 + 3*(1440+1); r.parsed > most {
			t.Fatalf("version %d: the cache holds the schedules of %d entries, want at most %d", version, r.parsed, most)
		}
	}
}

func word(n int) string { return strconv.Itoa(n) }
