package daemon

import (
	"context"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

func TestHubTellsSlowSubscriberOfGap(t *testing.T) {
	h := newHub()
	slow, quick := h.subscribe(t.Context()), h.subscribe(t.Context())
	const sent = backlogEvents + 5
	for range sent {
		h.publish(api.Event{Record: &job.Record{}})
		<-quick
	}
	for range backlogEvents {
		if e := <-slow; e.Record == nil {
			t.Fatalf("got %+v, want a record", e)
		}
	}
	h.publish(api.Event{Record: &job.Record{}})
	if e := <-slow; e.Gap == nil || e.Gap.Lost != 5 {
		t.Errorf("got %+v, want a gap of 5", e)
	}
	if e := <-slow; e.Record == nil {
		t.Errorf("got %+v, want the record after the gap", e)
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
