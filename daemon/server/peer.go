package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// peer is the user of a connection. The kernel reports the uid, as it was when the peer connected;
// the server trusts nothing that the peer sends.
type peer struct {
	uid    uint32
	name   string // the user's name; "" if the host has none for that uid
	keeper bool   // root, or the daemon's own user: sees and does all
}

// sees reports whether the peer may see a user's jobs and runs.
func (p peer) sees(account string) bool {
	return p.keeper || p.name != "" && p.name == account
}

func (p peer) String() string {
	if p.name == "" {
		return "uid " + strconv.FormatUint(uint64(p.uid), 10)
	}
	return p.name
}

// limitKey tells users apart for the limits of each. All uids that belong to no
// user share one key, because a single user can have thousands of such uids
// (subuid(5)).
func (p peer) limitKey() uint32 {
	if p.name == "" {
		return ^uint32(0) // never a uid
	}
	return p.uid
}

// peerUID returns the uid at the other end, from the kernel.
func peerUID(c net.Conn) (uint32, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, errors.New("read peer: not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("read peer: %w", err)
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err := errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("read peer: %w", err)
	}
	return cred.Uid, nil
}

type peerKey struct{}

// withPeer is the http.Server's ConnContext. The account is looked up at the
// first request, not here: a lookup can wait for a directory service, and here
// it would hold up everybody who connects.
func (s *Server) withPeer(ctx context.Context, c net.Conn) context.Context {
	uid := c.(*guest).uid
	return context.WithValue(ctx, peerKey{}, sync.OnceValue(func() peer {
		p := peer{uid: uid, keeper: s.keeps(uid)}
		if name, err := s.account(uid); err == nil {
			p.name = name
		}
		return p
	}))
}

func peerOf(ctx context.Context) peer { return ctx.Value(peerKey{}).(func() peer)() }

func (s *Server) keeps(uid uint32) bool { return uid == 0 || uid == s.selfUID }
