package server

import (
	"context"
	"errors"

	"github.com/cronring/cronring/daemon/api"
)

// tryChannel is for root alone: a channel's program and address are not for
// everybody to set off.
func (s *Server) tryChannel(ctx context.Context, c *call) error {
	r, err := body[api.NotifyRequest](c)
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
			Fix: "look at [channel." + quote(r.Channel) + "] in the configuration",
		}
	}
	return c.answer(api.Notified{V: api.Version, Channel: r.Channel})
}
