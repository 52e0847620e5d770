package migration

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
)

// change is a difference between cronring and the host's cron, for a line or a whole
// crontab.
type change struct {
	Code crontab.Code `json:"code,omitempty"` // of the diagnostic that lint makes about it
	Text string       `json:"text"`
}

// lineChanges are the changes that a diagnostic of lint causes, by family: the
// diagnostics show where a line means something else than it did. A diagnostic that is
// not here is about what both read alike.
var lineChanges = map[crontab.Family]map[crontab.Code]string{
	crontab.Debian: {
		"B107": "runs: the old cron never started it, as Sunday at the end of the range was read as 0",
		"B105": "a value is chosen at random, once: the old cron took the first number alone",
		"B205": "RANDOM_DELAY is not read: it was a plain variable for the old cron, and stays one",
		"B213": `\\ reaches the shell as it is: the old cron made one \ of it`,
		"B302": "the CR at the line's end is dropped: the old cron made it part of the command",
		"B226": "USER and LOGNAME are the name of the user: the old cron let the crontab set USER",
	},
	crontab.RHEL: {
		"B104": "runs: the old cron rejected the line because of text after a value",
		"B105": "the random value is chosen once: the old cron chose a new one at each load",
		"B302": "the CR at the line's end is dropped: the old cron made it part of the command",
	},
}

// deadLines are the errors in lines that the old cron ran nevertheless, and that do not run any more.
var deadLines = map[crontab.Family]map[crontab.Code]string{
	crontab.Debian: {
		"B218": "an empty command: the old cron started a shell for it",
		"B009": "a number too large: the old cron took what was left of it in 32 bits",
		"B206": "an unknown zone: the entries below are held, and the old cron ignored CRON_TZ",
	},
	crontab.RHEL: {
		"B206": "an unknown zone: the entries below are held, and the old cron took UTC",
		"B220": "a command too long: the old cron cut it",
	},
}

// plainComment reports whether a diagnostic is about a #@ line, which is a comment to the old cron.
func plainComment(code crontab.Code) bool { return strings.HasPrefix(string(code), "B4") }

// crontabChanges is a crontab with what changes in it.
type crontabChanges struct {
	file    []change         // for the crontab as a whole
	entries map[int][]change // by line
	dead    []change         // lines that ran before and no longer do
}

func (c *crontabChanges) add(line int, code crontab.Code, text string) {
	c.entries[line] = append(c.entries[line], change{code, text})
}

// compareOld returns what cronring does differently with a crontab. It searches the year
// after now for changes of the zone.
func compareOld(t *inventory.Crontab, family crontab.Family, now time.Time) crontabChanges {
	c := crontabChanges{entries: map[int][]change{}}
	for _, d := range t.Diagnostics {
		c.diagnostic(t, d, family)
	}
	if family == crontab.Debian {
		if why := debianRefuses(t); why != "" {
			c.file = append(c.file, change{Text: "the old cron ignored the whole crontab: " + why + "; now its good lines run"})
		}
	}
	for i := range t.File.Entries {
		c.entry(&t.File.Entries[i], family, now)
	}
	return c
}

// diagnostic adds the changes that a diagnostic of lint causes. One about an assignment holds
// for all lines, and so for the crontab.
func (c *crontabChanges) diagnostic(t *inventory.Crontab, d crontab.Diagnostic, family crontab.Family) {
	if text, ok := deadLines[family][d.Code]; ok {
		c.dead = append(c.dead, change{d.Code, fmt.Sprintf("line %d: %s", d.Line, text)})
		return
	}
	text, ok := lineChanges[family][d.Code]
	switch {
	case !ok:
	case d.Code == "B302" || !slices.ContainsFunc(t.File.Entries, func(e crontab.Entry) bool { return e.Line() == d.Line }):
		c.file = append(c.file, change{d.Code, text})
	default:
		c.add(d.Line, d.Code, text)
	}
}

// oldLongest is the longest command that Debian's cron takes, in bytes.
const oldLongest = 998

// oldLines is the maximum number of lines in Debian's cron.
const oldLines = 10_000

var (
	emptyAssignment = regexp.MustCompile(`(?m)^[ \t]*[^ \t#=][^ \t=]*[ \t]*=[ \t]*$`)
	leadingTilde    = regexp.MustCompile(`(^|[ \t,])~`)
)

// debianRefuses returns why Debian's cron ignores a whole crontab that cronring reads: one
// invalid line is enough.
func debianRefuses(t *inventory.Crontab) string {
	for _, d := range t.Diagnostics {
		_, ran := deadLines[crontab.Debian][d.Code]
		if d.Severity == crontab.Error && !ran && !plainComment(d.Code) {
			return fmt.Sprintf("line %d has an error (%s)", d.Line, d.Message)
		}
	}
	if strings.Count(t.Text, "\n") > oldLines {
		return "it has more than 10,000 lines"
	}
	if at := emptyAssignment.FindStringIndex(t.Text); at != nil {
		return fmt.Sprintf("line %d assigns nothing", 1+strings.Count(t.Text[:at[0]], "\n"))
	}
	for i := range t.File.Entries {
		e := &t.File.Entries[i]
		switch {
		case strings.HasPrefix(strings.TrimLeft(e.Raw(), " \t"), "-"):
			return fmt.Sprintf("line %d begins with -", e.Line())
		case leadingTilde.MatchString(e.Spec()):
			return fmt.Sprintf("line %d has ~ without a number before it", e.Line())
		case len(e.Command()) > oldLongest:
			return fmt.Sprintf("the command in line %d has more than %d bytes", e.Line(), oldLongest)
		}
	}
	return ""
}

// entry adds the differences that lint does not report.
func (c *crontabChanges) entry(e *crontab.Entry, family crontab.Family, now time.Time) {
	line := e.Line()
	if zone, ok := e.Lookup("CRON_TZ"); ok && zone != "" && family == crontab.Debian {
		c.add(line, "B207", "its times are read in "+e.Zone().String()+": the old cron ignored CRON_TZ")
	}
	if delay, ok := e.Lookup("RANDOM_DELAY"); ok && delay != "" && delay != "0" && family == crontab.Debian {
		c.add(line, "", "starts up to "+delay+" minutes late: the old cron ignored RANDOM_DELAY")
	}
	if e.MailOnFailure() && family == crontab.Debian {
		c.add(line, "", "-n is read as a flag, mail only on failure: it began the command for the old cron")
	}
	if p := e.Options().Period; p != nil {
		c.add(line, "", fmt.Sprintf("runs once a period (%s), also when %s of /etc/anacrontab did it, and is made up after the host was off", periodText(p), p.ID))
	}
	if n, at := gapMinutes(e, now); n > 1 {
		c.add(line, "", fmt.Sprintf("runs once, not %d times, when the clock skips an hour on %s", n, at.Format(time.DateOnly)))
	}
	if held := e.Options().Held; held != "" {
		c.add(line, "", "is held: "+held)
		return
	}
	var words []string
	for _, it := range e.Options().Items {
		if it.Key != "name" {
			words = append(words, option.Written(it.Key, it.Value))
		}
	}
	if len(words) > 0 {
		c.add(line, "", "has options, which are a comment to the old cron: "+strings.Join(words, " "))
	}
}

// maxGap is the longest gap of a zone after which the old crons catch up the skipped wall times.
const maxGap = 3 * time.Hour

// gapMinutes counts the wall minutes that a fixed-time entry names in the next
// gap of its zone, within a year: an old cron starts it for each of them.
func gapMinutes(e *crontab.Entry, now time.Time) (n int, at time.Time) {
	if !timetable.FixedTime(e.Schedule) {
		return 0, at
	}
	for _, change := range e.Zone().Changes(now, now.AddDate(1, 0, 0)) {
		low, high := timetable.Wall(change.At, change.Before), timetable.Wall(change.At, change.After)
		if gap := high.Sub(low); gap <= 0 || gap > maxGap {
			continue
		}
		s, _ := timetable.ParseSchedule(e.Spec(), nil, 0)
		if s == nil {
			return 0, at
		}
		n = 0
		for t := s.Next(low.Add(-1)); !t.IsZero() && t.Before(high); t = s.Next(t) {
			n++
		}
		// The minute of the gap's end is one more that falls on it.
		if s.Next(high.Add(-1)).Equal(high) && n > 0 {
			n++
		}
		if n > 1 {
			return n, low
		}
	}
	return 0, at
}

// notes returns facts about an entry that are the same in every cron.
func notes(t *inventory.Crontab, e *crontab.Entry) []string {
	var list []string
	if e.Reboot() {
		list = append(list, "@reboot: runs once a boot, and not on the change to cronring: the marks of this boot are honoured")
	}
	for _, d := range t.Diagnostics {
		if d.Line == e.Line() && d.Severity == crontab.Warning && (d.Code == "B101" || d.Code == "B106" || d.Code == "B102") {
			list = append(list, string(d.Code)+" "+d.Message)
		}
	}
	return list
}

// sameCommand identifies entries that run the same command at the same time.
type sameCommand struct{ schedule, user, command string }

// findDuplicates finds entries that occur more than once in the host's crontabs. It returns the place
// of the first one for each of the others.
func findDuplicates(crontabs []inventory.Crontab) map[*crontab.Entry]string {
	first, found := map[sameCommand]string{}, map[*crontab.Entry]string{}
	for i := range crontabs {
		if !crontabs[i].Counts() {
			continue
		}
		for j := range crontabs[i].File.Entries {
			e := &crontabs[i].File.Entries[j]
			identity := timetable.Identity(e.Schedule)
			if e.Reboot() {
				identity = "@reboot"
			}
			key := sameCommand{identity, e.User(), e.Command()}
			if place, ok := first[key]; ok {
				found[e] = place
				continue
			}
			first[key] = fmt.Sprintf("%s:%d", crontabs[i].Path, e.Line())
		}
	}
	return found
}
