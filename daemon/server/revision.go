package server

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store"
)

// sees reports whether the caller may see a version of a crontab: admins all versions, other users
// those of their own crontab. Versions of an earlier user with the same name are excluded: crontabs
// contain passwords.
func (d *crontabWriter) sees(c *call.Call, r store.Revision) bool {
	name, ok := d.Places.IsUserCrontab(r.File)
	return c.Peer.Admin || ok && c.Peer.Name != "" && name == c.Peer.Name && r.User == name && r.UID == c.Peer.UID
}

func (s *Server) listRevisions(ctx context.Context, c *call.Call) error {
	d, err := s.anyWriter()
	if err != nil {
		return err
	}
	f := store.RevisionFilter{File: c.Query.Get("file"), User: c.Query.Get("user")}
	if f.Before, err = c.Number("before"); err != nil {
		return err
	}
	limit, err := c.Number("limit")
	if err != nil {
		return err
	}
	f.Limit = int(min(cmp.Or(limit, 100), lookup.MaxRows))
	if !c.Peer.Admin {
		who, err := d.owner(ctx, c, f.User)
		if err != nil {
			return err
		}
		path, err := d.Places.UserCrontab(who.Name)
		if err != nil {
			return err
		}
		if f.File != "" && f.File != path {
			return &api.Error{
				Kind: api.NotAllowed, What: "cannot list the revisions of " + strconv.Quote(f.File),
				Why: "you are " + c.Peer.String() + ", and see those of your own crontab only", Fix: "cronring undo list",
			}
		}
		f.User, f.File = who.Name, path
	}
	found, err := d.Revisions.Revisions(ctx, f)
	if err != nil {
		return err
	}
	answer := api.Revisions{V: api.Version, Revisions: []api.Revision{}}
	for _, r := range found {
		if !d.sees(c, r) {
			continue
		}
		answer.Revisions = append(answer.Revisions, written(r))
	}
	return c.Answer(answer)
}

func (s *Server) showRevision(ctx context.Context, c *call.Call) error {
	d, err := s.anyWriter()
	if err != nil {
		return err
	}
	id, err := c.Number("revision")
	if err != nil {
		return err
	}
	leave, err := d.enter(ctx, c, -1)
	if err != nil {
		return err
	}
	defer leave()
	r, err := d.revision(ctx, c, "read", id)
	if err != nil {
		return err
	}
	return c.Answer(api.OneRevision{V: api.Version, Revision: written(r)})
}

// revision returns one version. A version that the caller may not see is reported as missing.
func (d *crontabWriter) revision(ctx context.Context, c *call.Call, verb string, id int64) (store.Revision, error) {
	r, ok, err := d.Revisions.Revision(ctx, id)
	if err != nil {
		return r, err
	}
	if !ok || !d.sees(c, r) {
		return r, &api.Error{
			Kind: api.NotFound, What: fmt.Sprintf("cannot %s revision %d: there is none", verb, id),
			Why: "old revisions are removed, and each user sees only those of their own crontab", Fix: "cronring undo list",
		}
	}
	if c.Peer.Admin {
		return r, nil
	}
	_, err = d.owner(ctx, c, r.User)
	return r, err
}

func written(r store.Revision) api.Revision {
	return api.Revision{
		ID: r.ID, File: r.File, User: r.User, At: r.At, By: r.By, How: r.How, Gone: r.Gone, Size: r.Size, Text: r.Text,
	}
}
