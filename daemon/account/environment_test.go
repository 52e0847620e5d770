package account

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
)

// environmentCases are /etc/environment and what it means; they are also tried
// on PAM.
var environmentCases = []struct {
	text string
	want []string
}{
	{"", nil},
	{"A=b", []string{"A=b"}},
	{"A=b\n\n  # c\n\tB=c d # comment\nC=\n", []string{"A=b", "B=c d ", "C="}},
	{"export A=b\nexport  B=c\nexportC=d", []string{"A=b", "exportC=d"}},
	{`A="b c"` + "\n" + `B='c "d" e'` + "\n" + `C="d` + "\n" + `D=d"e"` + "\n" + `E=""` + "\n" + `F="` + "\n" + `G="a'`,
		[]string{"A=b c", `B=c "d" e`, "C=d", `D=d"e"`, "E=", "F=", "G=a"}},
	{`A="b#c"`, []string{"A=b"}},
	{"A=$B ${C} @{D} `x`", []string{"A=$B ${C} @{D} `x`"}},
	{"A=b=c\nB==", []string{"A=b=c", "B=="}},
	{"A=1\nB=2\nA=3", []string{"A=3", "B=2"}},
	{"A=1\nB=2\nA\nC", []string{"B=2"}},
	{"A=b\\\nc\\\nd\nE=f", []string{"A=bcd", "E=f"}},
	{"A=b#\\\nB=c", []string{"A=b", "B=c"}},
	{"A=b\\", nil},
	{"0=1\n_=2\na1_B=3", []string{"0=1", "_=2", "a1_B=3"}},
	{"A=\xff\x1b\r", []string{"A=\xff\x1b\r"}},
}

func TestEnvironment(t *testing.T) {
	for _, test := range environmentCases {
		h := newTestDirectory(t, map[string]string{"/etc/environment": test.text})
		if got := h.Environment(crontab.RHEL); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

// TestEnvironmentJoinedLines has a blank line and blanks between the parts, which
// newer versions of PAM do not take as older ones do.
func TestEnvironmentJoinedLines(t *testing.T) {
	h := newTestDirectory(t, map[string]string{"/etc/environment": "A=b\\\n  c\\  \n\nd\nE=f"})
	if got, want := h.Environment(crontab.RHEL), []string{"A=b  cd", "E=f"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnvironmentBadLines(t *testing.T) {
	bad := []string{"=x", "A B=c", "A-B=c", "É=1", "A=b\x00c", "B=" + strings.Repeat("x", variableLimit), "A =b", "\x1b[2J=1"}
	h := newTestDirectory(t, map[string]string{"/etc/environment": strings.Join(bad, "\n") + "\nOK=1\n"})
	if got, want := h.Environment(crontab.Debian), []string{"OK=1"}; !slices.Equal(got, want) {
		t.Errorf("got %.200q, want %q", got, want)
	}
	diagnostics := h.Diagnostics(crontab.Debian)
	if len(diagnostics) != len(bad) {
		t.Fatalf("%d diagnostics on %d lines: %v", len(diagnostics), len(bad), diagnostics)
	}
	for i, diagnostic := range diagnostics {
		place := fmt.Sprintf("%s/etc/environment:%d: ", h.root, i+1)
		if text := diagnostic.Error(); !strings.HasPrefix(text, place) || strings.ContainsAny(text, "\x1b\x00") || len(text) > 300 {
			t.Errorf("line %.50q: diagnostic %q, want a short one that begins with %s and shows no control bytes", bad[i], text, place)
		}
	}
}

func TestEnvironmentLocale(t *testing.T) {
	h := newTestDirectory(t, map[string]string{
		"/etc/environment":    "A=b\nLANG=C\n",
		"/etc/default/locale": "LANG=\"de_DE.UTF-8\"\nLC_ALL=x\nLANGUAGE=de:en\nPATH=/evil\nLD_PRELOAD=/evil.so\n",
	})
	for family, want := range map[crontab.Family][]string{
		crontab.Debian: {"A=b", "LANG=de_DE.UTF-8", "LC_ALL=x", "LANGUAGE=de:en"},
		crontab.RHEL:   {"A=b", "LANG=C"},
	} {
		if got := h.Environment(family); !slices.Equal(got, want) {
			t.Errorf("family %d: got %q, want %q", family, got, want)
		}
	}
	h.write("/etc/default/locale", "LANG=en_GB.UTF-8\n")
	if got, want := h.Environment(crontab.Debian), []string{"A=b", "LANG=en_GB.UTF-8"}; !slices.Equal(got, want) {
		t.Errorf("after a change: got %q, want %q", got, want)
	}
}

func FuzzEnvironment(f *testing.F) {
	f.Add("A=b\nexport C=\"d\" # e\nF=g\\\nh\nI\n=\n")
	f.Fuzz(func(t *testing.T, text string) {
		var e environment
		e.add("environment", text, false)
		seen := make(map[string]bool)
		for _, entry := range e.list {
			name, value, ok := strings.Cut(entry, "=")
			if !ok || !isVariable(name) || strings.ContainsAny(value, "\x00\n") || seen[name] {
				t.Errorf("entry %q of %q", entry, e.list)
			}
			seen[name] = true
		}
	})
}
