// Package failure owns the search for the causes of failed runs, which finds the line of output that
// names the error, and groups failures by cause.
package failure

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/page"
)

// Failure is runs of a job that failed in the same way, and the line of the newest one's output that
// names the error.
type Failure struct {
	Job    job.ID
	Run    job.RunID // the newest
	Count  int
	First  time.Time // end of the oldest
	At     time.Time // end of the newest
	Ending string    // "exit 1"
	Line   string    // see errorLine; empty: there is none, or it was not read
	Parts  []int     // how many ended in each part of the time; nil: not known
}

// Cause is failures that look alike: they ended in the same way, and what they
// said is the same but for numbers, times, addresses and paths.
type Cause struct {
	Key      string
	Title    string    // of the newest failure
	Failures []Failure // newest first
}

// Group sorts failures by cause: the cause that met most jobs first, then
// the newest.
func Group(failures []Failure) []Cause {
	failures = slices.Clone(failures)
	slices.SortStableFunc(failures, func(a, b Failure) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Run, a.Run)) })
	var causes []Cause
	place := map[string]int{}
	for _, f := range failures {
		key := f.key()
		i, known := place[key]
		if !known {
			i = len(causes)
			place[key] = i
			causes = append(causes, Cause{Key: key, Title: f.title()})
		}
		causes[i].Failures = append(causes[i].Failures, f)
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(len(b.Jobs()), len(a.Jobs())), b.Failures[0].At.Compare(a.Failures[0].At))
	})
	return causes
}

// key identifies the cause. Different jobs do not share an exit status as a cause,
// but they share an end from outside, such as a timeout.
func (f Failure) key() string {
	how := pattern(f.Ending)
	switch {
	case f.Line != "":
		return how + "\x00" + pattern(f.Line)
	case strings.HasPrefix(f.Ending, "exit "):
		return f.Ending + "\x00\x00" + string(f.Job)
	}
	return how
}

// title returns the error line without the prefixes of log messages.
func (f Failure) title() string {
	if line := strings.TrimSpace(logPrefix.ReplaceAllString(f.Line, "")); line != "" {
		return line
	}
	return f.Ending
}

// Jobs returns the jobs with this cause, the newest first.
func (c *Cause) Jobs() []job.ID {
	var jobs []job.ID
	for _, f := range c.Failures {
		if !slices.Contains(jobs, f.Job) {
			jobs = append(jobs, f.Job)
		}
	}
	return jobs
}

// Count returns how many runs failed.
func (c *Cause) Count() int {
	n := 0
	for _, f := range c.Failures {
		n += f.Count
	}
	return n
}

// First and last are the ends of its oldest and newest failure.
func (c *Cause) First() time.Time {
	return slices.MinFunc(c.Failures, func(a, b Failure) int { return a.First.Compare(b.First) }).First
}
func (c *Cause) Last() time.Time { return c.Failures[0].At }

// Summary sums causes up in one line: "3 failing jobs, 2 causes: timeout
// (etl-orders); DNS failure (certbot-renew, geoip-update)". It cuts the titles so that the line takes
// room cells, but leaves enough of each to tell them apart.
func Summary(causes []Cause, room int) string {
	const least = 30
	jobs := map[job.ID]bool{}
	lists := make([]string, len(causes))
	for i := range causes {
		met := causes[i].Jobs()
		for _, id := range met {
			jobs[id] = true
		}
		lists[i] = " (" + names(met) + ")"
	}
	text := fmt.Sprintf("%s, %s: ", display.Count(len(jobs), "failing job"), display.Count(len(causes), "cause"))
	room -= display.Width(text + strings.Join(lists, "; "))
	for i := range causes {
		if i > 0 {
			text += "; "
		}
		title := page.Shorten(causes[i].Title, max(room/(len(causes)-i), least))
		room -= display.Width(title)
		text += title + lists[i]
	}
	return text
}

// names lists the first few of some jobs.
func names(jobs []job.ID) string {
	const few = 3
	words := make([]string, 0, few)
	for _, id := range jobs[:min(few, len(jobs))] {
		words = append(words, display.Text(string(id)))
	}
	list := strings.Join(words, ", ")
	if more := len(jobs) - few; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// variable matches what differs between failures of one cause, in order of
// precedence. Placeholders name the groups.
var variable = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`(\b[a-z][a-z0-9+.-]*://[^\s"')>]+)`,
	`(` + instant + `)`,
	`(\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b|\b[0-9a-f]{12,}\b)`,
	`(\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[?\b(?:[0-9a-f]{1,4}:){2,7}:?[0-9a-f]{0,4}(?:\]:\d+)?)`,
	`((?:~|\.{1,2})?/[^\s:"',;()\[\]]+)`,
	`(\d+(?:[.,]\d+)*)`,
}, "|"))

var placeholders = []string{"<url>", "<time>", "<hex>", "<address>", "<path>", "<n>"}

// instant is a date, a time of day or both, as logs write them.
const instant = `\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?\b` +
	`|\b(?:(?:mon|tue|wed|thu|fri|sat|sun)\w*,? +)?(?:\d{1,2} +)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w* +\d{1,4},? +\d\d:\d\d(?::\d\d)?(?: +\d{4})?\b` +
	`|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`

// Numbers matches times and all other numbers.
var Numbers = regexp.MustCompile(`(?i)` + instant + `|\d+(?:[.,]\d+)*`)

// logPrefix matches what programs write before a message: a time, a level, a number
// in brackets.
var logPrefix = regexp.MustCompile(`(?i)^(?:\s*(?:` + instant + `|\[[^\]]*\]|(?:error|err|fatal|critical|crit|warning|warn|E)\b[:|\]]*)[\s:|-]*)+`)

// pattern is a line with placeholders for what may differ.
func pattern(line string) string {
	var b strings.Builder
	end := 0
	for _, m := range variable.FindAllStringSubmatchIndex(line, -1) {
		for i, word := range placeholders {
			if m[2*i+2] >= 0 {
				b.WriteString(line[end:m[0]])
				b.WriteString(word)
				end = m[1]
			}
		}
	}
	b.WriteString(line[end:])
	return strings.Join(strings.Fields(b.String()), " ")
}

// maxErrorLine limits the bytes of a line that are examined.
const maxErrorLine = 400

// complaint matches words of error messages.
var complaint = regexp.MustCompile(`(?i)\b(?:errors?|fatal|fail(?:ed|s|ure)?|cannot|can't|could not|couldn't|unable|denied|refused|timed? ?out|` +
	`not found|no such|not permitted|exception|panic|invalid|unreachable|killed|out of memory|no space|segmentation|abort(?:ed)?|broken|expired|missing|` +
	`\w+(?:Error|Exception))\b`)

// Complaints returns where a line has words of error messages: pairs of begin and end.
func Complaints(line string) [][]int { return complaint.FindAllStringIndex(line, -1) }

// errorLine returns the first error message of a run: from standard error, else from
// standard output, else the first line of standard error. After a traceback it
// returns the line that names the error.
func errorLine(chunks []job.Chunk) string {
	var out, err lineList
	streams := map[job.Stream]*display.Lines{job.Stdout: {W: &out}, job.Stderr: {W: &err}}
	for _, c := range chunks {
		if lines := streams[c.Stream]; lines != nil {
			lines.Write(c.Data) // a list takes everything
		}
	}
	for _, lines := range streams {
		lines.Close()
	}
	return cmp.Or(err.complaint(), out.complaint(), err.first())
}

// lineList is the first lines that were written to it.
type lineList []string

func (l *lineList) Write(p []byte) (int, error) {
	const enough = 2000
	if len(*l) < enough {
		*l = append(*l, string(p[:min(len(p), maxErrorLine)]))
	}
	return len(p), nil
}

func (l lineList) complaint() string {
	traced := false
	for _, line := range l {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "Traceback ("):
			traced = true
		case traced && (indented || line == ""):
		case traced, complaint.MatchString(line):
			return line
		}
	}
	return ""
}

func (l lineList) first() string {
	for _, line := range l {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
