package store

import "fmt"

// DecidedError reports that occurrences had been decided before, by another run or skip. Nothing of
// the batch was written. Records holds the indexes of the rejected decisions in Batch.Records, in
// order: the caller leaves them out, does not start their runs, and commits the rest.
type DecidedError struct {
	Records []int
	First   string // names the first of them
}

func (e *DecidedError) Error() string {
	return fmt.Sprintf("occurrence already decided: %s (%d refused)", e.First, len(e.Records))
}
