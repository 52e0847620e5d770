package shell

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// otherHosts are the hosts web-1 and web-2, which the user named.
type otherHosts struct{}

func (otherHosts) Named() []string { return []string{"web-1", "web-2"} }

func (otherHosts) Daemon(string) (screen.Daemon, error) { return screentest.NewDaemon(), nil }

func (otherHosts) Flags(host string) []string { return []string{"-H", host} }

func (otherHosts) Dashboard(host string, _ job.ID) *exec.Cmd {
	return exec.Command("/usr/bin/cronring", "top", "--host=ops@"+host)
}

// The finder opens the dashboards of hosts that the user named, and of members of the ring.
func TestPaletteOpensHosts(t *testing.T) {
	for typed, want := range map[string]string{"host web2": "web-2", "web1": "web-1", "host db": "db-02", "host ": "web-1"} {
		s, front := newTestShell(t)
		s.w.Hosts = otherHosts{}
		d := screentest.NewDaemon()
		d.OnRing = func() api.Ring {
			return api.Ring{Self: "1", Members: []api.Member{{ID: "1", Name: "db-01"}, {ID: "2", Name: "db-02"}, {ID: "3", Name: "db-03", State: api.MemberLeft}}}
		}
		carry(t, s, d, typeKeys(s, ":"))
		typeText(s, typed)
		if p := s.over.(*palette); slices.ContainsFunc(p.finder.Hosts, func(h string) bool { return h == "db-01" || h == "db-03" }) {
			t.Errorf("the finder has %q: the host itself, or one that left the ring", p.finder.Hosts)
		}
		line := typeKeys(s, "ctrl+y")[0].Effect.(screen.Clip).Text
		if line != "cronring top --host=ops@"+want {
			t.Errorf("%q: copied %q, want the dashboard of %s", typed, line, want)
		}
		carry(t, s, d, typeKeys(s, ":"))
		typeText(s, typed)
		orders := typeKeys(s, "enter")
		e, ok := orders[len(orders)-1].Effect.(screen.Execute)
		if !ok || e.Program().Args[2] != "--host=ops@"+want {
			t.Errorf("%q: got %v, want the dashboard of %s", typed, orders, want)
			continue
		}
		if s.Take(s.now, nil, screen.Answer{Slot: e.Slot, Done: true}); s.front() != front || s.toast.text != "" {
			t.Errorf("%q: after it, %T and the message %q are shown", typed, s.front(), s.toast.text)
		}
		s.Take(s.now, nil, screen.Answer{Slot: e.Slot, Err: errors.New("exit status 1"), Done: true})
		if got := shown(s, 120, 30); !strings.Contains(got, "the dashboard of the host ended: exit status 1") {
			t.Errorf("%q: the error is not shown:\n%s", typed, got)
		}
	}
	s, _ := newTestShell(t)
	s.w.Hosts = otherHosts{}
	typeText(s, ":host nowhere")
	if orders := typeKeys(s, "enter"); len(orders) > 0 || !strings.Contains(shown(s, 120, 30), "no host is called nowhere") {
		t.Errorf("an unknown host: got %v and\n%s", orders, shown(s, 120, 30))
	}
}
