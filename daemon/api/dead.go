package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// DeadLetter is a run that failed for good and has been neither retried nor discarded.
type DeadLetter struct {
	Run   job.Run   `json:"run"`
	Since time.Time `json:"since"`
	Why   string    `json:"why,omitempty"`
}

// DeadLetters lists dead letters, the newest first.
type DeadLetters struct {
	V    int          `json:"v"`
	List []DeadLetter `json:"letters"`
}

// DeadLetterQuery chooses dead letters. Each field narrows the choice.
type DeadLetterQuery struct {
	Refs  []string // job references
	Limit int      // maximum number, the newest; 0 means 100
}

// DeadLetterRequest names dead letters to act on. Without Refs and with All it names all that the user
// sees.
type DeadLetterRequest struct {
	Refs []string `json:"refs,omitempty"` // runs, or jobs: all their dead letters
	All  bool     `json:"all,omitempty"`
}

// Dead returns the dead letters.
func (c *Client) Dead(ctx context.Context, q DeadLetterQuery) ([]DeadLetter, error) {
	v := url.Values{"job": q.Refs}
	setNumber(v, "limit", int64(q.Limit))
	letters, err := get[DeadLetters](ctx, c, "list dead letters", "/v1/dead", v)
	return letters.List, err
}

// Redrive runs dead letters again, and returns the new runs.
func (c *Client) Redrive(ctx context.Context, r DeadLetterRequest) ([]job.Run, error) {
	runs, err := post[Runs](ctx, c, "run dead letters again", "/v1/redrive", r)
	return runs.Runs, err
}

// Drop discards dead letters, and returns them. Their runs stay in the history.
func (c *Client) Drop(ctx context.Context, r DeadLetterRequest) ([]DeadLetter, error) {
	letters, err := post[DeadLetters](ctx, c, "discard dead letters", "/v1/drop", r)
	return letters.List, err
}
