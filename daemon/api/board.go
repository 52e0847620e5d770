package api

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// BoardUpdate is one item of Client.Board: first the jobs that the user sees, worst first, in
// several items, then the changes. Complete marks the end of the first part. It occurs again after
// the daemon could not determine what had changed and sent all jobs again.
type BoardUpdate struct {
	Begin    bool      // the stream begins: earlier updates may be out of date
	Now      time.Time // the daemon's clock
	Head     *Status   // when it changed
	Rows     []Row     // new rows and changed rows
	Gone     []job.ID  // jobs that no longer exist
	Complete bool      // every job has been sent
}

// Row is a job on the board: what a line shows of its job.Status. The dashboard keeps rows as they
// arrive. A Status is the full answer about a job: it is several times as large, and its Last must be
// read from the history. So a list of the dashboard has rows and /v1/jobs has statuses. Both begin in
// Look.Status of package jobstate; nothing else determines the state of a job.
type Row struct {
	Job       job.ID
	User      string
	Crontab   string
	Line      int
	Schedule  string // as written
	Zone      string // IANA name, or "Local"
	Command   string
	Labels    string // as written: key:value,...
	Contact   string // whom to ask about it: owner=
	State     job.State
	Protected bool          // a person is asked twice before it is changed
	Fixed     bool          // the reader must not change its entry: see Status.Denied
	Paused    bool          // a user paused it, whatever its state
	Acked     bool          // the newest run failed, and a person has seen it
	Next      time.Time     // zero: nothing planned
	Node      string        // of a ring job: the owner of the next occurrence, as the ring is now
	Elsewhere string        // of a ring job: the host that took a later occurrence than that of LastRun
	Began     time.Time     // start of the oldest run that lives; zero: none has started
	Live      int           // runs that live, waiting ones too
	LastRun   job.RunID     // the newest ended run; 0: none
	Last      time.Time     // its start, or its end if it could not start
	Took      time.Duration // from its start to its end; 0: unknown
	Ending    string        // how it failed: "exit 1"; empty if it succeeded
	Streak    int           // occurrences in a row that failed
	HeldUntil time.Time     // zero: not held, or without an end
	Why       string        // one line: why it is late, waiting, held or paused
}

// NewRow returns the row of a job, without Fixed. No other function makes rows.
func NewRow(s *job.Status) Row {
	j := &s.Job
	r := Row{
		Job: j.ID, User: j.User, Crontab: j.Crontab, Line: j.Line, Schedule: job.OneLine(j.StartsOn()), Zone: j.Zone, Command: job.OneLine(j.Command),
		Labels: job.OneLine(j.Options["labels"]), Contact: job.OneLine(j.Options["owner"]), Protected: j.Options["protect"] == "yes",
		State: s.State, Paused: s.Hold != nil, Acked: s.Ack != nil, Next: s.Next.UTC(), Node: s.Node, Live: len(s.Running),
		Streak: s.Streak, Why: job.OneLine(s.Why),
	}
	if s.Elsewhere != nil {
		r.Elsewhere = s.Elsewhere.Node
	}
	if s.Hold != nil {
		r.HeldUntil = s.Hold.Until.UTC()
	}
	for k := range s.Running {
		if began := s.Running[k].Started.UTC(); !began.IsZero() && (r.Began.IsZero() || began.Before(r.Began)) {
			r.Began = began
		}
	}
	if l := s.Last; l != nil {
		r.LastRun, r.Last = l.ID, l.Ended.UTC()
		if !l.Started.IsZero() {
			r.Last, r.Took = l.Started.UTC(), l.Length()
			if r.Took == 0 && !l.OnlyStarted() {
				r.Took = 1 // 0 is a run without a known length
			}
		}
		if l.Failed() {
			r.Ending = job.OneLine(l.Ending())
		}
	}
	return r
}

// sharedTexts returns the texts that are often the same in many rows.
func (r *Row) sharedTexts() [11]*string {
	return [...]*string{
		&r.User, &r.Crontab, &r.Schedule, &r.Zone, &r.Labels, &r.Contact, (*string)(&r.State), &r.Node, &r.Elsewhere, &r.Ending, &r.Why,
	}
}

// FollowsEnd reports whether the next occurrence is due after the end of a live run, by delay=.
func (r *Row) FollowsEnd() bool {
	return r.Next.IsZero() && r.Live > 0 && strings.HasPrefix(r.Schedule, "delay=")
}

// Board returns the jobs that the user sees as rows, and then their changes, until ctx ends, the
// daemon stops or the caller breaks off. The last item is an error, also when the daemon stopped.
func (c *Client) Board(ctx context.Context) iter.Seq2[BoardUpdate, error] {
	const purpose = "see the board"
	return func(yield func(BoardUpdate, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		response, err := c.do(ctx, purpose, http.MethodGet, "/v1/board", nil)
		if err != nil {
			yield(BoardUpdate{}, err)
			return
		}
		defer response.Body.Close()
		frames, err := newBoardDecoder(response.Body, response.Header.Get("Content-Type"))
		for begin := true; err == nil; begin = false {
			beginEvent(response)
			var u BoardUpdate
			u, err = frames.next()
			u.Begin = begin
			if err == nil && !yield(u, nil) {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			err = errBoardEnded
		}
		yield(BoardUpdate{}, c.explain(ctx, purpose, err))
	}
}

var errBoardEnded = errors.New("it ended the connection: it stops, or was replaced")
