// Package accounttest owns users that exist only in tests, for code that looks up accounts.
package accounttest

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/account"
)

// Users are the UIDs of users by name, as int. An error instead of a UID stands for a directory
// service that is down.
type Users map[string]any

// Find returns the account of a user.
func (u Users) Find(_ context.Context, name string) (account.Account, error) {
	switch found := u[name].(type) {
	case int:
		return account.Account{Name: name, UID: uint32(found), GID: uint32(found)}, nil
	case error:
		return account.Account{}, found
	}
	return account.Account{}, &account.UnknownError{Name: name}
}

// Name returns the name of a user.
func (u Users) Name(uid uint32) (string, error) {
	for name, known := range u {
		if known == int(uid) {
			return name, nil
		}
	}
	return "", fmt.Errorf("no user has UID %d", uid)
}
