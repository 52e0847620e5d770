// Package credential owns the private directories with the secrets of runs. They are in memory
// and belong to the daemon. The user of the run can read them, but not write to them, because a user
// who could write there could fill the memory of the host.
package credential

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/atomicfile"
)

// MaxBytes is the most that all credentials of one run can have.
const MaxBytes = 1 << 20

// Dir returns the directory for the credentials of all runs, beside the directory of their output.
func Dir(runs string) string { return filepath.Join(filepath.Dir(runs), "credentials") }

// Missing returns why this host cannot keep credentials in dir, or "".
func Missing(dir string) string {
	var fs unix.Statfs_t
	parent := filepath.Dir(dir)
	switch err := unix.Statfs(parent, &fs); {
	case err != nil:
		return fmt.Sprintf("credential= requires the directory %s: %v", parent, err)
	case fs.Type != unix.TMPFS_MAGIC:
		return fmt.Sprintf("credential= requires a directory in memory (tmpfs), and %s is on a disk", parent)
	}
	return ""
}

// IsEncrypted reports whether a credential is one that systemd-creds encrypted: it is in
// /etc/credstore.encrypted or another directory of that name.
func IsEncrypted(c option.Credential) bool {
	return slices.Contains(strings.Split(filepath.Dir(c.Path), "/"), "credstore.encrypted")
}

// File is one credential.
type File struct {
	ID   string
	Data []byte
}

// Make makes a directory with files that the user can read. Its name begins with that of the run and
// a dot.
func Make(dir, run string, uid uint32, files []File) (made string, err error) {
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make directory of credentials: %w", err)
	}
	made, err = os.MkdirTemp(dir, run+".")
	if err != nil {
		return "", fmt.Errorf("make directory of credentials: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(made, f.ID)
		if err = errors.Join(err, os.WriteFile(path, f.Data, 0o400)); err == nil {
			err = allow(path, uid, read)
		}
	}
	if err = errors.Join(err, allow(made, uid, read|search)); err != nil {
		Remove(made)
		return "", fmt.Errorf("make directory of credentials: %w", err)
	}
	return made, nil
}

// Remove removes a directory of Make. Processes that have its files open find them empty, so
// that they use no memory.
func Remove(made string) {
	for _, file := range atomicfile.Match(made, "*") {
		_ = os.Truncate(file, 0) // it is removed in any case
	}
	_ = os.RemoveAll(made) // the next daemon tries again
}

// Size returns how much memory the files of a directory of Make use.
func Size(made string) (size int64) {
	entries, _ := os.ReadDir(made) // it may have been removed
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}

// Left returns the directories in dir, with the name of the run of each.
func Left(dir string) map[string]string {
	entries, _ := os.ReadDir(dir) // most hosts have none
	left := map[string]string{}
	for _, e := range entries {
		run, _, _ := strings.Cut(e.Name(), ".")
		left[filepath.Join(dir, e.Name())] = run
	}
	return left
}

// The rights of an access control list, as in acl(5).
const (
	search = 1
	read   = 4
)

// allow gives one user, who is not the owner, rights to a file. The owner keeps the rights of the mode.
func allow(path string, uid uint32, rights uint16) error {
	if int(uid) == os.Geteuid() {
		return nil
	}
	var status unix.Stat_t
	if err := unix.Lstat(path, &status); err != nil {
		return err
	}
	const none = ^uint32(0)
	acl := binary.LittleEndian.AppendUint32(nil, 2) // the version
	for _, entry := range []struct {
		tag, rights uint16
		id          uint32
	}{
		{0x01, uint16(status.Mode >> 6 & 7), none}, // owner
		{0x02, rights, uid},
		{0x04, 0, none},      // group of the file
		{0x10, rights, none}, // most that users and groups get
		{0x20, 0, none},      // others
	} {
		acl = binary.LittleEndian.AppendUint16(acl, entry.tag)
		acl = binary.LittleEndian.AppendUint16(acl, entry.rights)
		acl = binary.LittleEndian.AppendUint32(acl, entry.id)
	}
	if err := unix.Lsetxattr(path, "system.posix_acl_access", acl, 0); err != nil {
		return fmt.Errorf("allow user %d to read %s: %w", uid, path, err)
	}
	return nil
}
