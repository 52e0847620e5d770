package api

import "github.com/cronring/cronring/daemon/job"

// Event is one item of the stream. Exactly one field is set.
type Event struct {
	Record *job.Record `json:"record,omitempty"`
	Chunk  *job.Chunk  `json:"chunk,omitempty"`
	Notice *job.Notice `json:"notice,omitempty"` // a notification for channels, or for the log alone
	Gap    *Gap        `json:"gap,omitempty"`
	Error  *Error      `json:"error,omitempty"` // the stream ends with it
}

// Gap stands for events left out because the reader was too slow for them.
type Gap struct {
	Lost int `json:"lost"`
}
