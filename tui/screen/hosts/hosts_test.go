package hosts

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/tui/canvas"
	hostwatch "github.com/cronring/cronring/tui/hosts"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell/shelltest"
)

// others are hosts that real daemons answer for.
type others struct {
	names   []string
	clients map[string]*api.Client
}

func (o others) Named() []string { return o.names }

func (o others) Daemon(host string) (screen.Daemon, error) { return o.clients[host], nil }

func (o others) Flags(host string) []string { return []string{"-H", host} }

func (o others) Dashboard(host string, _ job.ID) *exec.Cmd {
	return exec.Command("cronring", "top", "-H", host)
}

// backups is a host with two jobs that fail, and one that runs.
func backups(t *testing.T) api.Status {
	t.Helper()
	h := screentest.NewHost("2026-11-20T16:00:00Z")
	h.LoadCrontabs(nil, screentest.Crontab("/etc/cron.d/backup", "", "#@ name=home-backup\n1 * * * * root /opt/backup home\n"+
		"#@ name=mail-backup\n2 * * * * root /opt/backup mail\n#@ name=pg-backup\n9 * * * * root /opt/backup pg\n#@ name=sync\n30 17 * * * root /opt/sync\n"))
	h.Play(screentest.Now.Format(time.RFC3339), func(s effect.Start) simulated.Played {
		switch s.Job.ID {
		case "sync": // it runs until the end of the test
			return simulated.Played{}
		case "pg-backup":
			return simulated.Played{Took: time.Minute, Outcome: job.Outcome{Kind: job.Exited}}
		}
		return simulated.Played{Took: time.Second, Outcome: job.Outcome{Kind: job.Exited, Code: 1}}
	})
	status, err := screentest.Serve(t, h).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// open shows the host of the fixture and three others: one works, one cannot be reached, and one hangs.
func open(w *screen.World, works api.Status) *Hosts {
	w.Hosts = others{}
	s := New()
	s.Open(w)
	s.Take(w, screen.Answer{Slot: slotHosts, Value: []string{"db-02", "db-03", "db-04"}})
	s.Take(w, screen.Answer{Slot: slotHosts, Value: hostwatch.Report{Host: "db-02", Status: works}})
	s.Take(w, screen.Answer{Slot: slotHosts, Value: hostwatch.Report{Host: "db-03", Err: screentest.NoSSH("db-03"), Retry: 4e9}})
	return s
}

func TestHostsScreens(t *testing.T) {
	works := backups(t)
	screentest.CheckLayouts(t, "hosts", func(v canvas.View, w *screen.World) { shelltest.Draw(open(w, works), v, w) })
	screentest.CheckLayouts(t, "hosts-error", func(v canvas.View, w *screen.World) {
		s := open(w, works)
		s.Select("db-03")
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "hosts-none", func(v canvas.View, w *screen.World) {
		s := New()
		s.Open(w)
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "hosts-hostile", func(v canvas.View, w *screen.World) {
		s := open(w, works)
		for _, r := range screentest.HostileRows(w) {
			s.put(row{known: true, Report: hostwatch.Report{Host: r.User, Status: api.Status{Health: api.Health{Host: r.User}, Next: &api.Upcoming{Job: r.Job}}}})
			s.put(row{known: true, Report: hostwatch.Report{Host: "e" + r.User, Err: errors.New(r.User)}})
		}
		s.Select("e" + screentest.HostileRows(w)[0].User)
		shelltest.Draw(s, v, w)
	})
}

func TestAHostDiesWhileItIsShown(t *testing.T) {
	w := screentest.NewWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := screentest.Serve(t, screentest.NewHost("2026-11-20T17:00:00Z"))
	w.Hosts = others{[]string{"db-02"}, map[string]*api.Client{"db-02": c}}
	s := New()
	for value, err := range s.Open(w)[0].(screen.Follow).Call(ctx, c) {
		s.Take(w, screen.Answer{Slot: slotHosts, Value: value, Err: err})
		if _, ok := value.(hostwatch.Report); ok {
			break
		}
	}
	if r := s.rows.Row(1); r.Host != "db-02" || r.Err != nil || !r.known {
		t.Fatalf("the host is shown as %+v", r)
	}
	s.Take(w, screen.Answer{Slot: slotHosts, Value: hostwatch.Report{Host: "db-02", Err: errors.New("broken pipe")}})
	if s.rows.Row(1).Err == nil || s.rows.Row(0).Err != nil {
		t.Error("the error is not in the row of its host alone")
	}
}

func TestEnterOpensTheDashboardOfAHost(t *testing.T) {
	w := screentest.NewWorld(t)
	s := open(w, api.Status{})
	if s.Refuses(w, keys.Open) == "" {
		t.Error("the host that is shown can be opened again")
	}
	s.Select("db-03")
	effects, _ := s.Act(w, keys.Open)
	if got := effects[0].(screen.Execute).Program().Args; !slices.Equal(got, []string{"cronring", "top", "-H", "db-03"}) {
		t.Errorf("enter runs %q", got)
	}
}
