package screentest

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/screen"
)

// Now is Friday, 20 November 2026, 18:02:11 in Berlin.
var Now = time.Date(2026, 11, 20, 17, 2, 11, 0, time.UTC)

var berlin = sync.OnceValue(func() *time.Location {
	l, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return l
})

// Crontab parses a crontab of a host in Berlin: of a user if user is set, of the system if it is empty.
func Crontab(path, user, text string) *crontab.File {
	c := crontab.Config{Format: crontab.System, Local: berlin(), Zone: time.LoadLocation}
	if user != "" {
		c.Format, c.Owner = crontab.User, user
	}
	file, _ := crontab.Parse(path, text, c)
	return file
}

// NewHost returns a host in Berlin without jobs.
func NewHost(now string) *simulated.World {
	w := simulated.New(now)
	w.Machine = api.Health{V: api.Version, Version: "1.4.2", PID: 77, Host: "db-01", Zone: "Europe/Berlin"}
	return w
}

// backend is a host that is in no ring.
type backend struct{ *simulated.World }

func (backend) Ring() server.Ring { return members.None{} }

// serve answers for a host on a socket, as to root, until ctx ends.
func serve(ctx context.Context, w *simulated.World) (*api.Client, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", "") // the kernel chooses an abstract address
	if err != nil {
		return nil, err
	}
	s := server.New(server.Options{
		Backend: backend{w}, Store: w, Now: w.Now, SelfUID: uint32(os.Geteuid()),
		Account: func(uint32) (string, error) { return "root", nil }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	go s.Serve(ctx, l)
	return api.DialWith(api.SystemSocket, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", l.Addr().String())
	}), nil
}

// NoServer returns a client whose connections fail.
func NoServer(reason error) *api.Client {
	return api.DialWith(api.SystemSocket, func(context.Context) (net.Conn, error) { return nil, reason })
}

// NoSSH is the error for a host on which no ssh listens, as package cli reports it.
func NoSSH(host string) error {
	return &api.Error{Kind: api.Unreachable, What: "cannot reach the daemon of " + host + " through ssh", Why: "ssh: connect to host " + host + " port 22: Connection refused"}
}

// Ended returns a client of a daemon that has ended.
func Ended() *api.Client { return NoServer(syscall.ECONNREFUSED) }

// Serve has a real server answer for a host until the test ends.
func Serve(t testing.TB, w *simulated.World) *api.Client {
	t.Helper()
	c, err := serve(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// EmptyHost is a host whose seven crontabs have no entries.
func EmptyHost(t testing.TB) *api.Client {
	t.Helper()
	h := NewHost("2026-11-20T17:00:00Z")
	var files []*crontab.File
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		files = append(files, Crontab("/etc/cron.d/"+name, "", ""))
	}
	h.LoadCrontabs(nil, files...)
	h.Play(Now.Format(time.RFC3339), play)
	return Serve(t, h)
}

// CronHost is a host whose jobs cron runs: as in package cronview, only their starts are known.
func CronHost(t testing.TB) *api.Client {
	t.Helper()
	file := Crontab("/etc/crontab", "", "#@ name=etl-orders\n*/5 * * * * etl /opt/etl/run orders\n#@ name=logrotate\n25 6 * * * root /opt/logrotate/run\n"+
		"#@ name=ntp-check\n@hourly root /opt/ntp-check/run\n#@ name=zfs-scrub\n0 6 * * 5 root /opt/zfs-scrub/run\n")
	daemon := NewHost("2026-11-19T17:02:11Z")
	daemon.LoadCrontabs(nil, file)
	daemon.Play(Now.Format(time.RFC3339), play)
	h := NewHost("2026-11-19T17:02:11Z")
	h.Machine.NoDaemon = "no daemon: from the crontabs; cron runs them. Take over: cronring import"
	h.Reread(Now, nil, file)
	for _, f := range daemon.Facts() {
		if f.Kind == job.Decided && f.Decision == job.DecideRun {
			r := job.Run{ID: f.Run.ID, Job: f.Job, Due: f.Due, Attempt: 1, Trigger: job.TriggerClock, State: job.RunEnded, Decided: f.Due, Started: f.Due, Ended: f.Due}
			h.AddFacts(job.Record{At: f.Due, Kind: job.Decided, Decision: job.DecideRun, Job: f.Job, Due: f.Due, Run: &r}, job.Record{At: f.Due, Kind: job.Ended, Job: f.Job, Due: f.Due, Run: &r})
		}
	}
	return Serve(t, h)
}

// readBoard returns the daemon's status and all jobs.
func readBoard(ctx context.Context, c *api.Client) (all api.BoardUpdate, err error) {
	head, err := c.Status(ctx)
	if err != nil {
		return all, err
	}
	all.Now, all.Head = head.Now, &head
	for u, err := range c.Board(ctx) {
		if err != nil {
			return all, err
		}
		if all.Rows = append(all.Rows, u.Rows...); u.Complete {
			break
		}
	}
	all.Complete = true
	return all, nil
}

// Visit has a world show the daemon of another host.
func Visit(t testing.TB, w *screen.World, c *api.Client) {
	t.Helper()
	all, err := readBoard(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	w.Board, w.Status, w.Now = board.New(), *all.Head, all.Now
	w.Board.Apply(all)
}

// Past returns the newest runs of a job of NewWorld.
func Past(t testing.TB, id job.ID, n int) api.JobPast {
	t.Helper()
	all, err := host().client.Past(t.Context(), []job.ID{id}, n)
	if err != nil || len(all) != 1 {
		t.Fatalf("past of %s: %d jobs, %v", id, len(all), err)
	}
	return all[0]
}

// host is the daemon that most tests ask. Nothing changes it.
var host = sync.OnceValue(func() (h struct {
	client *api.Client
	board  api.BoardUpdate
}) {
	var err error
	if h.client, err = serve(context.Background(), busyHost()); err != nil {
		panic(err)
	}
	if h.board, err = readBoard(context.Background(), h.client); err != nil {
		panic(err)
	}
	return h
})

// busyHost is a host with a past of 17 days, and jobs in every state.
func busyHost() *simulated.World {
	w := NewHost("2026-11-03T08:12:40Z")
	daily := []*crontab.File{
		Crontab("/etc/cron.d/apt", "", "#@ name=apt-daily\n~ 6 * * * root /opt/apt-daily/run --all\n"),
		Crontab("/etc/cron.d/billing", "", "#@ name=invoice-export pool=heavy\n0 18 * * 1-5 billing /opt/invoice-export/run --all\n"),
		Crontab("/etc/cron.d/geoip", "", "#@ name=geoip-update\n0 4 * * 3 root /opt/geoip-update/run --all\n"),
		Crontab("/etc/cron.d/letsencrypt", "", "SHELL=/bin/sh\n#@ name=certbot-renew\n17 3 * * * root /opt/certbot-renew/run --all\n"),
		Crontab("/etc/cron.d/logrotate", "", "#@ name=logrotate\n25 6 * * * root /opt/logrotate/run --all\n"),
		Crontab("/etc/cron.d/zfsutils", "", "#@ name=zfs-scrub pool=heavy\n0 6 * * 5 root /opt/zfs-scrub/run --all\n"),
		Crontab("/etc/cron.d/postgres", "", "#@ name=pg-backup protect=yes\n30 2 * * * postgres /opt/pg-backup/run --all\n"),
		Crontab("/etc/cron.d/rep", "", "#@ name=report-daily\n0 7 * * * rep /opt/report-daily/run --all\n"),
		Crontab("/var/spool/cron/crontabs/postgres", "postgres", "#@ name=db-vacuum\n15 1 * * 0 /opt/db-vacuum/run --all\n"),
	}
	host := "#@ name=ntp-check\n@hourly root /opt/ntp-check/run --all\n"
	w.LoadCrontabs(nil, append(daily, Crontab("/etc/cron.d/host", "", host))...)
	w.Play("2026-11-20T06:00:00Z", play)
	w.Step(event.Pause{Job: "report-daily", Hold: job.Hold{
		Since: w.Now(), Until: time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC), By: "ann", Reason: "until the auditors are gone",
	}})
	often := append(daily,
		Crontab("/etc/cron.d/host", "", host+"#@ name=tmp-clean\n0 5 * * * root /opt/tmp-clean/run --all\n"),
		Crontab("/etc/cron.d/etl", "", etlHead+"#@ name=etl-orders timeout=30s retry=3 backoff=10m\n*/5 * * * * etl /opt/etl/run orders --since auto\n"),
		Crontab("/etc/cron.d/www", "", "#@ name=cache-warm\n*/10 * * * * www /opt/cache-warm/run --all\n"+
			"#@ name=metrics-push overlap=skip\n*/2 * * * * www /opt/metrics-push/run --all\n#@ name=sitemap\n5 */4 * * * www /opt/sitemap/run --all\n"),
		Crontab("/etc/cron.d/mail", "", "#@ name=mail-flush\n* * * * * mail /opt/mail-flush/run --all\n"),
	)
	w.LoadCrontabs(nil, often...)
	w.Play(Now.Format(time.RFC3339), play)
	return w
}

const etlHead = "# what etl runs\n\nSHELL=/bin/bash\nMAILTO=ops@example.com\n\n\n\n\n\n\n\n\n"

// took is how long the jobs of busyHost run.
var took = map[job.ID]time.Duration{
	"etl-orders": 4800 * time.Millisecond, "certbot-renew": 2100 * time.Millisecond, "geoip-update": 30 * time.Second,
	"invoice-export": 42 * time.Second, "cache-warm": 14 * time.Second, "zfs-scrub": 13 * time.Hour, "report-daily": 41 * time.Second,
	"apt-daily": 22 * time.Second, "postgres/db-vacuum": 192 * time.Second, "logrotate": 800 * time.Millisecond, "mail-flush": 200 * time.Millisecond,
	"metrics-push": 400 * time.Millisecond, "ntp-check": 100 * time.Millisecond, "pg-backup": 62 * time.Second, "sitemap": 9700 * time.Millisecond,
}

// play is how the runs of busyHost go.
func play(s effect.Start) simulated.Played {
	due := s.Run.Due
	p := simulated.Played{Took: took[s.Job.ID], Outcome: job.Outcome{Kind: job.Exited}}
	say := func(after time.Duration, stream job.Stream, text string) {
		p.Output = append(p.Output, simulated.Print{After: after, Stream: stream, Text: text + "\n"})
	}
	since := func(month time.Month, day, hour, minute int) bool {
		return !due.Before(time.Date(2026, month, day, hour, minute, 0, 0, time.UTC))
	}
	switch s.Job.ID {
	case "etl-orders":
		say(4*time.Millisecond, job.Stdout, "etl orders: window "+due.In(berlin()).Add(-5*time.Minute).Format("15:04")+".."+due.In(berlin()).Format("15:04"))
		say(911*time.Millisecond, job.Stdout, "connect pg-1 \x1b[32mok\x1b[0m (31 ms)")
		say(2112*time.Millisecond, job.Stdout, "connect pg-2 ...")
		if since(11, 20, 16, 55) || due.Equal(time.Date(2026, 11, 20, 15, 20, 0, 0, time.UTC)) {
			p.Took, p.Outcome.Code = 12402*time.Millisecond, 1
			say(12398*time.Millisecond, job.Stderr, `psql: error: connection to server at "pg-2" (10.0.0.7) failed: timeout`)
		} else {
			say(2114*time.Millisecond, job.Stdout, "connect pg-2 ok (2 ms)\n1841 orders")
		}
	case "certbot-renew":
		if since(11, 18, 0, 0) {
			p.Outcome.Code = 1
			say(0, job.Stderr, "DNS problem: SERVFAIL looking up A for example.com")
		}
	case "geoip-update":
		if since(11, 18, 0, 0) {
			p.Took, p.Outcome = 30*time.Second, job.Outcome{Kind: job.TimedOut, Signal: 15}
			say(0, job.Stderr, "DNS problem: SERVFAIL looking up A for geo.example.net")
		}
	case "cache-warm":
		if since(11, 20, 17, 0) {
			p.Took = 0
		}
	case "metrics-push":
		if due.Equal(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)) {
			p.Took = 63 * time.Minute
		}
	case "zfs-scrub":
	default: // not each run takes as long
		p.Took = p.Took * time.Duration(100-s.Run.ID*37%50) / 100
	}
	p.Usage = job.Usage{CPU: p.Took / 14, Memory: 41 << 20, Read: 2202009}
	return p
}
