package spawn

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"
)

// account is what a command needs to run as someone.
type account struct {
	name   string
	uid    uint32
	gid    uint32
	groups []uint32 // supplementary, the primary one among them
	home   string
}

// accounts remembers whom it was asked for until the files change.
type accounts struct {
	files  []string
	look   func(name string) (account, error)
	stamps []stamp
	known  map[string]account
}

// stamp changes whenever a file does.
type stamp struct {
	dev, inode        uint64
	size              int64
	modified, changed syscall.Timespec
}

func newAccounts() *accounts {
	return &accounts{
		files: []string{"/etc/passwd", "/etc/group"},
		look:  lookUp,
		known: make(map[string]account),
	}
}

// find looks an account up by name.
func (a *accounts) find(name string) (account, error) {
	if stamps := stampAll(a.files); !slices.Equal(stamps, a.stamps) {
		a.stamps = stamps
		clear(a.known)
	}
	if found, ok := a.known[name]; ok {
		return found, nil
	}
	found, err := a.look(name)
	if err == nil {
		a.known[name] = found
	}
	return found, err
}

func stampAll(files []string) []stamp {
	stamps := make([]stamp, len(files))
	for i, file := range files {
		var st syscall.Stat_t
		if err := syscall.Stat(file, &st); err == nil { // a missing file has the zero stamp
			stamps[i] = stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtim, st.Ctim}
		}
	}
	return stamps
}

func lookUp(name string) (account, error) {
	u, err := user.Lookup(name)
	var unknown user.UnknownUserError
	switch {
	case errors.As(err, &unknown):
		return unlisted(name)
	case err != nil:
		return account{}, fmt.Errorf("look up user %s: %w", name, err)
	}
	ids, err := u.GroupIds()
	if err != nil {
		return account{}, fmt.Errorf("look up groups of %s: %w", name, err)
	}
	n, err := numbers(append([]string{u.Uid, u.Gid}, ids...))
	if err != nil {
		return account{}, fmt.Errorf("look up user %s: %w", name, err)
	}
	return account{name: u.Username, uid: n[0], gid: n[1], groups: n[2:], home: u.HomeDir}, nil
}

func numbers(texts []string) ([]uint32, error) {
	ns := make([]uint32, len(texts))
	for i, text := range texts {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, err
		}
		ns[i] = uint32(n)
	}
	return ns, nil
}

// unlisted makes an account of the daemon's own number, which containers run
// programs under without a line in /etc/passwd.
func unlisted(name string) (account, error) {
	if name != strconv.Itoa(os.Geteuid()) {
		return account{}, fmt.Errorf("unknown user %s", name)
	}
	return account{
		name: name,
		uid:  uint32(os.Geteuid()),
		gid:  uint32(os.Getegid()),
		home: cmp.Or(os.Getenv("HOME"), "/"),
	}, nil
}

// credential is what a child must change to become the account: nil if the
// daemon is it already. Groups are always given, as Go drops all of them
// otherwise.
func (a account) credential() (*syscall.Credential, error) {
	own := os.Geteuid()
	switch {
	case own == 0 && !a.isOurs():
		return &syscall.Credential{Uid: a.uid, Gid: a.gid, Groups: a.groups}, nil
	case uint32(own) == a.uid:
		return nil, nil
	}
	return nil, fmt.Errorf("cannot become %s: the daemon runs as %s", a.name, ownName())
}

// isOurs spares setgroups, which root may not call in some containers.
func (a account) isOurs() bool {
	if a.uid != uint32(os.Geteuid()) || a.gid != uint32(os.Getegid()) {
		return false
	}
	gids, err := os.Getgroups()
	if err != nil {
		return false
	}
	ours := make([]uint32, len(gids))
	for i, gid := range gids {
		ours[i] = uint32(gid)
	}
	return slices.Equal(beyond(a.gid, ours), beyond(a.gid, a.groups))
}

// beyond is the groups other than the primary one, which a list may name too
// or not.
func beyond(primary uint32, groups []uint32) []uint32 {
	groups = slices.DeleteFunc(slices.Clone(groups), func(gid uint32) bool { return gid == primary })
	slices.Sort(groups)
	return slices.Compact(groups)
}

func ownName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Geteuid())
}
