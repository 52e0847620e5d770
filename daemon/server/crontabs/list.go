package crontabs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/store/revision"
)

// List answers with the crontabs that the caller may change: an admin all of them, others their
// own.
func (ed *Editor) List(ctx context.Context, c *call.Call) error {
	if err := ed.checkAny(); err != nil {
		return err
	}
	list := ed.loaded(c)
	newest, err := ed.newestOf(ctx, c, list)
	if err != nil {
		return err
	}
	for i := range list {
		if r, ok := newest[list[i].File]; ok && ed.sees(c, r) {
			date(&list[i], r)
		}
	}
	answer := api.CrontabFiles{V: api.Version, Crontabs: list}
	if len(ed.Files) == 0 {
		answer.Places = &api.Places{Crontab: ed.Paths.Crontab, Anacrontab: ed.Paths.Anacrontab, CronD: ed.Paths.CronD}
	}
	return c.Answer(answer)
}

// newestOf returns the newest revisions of crontabs. For a user it queries only the user's own.
func (ed *Editor) newestOf(ctx context.Context, c *call.Call, list []api.CrontabFile) (map[string]revision.Revision, error) {
	if c.Peer.Admin {
		return ed.Revisions.NewestRevisions(ctx)
	}
	found := map[string]revision.Revision{}
	for _, t := range list {
		newest, err := ed.Revisions.Revisions(ctx, revision.Filter{File: t.File, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(newest) > 0 {
			found[t.File] = newest[0]
		}
	}
	return found, nil
}

// loaded lists the crontabs that the daemon has read, those that it refuses, and the caller's own,
// even if missing; in the order that it reads them. Users who are not admins receive only their
// own.
func (ed *Editor) loaded(c *call.Call) []api.CrontabFile {
	diagnostics := map[string][]crontab.Diagnostic{}
	for _, d := range ed.loader.Diagnostics() {
		diagnostics[d.File] = append(diagnostics[d.File], d)
	}
	own := ed.Own(c.Peer)
	list, at := []api.CrontabFile{}, map[string]int{}
	put := func(path string) *api.CrontabFile {
		i, ok := at[path]
		if !ok {
			p := place{path: path}
			if p.who.Name, p.user = ed.Paths.IsUserCrontab(path); len(ed.Files) > 0 {
				p.user = false
			}
			i, at[path] = len(list), len(list)
			list = append(list, ed.entryOf(p))
		}
		return &list[i]
	}
	for _, file := range c.View.Crontabs() {
		if !c.Peer.Admin && file.Name != own {
			continue
		}
		t := put(file.Name)
		t.Entries = len(file.Entries)
		t.Errors, t.Warnings = Count(diagnostics[file.Name])
	}
	for _, r := range ed.loader.Refused() {
		if !c.Peer.Admin && r.Path != own {
			continue
		}
		t := put(r.Path)
		t.Refused, t.Fix = cmp.Or(r.Why, r.Word), r.Fix
	}
	if own != "" {
		put(own)
	}
	return list
}

// entryOf returns a crontab as found on the disk, without its text.
func (ed *Editor) entryOf(p place) api.CrontabFile {
	t := api.CrontabFile{File: p.path}
	if p.user {
		t.User = p.who.Name
	}
	info, err := os.Lstat(p.path)
	if err != nil {
		t.Missing = errors.Is(err, fs.ErrNotExist)
		return t
	}
	t.Mode = uint32(info.Mode().Perm())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner := call.Peer{UID: st.Uid}
		if name, err := ed.account(st.Uid); err == nil {
			owner.Name = name
		}
		t.Owner = owner.String()
	}
	return t
}
