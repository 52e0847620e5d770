package lookup

import (
	"path"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// JobRef is a job reference as written: a name, OWNER/NAME, a glob, FILE:LINE, or
// the name of a set.
type JobRef struct {
	Text string
	set  jobSet // @failed and so on; ""
	Glob bool
	file string // FILE:LINE
	line int
}

// jobSet is a set of jobs that goes by a name.
type jobSet string

const (
	setFailed  jobSet = "@failed"
	setRunning jobSet = "@running"
	setLate    jobSet = "@late"
	setPaused  jobSet = "@paused"
)

// ParseJobRef reads a job reference. A name may look like any other form, so
// the exact name is tried first wherever a reference is looked up.
func ParseJobRef(text string) (JobRef, error) {
	r := JobRef{Text: text}
	switch {
	case text == "":
		return r, call.BadRequest("a job reference is empty", "")
	case strings.HasPrefix(text, "@"):
		r.set = jobSet(text)
		switch r.set {
		case setFailed, setRunning, setLate, setPaused:
			return r, nil
		}
		return r, call.BadRequest(strconv.Quote(text)+" names no set of jobs", "the sets are @failed @running @late @paused")
	case job.IsGlob(text):
		r.Glob = true
		if _, err := path.Match(text, ""); err != nil {
			return r, call.BadRequest(strconv.Quote(text)+" is not a pattern", "a [ has no ]")
		}
		return r, nil
	}
	if i := strings.LastIndexByte(text, ':'); i > 0 {
		if line, ok := lineNumber(text[i+1:]); ok {
			r.file, r.line = text[:i], line
		}
	}
	return r, nil
}

func lineNumber(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil && n > 0 && text[0] != '+'
}

// matchesPlace reports whether FILE:LINE is the place of a job. FILE may be any end of the path
// that begins after a slash.
func (r JobRef) matchesPlace(file string, line int) bool {
	return line == r.line && IsCrontab(r.file, file)
}

func IsCrontab(name, file string) bool {
	return file == name || strings.HasSuffix(file, "/"+name)
}

// runRef is a run reference as written: a number, or a job and which of its
// runs. A bare job means its last.
type runRef struct {
	ID     job.RunID
	Job    string
	back   int  // 1 is the last run, 2 the previous one
	failed bool // the last that failed
}

// ParseRunRef reads a run reference. The part after the last @ only counts
// when it can be one, as derived names may hold an @ (user@domain).
func ParseRunRef(text string) (runRef, error) {
	if text == "" {
		return runRef{}, call.BadRequest("a run reference is empty", "")
	}
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		if n == 0 {
			return runRef{}, call.BadRequest("0 names no run", "runs are numbered from 1")
		}
		return runRef{ID: job.RunID(n)}, nil
	}
	i := strings.LastIndexByte(text, '@')
	if i <= 0 {
		return runRef{Job: text, back: 1}, nil
	}
	switch which := text[i+1:]; {
	case which == "last":
		return runRef{Job: text[:i], back: 1}, nil
	case which == "failed":
		return runRef{Job: text[:i], failed: true}, nil
	case strings.HasPrefix(which, "-"):
		if n, ok := lineNumber(which[1:]); ok && n <= maxBack {
			return runRef{Job: text[:i], back: n}, nil
		}
		return runRef{}, call.BadRequest(strconv.Quote(text)+" names no run", "after @- comes a number from 1 (the last run) to "+strconv.Itoa(maxBack))
	}
	return runRef{Job: text, back: 1}, nil
}

// maxBack is the maximum N of job@-N.
const maxBack = 1000
