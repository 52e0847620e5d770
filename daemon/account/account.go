// Package account owns who the accounts of the host are: the lines of
// /etc/passwd and /etc/group, what the name service switch adds to them, and
// what the host grants or refuses an account that jobs run as.
package account

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strconv"
)

// Account is what a command needs to run as someone.
type Account struct {
	Name   string
	UID    uint32
	GID    uint32
	Groups []uint32 // supplementary; the primary one may be among them
	Home   string
}

// UnknownError says that the host knows no such account.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string { return "unknown user " + e.Name }

// Options set up a Directory.
type Options struct {
	// Exec runs a program of the host (getent, id) as the caller's own account
	// and returns what it printed and its exit status. It is given by whoever
	// owns the process's children: a Go program that reaps with wait4(-1) may
	// have nobody else wait. nil: only the files are read.
	Exec func(ctx context.Context, argv ...string) (stdout []byte, status int, err error)
}

// Directory answers for accounts. Its methods may be called concurrently.
type Directory struct{ options Options }

// New makes a directory. It reads nothing yet.
func New(options Options) *Directory { return &Directory{options} }

// Find looks an account up by name. The error is an *UnknownError when every
// source answered and none knows it. It may wait for a directory service.
func (d *Directory) Find(_ context.Context, name string) (Account, error) {
	u, err := user.Lookup(name)
	var unknown user.UnknownUserError
	switch {
	case errors.As(err, &unknown):
		return Account{}, &UnknownError{name}
	case err != nil:
		return Account{}, fmt.Errorf("look up user %s: %w", name, err)
	}
	return account(u)
}

// Name is the name of an account. It may wait for a directory service.
func (d *Directory) Name(_ context.Context, uid uint32) (string, error) {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

func account(u *user.User) (Account, error) {
	ids, err := u.GroupIds()
	if err != nil {
		return Account{}, fmt.Errorf("look up groups of %s: %w", u.Username, err)
	}
	n := make([]uint32, 0, len(ids)+2)
	for _, text := range append([]string{u.Uid, u.Gid}, ids...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return Account{}, fmt.Errorf("look up user %s: %w", u.Username, err)
		}
		n = append(n, uint32(id))
	}
	return Account{Name: u.Username, UID: n[0], GID: n[1], Groups: n[2:], Home: u.HomeDir}, nil
}
