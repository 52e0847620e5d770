package demo

import (
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/gossip/holders"
)

// The demo begins on Friday, 20 November 2026, in Berlin, where summer time ended on 25 October.
const (
	firstUp = "2026-10-21T08:12:40Z"
	paused  = "2026-11-20T06:00:00Z"
	opened  = "2026-11-20T17:02:11Z"
	zone    = "Europe/Berlin"
)

// crontabs are the crontabs of the host, by path.
var crontabs = []struct{ path, text string }{
	{"/etc/cron.d/shop", `#@ name=etl-orders retry=3 backoff=10m timeout=30s
*/15 * * * * etl /opt/etl/run orders --since auto
#@ name=invoice-export
0 18 * * 1-5 billing /opt/invoice/export --all
#@ name=cache-warm overlap=skip
*/20 * * * * www /opt/shop/warm-cache
#@ name=sitemap
5 */4 * * * www /opt/shop/sitemap
#@ name=report-daily
0 7 * * * rep /opt/report/daily
`},
	{"/etc/cron.d/postgres", `#@ name=pg-backup protect=yes
30 2 * * * postgres pg_dump shop >/srv/backup/shop.sql
#@ name=upload on=job:pg-backup
@daily root rclone copy /srv/backup remote:backup
#@ name=db-vacuum
15 1 * * 0 postgres vacuumdb --all
`},
	{"/etc/cron.d/host", `#@ name=certbot-renew
17 3 * * * root certbot renew --quiet
#@ name=logrotate
25 6 * * * root logrotate /etc/logrotate.conf
#@ name=zfs-scrub
0 6 * * 5 root zpool scrub tank
#@ name=ntp-check
@hourly root /usr/local/bin/ntp-check
`},
	{"/etc/cron.d/ring", `#@ default scope=ring
#@ name=exchange-rates
10 * * * * www /opt/shop/exchange-rates
#@ name=search-index
40 */2 * * * www /opt/shop/search-index
#@ name=price-feed
*/30 * * * * www /opt/shop/price-feed
#@ name=mail-digest
45 6 * * * www /opt/shop/mail-digest
#@ name=old-sessions
20 4 * * * www /opt/shop/old-sessions
`},
}

// newWorld returns the host with its history. It panics if the demo itself is invalid.
func newWorld() *simulated.World {
	local, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	w := simulated.New(firstUp)
	w.Machine = api.Health{V: api.Version, Version: api.Release(), PID: 77, Host: "db-01", Zone: zone}
	var files []*crontab.File
	for _, c := range crontabs {
		file, _ := crontab.Parse(c.path, c.text, crontab.Config{Format: crontab.System, Local: local, Zone: time.LoadLocation})
		files = append(files, file)
	}
	w.Claim = ring{w}.decide
	w.Step(event.Load{Crontabs: files, Ring: event.Available})
	w.StepRing(holders.Ring{Membership: membership()})
	w.Play(paused, play)
	w.Step(event.Pause{Job: "report-daily", Hold: job.Hold{
		Since: w.Now(), Until: w.Now().Add(72 * time.Hour), By: "ann", Reason: "until the auditors are gone",
	}})
	w.Play(opened, play)
	return w
}

// took has the duration of the runs of each job.
var took = map[job.ID]time.Duration{
	"etl-orders": 4800 * time.Millisecond, "invoice-export": 42 * time.Minute, "cache-warm": 14 * time.Second, "sitemap": 9700 * time.Millisecond,
	"report-daily": 41 * time.Second, "pg-backup": 62 * time.Second, "upload": 95 * time.Second, "db-vacuum": 192 * time.Second,
	"certbot-renew": 2100 * time.Millisecond, "logrotate": 800 * time.Millisecond, "zfs-scrub": 13 * time.Hour, "ntp-check": 100 * time.Millisecond,
	"exchange-rates": 1900 * time.Millisecond, "search-index": 71 * time.Second, "price-feed": 6400 * time.Millisecond, "mail-digest": 12 * time.Second,
	"old-sessions": 3300 * time.Millisecond,
}

// play decides how long a run takes, how it ends and what it prints.
func play(s effect.Start) simulated.Played {
	p := simulated.Played{Took: took[s.Job.ID] * time.Duration(100-s.Run.ID*37%50) / 100, Outcome: job.Outcome{Kind: job.Exited}}
	out := func(after time.Duration, stream job.Stream, text string) {
		p.Output = append(p.Output, simulated.Print{After: after, Stream: stream, Text: text + "\n"})
	}
	out(4*time.Millisecond, job.Stdout, string(s.Job.ID)+": begins")
	switch broken := failsFrom[s.Job.ID]; {
	case s.Job.ID == "etl-orders" && s.Run.ID%97 == 0, broken != "" && s.Run.Due.Format(time.RFC3339) >= broken:
		p.Outcome.Code = 1
		out(p.Took*9/10, job.Stderr, errorOf[s.Job.ID])
	default:
		out(p.Took*9/10, job.Stdout, string(s.Job.ID)+": done")
	}
	p.Usage = job.Usage{CPU: p.Took / 14, Memory: 41 << 20, Read: 2202009}
	return p
}

// failsFrom is the time from which all runs of a job fail, in RFC 3339 and UTC.
var failsFrom = map[job.ID]string{"etl-orders": "2026-11-20T16:30:00Z", "certbot-renew": "2026-11-18T00:00:00Z"}

// errorOf is the last line of a failed run.
var errorOf = map[job.ID]string{
	"etl-orders":    `psql: error: connection to server at "pg-2" (10.0.0.7) failed: timeout`,
	"certbot-renew": "DNS problem: SERVFAIL looking up A for shop.example.com",
}
