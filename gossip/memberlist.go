package gossip

import (
	"net/netip"
	"time"

	"github.com/hashicorp/memberlist"
)

func (r *Ring) open() error {
	transport, err := r.transport()
	if err != nil {
		return err
	}
	if r.own.linkPort = r.o.LinkPort; r.own.linkPort == 0 {
		_, port, err := transport.FinalAdvertiseAddr("", 0)
		if err != nil {
			transport.Shutdown()
			return err
		}
		r.own.linkPort = uint16(port)
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
	return newNetTransport(r.o.Bind, r.o.Advertise, streams)
}

func (r *Ring) configure(transport memberlist.Transport) *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	c.Name, c.Label, c.Transport = r.o.ID, r.o.Ring, transport
	c.Logger = newLogWriter(r.o.Log)
	r.reports = &reports{inbox: r.box}
	c.Delegate, c.Events, c.Alive, c.Conflict, c.Ping = delegate{r}, r.reports, r.box, r.box, delegate{r}
	c.DelegateProtocolMin, c.DelegateProtocolMax, c.DelegateProtocolVersion = 1, 1, 1
	c.DeadNodeReclaimTime = reclaimTime
	c.EnableCompression = false // digests and hashes do not compress
	r.keyring = nil
	if len(r.keys) > 0 {
		r.keyring = &memberlist.Keyring{}
		c.SecretKey, c.Keyring = r.keys[0], r.keyring
		_ = install(r.keyring, r.keys) // New and Rekey checked them
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
	r.own.stamp = later(r.o.Now(), r.own.stamp.Add(1))
	b := r.own.encode()
	r.meta.Store(&b)
	r.outbox.changed, r.search.unsaved = true, true
	if r.list != nil {
		// Gossip continues in the background, so waiting is unnecessary.
		_ = r.list.UpdateNode(time.Nanosecond)
	}
}

func (r *Ring) stop() {
	if r.list != nil {
		r.reports.over.Store(true)
		_ = r.list.Shutdown() // it never fails
		r.list = nil
	}
}
