package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// ReadRegular reads a regular file of at most most bytes. For a pipe or a device it returns an error
// without reading. Its errors do not contain the file's name.
func ReadRegular(path string, most int64) (string, error) {
	return readChecked(path, most, func(fs.FileInfo) error { return nil })
}

// The modes of files that ReadTrusted must not read.
const (
	Changeable fs.FileMode = 0o022 // by others
	Readable   fs.FileMode = 0o077 // or changeable
)

// ReadTrusted is ReadRegular for a file that belongs to root or to the user of this process, and whose
// mode has none of the forbidden bits. The commands in its errors do not contain the path: a user can
// choose the path, and root copies commands into a shell.
func ReadTrusted(path string, most int64, forbidden fs.FileMode) (string, error) {
	return readChecked(path, most, func(info fs.FileInfo) error {
		uid, mode := info.Sys().(*syscall.Stat_t).Uid, info.Mode().Perm()
		switch {
		case uid != 0 && int(uid) != os.Geteuid():
			return fmt.Errorf("it belongs to uid %d, who can change it: run chown %s on it", uid, reader())
		case mode&forbidden == 0:
			return nil
		case forbidden == Changeable:
			return fmt.Errorf("other users can change it (mode %04o): run chmod go-w on it", mode)
		}
		return fmt.Errorf("other users can read or change it (mode %04o): run chmod 0600 on it", mode)
	})
}

// reader is the user of this process, as an argument of chown.
func reader() string {
	if uid := os.Geteuid(); uid != 0 {
		return strconv.Itoa(uid)
	}
	return "root"
}

var errNotRegular = errors.New("it is not a regular file")

func readChecked(path string, most int64, check func(fs.FileInfo) error) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		if named.Err == syscall.ENXIO { // a socket
			return "", errNotRegular
		}
		return "", named.Err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNotRegular
	}
	if err := check(info); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return string(text), err
}
