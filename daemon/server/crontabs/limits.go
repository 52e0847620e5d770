package crontabs

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
)

// Limits on crontabs that go over the socket. A crontab is base64 in JSON, and is in memory several
// times on its way, so only a few large ones may be in progress at a time, one of each user: a
// caller waits for a slot. While a caller reads, its large crontab does not count, because call.Queries
// limits each user to one answer at a time.
const (
	maxInstall    = crontab.MaxText/3*4 + 64<<10 // see bodyFor
	maxLarge      = 3                            // of more than call.MaxBody, from callers that are not admins
	largeTimeout  = 10 * time.Second
	reloadTimeout = 10 * time.Second
)

// enterInstall waits until a request that contains a crontab can be read, and checks its length. The
// caller calls end when the request is complete.
func (ed *Editor) enterInstall(ctx context.Context, c *call.Call) (end func(), err error) {
	leave, err := ed.large.enter(ctx, c, c.Request.ContentLength)
	if err != nil {
		return nil, err
	}
	c.Patient()
	endChange, err := ed.pace(ctx, c)
	if err != nil {
		leave()
		return nil, err
	}
	c.Hurry()
	end = func() { endChange(); leave() }
	if err := ed.fitsLimit(c); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// largeLimit limits how many requests with a large crontab are in progress.
type largeLimit struct{ *call.Queries }

func newLargeLimit() largeLimit { return largeLimit{call.NewQueries(maxLarge)} }

// enter waits for a slot for a crontab of that many bytes; fewer than 0 is not known.
func (l *largeLimit) enter(ctx context.Context, c *call.Call, size int64) (leave func(), err error) {
	if size >= 0 && size <= call.MaxBody {
		return func() {}, nil
	}
	c.Patient()
	limited, cancel := context.WithTimeout(ctx, largeTimeout)
	defer cancel()
	err = c.Await(ctx, func() (err error) {
		leave, err = l.Enter(limited, c.Peer)
		return err
	})
	if err != nil {
		leave()
		return nil, &api.Error{
			Kind: api.Conflict, What: "no room for a crontab as large now",
			Why: "others are under way, and took longer than " + largeTimeout.String(), Fix: "try again",
		}
	}
	return leave, nil
}

// pace waits until the caller can change a crontab. Root never waits.
func (ed *Editor) pace(ctx context.Context, c *call.Call) (end func(), err error) {
	if c.Peer.Admin {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, largeTimeout)
	defer cancel()
	end, err = ed.changes.begin(ctx, c.Peer.LimitKey())
	if err != nil {
		return nil, &api.Error{
			Kind: api.Conflict, What: "cannot change the crontab now",
			Why: "other changes of " + c.Peer.String() + " are still loading", Fix: "try again",
		}
	}
	return end, nil
}

// maxEntries returns the maximum number of entries of the crontab of a user; 0 means no limit.
func (ed *Editor) maxEntries(who account.Account) int {
	if who.UID == 0 || ed.MaxEntries == nil {
		return 0
	}
	return ed.MaxEntries()
}

// fits rejects a crontab of a user that is beyond the limit: the daemon would
// read it in part.
func fits(user string, file *crontab.File, diagnostics []crontab.Diagnostic) error {
	if !file.Truncated() {
		return nil
	}
	beyond := diagnostics[len(diagnostics)-1]
	return &api.Error{Kind: api.Usage, What: "the crontab of " + user + " is not installed: it is too large", Why: beyond.Message, Fix: beyond.Fix}
}

// fitsLimit rejects the body of a request whose crontab must be beyond the
// limit of the caller, before the daemon spends memory on it.
func (ed *Editor) fitsLimit(c *call.Call) error {
	most := crontab.MaxBytes(ed.maxEntries(account.Account{UID: c.Peer.UID}))
	size := c.Request.ContentLength
	if c.Peer.Admin || size <= bodyFor(most) {
		return nil
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(c.Request.Body, maxInstall)) // a client reads the answer after it has sent all
	return &api.Error{
		Kind: api.Usage, What: "the crontab is not installed: it is too large",
		Why: fmt.Sprintf("it has about %d bytes, and the limit of a user who may have %d entries is %d", size/4*3, ed.maxEntries(account.Account{UID: c.Peer.UID}), most),
		Fix: "let a script start several entries, or have the administrator raise max-entries-per-user in cronring.toml",
	}
}

// bodyFor returns the size of the largest request that contains a crontab of that many bytes: as
// base64, with other short fields.
func bodyFor(bytes int) int64 { return int64(bytes)/3*4 + 64<<10 }
