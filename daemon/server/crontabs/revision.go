package crontabs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/revision"
)

// sees reports whether the caller may see a version of a crontab: admins all versions, other users
// those of their own crontab. Versions of an earlier user with the same name are excluded: crontabs
// contain passwords.
func (ed *Editor) sees(c *call.Call, r revision.Revision) bool {
	name, ok := ed.Paths.IsUserCrontab(r.File)
	return c.Peer.Admin || ok && c.Peer.Name != "" && name == c.Peer.Name && r.User == name && r.UID == c.Peer.UID
}

// ListRevisions answers with the versions of crontabs, without their texts.
func (ed *Editor) ListRevisions(ctx context.Context, c *call.Call) error {
	if err := ed.checkAny(); err != nil {
		return err
	}
	before, err := c.Number("before")
	if err != nil {
		return err
	}
	limit, err := c.Limit(100, lookup.MaxRows)
	if err != nil {
		return err
	}
	f := revision.Filter{
		File: c.Query.Get("file"), User: c.Query.Get("user"), Before: before, Limit: limit,
	}
	if !c.Peer.Admin {
		p, err := ed.owner(ctx, c, f.User)
		if err != nil {
			return err
		}
		if f.File != "" && f.File != p.path {
			return &api.Error{
				Kind: api.NotAllowed, What: "cannot list the revisions of " + strconv.Quote(f.File),
				Why: "you are " + c.Peer.String() + ", and see those of your own crontab only", Fix: "cronring undo list",
			}
		}
		f.User, f.File = p.who.Name, p.path
	}
	found, err := ed.Revisions.Revisions(ctx, f)
	if err != nil {
		return err
	}
	answer := api.Revisions{V: api.Version, Revisions: []api.Revision{}}
	for _, r := range found {
		if !ed.sees(c, r) {
			continue
		}
		answer.Revisions = append(answer.Revisions, written(r))
	}
	return c.Answer(answer)
}

// ShowRevision answers with one version of a crontab.
func (ed *Editor) ShowRevision(ctx context.Context, c *call.Call) error {
	if err := ed.checkAny(); err != nil {
		return err
	}
	id, err := c.Number("revision")
	if err != nil {
		return err
	}
	r, err := ed.readRevision(ctx, c, id)
	if err != nil {
		return err
	}
	return c.Answer(api.OneRevision{V: api.Version, Revision: written(r)})
}

// readRevision returns one version to show. It counts as a large crontab only until readRevision returns: the
// caller may read slowly.
func (ed *Editor) readRevision(ctx context.Context, c *call.Call, id int64) (r revision.Revision, err error) {
	leave, err := ed.large.enter(ctx, c, -1)
	if err != nil {
		return r, err
	}
	defer leave()
	return ed.revision(ctx, c, "read", id)
}

// revision returns one version. A version that the caller may not see is reported as missing.
func (ed *Editor) revision(ctx context.Context, c *call.Call, verb string, id int64) (revision.Revision, error) {
	r, ok, err := ed.Revisions.Revision(ctx, id)
	if err != nil {
		return r, err
	}
	if !ok || !ed.sees(c, r) {
		return r, &api.Error{
			Kind: api.NotFound, What: fmt.Sprintf("cannot %s revision %d: there is none", verb, id),
			Why: "old revisions are removed, and each user sees only those of their own crontab", Fix: "cronring undo list",
		}
	}
	if c.Peer.Admin {
		return r, nil
	}
	_, err = ed.owner(ctx, c, r.User)
	return r, err
}

func written(r revision.Revision) api.Revision {
	return api.Revision{
		ID: r.ID, File: r.File, User: r.User, At: r.At, By: r.By, How: r.How, Gone: r.Gone, Size: r.Size, Text: r.Text,
	}
}

// remember stores the crontab at a place before a change, also if it is missing, so that the change
// can be undone.
func (ed *Editor) remember(ctx context.Context, answer *api.Installed, now time.Time, p place, old installed) {
	user, uid := p.mine()
	answer.Before = ed.save(ctx, answer, revision.Revision{
		File: p.path, User: user, UID: uid, At: now, How: revision.Seen, Gone: old.missing, Text: []byte(old.body),
	})
}

// mine returns the user for whom a revision of the crontab at a place is stored.
func (p place) mine() (user string, uid uint32) {
	if p.user {
		return p.who.Name, p.who.UID
	}
	return "root", 0
}

// revision returns a new version of the crontab at a place.
func (p place) revision(c *call.Call, how string, text []byte) revision.Revision {
	user, uid := p.mine()
	return revision.Revision{File: p.path, User: user, UID: uid, At: c.Now, By: c.Peer.String(), How: how, Text: text}
}

// did notes a change of the crontab at a place for the audit log. after is the stored new version.
func (p place) did(c *call.Call, what string, answer *api.Installed, after int64) {
	user, _ := p.mine()
	c.Did(job.Action{What: what, Subject: p.path, Owner: user, Before: number(answer.Before), After: number(after)})
}

func number(revision int64) string {
	if revision == 0 {
		return "a version that is not kept"
	}
	return fmt.Sprint("revision ", revision)
}

// save stores a version. If the history cannot be written, the crontab is changed anyway, with a
// notice to the caller.
func (ed *Editor) save(ctx context.Context, answer *api.Installed, r revision.Revision) int64 {
	id, err := ed.Revisions.SaveRevision(context.WithoutCancel(ctx), r)
	if err != nil {
		answer.Before = 0
		const notUndone = "this change cannot be undone, because the history cannot be written: "
		if !strings.Contains(answer.Notice, notUndone) {
			why, _ := database.Explain(err, "") // the status has what to do
			answer.Notice = join(answer.Notice, notUndone+why)
		}
	}
	return id
}
