package board

import (
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// NewMerged makes an empty board for the jobs of several hosts. Their IDs on it are those of OnHost,
// and their node is the host. It is complete from the beginning, because no host waits for another.
func NewMerged() *Board {
	b := New()
	b.merged, b.complete = true, true
	return b
}

// OnHost returns the ID of a host's job on a merged board: JOB@HOST.
func OnHost(id job.ID, host string) job.ID { return job.ID(string(id) + hostMark + host) }

// SplitHost returns a job and its host by their ID on a merged board. The name of a job contains no
// "@", but its owner may.
func SplitHost(id job.ID) (job.ID, string) {
	owner := strings.Index(string(id), "/") + 1
	name, host, _ := strings.Cut(string(id[owner:]), hostMark)
	return id[:owner+len(name)], host
}

const hostMark = "@"

// ApplyHost takes in what the daemon of a host sent for a merged board. It does not change the
// update.
func (b *Board) ApplyHost(host string, u api.BoardUpdate) { b.apply(host, u) }

// idOn returns the ID of a host's job on this board.
func (b *Board) idOn(host string, id job.ID) job.ID {
	if b.merged {
		return OnHost(id, host)
	}
	return id
}

// jobName returns the name of a job by its ID, on a merged board without its host.
func (b *Board) jobName(id string) string {
	if b.merged {
		name, _ := SplitHost(job.ID(id))
		return string(name)
	}
	return id
}
