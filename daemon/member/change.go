package member

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/wake"
	"github.com/cronring/cronring/gossip"
	"github.com/cronring/cronring/gossip/keys"
	"github.com/cronring/cronring/gossip/link"
)

// Requests is the ring as the server sees it.
type Requests struct {
	*Member
	View func() *view.View
}

// Transport carries requests to the daemons of members.
func (q Requests) Transport() http.RoundTripper { return q.transport }

// Change performs an action that root requested.
func (q Requests) Change(ctx context.Context, r api.RingRequest) (api.RingDone, error) {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	done, err := q.change(ctx, r, q.View)
	if errors.Is(err, context.DeadlineExceeded) {
		return done, &api.Error{Kind: api.TimedOut, What: "cannot " + r.Do + " in time", Why: "others did not answer", Fix: "cronring ring status"}
	}
	if known, ok := errors.AsType[*api.Error](err); ok {
		return done, known
	}
	if err != nil {
		return done, &api.Error{Kind: api.Conflict, What: "cannot " + r.Do, Why: err.Error(), Fix: "cronring ring status"}
	}
	return done, nil
}

// changeTime bounds a change of the ring.
const changeTime = 25 * time.Second

func (r *Member) change(ctx context.Context, q api.RingRequest, view func() *view.View) (api.RingDone, error) {
	switch q.Do {
	case api.RingJoin, api.RingUndrain:
		return r.join(ctx, q.Seeds)
	case api.RingDrain:
		return r.drain(ctx, view)
	case api.RingLeave:
		return r.part(ctx, view)
	case api.RingRecover:
		return r.recover(ctx)
	}
	return r.rotate(ctx)
}

// recover makes this voter's log the ledger after most voters have lost theirs.
func (r *Member) recover(ctx context.Context) (api.RingDone, error) {
	voters := r.voters.Load()
	if voters == nil {
		return api.RingDone{}, errors.New("no voters are known here: this is for strict mode, once all voters were seen")
	}
	if err := voters.Recover(ctx); err != nil {
		return api.RingDone{}, err
	}
	return api.RingDone{
		Did:  "this host's log of grants is the ring's from now on",
		More: []string{"occurrences until about one minute from now are granted to no member, because they may have been granted before", "other voters are added as they answer: cronring ring"},
	}, nil
}

func (r *Member) join(ctx context.Context, seeds []string) (api.RingDone, error) {
	if err := os.Remove(r.drained()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return api.RingDone{}, err
	}
	for i, seed := range seeds {
		seeds[i] = config.MemberAddress(seed)
	}
	if err := r.members.Join(ctx, seeds...); err != nil {
		return api.RingDone{}, err
	}
	return api.RingDone{Did: "this host takes ring jobs again, in some seconds"}, nil
}

// part leaves the ring, and names the runs that stay here.
func (r *Member) part(ctx context.Context, view func() *view.View) (api.RingDone, error) {
	here, err := r.stopClaiming(ctx, view)
	if errors.Is(err, gossip.ErrNoRing) {
		err = nil
	}
	if err == nil {
		err = r.leave(ctx)
	}
	if err != nil {
		return api.RingDone{}, err
	}
	here = slices.DeleteFunc(here, func(run job.Run) bool { return run.State == job.RunQueued || run.State == job.RunWaiting })
	return api.RingDone{
		Did:  "left the ring " + r.config.Name + ": the others have this host's ring jobs",
		More: append(endsHere(here), "this host comes back with: cronring ring join, or at the next start of the daemon"),
	}, nil
}

// stopClaiming drains this member, waits until its engine claims nothing more, and returns
// the runs of the ring that are here.
func (r *Member) stopClaiming(ctx context.Context, view func() *view.View) ([]job.Run, error) {
	if err := r.members.Drain(ctx); err != nil {
		return nil, err
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if here, ok := view().Drained(); ok {
			return here, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("drain this member: %w", ctx.Err())
		case <-look.C:
		}
	}
}

// mostNamed is the maximum number of runs in the list.
const mostNamed = 20

// endsHere lists the runs of the ring that end on this host.
func endsHere(here []job.Run) (lines []string) {
	for i, run := range here {
		if i == mostNamed {
			return append(lines, fmt.Sprintf("and %s more", display.Count(len(here)-i, "run")))
		}
		lines = append(lines, fmt.Sprintf("stays here to its end: run %d of %s, %s", run.ID, run.Job, run.State))
	}
	return lines
}

func (r *Member) drain(ctx context.Context, view func() *view.View) (api.RingDone, error) {
	if err := atomicfile.Write(r.drained(), nil); err != nil {
		return api.RingDone{}, err
	}
	here, err := r.stopClaiming(ctx, view)
	if err != nil {
		return api.RingDone{}, err
	}
	return api.RingDone{
		Did:  "the others have this host's ring jobs",
		More: append(endsHere(here), "it holds over restarts, until: cronring ring undrain"),
	}, nil
}

// drained is the path of the file that keeps this host without ring jobs.
func (r *Member) drained() string { return filepath.Join(r.dir, "drained") }

// stayDrained keeps a host without ring jobs that was so when its daemon ended. It
// may not be in the ring yet, as a host's network comes late.
func (r *Member) stayDrained(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := os.Stat(r.drained()); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err := r.members.Drain(ctx); err == nil {
			return nil
		}
		_ = wake.Sleep(ctx, time.Second)
	}
	return nil
}

// verbKeys is the request by which a member sends the ring's keys to others.
const verbKeys = "keys"

// rotate replaces the key of all members in three stages: all accept the new key, all write with
// it, all forget the others. At each moment every member can read messages of every other.
func (r *Member) rotate(ctx context.Context) (api.RingDone, error) {
	if !r.rotating.CompareAndSwap(false, true) {
		return api.RingDone{}, errors.New("the keys are being changed already")
	}
	defer r.rotating.Store(false)
	if r.config.KeyFile == "" {
		return api.RingDone{}, errors.New("this ring has no key: it is bound to loopback")
	}
	old, err := keys.Read(r.config.KeyFile)
	if err != nil {
		return api.RingDone{}, err
	}
	var others []gossip.View
	for _, m := range r.members.Snapshot().Members {
		switch {
		case m.ID == r.id || m.State == gossip.Left:
		case m.State == gossip.Gone:
			return api.RingDone{}, fmt.Errorf("%s does not answer, and would stay out with the old key", m.Name)
		default:
			others = append(others, m)
		}
	}
	next := make([]byte, keys.Len)
	rand.Read(next)
	for _, keys := range [][][]byte{append(slices.Clone(old), next), append([][]byte{next}, old...), {next}} {
		for _, m := range others {
			if err := r.sendKeys(ctx, m, keys); err != nil {
				return api.RingDone{}, fmt.Errorf("give %s the keys: %w; all members still understand each other: do it again", m.Name, err)
			}
		}
		if err := r.setKeys(ctx, keys); err != nil {
			return api.RingDone{}, err
		}
	}
	return api.RingDone{Did: fmt.Sprintf("%d members have a new key, and the old one is forgotten", len(others)+1),
		More: []string{"hosts that are down now, or whose key file is written by other means, need the new " + r.config.KeyFile}}, nil
}

// sendKeys changes the keys of a member. The member closes connections that were made with a
// removed key, including the connection of this request: the request is then repeated with the new
// key.
func (r *Member) sendKeys(ctx context.Context, m gossip.View, keys [][]byte) error {
	for {
		_, err := r.link.Ask(ctx, link.Peer{ID: m.ID, Addr: m.Address}, verbKeys, keyText(keys))
		if err == nil || errors.As(err, new(*link.Refusal)) {
			return err
		}
		if wake.Sleep(ctx, keyPause) != nil {
			return err
		}
	}
}

func keyText(keys [][]byte) []byte {
	var b bytes.Buffer
	for _, k := range keys {
		b.WriteString(base64.StdEncoding.EncodeToString(k) + "\n")
	}
	return b.Bytes()
}

// takeKeys accepts keys from another member. That member has the ring's key, so the new keys give
// it no more power.
func (r *Member) takeKeys(ctx context.Context, _ string, body []byte) ([]byte, error) {
	keys, err := keys.Parse(body)
	if err != nil {
		return nil, err
	}
	if r.config.KeyFile == "" {
		return nil, errors.New("this host has no key file")
	}
	if r.rotating.Load() { // each of two would wait for the other
		return nil, errors.New("this host is changing the keys itself")
	}
	return nil, r.setKeys(ctx, keys)
}

// setKeys changes this host's keys. Members publish the keys that they know: until the others have
// confirmed a stage, the next one is rejected.
func (r *Member) setKeys(ctx context.Context, keys [][]byte) error {
	r.keys.Lock()
	defer r.keys.Unlock()
	for {
		err := r.members.Rekey(ctx, keys)
		if err == nil {
			return atomicfile.Write(r.config.KeyFile, keyText(keys))
		}
		if wake.Sleep(ctx, keyPause) != nil {
			return err
		}
	}
}

// keyPause is the time to wait for news of the others' keys.
const keyPause = 200 * time.Millisecond

// Reread reads the keys from their file again.
func (r *Member) Reread(ctx context.Context) error {
	if r == nil || r.config.KeyFile == "" {
		return nil
	}
	keys, err := keys.Read(r.config.KeyFile)
	if err != nil {
		return err
	}
	if !r.keys.TryLock() {
		return nil // they are being written
	}
	defer r.keys.Unlock()
	return r.members.Rekey(ctx, keys)
}
