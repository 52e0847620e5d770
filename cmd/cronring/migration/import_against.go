package migration

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/cronlog"
	"github.com/cronring/cronring/daemon/display"
)

// How far a cron's line may be from the minute that it is about: cron begins
// a second late, and starts one job after another.
const (
	early = cronlog.Early
	late  = time.Minute
	slack = 10 * time.Second // a log of the last seconds is not complete yet
)

// onesided is a start that only one of both made.
type onesided struct {
	at            time.Time
	user, command string
	ours          bool
}

// compareShadow compares what cronring would have started with what the
// host's cron did, in the whole minutes of a watch.
func compareShadow(ctx context.Context, a *cli.App, s *shadow, starts []shadowed, begin, end time.Time, against string) error {
	from, to := begin.Truncate(time.Minute).Add(time.Minute), end.Add(-slack).Truncate(time.Minute)
	if !from.Before(to) {
		return &api.Error{What: "cannot compare", Why: errNoMinute.Error(), Kind: api.Internal}
	}
	theirs, err := readLog(ctx, s.Machine, against, from, to.Add(late))
	if err != nil {
		return &api.Error{What: "cannot read the log of the running cron", Why: err.Error(), Fix: "name its file: --against " + likelyLog(), Kind: api.Internal}
	}
	same, differ := compareStarts(starts, theirs, from, to)
	zone := s.Host.Zone
	a.Printf("%s to %s: %s alike, %s not\n", from.In(zone).Format(time.DateTime), to.In(zone).Format(time.DateTime), display.Count(same, "start"), display.Count(len(differ), "start"))
	for _, d := range differ {
		who := "only the host's cron"
		if d.ours {
			who = "only cronring"
		}
		a.Printf("  %s  (%s) CMD (%s)  %s\n", d.at.In(zone).Format(time.DateTime), display.Text(d.user), display.Text(d.command), who)
	}
	if len(differ) > 0 {
		return cli.ExitCode(cli.ExitFailed)
	}
	return nil
}

// compareStarts pairs starts of the same command as the same account at about
// the same time. What is left over is in the order of time.
func compareStarts(ours []shadowed, theirs []cronlog.Start, from, to time.Time) (same int, differ []onesided) {
	type key struct{ user, command string }
	waiting := map[key][]time.Time{}
	for _, l := range theirs {
		k := key{l.User, l.Command}
		waiting[k] = append(waiting[k], l.At)
	}
	for _, one := range ours {
		if one.quiet || one.At.Before(from) || !one.At.Before(to) {
			continue
		}
		k := key{one.User, cronlog.Text(one.Command)}
		i := slices.IndexFunc(waiting[k], func(at time.Time) bool {
			return !at.Before(one.At.Truncate(time.Second).Add(-early)) && at.Before(one.At.Add(late))
		})
		if i < 0 {
			differ = append(differ, onesided{one.At, one.User, strings.TrimSpace(one.Command), true})
			continue
		}
		same++
		waiting[k] = slices.Delete(waiting[k], i, i+1)
	}
	for k, left := range waiting {
		for _, at := range left {
			if !at.Before(from) && at.Before(to) {
				differ = append(differ, onesided{at, k.user, k.command, false})
			}
		}
	}
	slices.SortFunc(differ, func(x, y onesided) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.user, y.user), cmp.Compare(x.command, y.command))
	})
	return same, differ
}

// readLog reads the CMD lines of a period, from the journal or from a file.
func readLog(ctx context.Context, m *inventory.Machine, against string, from, to time.Time) ([]cronlog.Start, error) {
	if against != "journal" {
		f, err := os.Open(against)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return cronlog.Parse(f, m.Host.Zone, from, to)
	}
	out, status, err := m.Exec(ctx, cronlog.JournalArgs(from, to)...)
	if err != nil || status > 1 || status == 1 && out != "" { // 1 without a word: no such line
		return nil, errors.New("journalctl: " + inventory.Failure(out, status, err))
	}
	return cronlog.Parse(strings.NewReader(out), m.Host.Zone, from, to)
}
