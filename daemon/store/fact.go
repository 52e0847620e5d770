package store

import (
	"encoding/json"

	"github.com/cronring/cronring/daemon/job"
)

// Details are stored as facts. Their JSON form is their words, so what is stored as JSON has fields for the
// facts, in place of those of package job.

// storedHold is the stored form of a pause.
type storedHold struct {
	job.Hold
	Reason string `json:"reason,omitempty"`
}

// readHold reads a stored pause. Old versions stored reasons of any length.
func readHold(text []byte) (job.Hold, error) {
	var h storedHold
	err := json.Unmarshal(text, &h)
	h.Hold.Reason = job.Detail(h.Reason).Short()
	return h.Hold, err
}

// storedStop is the stored form of the request to stop a run.
type storedStop struct {
	job.Stop
	By string `json:"by"`
}

func storedStopOf(s *job.Stop) *storedStop {
	if s == nil {
		return nil
	}
	return &storedStop{*s, string(s.By)}
}

func (s *storedStop) stop() *job.Stop {
	if s == nil {
		return nil
	}
	s.Stop.By = job.Detail(s.By)
	return &s.Stop
}
