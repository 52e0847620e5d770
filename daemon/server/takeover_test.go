package server

import (
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// If a user reuses the name of another user's job, they must not receive the output of a live run
// of that job.
func TestOutputIsHeardByTheRunsAccountAlone(t *testing.T) {
	w := annsWorld(t) // run 3 is ann's, of ann-job, and lives
	w.load("#@ name=ann-job\n0 0 1 1 * bob true\n")
	s := w.server()
	e := api.Event{Chunk: &job.Chunk{Run: 3, Job: "ann-job", Stream: job.Stdout, Data: []byte("ann-secret-output")}}
	for _, test := range []struct {
		who   call.Peer
		hears bool
	}{
		{call.Peer{UID: bobUID, Name: "bob"}, false},
		{call.Peer{UID: annUID, Name: "ann"}, true},
		{call.Peer{UID: 0, Name: "root", Admin: true}, true},
	} {
		if got := s.mayHear(test.who, e, s.printers(t.Context(), test.who)); got != test.hears {
			t.Errorf("%s hears the output of ann's run: %t, want %t", test.who, got, test.hears)
		}
	}
}
