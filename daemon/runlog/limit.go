package runlog

import (
	"bytes"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Limits on output in a log that all users share: of one run, and of all runs
// of one user in a minute. The rest is in the history, as far as output-max
// allows. Below them, one user's jobs cannot fill the log's disk within days,
// or keep it too busy for messages about others.
var (
	runLimit  = amount{lines: 1000, bytes: 64 << 10}
	userLimit = amount{lines: 5000, bytes: 512 << 10}
)

// amount is a size of output.
type amount struct{ lines, bytes int }

func (a *amount) add(data []byte) {
	a.lines += bytes.Count(data, []byte{'\n'})
	a.bytes += len(data)
}

// fitting returns the length of the start of data that fits into what is left
// of two limits: whole lines, unless the first one alone is too long.
func fitting(data []byte, run, user amount) int {
	lines := min(runLimit.lines-run.lines, userLimit.lines-user.lines)
	size := min(runLimit.bytes-run.bytes, userLimit.bytes-user.bytes, len(data))
	if lines <= 0 || size <= 0 {
		return 0
	}
	end := 0
	for range lines {
		i := bytes.IndexByte(data[end:size], '\n')
		if i < 0 { // the rest is the start of a line
			if size == len(data) || end == 0 {
				return size
			}
			break
		}
		end += i + 1
	}
	return end
}

// outputLimit decides how much of the output of runs is logged. A run that
// exceeded a limit is not logged any further, so that its log has no gaps.
type outputLimit struct {
	runs   map[job.RunID]*outputOfRun
	users  map[string]*amount // logged in this minute
	minute time.Time          // when it began
}

type outputOfRun struct {
	logged  amount
	dropped amount // not logged
}

func newOutputLimit() *outputLimit {
	return &outputLimit{runs: map[job.RunID]*outputOfRun{}}
}

// take returns the part of a piece of output that is logged. Both streams of a run
// count.
func (l *outputLimit) take(c job.Chunk, now time.Time) []byte {
	if since := now.Sub(l.minute); since >= time.Minute || since < 0 || l.users == nil {
		l.users, l.minute = map[string]*amount{}, now
	}
	user := l.users[c.User]
	if user == nil {
		user = &amount{}
		l.users[c.User] = user
	}
	run := l.runs[c.Run]
	if run == nil { // it has ended, and a background process prints
		n := fitting(c.Data, amount{}, *user)
		user.add(c.Data[:n])
		return c.Data[:n]
	}
	if run.dropped.bytes > 0 {
		run.dropped.add(c.Data)
		return nil
	}
	n := fitting(c.Data, run.logged, *user)
	run.logged.add(c.Data[:n])
	user.add(c.Data[:n])
	run.dropped.add(c.Data[n:])
	data := c.Data[:n:n]
	if n > 0 && n < len(c.Data) && data[n-1] != '\n' {
		data = append(data, '\n')
	}
	return data
}

// begin counts the output of a run until it is forgotten.
func (l *outputLimit) begin(run job.RunID) { l.runs[run] = &outputOfRun{} }

// takeDropped returns how much of the output of a run was not logged.
func (l *outputLimit) takeDropped(run job.RunID) amount {
	if r := l.runs[run]; r != nil {
		return r.dropped
	}
	return amount{}
}

func (l *outputLimit) forget(run job.RunID) { delete(l.runs, run) }
