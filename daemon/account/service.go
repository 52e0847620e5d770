package account

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// maxLookups is the maximum number of queries at a time for uids that may belong to no user.
const maxLookups = 4

// tools are the paths of the query programs; empty if the host has none.
type tools struct{ getent, id string }

func findTools() tools {
	return tools{getent: firstFile("/usr/bin/getent", "/bin/getent"), id: firstFile("/usr/bin/id", "/bin/id")}
}

func firstFile(paths ...string) string {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// askable keeps away from the argument list what its programs would read as
// an option or as a number ("+1000" is one to id), what would break the lines
// that they print, and what no directory has for a name.
func askable(name string) bool {
	return isName(name) && len(name) <= 256 && strings.Trim(name, "0123456789") != "" &&
		strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' || r == ':' }) < 0
}

// findGroups adds the groups of a directory service to a local user, or none while it does not
// answer.
func (d *Directory) findGroups(ctx context.Context, f found) (Account, error) {
	answer, err := d.accounts.ask(ctx, d.now, f.name, func(ctx context.Context) (Account, error) {
		more, err := d.id(ctx, f.name)
		d.learnGroups(ctx)
		return Account{Groups: without(more, f.account.Groups)}, err
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return f.merge(Account{}), fmt.Errorf("look up groups of %s: %w", shown(f.name), err)
	case err != nil:
		d.accounts.put(f.name, Account{}, d.now()) // the next starts are not to wait as this one did
	}
	return f.merge(answer), nil
}

// findElsewhere looks for an account that is not local.
func (d *Directory) findElsewhere(ctx context.Context, f found) (Account, error) {
	answer, err := d.accounts.ask(ctx, d.now, f.name, func(ctx context.Context) (Account, error) {
		a, err := d.lookUp(ctx, f.name)
		a.Groups = without(a.Groups, f.listed)
		return a, err
	})
	switch {
	case IsUnknown(err):
		return Account{}, err
	case err != nil:
		return Account{}, fmt.Errorf("look up user %s: %w", shown(f.name), err)
	}
	return f.merge(answer), nil
}

func (d *Directory) nameElsewhere(ctx context.Context, uid uint32) (string, error) {
	if d.isUnknown(uid) {
		return "", &UnknownError{Name: number(uid), Asked: true}
	}
	name, err := d.names.ask(ctx, d.now, uid, func(ctx context.Context) (string, error) {
		if !d.wasSeen(uid) {
			select {
			case d.lookups <- struct{}{}:
				defer func() { <-d.lookups }()
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		a, err := d.getent(ctx, number(uid))
		if err == nil && a.UID != uid {
			err = fmt.Errorf("getent answered for uid %d", a.UID)
		}
		return a.Name, err
	})
	switch {
	case IsUnknown(err):
		d.setUnknown(uid)
	case err != nil:
		err = fmt.Errorf("look up uid %d: %w", uid, err)
	}
	return name, err
}

func (d *Directory) isUnknown(uid uint32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now().Before(d.unknown[uid])
}

func (d *Directory) setUnknown(uid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	maps.DeleteFunc(d.unknown, func(_ uint32, until time.Time) bool { return !now.Before(until) })
	d.unknown[uid] = now.Add(respite)
}

func without(all, those []uint32) []uint32 {
	return slices.DeleteFunc(slices.Clone(all), func(gid uint32) bool { return slices.Contains(those, gid) })
}

// lookUp queries a user and its groups.
func (d *Directory) lookUp(ctx context.Context, name string) (Account, error) {
	a, err := d.getent(ctx, name)
	if IsUnknown(err) && !d.isGone(ctx, name) {
		return Account{}, errors.New("the name was not found, and the directory service may be down")
	}
	if err != nil {
		return Account{}, err
	}
	a.Groups, err = d.id(ctx, a.Name)
	d.learnGroups(ctx)
	return a, err
}

// learnGroups queries the numbers of the groups in limits, because Limits must not wait. A group
// that cannot be found limits no user.
func (d *Directory) learnGroups(ctx context.Context) {
	argv := append([]string{d.tools().getent, "--", "group"}, d.strangeGroups()...)
	if len(argv) == 3 {
		return
	}
	out, _, err := d.run(ctx, argv...) // it fails as well when some are unknown
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limitGroups = parseGroup(string(out)).named
}

func (d *Directory) strangeGroups() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, _ := d.readGroup() // unreadable: there is nothing to compare with
	return slices.DeleteFunc(slices.Clone(d.readLimits().groups), func(name string) bool {
		_, local := g.named[name]
		return local || !askable(name)
	})
}

// isGone distinguishes a deleted user from a service that is down: in both cases getent reports no
// such user. A user that was never seen is simply unknown. For a user that was seen, it queries the
// primary group: if the service returns the group, the service works, and the user was deleted.
func (d *Directory) isGone(ctx context.Context, name string) bool {
	last, ok := d.accounts.last(name)
	if !ok {
		return true
	}
	if d.isLocalGroup(last.GID) {
		return false
	}
	_, status, err := d.run(ctx, d.tools().getent, "--", "group", number(last.GID))
	return err == nil && status == 0
}

func (d *Directory) isLocalGroup(gid uint32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, err := d.readGroup()
	return err != nil || len(g.names[gid]) > 0
}

// getent looks for a line as in /etc/passwd, by name or by number.
func (d *Directory) getent(ctx context.Context, key string) (Account, error) {
	const found, absent = 0, 2 // getent(1)
	out, status, err := d.run(ctx, d.tools().getent, "--", "passwd", key)
	switch {
	case err != nil:
		return Account{}, err
	case status == absent:
		return Account{}, &UnknownError{Name: key, Asked: true}
	case status != found:
		return Account{}, fmt.Errorf("getent exited with status %d", status)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	a, ok := parseUser(line)
	switch {
	case !ok || !askable(a.Name):
		return Account{}, errors.New("getent printed no account")
	case a.UID == 0:
		return Account{}, errors.New("a directory service returned uid 0, which is valid only in /etc/passwd")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[a.UID] = true
	return a, nil
}

// id lists all groups of an account.
func (d *Directory) id(ctx context.Context, name string) ([]uint32, error) {
	out, status, err := d.run(ctx, d.tools().id, "-G", "--", name)
	switch {
	case err != nil:
		return nil, err
	case status != 0:
		return nil, fmt.Errorf("id exited with status %d", status)
	}
	var gids []uint32
	for word := range strings.FieldsSeq(string(out)) {
		gid, ok := parseID(word)
		if !ok {
			return nil, errors.New("id printed no groups")
		}
		gids = append(gids, gid)
	}
	return gids, nil
}

// run runs one of the tools.
func (d *Directory) run(ctx context.Context, argv ...string) ([]byte, int, error) {
	if argv[0] == "" {
		return nil, 0, errors.New("the host has no getent or id to ask a directory service with")
	}
	out, status, err := d.options.Exec(ctx, argv...)
	if err == nil {
		err = ctx.Err() // killed at the deadline: its status has no meaning
	}
	return out, status, err
}
