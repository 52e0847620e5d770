package api

import "context"

// DBStats is the size of the history.
type DBStats struct {
	V     int              `json:"v"`
	Path  string           `json:"path"`
	Bytes int64            `json:"bytes"` // of the file and its journal
	Free  int64            `json:"free"`  // of them, room for more
	Rows  map[string]int64 `json:"rows"`
}

// The actions of a DBRequest.
const (
	DBCheck  = "check"
	DBPrune  = "prune"
	DBBackup = "backup"
)

// DBRequest requests maintenance of the history.
type DBRequest struct {
	Do string `json:"do"`
}

// DBDone is the result of a DBRequest.
type DBDone struct {
	V           int      `json:"v"`
	Problems    []string `json:"problems,omitempty"` // check: what is damaged
	Runs        int      `json:"runs,omitempty"`     // prune: removed
	Skips       int      `json:"skips,omitempty"`    // likewise
	DeadLetters int      `json:"letters,omitempty"`  // likewise
	Outputs     int      `json:"outputs,omitempty"`  // likewise: of runs that stay
	Path        string   `json:"path,omitempty"`     // backup: the file on the daemon's host
	Bytes       int64    `json:"bytes,omitempty"`    // its size
}

// DBStats returns the size of the history.
func (c *Client) DBStats(ctx context.Context) (DBStats, error) {
	return get[DBStats](ctx, c, "measure the history", "/v1/db", nil)
}

// DB looks after the history: what is one of DBCheck, DBPrune and DBBackup.
func (c *Client) DB(ctx context.Context, what string) (DBDone, error) {
	return post[DBDone](ctx, c, what+" the history", "/v1/db", DBRequest{Do: what})
}
