// Package cronlog owns reading the starts of jobs that the host's own cron logged.
package cronlog

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
)

// Start is a start of a job that cron logged.
type Start struct {
	At            time.Time
	User, Command string // Command is in the form of Text
}

// Early is how much before its minute cron may log the start of a job.
const Early = time.Second

// Text returns a command in the form of cron's log, without surrounding blanks.
func Text(command string) string { return strings.TrimSpace(crontab.Printable(command)) }

// cmdLine is a line of cron's log: a time, perhaps the host, and the process
// of the job. With -L 8 Debian's cron puts another number before the command.
var cmdLine = regexp.MustCompile(`^(\S+|[A-Z][a-z][a-z] [ 0-9][0-9] [0-9:]{8}) (?:\S+ )?(?:CRON|CROND)(?:\[\d+\])?: \(([^)]*)\) CMD \((?:\[\d+\] )?(.*)\)\s*$`)

// maxLine is the longest line that is read; cron writes none that long.
const maxLine = 1 << 20

// Parse returns the starts of a period in a log, whose times without a zone are in zone.
func Parse(r io.Reader, zone *time.Location, from, to time.Time) ([]Start, error) {
	return parseLines(bufio.NewReaderSize(r, maxLine), zone, from, to)
}

// parseLines ignores lines that do not fit into the buffer of the reader.
func parseLines(lines *bufio.Reader, zone *time.Location, from, to time.Time) (list []Start, err error) {
	for long := false; ; {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = true // and its end is not a line either
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		if s, ok := parseLine(string(line), zone, to); ok && !long && !s.At.Before(from.Add(-Early)) && s.At.Before(to) {
			list = append(list, s)
		}
		long = false
		if err != nil {
			return list, nil
		}
	}
}

// parseLine reads one line. A time without a year is the latest that is not
// after the end.
func parseLine(line string, zone *time.Location, end time.Time) (Start, bool) {
	match := cmdLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
	if match == nil {
		return Start{}, false
	}
	s := Start{User: match[2], Command: strings.TrimSpace(match[3])}
	if t, err := time.Parse(time.RFC3339Nano, match[1]); err == nil {
		s.At = t
		return s, true
	}
	if seconds, fraction, _ := strings.Cut(match[1], "."); strings.Trim(match[1], "0123456789.") == "" {
		n, err := strconv.ParseInt(seconds, 10, 64)
		ns, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
		s.At = time.Unix(n, ns)
		return s, err == nil
	}
	year := end.In(zone).Year()
	for _, y := range []int{year, year - 1} {
		t, err := time.ParseInLocation("2006 "+time.Stamp, strconv.Itoa(y)+" "+match[1], zone)
		if err == nil && t.Before(end.Add(24*time.Hour)) {
			s.At = t
			return s, true
		}
	}
	return s, false
}

// JournalArgs returns the command that prints the starts of a period from the journal. Any user can
// write to the journal as CRON, but only cron's processes of root log starts.
func JournalArgs(from, to time.Time) []string {
	at := func(t time.Time) string { return "@" + strconv.FormatInt(t.Unix(), 10) }
	return []string{"journalctl", "--quiet", "--no-pager", "--all", "-o", "short-unix", "--since", at(from), "--until", at(to), "-t", "CRON", "-t", "CROND", "_UID=0"}
}
