package gossip

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/keys"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/wire"
)

// Requester carries requests between members; *link.Link implements it.
type Requester interface {
	Ask(ctx context.Context, to link.Peer, verb string, body []byte) ([]byte, error)
	Handle(verb string, h link.Handler)
	Rekey(keys [][]byte) error
}

// Options describe a member, and how it finds the others.
type Options struct {
	Ring      string // its name; a host with another name is not a member
	ID        string // see Identity
	Name      string // the host's
	Version   string // of this program
	Started   uint32 // number of this daemon's start, see memory.NextStart
	Bind      string // host:port, UDP and TCP
	Advertise string // host or host:port at which others reach it, if it differs from Bind
	Seeds     []string
	Keys      [][]byte // none: no encryption; only for the loopback interface
	Labels    map[string]string
	Weight    float64
	Rules     meta.Rules
	Dir       string // directory of the file with the last known members
	Link      Requester
	Log       *slog.Logger
	Now       func() time.Time                              // nil: time.Now
	Up        func() time.Duration                          // the time since boot, as in job.Moment; nil: since New
	Streams   func() (net.Listener, error)                  // connections to Bind's TCP port, apart from those of Link
	Transport func() (memberlist.NodeAwareTransport, error) // nil: UDP at Bind, and Streams
}

func (o *Options) check() error {
	if o.Ring == "" || len(o.Ring) > meta.MaxName || !meta.Printable(o.Ring) {
		return fmt.Errorf("its name is to have 1 to %d printable bytes", meta.MaxName)
	}
	if err := wire.CheckID(o.ID); err != nil {
		return err
	}
	if len(o.Keys) > 0 {
		if err := keys.Check(o.Keys); err != nil {
			return err
		}
	}
	m := meta.Meta{Name: o.Name, Version: o.Version, Weight: o.Weight, Labels: o.Labels, Since: o.Now(), Stamp: o.Now()}
	if _, err := meta.Decode(m.Encode()); err != nil {
		return fmt.Errorf("this host's name, version, weight or labels cannot be sent to other members: %w", err)
	}
	return nil
}
