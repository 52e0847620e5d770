package journal

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// note is one entry of a log.
type note struct {
	at       time.Time
	priority int
	from     string // the identifier
	pid      int
	message  []byte
	raw      bool // message is a job's bytes
	fields   []field
}

type field struct{ name, value string }

// transport writes notes to a log. It waits no longer than wait.
type transport interface {
	write(n *note, wait time.Duration) error
	close() error
}

// How long a log may keep us waiting: at first, and while it takes nothing;
// and how often it is asked then.
const (
	patience    = time.Second
	impatience  = 10 * time.Millisecond
	askInterval = 100 * time.Millisecond
)

// textLog is the Sink that words notes for a log.
type textLog struct {
	to       transport
	words    Words
	cron     bool
	terse    bool        // a success needs no entry beside cron's own
	fallback io.Writer   // receives one message if the log accepts nothing
	cmdout   func() bool // cronie would now log CMDOUT lines
	pid      int
	node     string // what the host is in a ring; "": it is in none
	now      func() time.Time
	patience time.Duration

	failing bool
	asked   time.Time // when it was last tried, while failing
	gone    int64     // lost since it fails
	lost    atomic.Int64
	why     atomic.Pointer[error]
}

// Line writes a line of output under the job's name.
func (s *textLog) Line(l *Line) {
	n := note{at: l.At, priority: prioInfo, from: s.jobName(l.Job), message: l.Text, raw: true}
	if l.Stream != job.Stdout {
		n.priority = prioNotice
	}
	if l.About != nil {
		n.pid = l.About.PID
	}
	n.fields = about(n.fields, l.About, l.Job, l.Run)
	n.fields = append(n.fields, field{"CRONRING_STREAM", string(l.Stream)})
	s.write(&n)
	if l.About != nil && l.Stream != job.System && s.cron && s.words.Family == crontab.RHEL && s.cmdout() {
		line := s.words.Output(l.About, l.Text)
		s.Cron(&line)
	}
}

// jobName returns the identifier of a job's output. A job with cron's name cannot pass for cron.
func (s *textLog) jobName(id job.ID) string {
	switch id {
	case "":
		return own
	case "cron", "CRON", "crond", "CROND", "crontab", "anacron", own:
		return "job-" + string(id)
	}
	return string(id)
}

// Record writes what the family's cron would, and the record in words.
func (s *textLog) Record(r *Record) {
	switch {
	case r.Kind == job.Started && r.Written:
		return
	case r.Kind == job.Started && s.cron && r.About != nil:
		s.writeCronLines(r, s.words.Started(r.About))
		return
	case r.Kind == job.Started:
		if r.About == nil || !r.About.Quiet {
			s.writeOwnLine(r, fmt.Sprintf("started as process %d", r.Run.PID))
		}
		return
	case r.Decision == job.DecideRun, r.Kind == job.Ready:
		return // that it has started comes next
	case r.Kind == job.Ended && s.cron && r.About != nil:
		s.writeCronLines(r, s.words.Ended(r.About, cronsOutcome(r.Run)))
	}
	if r.Kind == job.Ended && r.Run.OK() && (s.terse && s.cron || r.About != nil && r.About.Quiet) {
		return
	}
	if r.Words != "" {
		s.writeOwnLine(r, r.Words)
	}
}

// cronsOutcome returns an outcome in cron's terms: cron has no ok=, only exit status 0.
func cronsOutcome(r *job.Run) job.Outcome {
	if r.OK() {
		return job.Outcome{Kind: job.Exited}
	}
	return r.Outcome
}

// writeCronLines writes cron's lines about a record.
func (s *textLog) writeCronLines(r *Record, lines []CronLine) {
	for i := range lines {
		n := s.recordNote(&lines[i], r.Record)
		s.write(&n)
	}
}

func (s *textLog) recordNote(l *CronLine, r *job.Record) note {
	n := s.cronNote(l)
	n.at = r.At
	n.fields = recordFields(n.fields, r)
	return n
}

// writeOwnLine writes a record in the daemon's own words.
func (s *textLog) writeOwnLine(r *Record, words string) {
	n := note{at: r.At, priority: prioInfo, from: own, pid: s.pid}
	var run job.RunID
	name := string(r.Job)
	if r.Run != nil {
		run = r.Run.ID
		name += "[" + run.String() + "]"
	}
	if name != "" {
		name += ": "
	}
	n.message = []byte(name + words)
	known := r.About
	if known == nil && r.Run != nil {
		known = NewRun(r.Run, &job.Job{User: r.Run.User}, false)
	}
	n.fields = about(n.fields, known, r.Job, run)
	n.fields = recordFields(n.fields, r.Record)
	id := ""
	switch {
	case r.Kind == job.Ended && !r.Run.Failed():
		id = EndedID
	case r.Kind == job.Ended:
		id, n.priority = FailedID, prioWarning
	case r.Decision == job.DecideSkip, r.Kind == job.Dropped:
		id, n.priority = SkippedID, prioNotice
	case r.Kind == job.Started:
		id = StartedID
	case r.Kind == job.Stepped:
		id, n.priority = SteppedID, prioWarning
	}
	if id != "" {
		n.fields = append(n.fields, field{"MESSAGE_ID", id})
	}
	s.write(&n)
}

// Cron writes a line of cron's own log.
func (s *textLog) Cron(l *CronLine) {
	if !s.cron {
		return
	}
	n := s.cronNote(l)
	s.write(&n)
}

func (s *textLog) cronNote(l *CronLine) note {
	n := note{at: s.now(), priority: l.priority(), from: s.words.format(l.From), pid: l.PID, message: []byte(l.message())}
	if n.pid == 0 {
		n.pid = s.pid
	}
	if l.About != nil {
		n.fields = about(n.fields, l.About, l.About.Job, l.About.ID)
	}
	if l.MessageID != "" {
		n.fields = append(n.fields, field{"MESSAGE_ID", l.MessageID})
	}
	return n
}

// Log writes an entry of the daemon's own log.
func (s *textLog) Log(e *Entry) {
	n := note{at: e.At, priority: levelPriority(e.Level), from: own, pid: s.pid, message: []byte(e.text())}
	for _, a := range e.Attrs {
		n.fields = append(n.fields, field{fieldName(a.Key), a.Value})
	}
	s.write(&n)
}

// Flush does nothing: nothing is held back.
func (s *textLog) Flush() {}

// Close writes what was lost, and closes.
func (s *textLog) Close() error {
	if s.gone > 0 {
		now := s.now()
		if err := s.to.write(s.leftOut(now), impatience); err != nil {
			s.hint(fmt.Sprintf("%d entries are lost: %v\n", s.gone, err))
		}
		s.gone = 0
	}
	return s.to.close()
}

// Problem returns how many entries were lost, and why the last one was.
func (s *textLog) Problem() (int64, error) {
	if why := s.why.Load(); why != nil {
		return s.lost.Load(), *why
	}
	return s.lost.Load(), nil
}

// write takes a note to the log. A log that took nothing lately is asked now
// and then only, so that it does not keep us from the rest.
func (s *textLog) write(n *note) {
	n.fields = s.mark(n.fields)
	now := s.now()
	wait := s.patience
	if s.failing {
		if now.Sub(s.asked) < askInterval && now.After(s.asked) {
			s.lose()
			return
		}
		wait = impatience
		if s.gone > 0 {
			if err := s.to.write(s.leftOut(now), wait); err != nil {
				s.asked = now
				s.lose()
				return
			}
			s.gone = 0
		}
	}
	if err := s.to.write(n, wait); err != nil {
		s.fail(err)
		return
	}
	if s.failing {
		s.failing = false
		s.why.Store(nil)
		s.hint("the log takes entries again\n")
	}
}

// mark adds the member of the ring.
func (s *textLog) mark(fields []field) []field {
	if s.node == "" {
		return fields
	}
	return append(fields, field{"CRONRING_NODE", s.node})
}

func (s *textLog) lose() {
	s.gone++
	s.lost.Add(1)
}

func (s *textLog) fail(err error) {
	if !s.failing {
		s.hint(fmt.Sprintf("the log takes no entries; they are counted: %v\n", err))
	}
	s.failing, s.asked = true, s.now()
	s.why.Store(&err)
	s.lose()
}

func (s *textLog) hint(text string) {
	if s.fallback != nil {
		io.WriteString(s.fallback, own+": "+text)
	}
}

// leftOut returns a note that reports missing entries.
func (s *textLog) leftOut(now time.Time) *note {
	return &note{
		at: now, priority: prioWarning, from: own, pid: s.pid,
		message: fmt.Appendf(nil, "%d entries are left out here: the log took nothing", s.gone),
		fields:  []field{{"CRONRING_COUNT", strconv.FormatInt(s.gone, 10)}},
	}
}

// about adds what is known of a run.
func about(fields []field, r *Run, id job.ID, run job.RunID) []field {
	if id != "" {
		fields = append(fields, field{"CRONRING_JOB", string(id)})
	}
	if run != 0 {
		fields = append(fields, field{"CRONRING_RUN", run.String()})
	}
	if r == nil {
		return fields
	}
	fields = append(fields,
		field{"CRONRING_INVOCATION_ID", r.Invocation},
		field{"CRONRING_ATTEMPT", strconv.Itoa(r.Attempt)},
		field{"CRONRING_TRIGGER", string(r.Trigger)},
	)
	if r.User != "" {
		fields = append(fields, field{"CRONRING_USER", r.User})
	}
	if r.Crontab != "" {
		fields = append(fields, field{"CRONRING_TABLE", r.Crontab}, field{"CRONRING_LINE", strconv.Itoa(r.Line)})
	}
	return due(fields, r.Due)
}

func due(fields []field, at time.Time) []field {
	if at.IsZero() {
		return fields
	}
	return append(fields, field{"CRONRING_DUE", at.UTC().Format(time.RFC3339)})
}

func recordFields(fields []field, r *job.Record) []field {
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, field{name, value})
		}
	}
	if r.Run == nil {
		fields = due(fields, r.Due)
	}
	add("CRONRING_KIND", string(r.Kind))
	add("CRONRING_DECISION", string(r.Decision))
	add("CRONRING_DETAIL", r.Words())
	if !r.Was.IsZero() {
		add("CRONRING_WAS", r.Was.UTC().Format(time.RFC3339))
	}
	if r.Count > 1 {
		add("CRONRING_COUNT", strconv.Itoa(r.Count))
	}
	reason := r.Reason
	if r.Run != nil {
		if reason == "" {
			reason = r.Run.Reason
		}
		if !r.Run.Outcome.IsZero() {
			add("CRONRING_OUTCOME", r.Run.Result())
		}
	}
	add("CRONRING_REASON", string(reason))
	return fields
}

func levelPriority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return prioErr
	case l >= slog.LevelWarn:
		return prioWarning
	case l >= slog.LevelInfo:
		return prioInfo
	}
	return prioDebug
}

// fieldName is the field of an attribute. The journal takes capitals, digits
// and underscores, 64 in all.
func fieldName(key string) string {
	if key == IDKey {
		return key
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, key)
	name = "CRONRING_" + name
	return name[:min(len(name), 64)]
}

// text is an entry with its attributes, for people.
func (e *Entry) text() string {
	var b strings.Builder
	b.WriteString(e.Message)
	for _, a := range e.Attrs {
		if a.Key == IDKey {
			continue
		}
		b.WriteString(" " + a.Key + "=" + quoted(a.Value))
	}
	return b.String()
}

func quoted(value string) string {
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == '"' || r == '=' || r >= 0x7f && r < 0xa0 }) {
		return strconv.Quote(value)
	}
	return value
}
