package server

import (
	"errors"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
)

// ownCrontab returns the path of the peer's own crontab; "" if it has none here.
func (d *crontabWriter) ownCrontab(p call.Peer) string {
	if d.Crontabs == nil || len(d.Files) > 0 {
		return ""
	}
	path, err := d.Places.UserCrontab(p.Name)
	if err != nil {
		return ""
	}
	return path
}

// denied returns which requests of a user will be refused, as far as that is known without looking
// up the user again: routes, placeOf and owner decide.
func (s *Server) denied(p call.Peer) api.Denied {
	if p.Admin {
		return api.Denied{}
	}
	return api.Denied{
		Reload:  "only root and the daemon's own user may; you are " + p.String(),
		Entries: "its entry is not in your own crontab; you are " + p.String(),
		Crontab: s.deniedCrontab(p),
	}
}

func (s *Server) deniedCrontab(p call.Peer) string {
	if p.Name == "" {
		return "crontab is not allowed for " + p.String() + ": the host has no user with that uid"
	}
	if s.writer.ownCrontab(p) == "" {
		return "this daemon keeps no crontab of yours; you are " + p.String()
	}
	err := s.writer.Places.MayUse(s.writer.Host.Family, p.Name, p.Name)
	if barred, ok := errors.AsType[*spool.BarredError](err); ok {
		return "crontab is not allowed for " + p.String() + ": " + barred.Why
	}
	return ""
}
