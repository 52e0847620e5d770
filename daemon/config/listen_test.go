package config

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/filetest"
)

func TestTokensOfFiles(t *testing.T) {
	const secret = "0123456789abcdefghij"
	for _, tc := range []struct {
		text string
		mode uint32
		want string // part of the diagnostic
	}{
		{secret + "\n", 0o600, ""},
		{secret, 0o640, "other users can read or change it (mode 0640)"},
		{secret, 0o606, "other users can read or change it (mode 0606)"},
		{"short", 0o600, "fewer than 20 characters"},
		{"", 0o600, "fewer than 20 characters"},
		{"aaaaaaaaaaaaaaaaaaaaaaaa", 0o600, "same secret as token.a"},
	} {
		dir := t.TempDir()
		filetest.Write(t, filepath.Join(dir, "ci"), tc.text, 0o644)
		if err := os.Chmod(filepath.Join(dir, "ci"), os.FileMode(tc.mode)); err != nil {
			t.Fatal(err)
		}
		filetest.Write(t, filepath.Join(dir, "a"), "aaaaaaaaaaaaaaaaaaaaaaaa\n", 0o600)
		filetest.Write(t, filepath.Join(dir, "cronring.toml"), "[token.a]\nfile = \"a\"\n[token.ci]\nfile = \"ci\"\nallow = [\"metrics\", \"run:ann/*\"]\n", 0o644)
		c := Read(dir)
		token := c.Tokens["ci"]
		if c.Err() != nil || (tc.want == "") != (token.Unread == "") || !strings.Contains(token.Unread, tc.want) {
			t.Errorf("mode %o: got %+v, %v", tc.mode, token, c.Err())
		}
		if tc.want == "" && (token.Sum != sha256.Sum256([]byte(secret)) || len(c.Diagnostics) > 0) {
			t.Errorf("got %+v, %v", token, c.Diagnostics)
		}
		if tc.want != "" && (len(c.Diagnostics) != 1 || c.Diagnostics[0].Code != "B606" || c.Diagnostics[0].Severity != crontab.Warning || c.Diagnostics[0].Line == 0) {
			t.Errorf("mode %o: diagnostics %+v", tc.mode, c.Diagnostics)
		}
	}
}

func TestListenAddress(t *testing.T) {
	for address, want := range map[string]crontab.Code{
		"": "", "127.0.0.1:8623": "", "[::1]:8623": "", "0.0.0.0:8623": "B607", "192.0.2.1:80": "B607",
		"localhost:80": "B604", ":80": "B604", "127.0.0.1": "B604", "127.0.0.1:http": "B604",
	} {
		c := read(t, "[listen]\naddress = \""+address+"\"\n")
		if want == "" && len(c.Diagnostics) > 0 || want != "" && (len(c.Diagnostics) != 1 || c.Diagnostics[0].Code != want || c.Diagnostics[0].Line != 2) {
			t.Errorf("%q: got %v, want %q", address, c.Diagnostics, want)
		}
		if want != "B604" && c.Listen != address {
			t.Errorf("got address %q, want %q", c.Listen, address)
		}
	}
	for _, text := range []string{"[token.x]\nallow = [\"all\"]\n", "[token.x]\nallow = [\"run:\"]\n", "[token.x]\nallow = [\"run:[\"]\n", "[token.\"a b\"]\n", "[token.x]\nurl = \"y\"\n"} {
		if c := read(t, text); c.Err() == nil {
			t.Errorf("%q is valid", text)
		}
	}
	if c := read(t, "[token.x]\nallow = [\"metrics\"]\n"); c.Tokens["x"].Unread != "it has no file" {
		t.Errorf("got %+v for a token without a file", c.Tokens["x"])
	}
}
