package crontab

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab/option"
)

func TestRingIsForListedUsers(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		option string
		scope  option.Scope
		held   bool
	}{
		"nobody says who may":        {Config{Owner: "eve"}, "scope=ring", option.ScopeRing, false},
		"nobody but root may":        {Config{Owner: "eve", RingUsers: []string{}}, "scope=ring", option.ScopeRing, true},
		"others may":                 {Config{Owner: "eve", RingUsers: []string{"ann", "eva"}}, "scope=ring", option.ScopeRing, true},
		"the user may":               {Config{Owner: "eve", RingUsers: []string{"ann", "eve"}}, "scope=ring", option.ScopeRing, false},
		"all may":                    {Config{Owner: "eve", RingUsers: []string{"*"}}, "scope=ring", option.ScopeRing, false},
		"root's crontab":             {Config{Owner: "root", Privileged: true, RingUsers: []string{}}, "scope=ring", option.ScopeRing, false},
		"a drop-in for a user":       {Config{Owner: "root", Format: System, RingUsers: []string{}}, "scope=ring", option.ScopeRing, false},
		"all hosts":                  {Config{Owner: "eve", RingUsers: []string{}}, "scope=all", option.ScopeAll, false},
		"only where it is allowed":   {Config{Owner: "eve", RingUsers: []string{}}, "?scope=ring", option.ScopeHost, false},
		"a default of the crontab's": {Config{Owner: "eve", RingUsers: []string{}}, "default scope=ring", option.ScopeRing, true},
	} {
		entry := "0 1 * * * x\n"
		if c.config.Format == System {
			entry = "0 1 * * * eve x\n"
		}
		file, diagnostics := Parse("t", "#@ "+c.option+"\n"+entry, c.config)
		o := file.Entries[0].Options()
		if o.Scope != c.scope || (o.Held != "") != c.held {
			t.Errorf("%s: scope %v, held %q; want scope %v, held %t", name, o.Scope, o.Held, c.scope, c.held)
		}
		if c.held && (!strings.Contains(o.Held, "ring.users in cronring.toml does not list this user") || len(diagnostics) != 1 || diagnostics[0].Code != "B414" || diagnostics[0].Fix == "") {
			t.Errorf("%s: held %q with diagnostics %v, want what to do", name, o.Held, diagnostics)
		}
	}
}
