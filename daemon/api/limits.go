package api

import (
	"context"

	"github.com/cronring/cronring/daemon/job"
)

// What one request may contain. Texts have at most job.MaxText bytes.
const (
	MaxItems = 1000 // elements of a list
	MaxPath  = 4096 // bytes of a path, as PATH_MAX
)

// postParts posts a request as several ones that each have at most MaxItems of
// its refs, and adds up the lists of the answers. It stops at the first error.
// Without refs it posts one.
func postParts[A, T any](ctx context.Context, c *Client, purpose, path string, request any, refs *[]string, list func(A) []T) (all []T, err error) {
	left := *refs
	for {
		part := left[:min(MaxItems, len(left))]
		left, *refs = left[len(part):], part
		answer, err := post[A](ctx, c, purpose, path, request)
		if all == nil {
			all = list(answer)
		} else {
			all = append(all, list(answer)...)
		}
		if err != nil || len(left) == 0 {
			return all, err
		}
	}
}

func runsOf(a Runs) []job.Run { return a.Runs }

func jobsOf(a Changed) []job.ID { return a.Jobs }
