package account

import (
	"fmt"
	"strconv"
	"strings"
)

// passwd is the meaning of /etc/passwd. Of two lines with one name or number,
// the first counts, as in the C library.
type passwd struct {
	byName map[string]Account // without groups
	names  map[uint32]string
}

// groups is the meaning of /etc/group.
type groups struct {
	of    map[string][]uint32 // the groups of each member
	named map[string]uint32
	names map[uint32][]string
}

func (d *Directory) readPasswd() (passwd, error) {
	all, err := d.passwd.parse(d.options.Root+"/etc/passwd", parsePasswd)
	if err != nil {
		err = fmt.Errorf("look up users: %w", err)
	}
	return all, err
}

func (d *Directory) readGroup() (groups, error) {
	all, err := d.group.parse(d.options.Root+"/etc/group", parseGroup)
	if err != nil {
		err = fmt.Errorf("look up groups: %w", err)
	}
	return all, err
}

func parsePasswd(text string) passwd {
	p := passwd{byName: make(map[string]Account), names: make(map[uint32]string)}
	for line := range strings.Lines(text) {
		a, ok := parseUser(strings.TrimSuffix(line, "\n"))
		if !ok {
			continue
		}
		if _, again := p.byName[a.Name]; !again {
			p.byName[a.Name] = a
		}
		if _, again := p.names[a.UID]; !again {
			p.names[a.UID] = a.Name
		}
	}
	return p
}

// parseUser parses name:password:uid:gid:gecos:home:shell. The lines of NIS, "+" and "-", are not
// users.
func parseUser(line string) (Account, bool) {
	field := strings.Split(line, ":")
	if len(field) < 6 || !isName(field[0]) || strings.Contains(line, "\x00") {
		return Account{}, false
	}
	uid, okUID := parseID(field[2])
	gid, okGID := parseID(field[3])
	return Account{Name: field[0], UID: uid, GID: gid, Home: field[5]}, okUID && okGID
}

// isName excludes comments and the lines of NIS.
func isName(name string) bool { return name != "" && !strings.ContainsRune("+-#", rune(name[0])) }

// noID is the value that means "unchanged" to the system calls that change an id.
const noID = 1<<32 - 1

func parseID(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil && n != noID
}

func parseGroup(text string) groups {
	g := groups{of: make(map[string][]uint32), named: make(map[string]uint32), names: make(map[uint32][]string)}
	for line := range strings.Lines(text) {
		field := strings.Split(strings.TrimSuffix(line, "\n"), ":") // name:password:gid:members
		if len(field) < 4 || !isName(field[0]) {
			continue
		}
		gid, ok := parseID(field[2])
		if !ok {
			continue
		}
		if _, again := g.named[field[0]]; !again {
			g.named[field[0]] = gid
			g.names[gid] = append(g.names[gid], field[0])
		}
		for member := range strings.SplitSeq(field[3], ",") {
			g.of[member] = append(g.of[member], gid)
		}
	}
	return g
}

// sources reports which databases have sources other than the files.
type sources struct{ users, groups bool }

// asked returns what to query beyond the files: nothing if the switch cannot be read, like in the C
// library.
func (d *Directory) asked() sources {
	if d.options.Exec == nil {
		return sources{}
	}
	s, _ := d.sources.parse(d.options.Root+"/etc/nsswitch.conf", parseSwitch)
	return s
}

// parseSwitch reads nsswitch.conf(5). The groups of an account come from the
// line initgroups, or without one from the line group.
func parseSwitch(text string) sources {
	beyond := make(map[string]bool)
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if database, list, ok := strings.Cut(line, ":"); ok {
			beyond[strings.TrimSpace(database)] = isBeyondFiles(list)
		}
	}
	asked := sources{users: beyond["passwd"]}
	ofMembers, own := beyond["initgroups"]
	asked.groups = ofMembers || !own && beyond["group"]
	return asked
}

// isBeyondFiles reports whether list has a service besides actions in brackets and services without
// users for jobs: systemd has names only for its own dynamic users.
func isBeyondFiles(list string) bool {
	inAction := false
	for word := range strings.FieldsSeq(strings.NewReplacer("[", " [ ", "]", " ] ").Replace(list)) {
		switch word {
		case "[", "]":
			inAction = word == "["
		case "files", "compat", "systemd":
		default:
			if !inAction {
				return true
			}
		}
	}
	return false
}
