package api

import "errors"

// Error describes a failure in the three parts that users see: what, why, and what to do next. It
// is the body of every answer that is not a success, and the error of every Client method.
type Error struct {
	V    int    `json:"v"`
	What string `json:"error"`         // "cannot pause "etl-order": no such job"
	Why  string `json:"why,omitempty"` // the facts behind it
	Fix  string `json:"fix,omitempty"` // the next command
	Kind Kind   `json:"kind"`
}

func (e *Error) Error() string {
	if e.Why == "" {
		return e.What
	}
	return e.What + ": " + e.Why
}

// Kind distinguishes errors for programs.
type Kind string

// The kinds of error.
const (
	Internal    Kind = "internal"    // the daemon's own trouble
	Usage       Kind = "usage"       // the request makes no sense
	NotFound    Kind = "not-found"   // no such job or run, or none that this account may see
	NotAllowed  Kind = "not-allowed" // only root or the daemon's own account may
	Unreachable Kind = "unreachable" // no daemon answers
	Conflict    Kind = "conflict"    // refused by state: paused, overlapping, draining, nothing to stop
	TimedOut    Kind = "timed-out"   // the time that the caller gave was over
)

// Exit is the exit code of a command that ends with an error of this kind.
func (k Kind) Exit() int {
	switch k {
	case Usage:
		return 2
	case NotFound:
		return 3
	case NotAllowed:
		return 4
	case Unreachable:
		return 5
	case Conflict:
		return 6
	case TimedOut:
		return 7
	}
	return 1
}

// KindOf is the kind of the Error in err's chain; Internal when there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}
