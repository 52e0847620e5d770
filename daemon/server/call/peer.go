package call

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/store/audit"
)

// Peer is the user of a connection. The kernel reports the uid, as it was when the peer connected;
// the server trusts nothing that the peer sends.
type Peer struct {
	UID   uint32
	Name  string // the user's name; "" if the host has none for that uid
	Admin bool   // root, the daemon's own user, or the role admin: sees and does all
	Grant        // by the configuration
}

// Sees reports whether a user's jobs and runs are the peer's own, or the peer is an admin.
func (p Peer) Sees(account string) bool {
	return p.Admin || p.Name != "" && p.Name == account
}

// Problems returns the problems that the peer may see. Those of other users name them, and quote
// what is theirs.
func (p Peer) Problems(all []api.Problem) []api.Problem {
	return slices.DeleteFunc(slices.Clone(all), func(problem api.Problem) bool {
		return !p.Admin && p.Role < View && problem.User != "" && problem.User != p.Name
	})
}

func (p Peer) String() string {
	if p.Name == "" {
		return "uid " + strconv.FormatUint(uint64(p.UID), 10)
	}
	return p.Name
}

// LimitKey tells users apart for the limits of each. All uids that belong to no
// user share one key, because a single user can have thousands of such uids
// (subuid(5)).
func (p Peer) LimitKey() uint32 {
	if p.Name == "" {
		return ^uint32(0) // never a uid
	}
	return p.UID
}

// Share names the user whose limits on entries of the audit log and on streams apply to the peer; ""
// is no limit.
func (p Peer) Share() string {
	if p.Admin {
		return ""
	}
	return audit.Share(p.LimitKey())
}

// peerKey and pidKey are the keys of what WithPeer adds.
type (
	peerKey struct{}
	pidKey  struct{}
)

// WithPeer returns a context for the requests of a connection. user and pid are called once, at the
// first request that needs them: looking up a user can wait for a directory service, and must not
// delay the connections of others.
func WithPeer(ctx context.Context, user func() Peer, pid func() int) context.Context {
	ctx = context.WithValue(ctx, peerKey{}, sync.OnceValue(user))
	return context.WithValue(ctx, pidKey{}, sync.OnceValue(pid))
}

func peerOf(ctx context.Context) Peer { return ctx.Value(peerKey{}).(func() Peer)() }

// PIDOf returns the caller's process, 0 if it is in another name space.
func PIDOf(ctx context.Context) int { return ctx.Value(pidKey{}).(func() int)() }
