package api

import (
	"context"
	"net/url"
)

// Crontab returns the crontab of a user; "" is the caller. With edit, the log records the start of
// an edit instead of a listing. With header, the text includes the lines that crontab(1) itself
// wrote above it.
func (c *Client) Crontab(ctx context.Context, user string, edit, header bool) (Crontab, error) {
	v := url.Values{}
	setText(v, "user", user)
	setFlag(v, "edit", edit)
	setFlag(v, "header", header)
	return get[Crontab](ctx, c, "read the crontab", "/v1/crontab", v)
}

// InstallCrontab puts a table in place. It returns when the daemon has loaded
// it.
func (c *Client) InstallCrontab(ctx context.Context, r InstallRequest) (Installed, error) {
	return post[Installed](ctx, c, "install the crontab", "/v1/crontab/install", r)
}

// RemoveCrontab removes the table of a user; "" is the caller.
func (c *Client) RemoveCrontab(ctx context.Context, user string) (Installed, error) {
	return post[Installed](ctx, c, "remove the crontab", "/v1/crontab/remove", UserRequest{User: user})
}

// EndEdit logs the end of an edit of a crontab, whatever its result.
func (c *Client) EndEdit(ctx context.Context, user string) error {
	_, err := post[Crontab](ctx, c, "end the edit", "/v1/crontab/edited", UserRequest{User: user})
	return err
}

// Revisions returns the versions of crontabs that q selects, newest first.
func (c *Client) Revisions(ctx context.Context, q RevisionQuery) ([]Revision, error) {
	v := url.Values{}
	setText(v, "file", q.File)
	setText(v, "user", q.User)
	setNumber(v, "before", q.Before)
	setNumber(v, "limit", int64(q.Limit))
	r, err := get[Revisions](ctx, c, "list revisions", "/v1/revisions", v)
	return r.Revisions, err
}

// Revision returns one version of a crontab, with its text.
func (c *Client) Revision(ctx context.Context, id int64) (Revision, error) {
	v := url.Values{}
	setNumber(v, "revision", id)
	r, err := get[OneRevision](ctx, c, "read a revision", "/v1/revision", v)
	return r.Revision, err
}

// Undo restores a version of a table.
func (c *Client) Undo(ctx context.Context, r UndoRequest) (Installed, error) {
	return post[Installed](ctx, c, "undo", "/v1/undo", r)
}
