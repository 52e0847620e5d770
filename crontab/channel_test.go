package crontab

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab/sidecar"
)

func TestChannelsOfCrontabs(t *testing.T) {
	channels := map[string][]string{"ops": nil, "team": {"ann", "bob"}, "all": {"*"}}
	for name, c := range map[string]struct {
		config Config
		notify string
		want   string // the channels that receive notifications
		why    string // in the diagnostic; "": none
	}{
		"nobody says which there are": {Config{}, "opps", "opps", ""},
		"root's crontab":              {Config{Owner: "root", Privileged: true, Channels: channels}, "ops,mail", "ops mail", ""},
		"a package's crontab":         {Config{Owner: "root", Format: System, Channels: channels}, "ops", "ops", ""},
		"unknown in root's crontab":   {Config{Owner: "root", Privileged: true, Channels: channels}, "opps,mail", "mail", `channel "opps" does not exist`},
		"a user's, for all":           {Config{Owner: "eve", Channels: channels}, "all,mail", "all mail", ""},
		"a user's, named":             {Config{Owner: "bob", Channels: channels}, "team", "team", ""},
		"a user's, for others":        {Config{Owner: "eve", Channels: channels}, "team,mail", "mail", `channel "team" is not allowed in crontabs of "eve"`},
		"a user's, for root":          {Config{Owner: "ann", Channels: channels}, "ops", "", `channel "ops" is not allowed in crontabs of "ann"`},
		"no channels, mail":           {Config{Owner: "ann", Channels: map[string][]string{}}, "mail", "mail", ""},
	} {
		entry := "0 1 * * * x\n"
		if c.config.Format == System {
			entry = "0 1 * * * eve x\n"
		}
		file, diagnostics := Parse("t", "#@ notify="+c.notify+"\n"+entry, c.config)
		o := file.Entries[0].Options()
		if got := strings.Join(o.Notify, " "); got != c.want || (o.Degraded != "") != (c.why != "") || o.Held != "" {
			t.Errorf("%s: tells %q, degraded %q, held %q; want %q", name, got, o.Degraded, o.Held, c.want)
		}
		if c.why == "" {
			if len(diagnostics) > 0 {
				t.Errorf("%s: diagnostics %v", name, diagnostics)
			}
			continue
		}
		if len(diagnostics) != 1 || diagnostics[0].Code != "B415" || diagnostics[0].Line != 1 || !strings.Contains(diagnostics[0].Message, c.why) {
			t.Errorf("%s: diagnostics %v, want one with %q", name, diagnostics, c.why)
		}
	}
}

// A default is reported once, however many entries it is for.
func TestChannelsOfDefaultsAndSidecar(t *testing.T) {
	config := Config{Owner: "ann", Channels: map[string][]string{"ops": nil}}
	text := "#@ default notify=ops,opps\n"
	for i := range 20 {
		text += fmt.Sprintf("#@ grace=%ds\n%d 1 * * * x\n", i+1, i)
	}
	file, diagnostics := Parse("t", text, config)
	if len(diagnostics) != 2 || diagnostics[0].Line != 1 || diagnostics[1].Line != 1 {
		t.Errorf("diagnostics %v, want one for each channel", diagnostics)
	}
	for i := range file.Entries {
		if o := file.Entries[i].Options(); len(o.Notify) > 0 || o.Degraded == "" {
			t.Fatalf("entry %d tells %q, degraded %q", i, o.Notify, o.Degraded)
		}
	}

	config.Sidecar = &sidecar.Sidecar{Default: []sidecar.Setting{{Key: "notify", Value: "ops,opps", File: "c.toml", Line: 3}}}
	file, diagnostics = Parse("t", "0 1 * * * x\n", config)
	o := file.Entries[0].Options()
	if !slices.Equal(o.Notify, []string{"ops"}) || !strings.Contains(o.Degraded, `c.toml:3`) || !strings.Contains(o.Degraded, `"opps"`) || len(diagnostics) > 0 {
		t.Errorf("the administrator's word: tells %q, degraded %q, diagnostics %v", o.Notify, o.Degraded, diagnostics)
	}
}
