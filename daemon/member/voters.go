package member

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/gossip"
	"github.com/cronring/cronring/gossip/ledger"
)

// votersFile keeps which members the voters of the configuration are, so that a
// host which starts while it sees none of them is a voter all the same.
const votersFile = "voters.json"

// seekVoters is the interval at which the addresses of voters are compared with the current members.
const seekVoters = time.Second

// vote is this host's part in granting occurrences, from when all voters have been
// seen once.
func (r *Member) vote(ctx context.Context) {
	known := r.recallVoters()
	ticker := time.NewTicker(seekVoters)
	defer ticker.Stop()
	done := make(chan struct{})
	defer func() {
		if r.voters.Load() != nil {
			<-done
		}
	}()
	var declared []string
	for {
		if r.seekVoters(known) {
			r.rememberVoters(known)
		}
		if ids := r.voterIDs(known); ids != nil && !slices.Equal(ids, declared) {
			declared = ids
			r.declare(ctx, ids, done)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// seekVoters finds the members that the configuration means. It reports whether
// one of them is another than before.
func (r *Member) seekVoters(known map[string]string) (changed bool) {
	members := r.members.Snapshot().Members
	for _, voter := range r.config.Voters {
		if id := voterID(voter, known[voter], members); id != known[voter] {
			known[voter], changed = id, true
		}
	}
	return changed
}

// voterID returns the member with a voter's ID, address or name. The member before stays the voter
// while it is alive and matches. If several others match, none becomes the voter, because members
// choose their names and addresses themselves.
func voterID(voter, before string, members []gossip.View) string {
	var meant []string
	for i := range members {
		m := &members[i]
		switch {
		case m.State != gossip.Alive || m.ID != voter && m.Address != config.MemberAddress(voter) && m.Name != voter:
		case m.ID == voter || m.ID == before:
			return m.ID
		default:
			meant = append(meant, m.ID)
		}
	}
	if len(meant) == 1 {
		return meant[0]
	}
	return before
}

// voterIDs is the IDs of all voters, or nil while one of them was never seen.
func (r *Member) voterIDs(known map[string]string) []string {
	var ids []string
	for _, voter := range r.config.Voters {
		id := known[voter]
		if id == "" {
			return nil
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// declare sets the voters. The first call starts this host's own voter, and done is closed at its
// end.
func (r *Member) declare(ctx context.Context, ids []string, done chan struct{}) {
	if voters := r.voters.Load(); voters != nil {
		if err := voters.SetVoters(ids); err != nil {
			r.log.Error("cannot change the voters of the ring", "error", err)
		}
		return
	}
	voters, err := ledger.New(ledger.Options{
		ID: r.id, Started: r.started, Voters: ids, Dir: filepath.Join(r.dir, "ledger"), Link: r.link, Addr: r.linkOf, IsDead: r.isDead, GaveUp: r.members.GaveUp,
		Holding: r.members.Holding, Foreign: r.members.IsForeign, ClockIsSure: r.members.ClockIsSure, Log: r.log,
	})
	if err != nil {
		r.log.Error("cannot take part in granting occurrences", "error", err)
		return
	}
	r.voters.Store(voters)
	go func() {
		voters.Run(ctx)
		close(done)
	}()
}

// find is a member as it was seen last.
func (r *Member) find(id string) (gossip.View, bool) {
	members := r.members.Snapshot().Members
	i := slices.IndexFunc(members, func(m gossip.View) bool { return m.ID == id })
	if i < 0 {
		return gossip.View{}, false
	}
	return members[i], true
}

// linkOf returns the address at which a member accepts connections.
func (r *Member) linkOf(id string) (address string, ok bool) {
	m, ok := r.find(id)
	return m.Address, ok
}

// isDead reports whether a member is known to be dead or to have left.
func (r *Member) isDead(id string) bool {
	m, ok := r.find(id)
	return ok && m.State != gossip.Alive
}

func (r *Member) recallVoters() map[string]string {
	known := map[string]string{}
	text, err := os.ReadFile(filepath.Join(r.dir, votersFile))
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.log.Error("cannot read the voters; searching for them again", "error", err)
	}
	if known == nil { // the file contains null
		return map[string]string{}
	}
	return known
}

func (r *Member) rememberVoters(known map[string]string) {
	text, err := json.Marshal(known)
	if err == nil {
		err = atomicfile.Write(filepath.Join(r.dir, votersFile), text)
	}
	if err != nil {
		r.log.Error("cannot keep who the voters are", "error", err)
	}
}
