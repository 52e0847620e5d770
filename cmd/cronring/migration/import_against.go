package migration

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// logged is one start that the host's own cron logged.
type logged struct {
	at            time.Time
	user, command string
}

// How far a cron's line may be from the minute that it is about: cron begins
// a second late, and starts one job after another.
const (
	early = time.Second
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
	a.Printf("%s to %s: %s alike, %s not\n", from.In(zone).Format(time.DateTime), to.In(zone).Format(time.DateTime), cli.Plural(same, "start"), cli.Plural(len(differ), "start"))
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
func compareStarts(ours []shadowed, theirs []logged, from, to time.Time) (same int, differ []onesided) {
	type key struct{ user, command string }
	waiting := map[key][]time.Time{}
	for _, l := range theirs {
		k := key{l.user, l.command}
		waiting[k] = append(waiting[k], l.at)
	}
	for _, one := range ours {
		if one.quiet || one.At.Before(from) || !one.At.Before(to) {
			continue
		}
		k := key{one.User, logText(one.Command)}
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

// logText returns a command in the form of cron's log, without surrounding blanks.
func logText(command string) string { return strings.TrimSpace(crontab.Printable(command)) }

// readLog reads the CMD lines of a period, from the journal or from a file.
func readLog(ctx context.Context, m *inventory.Machine, against string, from, to time.Time) ([]logged, error) {
	if against != "journal" {
		f, err := os.Open(against)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return parseLog(m, f, from, to)
	}
	out, status, err := m.Exec(ctx, "journalctl", "--quiet", "--no-pager", "--all", "-o", "short-unix",
		"--since", "@"+strconv.FormatInt(from.Unix(), 10), "--until", "@"+strconv.FormatInt(to.Unix(), 10), "-t", "CRON", "-t", "CROND")
	if err != nil || status > 1 || status == 1 && out != "" { // 1 without a word: no such line
		return nil, errors.New("journalctl: " + inventory.Failure(out, status, err))
	}
	return parseLog(m, strings.NewReader(out), from, to)
}

// cmdLine is a line of cron's log: a time, perhaps the host, and the process
// of the job. With -L 8 Debian's cron puts another number before the command.
var cmdLine = regexp.MustCompile(`^(\S+|[A-Z][a-z][a-z] [ 0-9][0-9] [0-9:]{8}) (?:\S+ )?(?:CRON|CROND)(?:\[\d+\])?: \(([^)]*)\) CMD \((?:\[\d+\] )?(.*)\)\s*$`)

// maxLogLine is the longest line that is read; cron writes none that long.
const maxLogLine = 1 << 20

func parseLog(m *inventory.Machine, r io.Reader, from, to time.Time) ([]logged, error) {
	var list []logged
	lines := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue // a part of a line too long
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		if l, ok := parseCMD(m, string(line), to); ok && !l.at.Before(from.Add(-early)) && l.at.Before(to) {
			list = append(list, l)
		}
		if err != nil {
			return list, nil
		}
	}
}

// parseCMD reads one line. A time without a year is the latest that is not
// after the end.
func parseCMD(m *inventory.Machine, line string, end time.Time) (logged, bool) {
	match := cmdLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
	if match == nil {
		return logged{}, false
	}
	l := logged{user: match[2], command: strings.TrimSpace(match[3])}
	if t, err := time.Parse(time.RFC3339Nano, match[1]); err == nil {
		l.at = t
		return l, true
	}
	if seconds, fraction, _ := strings.Cut(match[1], "."); strings.Trim(match[1], "0123456789.") == "" {
		n, err := strconv.ParseInt(seconds, 10, 64)
		ns, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
		l.at = time.Unix(n, ns)
		return l, err == nil
	}
	year := end.In(m.Host.Zone).Year()
	for _, y := range []int{year, year - 1} {
		t, err := time.ParseInLocation("2006 "+time.Stamp, strconv.Itoa(y)+" "+match[1], m.Host.Zone)
		if err == nil && t.Before(end.Add(24*time.Hour)) {
			l.at = t
			return l, true
		}
	}
	return l, false
}
