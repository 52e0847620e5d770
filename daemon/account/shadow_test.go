package account

import (
	"strings"
	"testing"
	"time"
)

const today = 20000 // 2024-10-04

// refusalCases are bob's lines with part of the expected refusal, or none; the same lines are
// tried with PAM.
var refusalCases = []struct{ line, want string }{
	{"bob:$6$x:19000:0:99999:7:::", ""},
	{"bob:!:19000:0:99999:7:::", ""}, // a locked password
	{"bob:*:19000:0:99999:7:::", ""},
	{"bob:!!:::::::", ""},
	{"bob:x:19000:0:99999:7::20001:", ""},
	{"bob:x:19000:0:99999:7::20000:", "expired on 2024-10-04"},
	{"bob:x:19000:0:99999:7::1:", "expired on 1970-01-02"},
	{"bob:x:19000:0:99999:7::0:", "expired on 1970-01-01"},
	{"bob:x:0:0:99999:7:::", "must be changed"},
	{"bob:x:0:0:99999:7::20001:", "must be changed"},
	{"bob:x:19911:0:90:7:::", ""},
	{"bob:x:19910:0:90:7:::", ""},
	{"bob:x:19909:0:90:7:::", "too old since 2024-10-03"},
	{"bob:x:19900:0:90:7:30::", "must be changed"},
	{"bob:x:19881:0:90:7:30::", "must be changed"},
	{"bob:x:19880:0:90:7:30::", "must be changed"},
	{"bob:x:19879:0:90:7:30::", "inactive"},
	{"bob:x:19000:0:-1:7:0::", ""},
	{"bob:x:20001:0:1:7:0::", ""},     // changed tomorrow
	{"bob:x:20000:90:99999:7:::", ""}, // too young to be changed again
	{"bob:x::0:1:7:::", ""},           // never changed
	{"bob:x:1:0:99999999999999999999:7:99999999999999999999::", ""},
	{"bob:x:99999999999999999999:0:1:7:1::", ""},
	{"bob:x:what:0:why:7:who:when:", ""},
	{"rob:x:0:0:0:0:0:0:", ""},
	{"bob:x:19000:0:99999:7:::\nbob:x:0:0:0:0:0:0:", ""},
	{"", ""},
}

func TestRefusal(t *testing.T) {
	now := time.Unix(today*86400+3600, 0)
	for _, test := range refusalCases {
		h := newTestDirectory(t, map[string]string{"/etc/shadow": "root:x:0:0:0:0:0:0:\n" + test.line})
		got := h.Refusal(Account{Name: "bob", UID: 1000}, now)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.line, got, test.want)
		}
		if got := h.Refusal(Account{Name: "root"}, now); got != "" {
			t.Errorf("root: got %q, want nothing", got)
		}
	}
}

func TestRefusalFollowsTheFile(t *testing.T) {
	h := newTestDirectory(t, nil)
	bob := Account{Name: "bob", UID: 1000}
	now := time.Unix(20000*86400, 0)
	if got := h.Refusal(bob, now); got != "" {
		t.Errorf("without a file: %q", got)
	}
	h.write("/etc/shadow", "bob:x:19000:0:99999:7::1:\n")
	if got := h.Refusal(bob, now); got == "" {
		t.Error("expired, but not refused")
	}
	h.write("/etc/shadow", "bob:x:19000:0:99999:7:::\n")
	if got := h.Refusal(bob, now); got != "" {
		t.Errorf("expires no more, but %q", got)
	}
}

func FuzzShadow(f *testing.F) {
	f.Add("bob:x:19881:0:90:7:30:20000:\n", int64(20000))
	f.Fuzz(func(t *testing.T, text string, today int64) {
		for name, line := range parseShadow(text) {
			if strings.ContainsAny(line.refusal(today), "\x00\n\x1b") {
				t.Errorf("refusal of %q: %q", name, line.refusal(today))
			}
		}
	})
}
