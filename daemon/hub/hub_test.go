package hub

import (
	"context"
	"slices"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
)

func output(run job.RunID, text string) api.Event {
	return api.Event{Chunk: &job.Chunk{Run: run, Data: []byte(text)}}
}

// drain returns the current content of a channel: texts, and "gap".
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
	h := New(budget.New(1<<20, 1<<20))
	events := h.Subscribe(t.Context())
	for range 3 {
		for range 10 * backlogEvents {
			h.Publish(output(1, "x"))
		}
		seen := drain(events)
		if n := len(seen); n == 0 || n > backlogEvents+1 || seen[n-1] != "gap" {
			t.Fatalf("a slow reader sees %d events, the last %q, want at most %d and then a gap", n, seen[len(seen)-1], backlogEvents)
		}
	}
}

func TestHubFollowMissesNothing(t *testing.T) {
	h := New(budget.New(1<<20, 1<<20))
	h.Publish(output(1, "one"))
	h.Publish(output(2, "other"))
	before, after := h.Follow(t.Context(), 1)
	h.Publish(output(1, "two"))
	if len(before) != 1 || string(before[0].Data) != "one" {
		t.Errorf("before: %+v, want one piece", before)
	}
	if seen := drain(after); len(seen) != 1 || seen[0] != "two" {
		t.Errorf("after: %q, want one piece", seen)
	}
	h.Publish(api.Event{Record: &job.Record{Kind: job.Ended, Run: &job.Run{ID: 1}}})
	if before, _ := h.Follow(t.Context(), 1); before != nil || len(h.recent) != 1 {
		t.Errorf("after the end: %+v, and output of %d runs is kept", before, len(h.recent))
	}
}

func TestHubKeepsNewestOutput(t *testing.T) {
	h := New(budget.New(1<<20, 1<<20))
	big := string(make([]byte, 1000))
	for range 100 {
		h.Publish(output(1, big))
	}
	before, _ := h.Follow(context.Background(), 1)
	kept := len(before) * len(big)
	if kept > backlogOutput || kept < backlogOutput/2 || before[0].Cut+int64(kept) != 100*int64(len(big)) {
		t.Errorf("%d bytes kept, %d left out of %d", kept, before[0].Cut, 100*len(big))
	}
}

func TestHubClosesChannels(t *testing.T) {
	h := New(budget.New(1<<20, 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	left, stays := h.Subscribe(ctx), h.Subscribe(t.Context())
	cancel()
	if _, open := <-left; open {
		t.Error("the channel of a subscriber that left is open")
	}
	h.Close()
	if _, open := <-stays; open {
		t.Error("a channel is open after the hub was closed")
	}
	if _, open := <-h.Subscribe(t.Context()); open {
		t.Error("a closed hub takes subscribers")
	}
}

// A subscriber that does not read holds a limited amount of output.
func TestHubLimitsTheBytesOfASlowSubscriber(t *testing.T) {
	h := New(budget.New(1<<20, 1<<20))
	events := h.Subscribe(t.Context())
	for range 100 {
		h.Publish(output(1, string(make([]byte, 64<<10))))
	}
	seen, size := drain(events), 0
	for _, text := range seen {
		size += len(text)
	}
	if size < backlogBytes/2 || size > backlogBytes || seen[len(seen)-1] != "gap" {
		t.Errorf("%d bytes wait in %d events, want at most %d and then a gap", size, len(seen), backlogBytes)
	}
	h.Publish(output(1, "after"))
	if seen := drain(events); !slices.Equal(seen, []string{"gap", "after"}) {
		t.Errorf("then came %q, want the gap and what is after it", seen)
	}
}

// The variables of runs count like output.
func TestHubLimitsTheVariablesOfASlowSubscriber(t *testing.T) {
	h := New(budget.New(1<<20, 1<<20))
	events := h.Subscribe(t.Context())
	for range backlogEvents {
		h.Publish(api.Event{Record: &job.Record{Kind: job.Started, Run: &job.Run{Env: []string{string(make([]byte, 64<<10))}}}})
	}
	waiting := 0
	for len(events) > 0 {
		if e := <-events; e.Record != nil {
			waiting++
		}
	}
	if want := backlogBytes >> 16; waiting != want {
		t.Errorf("%d records wait, want %d", waiting, want)
	}
}

// The output of live runs that is kept for later followers uses only the memory share of the runs'
// user, and releases it.
func TestHubTakesTheMemoryOfTheRunsUser(t *testing.T) {
	memory := budget.New(8*backlogOutput, 1<<20)
	h := New(memory)
	print := func(user string, run job.RunID) {
		h.Publish(api.Event{Chunk: &job.Chunk{Run: run, User: user, Data: make([]byte, 64<<10)}})
	}
	for run := range job.RunID(100) {
		print("ann", run)
	}
	if held := memory.Held("ann"); held > 4*backlogOutput {
		t.Errorf("%d bytes are held for ann, want at most half of %d", held, 8*backlogOutput)
	}
	print("bob", 200)
	if before, _ := h.Follow(t.Context(), 200); len(before) != 1 || len(before[0].Data) < backlogOutput/2 || memory.Held("bob") == 0 {
		t.Errorf("of bob's output %d pieces are kept beside ann's flood", len(before))
	}
	for run := range job.RunID(201) {
		h.Publish(api.Event{Record: &job.Record{Kind: job.Ended, Run: &job.Run{ID: run}}})
	}
	if memory.Held("ann")+memory.Held("bob") != 0 {
		t.Error("memory is held for runs that have ended")
	}
}
