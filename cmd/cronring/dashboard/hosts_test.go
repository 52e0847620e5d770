package dashboard

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/tui/settings"
)

func TestHostsOfFlagsAndSettings(t *testing.T) {
	a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
	a.Color = cli.OneOf("never")
	a.Host, a.Hosts, a.ReadOnly = "db-01", []string{"db-01", "db-02", "db-02", "root@db-03"}, true
	h := newHosts(a, true, []settings.Host{{Name: "db", Address: "ops@db"}, {Name: "x", Address: "db-01"}, {Name: "y", Address: "root@db-03"}})
	if want := []string{"db-02", "root@db-03", "db"}; !slices.Equal(h.Named(), want) {
		t.Errorf("other hosts: %q, want %q", h.Named(), want)
	}
	want := []string{"top", "--host=db-02", "--color", "never", "--read-only", "--ascii"}
	if got := h.Dashboard("db-02", "").Args[1:]; !slices.Equal(got, want) {
		t.Errorf("the dashboard of a host is shown by %q, want %q", got, want)
	}
	if got := h.Dashboard("db", "backup").Args; got[2] != "--host=ops@db" || got[len(got)-1] != "--job=backup" {
		t.Errorf("the dashboard of a host with an address is shown at a job by %q", got)
	}
	a.Socket = "/run/x"
	if got := h.Flags("db"); !slices.Equal(got, []string{"-H", "ops@db", "--socket", "/run/x"}) {
		t.Errorf("a command asks a host with an address with %q", got)
	}
}

func TestNamesOfHostsFromARing(t *testing.T) {
	h := newHosts(cli.New(strings.NewReader(""), os.Stdout, os.Stderr), false, nil)
	for _, name := range []string{"", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a\x1b[2J", "`x`", "%h"} {
		if _, err := h.Daemon(name); err == nil || !strings.Contains(err.Error(), "connect to the host") {
			t.Errorf("host %q: %v, want a refusal", name, err)
		}
	}
}
