package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestNotifySaysWhatBecameOfIt(t *testing.T) {
	for channel, want := range map[string]struct {
		status int
		text   string
	}{
		"ops":    {http.StatusOK, `"channel":"ops"`},
		"broken": {http.StatusConflict, "https://example.org answered 500"},
		"none":   {http.StatusNotFound, "there is no channel"},
	} {
		w := annsWorld(t)
		status, text := w.walk(0, "POST", "/v1/notify", walked{body: `{"channel":"` + channel + `"}`})
		if status != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%s: status %d, %s; want %d, %s", channel, status, text, want.status, want.text)
		}
	}
}
