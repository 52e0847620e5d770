// Package account owns the lookup of the host's accounts, in /etc/passwd, /etc/group and the name
// service switch, and what the host grants or refuses an account that jobs run as.
package account

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Account contains all that a command needs to run as a user.
type Account struct {
	Name   string
	UID    uint32
	GID    uint32
	Groups []uint32 // as initgroups would set them: the primary one is among them
	Home   string
}

// UnknownError reports that the host has no such user. After a lookup by number, Name is the
// number.
type UnknownError struct {
	Name string

	// Asked reports that a directory service was queried too. A service that is down can look like
	// one without that user.
	Asked bool
}

func (e *UnknownError) Error() string { return "unknown user " + shown(e.Name) }

// IsUnknown reports whether an error is an *UnknownError.
func IsUnknown(err error) bool {
	_, ok := errors.AsType[*UnknownError](err)
	return ok
}

// shown is a name that is safe to print.
func shown(name string) string {
	if name != "" && utf8.ValidString(name) && strings.IndexFunc(name, isUnprintable) < 0 {
		return name
	}
	return strconv.Quote(name)
}

func isUnprintable(r rune) bool { return !strconv.IsPrint(r) }

// Options set up a Directory.
type Options struct {
	// Exec runs a program of the host (getent, id) as the caller's own user and returns its output
	// and exit status. The owner of the process's children must provide it: in a Go program that
	// reaps with wait4(-1), no other code may wait. It must end the program when ctx is done. nil:
	// only the files are read.
	Exec func(ctx context.Context, argv ...string) (stdout []byte, status int, err error)

	// Root is put before the path of every file that is read, for tests.
	Root string
}

// Directory looks up users. Its methods may be called concurrently.
//
// Files come first: a user of /etc/passwd has the values of its line, whatever order the name
// service switch has. If the switch names sources beyond the files, getent and id query them for
// other users, and for the groups that they add to local ones. An answer is valid for a minute, and
// for a day while the service does not answer, because an outage must not stop jobs. An unknown
// name is not cached; an unknown uid is, for some seconds, because a user can have thousands of such uids
// (subuid(5)). root is never queried: it must run while everything else is down.
type Directory struct {
	options Options
	now     func() time.Time
	tools   func() tools

	mu      sync.Mutex // guards what was read from files
	passwd  cached[passwd]
	group   cached[groups]
	sources cached[sources]
	shadow  cached[map[string]shadow]
	limits  cached[limitsFiles]
	environ [2]cached[environment] // by family
	pam     [2]cached[PAM]         // by family
	pamLast [2]pamAnswer           // by family

	loginDefs   cached[map[string]string]
	pamPaths    []string          // the files that decide about PAM
	limitsDir   []string          // the files of limits.d
	limitGroups map[string]uint32 // groups in limits that a directory service has

	accounts answers[string, Account]
	names    answers[uint32, string]
	seen     map[uint32]bool           // uids of users that a service returned
	unknown  map[uint32]time.Time      // uids without a user, and until when that is valid
	lookups  chan struct{}             // an element for each query for a uid that was not seen
	gids     answers[string, []string] // names of groups, by their numbers
}

// New makes a directory. It reads nothing yet.
func New(options Options) *Directory {
	return &Directory{
		options: options, now: time.Now, tools: sync.OnceValue(findTools),
		seen: map[uint32]bool{}, unknown: map[uint32]time.Time{}, lookups: make(chan struct{}, maxLookups),
	}
}

// Find looks up a user by name. The error is an *UnknownError if every source answered and none has
// the user. It may wait for a directory service, for ten seconds at most. If ctx ends during the
// query for the groups of a local user, Find returns the user without them together with the error.
func (d *Directory) Find(ctx context.Context, name string) (Account, error) {
	f, err := d.files(name)
	switch {
	case err != nil:
		return Account{}, err
	case f.complete:
		return f.account, nil
	case f.local:
		return d.findGroups(ctx, f)
	case f.elsewhere && askable(name):
		return d.findElsewhere(ctx, f)
	}
	return unlisted(name)
}

// Known looks an account up without waiting: in the files, and among the
// answers of a directory service that are still good. When it is false, Find
// has to be asked.
func (d *Directory) Known(name string) (Account, bool) {
	f, err := d.files(name)
	switch {
	case err != nil:
		return Account{}, false
	case f.complete:
		return f.account, true
	case f.local, f.elsewhere && askable(name):
		answer, ok := d.accounts.fresh(name, d.now())
		return f.merge(answer), ok
	}
	a, err := unlisted(name)
	return a, err == nil
}

// Last is Known, but also returns a directory service's last answer, however old. It is for the
// results of a run whose user was looked up before.
func (d *Directory) Last(name string) (Account, bool) {
	if a, ok := d.Known(name); ok {
		return a, true
	}
	f, err := d.files(name)
	if err != nil || !f.local && !(f.elsewhere && askable(name)) {
		return Account{}, false
	}
	answer, ok := d.accounts.last(name)
	return f.merge(answer), ok || f.local
}

// Name returns the name of a user. The error is an *UnknownError if every source answered and none
// has the number. It may wait as Find does.
func (d *Directory) Name(ctx context.Context, uid uint32) (string, error) {
	name, elsewhere, err := d.nameInFiles(uid)
	switch {
	case err != nil || name != "":
		return name, err
	case elsewhere:
		return d.nameElsewhere(ctx, uid)
	case uid == uint32(os.Geteuid()):
		return number(uid), nil // as unlisted would have it
	}
	return "", &UnknownError{Name: number(uid)}
}

// HasUser reports whether a uid is that of a local user, or of a user that a directory service has returned.
// It does not wait.
func (d *Directory) HasUser(uid uint32) bool {
	name, _, err := d.nameInFiles(uid)
	return err == nil && name != "" || d.wasSeen(uid)
}

func (d *Directory) wasSeen(uid uint32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[uid]
}

func number(uid uint32) string { return strconv.FormatUint(uint64(uid), 10) }

// unlisted makes an account of the daemon's own number, which containers run
// programs under without a line in /etc/passwd.
func unlisted(name string) (Account, error) {
	if name != strconv.Itoa(os.Geteuid()) {
		return Account{}, &UnknownError{Name: name}
	}
	gid := uint32(os.Getegid())
	return Account{
		Name:   name,
		UID:    uint32(os.Geteuid()),
		GID:    gid,
		Groups: []uint32{gid},
		Home:   cmp.Or(os.Getenv("HOME"), "/"),
	}, nil
}

// found holds the entries of a name in the files.
type found struct {
	name      string
	account   Account  // zero if it is not local
	local     bool     // it has a line in /etc/passwd
	complete  bool     // no other source is needed
	elsewhere bool     // another source may have the name
	listed    []uint32 // the groups of /etc/group that name it
}

func (d *Directory) files(name string) (found, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	users, err := d.readPasswd()
	if err != nil {
		return found{}, err
	}
	grouped, err := d.readGroup()
	if err != nil {
		return found{}, err
	}
	asked := d.asked()
	f := found{name: name, listed: grouped.of[name], elsewhere: asked.users}
	if f.account, f.local = users.byName[name]; f.local {
		f.account.Groups = join(f.account.GID, f.listed)
		f.complete = f.account.UID == 0 || !asked.groups || !askable(name)
	}
	return f, nil
}

// merge adds a directory service's answer to the entries of the files. The answer excludes groups
// from /etc/group, so that removing a user from such a group counts immediately.
func (f found) merge(answer Account) Account {
	a := f.account
	if !f.local {
		a = answer
	}
	a.Groups = join(a.GID, f.listed, answer.Groups)
	return a
}

// join puts the primary group first and each other one once, in order.
func join(primary uint32, more ...[]uint32) []uint32 {
	rest := slices.Concat(more...)
	slices.Sort(rest)
	rest = slices.DeleteFunc(slices.Compact(rest), func(gid uint32) bool { return gid == primary })
	return append([]uint32{primary}, rest...)
}

func (d *Directory) nameInFiles(uid uint32) (name string, elsewhere bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	users, err := d.readPasswd()
	if err != nil {
		return "", false, err
	}
	return users.names[uid], d.asked().users, nil
}
