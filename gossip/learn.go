package gossip

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/memory"
	"github.com/cronring/cronring/gossip/wire"
)

// Limits of what members exchange after a network partition.
const (
	marksAge    = 24 * time.Hour // of the oldest marks that a member requests after it was away
	apartMargin = time.Minute
	marksPage   = 6    // messages in an answer
	marksPart   = 1500 // marks in such a message, so that it always fits, even with long member IDs
	learnFrom   = 3    // members to request marks from when this one joins
	learnTime   = 2 * time.Second
	maxRequests = 4 // requests to different members at a time
)

// catchUp is what this member requests of the marks that it missed while it was away.
type catchUp struct {
	requests []marksRequest // not sent yet
	pending  int            // sent, and not answered yet
	begun    bool           // requestInitialMarks was called
	asked    int            // members of which marks were requested
	answers  int
	until    time.Time // how long it waits for them before it joins
	saved    time.Time // when the newest occurrences were written to disk
	saving   bool
}

// requestInitialMarks requests, from some members, the marks that this member missed while it was
// away.
func (r *Ring) requestInitialMarks() {
	peers := r.alive()
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	for _, m := range peers[:min(len(peers), learnFrom)] {
		r.learn(m, time.Time{})
	}
	r.catchUp.begun = true
	r.catchUp.until = time.Now().Add(learnTime)
}

// learn requests all marks of a member since this one last saw it.
func (r *Ring) learn(m *member, since time.Time) {
	now := r.o.Now()
	if oldest := now.Add(-marksAge); since.Before(oldest) {
		since = oldest
	}
	r.catchUp.asked++
	r.catchUp.requests = append(r.catchUp.requests, marksRequest{from: m.peer(), ago: now.Sub(since) + apartMargin})
	r.requestMarks()
}

// marksRequest is a request for the marks of a member that changed since some time ago.
type marksRequest struct {
	from link.Peer
	ago  time.Duration
}

func (r *Ring) requestMarks() {
	for len(r.catchUp.requests) > 0 && r.catchUp.pending < maxRequests {
		l := r.catchUp.requests[0]
		r.catchUp.requests = r.catchUp.requests[1:]
		r.catchUp.pending++
		r.help(func(ctx context.Context) func() {
			ctx, cancel := context.WithTimeout(ctx, askTime)
			defer cancel()
			marks, err := r.pages(ctx, l, verbMarks, holders.DecodeMarks)
			var newest []holders.Mark
			if err == nil {
				newest, err = r.pages(ctx, l, verbNewest, holders.DecodeNewest)
			}
			return func() { r.learned(l, marks, newest, err) }
		})
	}
}

func (r *Ring) learned(l marksRequest, marks, newest []holders.Mark, err error) {
	r.catchUp.pending--
	if err != nil {
		r.o.Log.Warn("ring: member does not say what it took", "member", l.from.ID, "err", err)
	} else {
		r.catchUp.answers++
		r.spread.changed = true
	}
	r.learnMarks(marks)
	r.learnNewest(newest)
	r.requestMarks()
}

// mostPages bounds the answers that one member makes another one read.
const mostPages = 64

// pages reads all pages of a member's answers.
func (r *Ring) pages(ctx context.Context, l marksRequest, verb string, decode func([]byte) ([]holders.Mark, error)) (all []holders.Mark, err error) {
	skip := 0
	for range mostPages {
		body := binary.AppendUvarint(binary.BigEndian.AppendUint64(nil, uint64(l.ago)), uint64(skip))
		b, err := r.o.Link.Ask(ctx, l.from, verb, body)
		if err != nil {
			return all, err
		}
		next, messages, err := decodeMessages(b)
		if err != nil {
			return all, err
		}
		for _, m := range messages {
			part, err := decode(m)
			if all = append(all, part...); err != nil {
				return all, err
			}
		}
		if next == 0 {
			return all, nil
		}
		if next <= skip {
			return all, wire.ErrMalformed
		}
		skip = next
	}
	return all, nil
}

// decodeMessages decodes an answer of answerPages.
func decodeMessages(b []byte) (next int, messages [][]byte, err error) {
	r := wire.NewReader(b)
	next = int(r.Uint32())
	for r.More() && len(messages) < marksPage {
		messages = append(messages, r.Take(int(r.Uint32())))
	}
	return next, messages, r.End() // a page with more of them would lose the rest
}

// answerPages returns one roster.Page of the items that changed since some time ago. The answer begins
// with the number of the first item of the next roster.Page, or 0. Then it has messages, each after
// its length.
func (r *Ring) answerPages(ctx context.Context, body []byte, each int, all func(since time.Time) []holders.Mark, message func([]holders.Mark) []byte) ([]byte, error) {
	in := wire.NewReader(body)
	ago, skip := time.Duration(in.Uint64()), in.Number(math.MaxInt32)
	in.Check(ago >= 0)
	if err := in.Err(); err != nil {
		return nil, err
	}
	var items []holders.Mark
	err := r.do(ctx, func() error {
		items = all(r.o.Now().Add(-ago))
		return nil
	})
	if err != nil {
		return nil, err
	}
	rest := items[min(skip, len(items)):]
	b := make([]byte, 4)
	for range marksPage {
		if len(rest) == 0 {
			return b, nil
		}
		part := rest[:min(len(rest), each)]
		rest = rest[len(part):]
		m := message(part)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(m))), m...)
	}
	if len(rest) > 0 {
		binary.BigEndian.PutUint32(b, uint32(len(items)-len(rest)))
	}
	return b, nil
}

func (r *Ring) answerMarks(ctx context.Context, _ string, body []byte) ([]byte, error) {
	return r.answerPages(ctx, body, marksPart, func(since time.Time) []holders.Mark {
		return r.table.Marks(since, marksMax)
	}, func(part []holders.Mark) []byte {
		b, _ := holders.AppendMarks(nil, part, link.MaxBody/marksPage)
		return b
	})
}

func (r *Ring) answerNewest(ctx context.Context, _ string, body []byte) ([]byte, error) {
	return r.answerPages(ctx, body, holders.MaxItems, r.table.Newest, func(part []holders.Mark) []byte {
		return holders.AppendNewest(nil, part)
	})
}

// recallNewest reads the newest occurrences of the time before this host started. No member that is
// up may know them, if all were down.
func (r *Ring) recallNewest() {
	r.catchUp.saved = r.o.Now()
	messages, err := memory.RecallNewest(r.o.Dir)
	if err != nil {
		r.o.Log.Warn("ring: " + err.Error())
	}
	for _, m := range messages {
		newest, err := holders.DecodeNewest(m)
		if err != nil {
			r.o.Log.Warn("ring: read what the ring ran: " + err.Error())
		}
		r.table.Advance(newest, r.o.Now())
	}
}

// saveNewest writes the newest occurrences to disk every newestTime, if they have changed.
func (r *Ring) saveNewest(now time.Time) {
	if r.catchUp.saving || now.Sub(r.catchUp.saved).Abs() < newestTime {
		return
	}
	if messages := r.changedNewest(); messages != nil {
		r.catchUp.saving = true
		r.help(func(context.Context) func() {
			err := memory.RememberNewest(r.o.Dir, messages)
			return func() { r.newestSaved(err) }
		})
	}
}

// changedNewest returns messages with the newest occurrences, or nil if none has changed since the
// last call.
func (r *Ring) changedNewest() (messages [][]byte) {
	changed := len(r.table.Newest(r.catchUp.saved)) > 0
	r.catchUp.saved = r.o.Now()
	if changed {
		for part := range slices.Chunk(r.table.Newest(time.Time{}), holders.MaxItems) {
			messages = append(messages, holders.AppendNewest(nil, part))
		}
	}
	return messages
}

func (r *Ring) newestSaved(err error) {
	r.catchUp.saving = false
	if err != nil {
		r.o.Log.Error("ring: " + err.Error())
	}
}
