package history

import (
	"context"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Output sends what a run wrote; with follow=true it continues until the run has ended, and sends
// the record of that last.
func (s *Reader) Output(ctx context.Context, c *call.Call) error {
	follow, err := c.Flag("follow")
	if err != nil {
		return err
	}
	q, err := readExcerpt(c)
	if err != nil {
		return err
	}
	r, err := s.find.OneRun(ctx, c, "logs", c.Query.Get("run"))
	if err != nil {
		return err
	}
	chunks, events := s.daemon.Follow(ctx, r.ID)
	live := s.isLive(r.ID) // asked after subscribing: its end cannot be missed
	if !live {
		if chunks, err = s.store.Output(ctx, r.ID); err != nil {
			return fmt.Errorf("read output: %w", err)
		}
	}
	if follow && live {
		leave, err := s.join(c)
		if err != nil {
			return err
		}
		defer leave()
	}
	chunks = q.of(chunks)
	c.ReleaseQuery()
	st := newStream(c)
	st.control.SetWriteDeadline(time.Now().Add(call.WriteTimeout))
	for i := range chunks {
		if st.send(api.Event{Chunk: &chunks[i]}) != nil {
			return nil
		}
	}
	st.control.SetWriteDeadline(time.Time{})
	c.End()
	switch {
	case follow && live:
		s.follow(ctx, c, st, r.ID, events, q)
	case follow:
		s.sendEnd(ctx, c, st, r.ID)
	}
	return nil
}

// follow sends the output that is still to come, and the record of the end.
func (s *Reader) follow(ctx context.Context, c *call.Call, st *stream, id job.RunID, events <-chan api.Event, q excerpt) {
	st.relay(events, func(e api.Event) (send, done bool) {
		switch {
		case e.Chunk != nil:
			return e.Chunk.Run == id && q.wants(e.Chunk.Stream), false
		case e.Record != nil:
			ended := e.Record.Run != nil && e.Record.Run.ID == id && !e.Record.Run.State.Live()
			return ended, ended
		}
		if s.isLive(id) {
			return true, false
		}
		if st.send(e) == nil { // the gap holds the end
			s.sendEnd(ctx, c, st, id)
		}
		return false, true
	})
}

func (s *Reader) isLive(id job.RunID) bool {
	_, live := s.daemon.View().Run(id)
	return live
}

// sendEnd sends the record of a run's end, from the store.
func (s *Reader) sendEnd(ctx context.Context, c *call.Call, st *stream, id job.RunID) {
	r, err := s.find.Numbered(ctx, c, "logs", id)
	if err != nil {
		st.send(api.Event{Error: call.AsError(err)})
		return
	}
	st.send(api.Event{Record: &job.Record{
		At: r.Ended, Kind: job.Ended, Job: r.Job, Due: r.Due, Era: r.Era, Reason: r.Reason, Run: &r,
	}})
}
