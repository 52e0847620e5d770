package gossip

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/inbox"
	"github.com/cronring/cronring/gossip/keys"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/transport"
)

func (r *Ring) open() error {
	r.keyring = nil
	if len(r.keys) > 0 {
		r.keyring = &memberlist.Keyring{}
		_ = installKeys(r.keyring, r.keys) // New and Rekey checked them
	}
	transport, err := r.transport()
	if err != nil {
		return err
	}
	r.publish()
	list, err := memberlist.Create(r.configure(transport))
	if err != nil {
		transport.Shutdown()
		return err
	}
	n := list.LocalNode()
	ip, _ := netip.AddrFromSlice(n.Addr)
	r.list, r.self = list, netip.AddrPortFrom(ip.Unmap(), n.Port)
	return nil
}

func (r *Ring) transport() (memberlist.NodeAwareTransport, error) {
	if r.o.Transport != nil {
		return r.o.Transport()
	}
	streams, err := r.o.Streams()
	if err != nil {
		return nil, err
	}
	keyring := r.keyring
	return transport.New(r.o.Bind, r.o.Advertise, streams, func(label string, message io.Reader) {
		r.reportOtherRing(keyring, label, message)
	})
}

func (r *Ring) configure(transport memberlist.Transport) *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	c.Name, c.Label, c.Transport = r.o.ID, r.o.Ring, transport
	c.Logger = log.New(link.NewLogWriter(r.o.Log, "memberlist", inbox.Stale), "", 0)
	r.reports = &inbox.Reports{Inbox: r.box}
	c.Delegate, c.Events, c.Alive, c.Conflict, c.Ping = delegate{r}, r.reports, r.box, r.box, delegate{r}
	c.DelegateProtocolMin, c.DelegateProtocolMax, c.DelegateProtocolVersion = 1, 1, 1
	c.DeadNodeReclaimTime = reclaimTime
	c.EnableCompression = false // digests and hashes do not compress
	c.RetransmitMult = 8        // with 4, one of about a hundred announcements of a drain did not reach one of five members in time
	if r.keyring != nil {
		c.SecretKey, c.Keyring = r.keys[0], r.keyring
	}
	return c
}

// delegate provides memberlist with the data of this member.
type delegate struct{ *Ring }

func (d delegate) NodeMeta(int) []byte               { return *d.meta.Load() }
func (d delegate) NotifyMsg(b []byte)                { d.box.NotifyMsg(b) }
func (d delegate) GetBroadcasts(int, int) [][]byte   { return nil }
func (d delegate) LocalState(bool) []byte            { return *d.state.Load() }
func (d delegate) MergeRemoteState(b []byte, j bool) { d.box.MergeRemoteState(b, j) }
func (d delegate) AckPayload() []byte                { return d.encodeSample() }

func (d delegate) NotifyPingComplete(n *memberlist.Node, trip time.Duration, payload []byte) {
	d.box.NotifyPingComplete(n, trip, payload)
}

// publish publishes the current metadata of this member.
func (r *Ring) publish() {
	r.own.Stamp = later(r.o.Now(), r.own.Stamp.Add(1))
	b := r.own.Encode()
	r.meta.Store(&b)
	r.outbox.changed = true
	r.search.Touch()
	if r.list != nil {
		// Gossip continues in the background, so waiting is unnecessary.
		_ = r.list.UpdateNode(time.Nanosecond)
	}
}

func (r *Ring) stop() {
	if r.list != nil {
		r.reports.Over.Store(true)
		_ = r.list.Shutdown() // it never fails
		r.list = nil
	}
}

// Rekey changes the keys of this member. It rejects a change that would cut this member off
// from live ones. So first add a new key on all members, then encrypt with it, and remove the
// old key when no member encrypts with it any longer.
func (r *Ring) Rekey(ctx context.Context, next [][]byte) error {
	return r.do(ctx, func() error {
		var others []meta.Meta
		for _, m := range r.alive() {
			others = append(others, m.meta)
		}
		if err := keys.CheckRotation(r.keys, next, others); err != nil {
			return fmt.Errorf("change the ring's keys: %w", err)
		}
		if err := r.o.Link.Rekey(next); err != nil {
			return fmt.Errorf("change the ring's keys: %w", err)
		}
		if r.keyring != nil {
			if err := installKeys(r.keyring, next); err != nil {
				return fmt.Errorf("change the ring's keys: %w", err)
			}
		}
		r.keys, r.own.Keys = next, keys.Fingerprints(next)
		r.publish()
		return nil
	})
}

// installKeys makes these the only keys of a keyring. RemoveKey shifts the keys that follow the
// removed one, while memberlist may be reading them. Therefore installKeys first moves the removed
// keys to the end.
func installKeys(ring *memberlist.Keyring, keys [][]byte) error {
	for _, k := range keys {
		if err := ring.AddKey(k); err != nil {
			return err
		}
	}
	installed := slices.Clone(ring.GetKeys())
	front := keys[:1]
	if len(installed) > len(keys) {
		front = keys
	}
	for _, k := range slices.Backward(front) {
		if err := ring.UseKey(k); err != nil {
			return err
		}
	}
	for _, k := range slices.Backward(slices.Clone(ring.GetKeys())) {
		if slices.ContainsFunc(keys, func(x []byte) bool { return bytes.Equal(x, k) }) {
			continue
		}
		if err := ring.RemoveKey(k); err != nil {
			return err
		}
	}
	return nil
}
