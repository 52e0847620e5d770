package server

import (
	"context"
	"errors"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/server/call"
)

// tryChannel is for root alone: a channel's program and address are not for
// everybody to set off.
func (s *Server) tryChannel(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.NotifyRequest](c)
	if err != nil {
		return err
	}
	err = s.backend.TryChannel(ctx, r.Channel)
	if known, ok := errors.AsType[*api.Error](err); ok {
		return known
	}
	if err != nil {
		return &api.Error{
			Kind: api.Conflict, What: "the channel did not take the notice", Why: err.Error(),
			Fix: "look at [channel." + display.Quote(r.Channel) + "] in the configuration",
		}
	}
	return c.Answer(api.Notified{V: api.Version, Channel: r.Channel})
}
