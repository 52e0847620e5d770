package watchfiles

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// order is the input of a user's process: everything to watch. It replaces the previous order.
type order struct {
	Watches []ordered `json:"watches"`
}

// ordered is a part of an order. It has byte slices, because a crontab can contain invalid UTF-8,
// and JSON strings cannot.
type ordered struct {
	ID    int       `json:"id"` // of a job with these globs, as long as the process runs
	Globs [][]byte  `json:"globs"`
	Since time.Time `json:"since"` // files that changed later have arrived
}

// report is one line from a user's process: a burst, a fault, or the message that it has searched all
// directories. It searches them after each order and at least once a minute.
type report struct {
	Ready  bool      `json:"ready,omitempty"`
	ID     int       `json:"id,omitempty"`    // 0: of the whole process
	Fault  *string   `json:"fault,omitempty"` // why a glob cannot be watched; "": all can
	Paths  []string  `json:"paths,omitempty"`
	More   int       `json:"more,omitempty"`
	Newest time.Time `json:"newest,omitzero"`
}

// Limits of a burst.
const (
	maxPaths     = 1000
	maxPathBytes = 64 << 10 // of all paths together
	maxPath      = 4096     // PATH_MAX
	maxMore      = 1 << 30
)

// maxReport is above the longest report in bytes: a byte of a path takes up to six in JSON.
const maxReport = 512 << 10

// listable reports whether a path can be in a list with one path on each line, and in JSON. Other
// files count, but are not named.
func listable(path string) bool {
	return len(path) <= maxPath && utf8.ValidString(path) && !strings.ContainsAny(path, "\x00\n")
}

// check returns an error for a report that only a manipulated process can send.
func (r *report) check() error {
	bytes := 0
	for _, path := range r.Paths {
		if bytes += len(path); !strings.HasPrefix(path, "/") || !listable(path) {
			return errors.New("it reported a path that is not valid")
		}
	}
	switch {
	case len(r.Paths) > maxPaths || bytes > maxPathBytes:
		return errors.New("it reported too many paths")
	case r.More < 0 || r.More > maxMore:
		return errors.New("it reported an invalid number of files")
	}
	return nil
}

// isBurst reports whether files have arrived.
func (r *report) isBurst() bool { return len(r.Paths) > 0 || r.More > 0 }
