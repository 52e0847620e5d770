package account

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// GroupsOf returns the names of a user's groups, in order. It may wait as Find does, and never for
// root. While a directory service does not answer, its last answer counts, and groups whose names
// are not known are missing.
func (d *Directory) GroupsOf(ctx context.Context, user string) ([]string, error) {
	a, err := d.Find(ctx, user)
	if err != nil {
		return nil, err
	}
	names, others := d.groupNames(a.Groups)
	if len(others) > 0 && d.groupsElsewhere() {
		more, err := d.gids.ask(ctx, d.now, strings.Join(others, " "), func(ctx context.Context) ([]string, error) {
			return d.getentGroups(ctx, others)
		})
		if err != nil {
			return nil, fmt.Errorf("look up groups of %s: %w", shown(user), err)
		}
		names = append(names, more...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// groupNames returns the names of groups in /etc/group, and the numbers of the other groups.
func (d *Directory) groupNames(gids []uint32) (names, others []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, err := d.readGroup()
	if err != nil {
		g = groups{}
	}
	for _, gid := range gids {
		if len(g.names[gid]) == 0 {
			others = append(others, number(gid))
		}
		names = append(names, g.names[gid]...)
	}
	return names, others
}

func (d *Directory) groupsElsewhere() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked().groups
}

// getentGroups requests the names of groups from the directory service.
func (d *Directory) getentGroups(ctx context.Context, gids []string) ([]string, error) {
	const found, absent = 0, 2 // getent(1); absent: of one of them at least
	out, status, err := d.run(ctx, append([]string{d.tools().getent, "--", "group"}, gids...)...)
	switch {
	case err != nil:
		return nil, err
	case status != found && status != absent:
		return nil, fmt.Errorf("getent exited with status %d", status)
	}
	var names []string
	for name, gid := range parseGroup(string(out)).named {
		if slices.Contains(gids, number(gid)) {
			names = append(names, name)
		}
	}
	return names, nil
}
