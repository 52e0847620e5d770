package daemon

import (
	"context"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

func output(run job.RunID, text string) api.Event {
	return api.Event{Chunk: &job.Chunk{Run: run, Data: []byte(text)}}
}

// drain gives what is in a channel now: texts, and "gap".
func drain(events <-chan api.Event) (seen []string) {
	for len(events) > 0 {
		switch e := <-events; {
		case e.Gap != nil:
			seen = append(seen, "gap")
		case e.Chunk != nil:
			seen = append(seen, string(e.Chunk.Data))
		}
	}
	return seen
}

// A reader must learn of a loss even when nothing follows it, as it may wait
// for just what was lost.
func TestHubEndsFullChannelWithGap(t *testing.T) {
	h := newHub()
	events := h.subscribe(t.Context())
	for range 3 {
		for range 10 * backlogEvents {
			h.publish(output(1, "x"))
		}
		seen := drain(events)
		if n := len(seen); n == 0 || n > backlogEvents+1 || seen[n-1] != "gap" {
			t.Fatalf("a slow reader sees %d events, the last %q, want at most %d and then a gap", n, seen[len(seen)-1], backlogEvents)
		}
	}
}

func TestHubFollowMissesNothing(t *testing.T) {
	h := newHub()
	h.publish(output(1, "one"))
	h.publish(output(2, "other"))
	before, after := h.follow(t.Context(), 1)
	h.publish(output(1, "two"))
	if len(before) != 1 || string(before[0].Data) != "one" {
		t.Errorf("before: %+v, want one piece", before)
	}
	if seen := drain(after); len(seen) != 1 || seen[0] != "two" {
		t.Errorf("after: %q, want one piece", seen)
	}
	h.publish(api.Event{Record: &job.Record{Kind: job.Ended, Run: &job.Run{ID: 1}}})
	if before, _ := h.follow(t.Context(), 1); before != nil || len(h.said) != 1 {
		t.Errorf("after the end: %+v, and output of %d runs is kept", before, len(h.said))
	}
}

func TestHubKeepsNewestOutput(t *testing.T) {
	h := newHub()
	big := string(make([]byte, 10_000))
	for range 100 {
		h.publish(output(1, big))
	}
	before, _ := h.follow(context.Background(), 1)
	kept := len(before) * len(big)
	if kept > backlogOutput || kept < backlogOutput/2 || before[0].Cut+int64(kept) != 100*int64(len(big)) {
		t.Errorf("%d bytes kept, %d left out of %d", kept, before[0].Cut, 100*len(big))
	}
}

func TestHubClosesChannels(t *testing.T) {
	h := newHub()
	ctx, cancel := context.WithCancel(t.Context())
	left, stays := h.subscribe(ctx), h.subscribe(t.Context())
	cancel()
	if _, open := <-left; open {
		t.Error("the channel of a subscriber that left is open")
	}
	h.close()
	if _, open := <-stays; open {
		t.Error("a channel is open after the hub was closed")
	}
	if _, open := <-h.subscribe(t.Context()); open {
		t.Error("a closed hub takes subscribers")
	}
}
