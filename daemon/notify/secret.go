package notify

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// longestSecret bounds a file of secrets.
const longestSecret = 64 << 10

// readSecret reads a file that only root or the daemon's user can have written, and that not all
// users can read. It removes white space around the text, because editors end each file with a line
// feed.
func readSecret(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	uid := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case uid != 0 && int(uid) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to uid %d: chown root %s", path, uid, path)
	case info.Mode().Perm()&0o027 != 0:
		return nil, fmt.Errorf("%s can be read or written by others: chmod 0600 %s", path, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, longestSecret+1))
	switch text = bytes.TrimSpace(text); {
	case err != nil:
		return nil, err
	case len(text) > longestSecret:
		return nil, fmt.Errorf("%s is larger than 64 KiB", path)
	case len(text) == 0:
		return nil, errors.New(path + " is empty")
	}
	return text, nil
}
