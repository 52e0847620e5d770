package history

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store/audit"
)

// Actions answers with the audit log, newest first. Admins see all of it, other users what they did
// themselves and what was done to their jobs and crontabs.
func (s *Reader) Actions(ctx context.Context, c *call.Call) (err error) {
	f := audit.Filter{What: c.Query.Get("what")}
	if f.Since, f.Until, err = c.Period("since", "until"); err != nil {
		return err
	}
	if f.Before, err = c.Number("before"); err != nil {
		return err
	}
	if f.Limit, err = c.Limit(100, lookup.MaxRows); err != nil {
		return err
	}
	if len(c.Query["job"]) > 0 {
		if f.Jobs, err = s.find.HistoryOf(ctx, c); err != nil {
			return err
		}
	}
	answer := api.Actions{V: api.Version}
	if !c.Peer.Admin {
		f.User, f.UID = c.Peer.Name, c.Peer.UID
		if f.User == "" {
			return c.Answer(answer)
		}
	}
	if answer.Actions, err = s.store.Actions(ctx, f); err != nil {
		return fmt.Errorf("read audit log: %w", err)
	}
	return c.Answer(answer)
}
