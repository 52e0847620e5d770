package database

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsFull reports whether err means that the disk took no more: it is full, or
// it fails. The store stays usable; a later Commit may work again.
func IsFull(err error) bool {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return true
	}
	code := primaryCode(err)
	return code == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR
}

// IsReadOnly reports whether err means that the disk takes no writes, as after an
// error of the disk. The store stays usable; a later Commit may work again.
func IsReadOnly(err error) bool {
	return errors.Is(err, unix.EROFS) || primaryCode(err) == sqlite3.SQLITE_READONLY
}

// IsDamaged reports whether err means that the file is not a sound database. Open sets such a file
// aside.
func IsDamaged(err error) bool {
	if _, ok := errors.AsType[*damageError](err); ok {
		return true
	}
	code := primaryCode(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// Explain returns why the database in a directory failed, in an administrator's words instead of
// SQLite's, and what to do. For other errors it returns their text and no advice.
func Explain(err error, dir string) (why, fix string) {
	code := primaryCode(err)
	switch {
	case errors.Is(err, errReplaced):
		return errReplaced.Error(), "put " + filepath.Join(dir, fileName) + " back, or continue with what is there: systemctl reload cronring"
	case code == sqlite3.SQLITE_IOERR:
		return "the disk is full or faulty", "check the space and the health of the disk: df " + dir
	case IsFull(err):
		return "the disk or a quota is full", "make room on the disk of " + dir
	case IsReadOnly(err):
		return "the disk is read-only", "check the disk, and make it writable again: findmnt -T " + dir
	case IsDamaged(err):
		return "the history is damaged", "restart cronringd: it keeps the damaged file under another name, and begins a new history"
	case code == sqlite3.SQLITE_LOCKED:
		return "another query of the daemon has locked the history", "try again"
	case code == sqlite3.SQLITE_NOMEM:
		return "the daemon has no memory left", "check the memory of the host, and the limit of the service: systemctl show -p MemoryMax cronring"
	case code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_PROTOCOL:
		return "another program has locked the history", "end the program other than cronringd that uses it: fuser -v " + filepath.Join(dir, fileName)
	case code == sqlite3.SQLITE_CANTOPEN || code == sqlite3.SQLITE_PERM || code == sqlite3.SQLITE_AUTH:
		return "its file cannot be opened", "check the owner and the modes of " + dir + ", and the limit of open files"
	}
	return err.Error(), ""
}

// primaryCode is SQLite's result code without the detail in its upper bits,
// or 0 for other errors.
func primaryCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}

// damageError is the result of quick_check.
type damageError struct{ found string }

func (e *damageError) Error() string { return "check database: " + e.found }

// NewerError reports that a newer version wrote the database. This version must not change it,
// because it does not know the meaning of its rows.
type NewerError struct {
	Path   string
	Schema int // of the database
	Known  int // newest schema of this version
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s was written by a newer cronring (schema %d, this one supports %d);  "+
		"install that version again, or move the file and %[1]s-wal away to begin a new history: for what that loses see cronringd(8), PACKAGES",
		e.Path, e.Schema, e.Known)
}
