package crontab

import (
	"slices"
	"testing"
)

// The daemon reaches hosts that a user might not, so a user's crontab sends requests only to those
// that the configuration lists.
func TestPingHostsOfUsers(t *testing.T) {
	listed := []string{"hc-ping.com", "hc.lan:8000"}
	for name, c := range map[string]struct {
		config Config
		url    string
		sent   bool
	}{
		"listed":                     {Config{Owner: "eve", PingHosts: listed}, "https://hc-ping.com/x", true},
		"in capitals":                {Config{Owner: "eve", PingHosts: listed}, "https://HC-Ping.com/x", true},
		"with its port":              {Config{Owner: "eve", PingHosts: listed}, "http://hc.lan:8000/x", true},
		"another port":               {Config{Owner: "eve", PingHosts: listed}, "http://hc.lan:22/x", false},
		"this host":                  {Config{Owner: "eve", PingHosts: listed}, "http://127.0.0.1/x", false},
		"the metadata of a cloud":    {Config{Owner: "eve", PingHosts: listed}, "http://169.254.169.254/x", false},
		"a host as user":             {Config{Owner: "eve", PingHosts: listed}, "https://hc-ping.com@evil.example/x", false},
		"a listed host at the start": {Config{Owner: "eve", PingHosts: listed}, "https://hc-ping.com.evil.example/x", false},
		"none listed":                {Config{Owner: "eve", PingHosts: []string{}}, "https://hc-ping.com/x", false},
		"root's crontab":             {Config{Owner: "root", Privileged: true, PingHosts: []string{}}, "http://127.0.0.1/x", true},
		"a drop-in for a user":       {Config{Owner: "root", Format: System, PingHosts: []string{}}, "http://127.0.0.1/x", true},
		"configuration is not known": {Config{Owner: "eve"}, "https://hc-ping.com/x", true},
	} {
		text := "#@ ping=" + c.url + "\n0 1 * * * "
		if c.config.Format == System {
			text += "eve "
		}
		file, diagnostics := Parse("t", text+"x\n", c.config)
		o := file.Entries[0].Options()
		refused := slices.ContainsFunc(diagnostics, func(d Diagnostic) bool { return d.Code == "B414" })
		if (o.Ping == c.url) != c.sent || refused == c.sent || (o.Degraded == "") != c.sent || o.Held != "" {
			t.Errorf("%s: ping %q, degraded %q, %v; sent should be %t", name, o.Ping, o.Degraded, diagnostics, c.sent)
		}
	}
}
