package gossip

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/wire"
)

// Link carries requests between members; *link.Link implements it.
type Link interface {
	Ask(ctx context.Context, to link.Peer, verb string, body []byte) ([]byte, error)
	Handle(verb string, h link.Handler)
	Rekey(keys [][]byte) error
}

// Options describe a member, and how it finds the others.
type Options struct {
	Ring      string // its name; members of other rings are ignored
	ID        string // see Identity
	Name      string // the host's
	Version   string // of this program
	Bind      string // host:port, UDP and TCP
	Advertise string // host or host:port at which others reach it, if it differs from Bind
	LinkPort  uint16 // of its Link; 0: the port that it advertises
	Seeds     []string
	Keys      [][]byte // none: no encryption; only for the loopback interface
	Labels    map[string]string
	Weight    float64
	Rules     Rules
	Dir       string // directory of the file with the last known members
	Link      Link
	Log       *slog.Logger
	Now       func() time.Time                              // nil: time.Now
	Up        func() time.Duration                          // the time since boot, as in job.Moment; nil: since New
	Streams   func() (net.Listener, error)                  // connections to Bind's TCP port
	Transport func() (memberlist.NodeAwareTransport, error) // nil: UDP at Bind, and Streams
}

func (o *Options) check() error {
	if o.Ring == "" || len(o.Ring) > maxName || !printable(o.Ring) {
		return fmt.Errorf("its name is to have 1 to %d printable bytes", maxName)
	}
	if err := wire.CheckID(o.ID); err != nil {
		return err
	}
	if len(o.Keys) > 0 {
		if err := checkKeys(o.Keys); err != nil {
			return err
		}
	}
	if len(o.Labels) > maxLabels {
		return fmt.Errorf("%d labels: at most %d", len(o.Labels), maxLabels)
	}
	for k, v := range o.Labels {
		if k == "" || len(k) > maxLabel || len(v) > maxLabel || !printable(k) || !printable(v) {
			return fmt.Errorf("label %q=%q is not of 1 to %d printable bytes", k, v, maxLabel)
		}
	}
	if !(o.Weight > 0) || o.Weight > maxWeight {
		return fmt.Errorf("weight %v is not above 0 and at most %v", o.Weight, maxWeight)
	}
	if o.Name == "" || len(o.Name) > maxName || !printable(o.Name) {
		return fmt.Errorf("host name %q is not of 1 to %d printable bytes", o.Name, maxName)
	}
	if len(o.Version) > maxVersion || !printable(o.Version) {
		return fmt.Errorf("version %q is not of at most %d printable bytes", o.Version, maxVersion)
	}
	return nil
}
