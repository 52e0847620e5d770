package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Letter is a dead letter: a run that failed for good and has been neither retried nor discarded.
type Letter struct {
	Run   job.Run   `json:"run"`
	Since time.Time `json:"since"`
	Why   string    `json:"why,omitempty"`
}

// Letters is dead letters, newest first.
type Letters struct {
	V       int      `json:"v"`
	Letters []Letter `json:"letters"`
}

// LetterQuery chooses dead letters. Each field narrows the choice.
type LetterQuery struct {
	Refs  []string // job references
	Limit int      // maximum number, the newest; 0 means 100
}

// LetterRequest names dead letters to act on. Without Refs and with All it names all that the user
// sees.
type LetterRequest struct {
	Refs []string `json:"refs,omitempty"` // runs, or jobs: all their letters
	All  bool     `json:"all,omitempty"`
}

// Dead returns the dead letters.
func (c *Client) Dead(ctx context.Context, q LetterQuery) ([]Letter, error) {
	v := url.Values{"job": q.Refs}
	setNumber(v, "limit", int64(q.Limit))
	letters, err := get[Letters](ctx, c, "list dead letters", "/v1/dead", v)
	return letters.Letters, err
}

// Redrive runs dead letters again, and returns the new runs.
func (c *Client) Redrive(ctx context.Context, r LetterRequest) ([]job.Run, error) {
	runs, err := post[Runs](ctx, c, "run dead letters again", "/v1/redrive", r)
	return runs.Runs, err
}

// Drop discards dead letters, and returns them. Their runs stay in the history.
func (c *Client) Drop(ctx context.Context, r LetterRequest) ([]Letter, error) {
	letters, err := post[Letters](ctx, c, "discard dead letters", "/v1/drop", r)
	return letters.Letters, err
}
