package display

import (
	"strings"
	"testing"
)

func TestNotificationOfHostileTextHasNoSequenceOfItsOwn(t *testing.T) {
	const frame = "\x1b]9;\x1b\\\x1b]777;notify;cronring;\x1b\\"
	for _, text := range []string{
		"x\a\x1b]52;c;cHduZWQ=\a", "x\x1b\\\x1b[2J", "x\u009c\u009d0;title\u009c", "x\x9c\x9d", "x\n\r\x00", strings.Repeat("x", 1<<20),
	} {
		got := Notification(text)
		for _, control := range []string{"\a", "\x1b", "\u009c", "\u009d", "\n", "\r", "\x00"} {
			if n, want := strings.Count(got, control), strings.Count(frame, control); n != want {
				t.Errorf("%.20q: %d times %q, want %d: %q", text, n, control, want, got)
			}
		}
		if !strings.Contains(got, "\x1b]9;x") || len(got) > 3*notificationWidth {
			t.Errorf("%.20q: got %.80q of %d bytes", text, got, len(got))
		}
	}
}
