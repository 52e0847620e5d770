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
	Ring      string // its name; members of other rings are ignored
	ID        string // see Identity
	Name      string // the host's
	Version   string // of this program
	Bind      string // host:port, UDP and TCP
	Advertise string // host or host:port at which others reach it, if it differs from Bind
	LinkPort  uint16 // of its link; 0: the port that it advertises
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
	Streams   func() (net.Listener, error)                  // connections to Bind's TCP port
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
	if n := len(meta.AppendLabels(nil, o.Labels)); n > meta.MaxLabels {
		return fmt.Errorf("its labels have %d bytes: at most %d", n, meta.MaxLabels)
	}
	for k, v := range o.Labels {
		if k == "" || len(k) > meta.MaxLabel || len(v) > meta.MaxLabel || !meta.Printable(k) || !meta.Printable(v) {
			return fmt.Errorf("label %q=%q is not of 1 to %d printable bytes", k, v, meta.MaxLabel)
		}
	}
	if !(o.Weight > 0) || o.Weight > meta.MaxWeight {
		return fmt.Errorf("weight %v is not above 0 and at most %v", o.Weight, meta.MaxWeight)
	}
	if o.Name == "" || len(o.Name) > meta.MaxName || !meta.Printable(o.Name) {
		return fmt.Errorf("host name %q is not of 1 to %d printable bytes", o.Name, meta.MaxName)
	}
	if len(o.Version) > meta.MaxVersion || !meta.Printable(o.Version) {
		return fmt.Errorf("version %q is not of at most %d printable bytes", o.Version, meta.MaxVersion)
	}
	return nil
}
