// Package sendmail owns the hand-over of email to the host's mail transfer agent, through a queue on
// disk.
package sendmail

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/outbox"
)

// Options set up a Queue.
type Options struct {
	Dir    string // of the queue; made if it is missing
	Family crontab.Family

	// Send runs the mailer as the user, with the message as its standard input, and waits for its
	// end: the wait status, and what it printed. An error means that the mailer could not be run or
	// did not end before ctx; ErrNotNow means that it must be run later. There is one call at a time for each
	// user, and maxMailers in all.
	Send func(ctx context.Context, d Delivery) (status int, output string, err error)

	CronLog  func(mail.Line) // takes cron's own log lines; nil drops them
	Log      *slog.Logger    // nil is silent
	Messages int             // most messages in the queue, of root and of all others; 0 is 10,000
	Bytes    int64           // most bytes in the queue, likewise; 0 is 256 MiB
}

// Delivery is one run of a mailer. Message is positioned at the first header.
type Delivery struct {
	User    string
	Argv    []string
	Env     []string
	Dir     string
	Message *os.File
}

// ErrNotNow means that no mailer was run, because the daemon is being replaced.
var ErrNotNow = errors.New("the daemon is being replaced")

// How long a message is tried.
const (
	firstWait   = time.Minute
	lifetime    = 4 * 24 * time.Hour
	fewestTries = 8
	slowTime    = 30 * time.Second // until a mailer that still runs is reported
	sendTime    = 5 * time.Minute  // for the mailer; it should queue, not deliver
	stopTime    = 5 * time.Second
)

// maxMailers is the number of mailers that run at once. A mailer that hangs delays only the
// messages of its user, unless maxMailers users have one.
const maxMailers = 8

// Queue holds email until a mailer accepts it. Its methods may be called from any goroutine.
type Queue struct {
	*outbox.Outbox
	options Options

	mu      sync.Mutex
	missing missing
}

// Open reads the queue that an earlier daemon left in the directory.
func Open(o Options) *Queue {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CronLog == nil {
		o.CronLog = func(mail.Line) {}
	}
	if o.Messages == 0 {
		o.Messages = 10_000
	}
	q := &Queue{options: o}
	q.Outbox = outbox.Open(outbox.Options{
		Dir: o.Dir, Noun: "mail", Lane: "user", Identify: identify, Deliver: q.deliver,
		Parallel: maxMailers, FirstWait: firstWait, Attempts: fewestTries, Messages: o.Messages, Bytes: o.Bytes, Log: o.Log,
		Lifetime: func(string) time.Duration { return lifetime },
	})
	return q
}

// envelope is the first line of a queued file, as JSON; the message follows.
type envelope struct {
	User   string    `json:"user"`
	Dir    string    `json:"dir"`
	Argv   []string  `json:"argv"`
	Env    []string  `json:"env"`
	Output int64     `json:"output"`
	Born   time.Time `json:"born"`
}

// maxEnvelope bounds the envelope. An environment larger than this would have kept the job itself
// from starting.
const maxEnvelope = 8 << 20

// Enqueue adds an email to the queue. It never blocks: the body of the email is read and written down
// by Run's goroutine, unless there is no mailer.
func (q *Queue) Enqueue(l *mail.Message) {
	born := time.Now().UTC().Round(0)
	q.Outbox.Enqueue(outbox.Draft{
		Key: outbox.Key{User: l.User, Lane: l.User, Born: born},
		Write: func() [][]byte {
			if !q.available(l.Argv) {
				q.mu.Lock()
				defer q.mu.Unlock()
				q.missing.lost++
				return nil
			}
			first, _ := json.Marshal(envelope{User: l.User, Dir: l.Dir, Argv: l.Argv, Env: l.Env, Output: l.Output, Born: born}) // texts, numbers and times can always be encoded
			return [][]byte{append(first, '\n'), l.Text()}
		},
		Close: l.Close,
	})
}

func identify(content io.Reader) (outbox.Key, error) {
	e, _, err := readEnvelope(content)
	return outbox.Key{User: e.User, Lane: e.User, Born: e.Born}, err
}

func readEnvelope(f io.Reader) (e envelope, length int64, err error) {
	line, err := bufio.NewReader(io.LimitReader(f, maxEnvelope)).ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF):
		return e, 0, &outbox.DamagedError{Why: "it has no first line"}
	case err != nil:
		return e, 0, err
	}
	if err := json.Unmarshal(bytes.TrimSuffix(line, []byte("\n")), &e); err != nil {
		return e, 0, &outbox.DamagedError{Why: err.Error()}
	}
	if e.User == "" || len(e.Argv) == 0 {
		return e, 0, &outbox.DamagedError{Why: "its user or mailer is missing"}
	}
	return e, int64(len(line)), nil
}

// deliver runs the mailer for a message once.
func (q *Queue) deliver(ctx context.Context, t outbox.Try) *outbox.Failure {
	e, length, err := readEnvelope(t.Content)
	if err == nil {
		_, err = t.Content.Seek(length, io.SeekStart)
	}
	if err != nil {
		_, damaged := errors.AsType[*outbox.DamagedError](err)
		return &outbox.Failure{Why: err.Error(), Final: damaged}
	}
	if !q.available(e.Argv) {
		return &outbox.Failure{Why: "there is no " + e.Argv[0], Untried: true}
	}
	status, output, err := q.send(ctx, Delivery{User: e.User, Argv: e.Argv, Env: e.Env, Dir: e.Dir, Message: t.Content})
	switch {
	case errors.Is(err, ErrNotNow):
		return &outbox.Failure{Why: err.Error(), Untried: true}
	case err != nil:
		return &outbox.Failure{Why: err.Error(), Silent: errors.Is(err, errHung)}
	case status == 0:
		return nil
	case t.Tries == 0:
		q.logFailure(&e, status)
	}
	why := mail.Excerpt(output)
	if why == "" {
		why = fmt.Sprintf("it ended with status 0x%04x", status)
	}
	return &outbox.Failure{Why: why, Final: permanent(status)}
}

var errHung = errors.New("out of time")

// send lets the mailer run for sendTime, and for at most stopTime after the daemon begins to stop.
func (q *Queue) send(ctx context.Context, d Delivery) (int, string, error) {
	timed, cancel := outbox.Patient(ctx, sendTime, stopTime)
	defer cancel()
	report := time.AfterFunc(slowTime, func() {
		q.options.Log.Warn("a mailer does not end; mail of its user waits", "user", d.User, "program", d.Argv[0], "for", slowTime.String())
	})
	defer report.Stop()
	status, output, err := q.options.Send(timed, d)
	if err != nil && timed.Err() != nil {
		err = fmt.Errorf("the mailer did not end: %w", errHung)
	}
	return status, output, err
}

func (q *Queue) logFailure(e *envelope, status int) {
	text := fmt.Sprintf("mailed %s of output but got status 0x%04x from MTA", display.Count(int(e.Output), "byte"), status)
	q.options.CronLog(mail.Line{Who: e.User, Word: "MAIL", Text: text})
}

// permanent reports whether the exit code means that another try would also fail (sysexits.h):
// usage, data, unknown recipient, unknown host. Each further try would make the agent send its
// refusal again.
func permanent(status int) bool {
	ws := syscall.WaitStatus(status)
	code := ws.ExitStatus()
	return ws.Exited() && (code == 64 || code == 65 || code == 67 || code == 68)
}

// available checks each time whether the mailer exists, because it may be installed at any moment.
// A change is logged once, in the family's words.
func (q *Queue) available(argv []string) bool {
	program := ""
	if len(argv) > 0 {
		program = argv[0]
	}
	there := mail.Installed(program)
	q.mu.Lock()
	was := q.missing.program
	switch {
	case there:
		q.missing = missing{}
	case was == "":
		q.missing = missing{program: program, since: time.Now()}
	}
	q.mu.Unlock()
	switch {
	case there && was != "":
		q.options.Log.Info("mail can be sent again", "program", program)
	case !there && was == "" && q.options.Family == crontab.RHEL:
		q.options.CronLog(mail.Line{Who: "CRON", Word: "INFO", Text: "Syslog will be used instead of sendmail."})
	case !there && was == "":
		q.options.CronLog(mail.Line{Who: "CRON", Word: "info", Text: "No MTA installed, discarding output"})
	}
	return there
}
