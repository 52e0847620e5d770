package ring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/gossip/keys"
	members "github.com/cronring/cronring/gossip/link"
)

// ringDiagnostic is the code of what Faults reports. The configuration's own reader
// uses it too.
const ringDiagnostic crontab.Code = "B604"

// answerTime limits how long a member may take to answer a check.
const answerTime = 2 * time.Second

// Faults reports what keeps the ring of a configuration from working, as far as this
// host's files, its ports and the network show it. live is the ring of the daemon that
// answers here, if one does.
func Faults(ctx context.Context, c *config.Config, live *api.Ring) []crontab.Diagnostic {
	if c.Ring.Name == "" {
		return nil
	}
	var all []crontab.Diagnostic
	add := func(key string, severity crontab.Severity, message, fix string) {
		at, ok := c.Positions["ring."+key]
		if !ok {
			at = c.Positions["ring.name"]
		}
		all = append(all, crontab.Diagnostic{
			File: at.File, Line: at.Line, Severity: severity, Code: ringDiagnostic, Message: "ring." + key + ": " + message, Fix: fix,
		})
	}
	if c.Ring.KeyFile != "" {
		if _, err := keys.Read(c.Ring.KeyFile); err != nil && !errors.Is(err, fs.ErrPermission) { // others cannot read it
			fix := "" // the error of a file that exists has its own
			if errors.Is(err, fs.ErrNotExist) {
				fix = "cronring ring keygen FILE, on one member; copy it to the others"
			}
			add("key-file", crontab.Error, err.Error(), fix)
		}
	}
	if why := portFault(ctx, &c.Ring, live); why != "" {
		add("bind", crontab.Error, why, "set ring.bind to a free port of an address of this host")
	}
	silent := probeMembers(ctx, &c.Ring)
	for _, seed := range c.Ring.Seeds {
		if f, ok := silent[seed]; ok {
			add("seeds", crontab.Warning, f.why, f.fix)
		}
	}
	missing := 0
	for _, voter := range c.Ring.Voters {
		if f, ok := silent[config.MemberAddress(voter)]; ok {
			missing++
			if !slices.Contains(c.Ring.Seeds, config.MemberAddress(voter)) {
				add("voters", crontab.Warning, f.why, f.fix)
			}
		}
	}
	if need := len(c.Ring.Voters)/2 + 1; c.Ring.Strict && len(c.Ring.Voters)-missing < need {
		add("voters", crontab.Warning, fmt.Sprintf("%d of %d do not answer: ring jobs wait until %d do", missing, len(c.Ring.Voters), need), "")
	}
	return all
}

// portFault returns the reason that this host cannot listen at the configured address, or
// "".
func portFault(ctx context.Context, r *config.Ring, live *api.Ring) string {
	err := tryListen(ctx, r.Listen())
	switch {
	case err == nil:
		return ""
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return r.Listen() + " is not an address of this host"
	case errors.Is(err, syscall.EADDRINUSE):
		if listensAt(live, r) {
			return ""
		}
		return r.Listen() + " is used by another program"
	}
	return err.Error()
}

// Live returns the ring of the daemon that answers this command, or an empty one.
func Live(ctx context.Context, a *cli.App) *api.Ring {
	live, _ := a.Daemon().Ring(ctx) // without a daemon this host is in no ring
	return &live
}

// tryListen listens for a moment, as a member does.
func tryListen(ctx context.Context, address string) error {
	var l net.ListenConfig
	stream, err := l.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	packets, err := l.ListenPacket(ctx, "udp", address)
	if err != nil {
		stream.Close()
		return err
	}
	return errors.Join(stream.Close(), packets.Close())
}

// listensAt reports whether the port is already used by the daemon's own member.
func listensAt(live *api.Ring, r *config.Ring) bool {
	_, port, _ := net.SplitHostPort(r.Listen())
	return slices.ContainsFunc(live.Members, func(m api.Member) bool {
		_, own, _ := net.SplitHostPort(m.Addr)
		return live.Name == r.Name && m.ID == live.Self && (own == port || r.Advertise != "")
	})
}

// fault is why a member cannot be used, and what to do about it.
type fault struct{ why, fix string }

// probeMembers connects to the seeds and voters that are named by address. It returns
// the faults of those that cannot be used.
func probeMembers(ctx context.Context, r *config.Ring) map[string]fault {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	hello := greeter(r)
	var mu sync.Mutex
	var asking sync.WaitGroup
	faults := map[string]fault{}
	for _, address := range addresses(r) {
		asking.Go(func() {
			if f := hello(ctx, address); f != nil {
				mu.Lock()
				defer mu.Unlock()
				faults[address] = *f
			}
		})
	}
	asking.Wait()
	return faults
}

// addresses returns where other members of a configuration are. A voter that is named
// by its ID has no address.
func addresses(r *config.Ring) []string {
	all := slices.Clone(r.Seeds)
	for _, voter := range r.Voters {
		if address := config.MemberAddress(voter); strings.ContainsAny(voter, ".:") {
			all = append(all, address)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(address string) bool { return isOwn(address, r.Listen()) })
}

// isOwn reports whether an address is one at which this host listens itself.
func isOwn(address, listen string) bool {
	host, port, _ := net.SplitHostPort(address)
	bound, own, _ := net.SplitHostPort(listen)
	if port != own || host == bound {
		return port == own
	}
	addrs, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.String() == host
	})
}

// greeter returns what connects to a member with the key of the configuration, or
// without one if that cannot be read.
func greeter(r *config.Ring) func(ctx context.Context, address string) *fault {
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	ringKeys, _ := keys.Read(r.KeyFile) // Faults reports the error
	if l, err := members.New(members.Options{ID: "check", Ring: r.Name, Keys: ringKeys}); err == nil {
		dial = func(ctx context.Context, address string) (net.Conn, error) {
			return l.Dial(ctx, members.Peer{Addr: address}, members.HTTP)
		}
	}
	return func(ctx context.Context, address string) *fault {
		conn, err := dial(ctx, address)
		_, unresolved := errors.AsType[*net.DNSError](err)
		switch unreached, ok := errors.AsType[*net.OpError](err); {
		case err == nil:
			conn.Close()
			return nil
		case ctx.Err() != nil:
			return &fault{
				address + " did not answer within " + answerTime.String(),
				"check the address, that cronringd runs there, and that firewalls let its port through, TCP and UDP",
			}
		case unresolved:
			return &fault{"the name of " + address + " cannot be resolved", "check the name, and the DNS or /etc/hosts of this host"}
		case ok && unreached.Op == "dial":
			return &fault{"nothing answers at " + address + ": " + unreached.Err.Error(), "start cronringd there, and let its port through firewalls"}
		}
		return &fault{
			address + " has another key, another ring name or another version of cronring",
			"compare its key file, its ring.name and its cronring --version with those of this host",
		}
	}
}
