package atomicfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Memory puts a document into a file in memory, ready to be read.
func Memory(name string, document any) (fd int, err error) {
	text, err := json.Marshal(document)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", name, err)
	}
	fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", name, err)
	}
	for at := 0; at < len(text); {
		n, err := syscall.Pwrite(fd, text[at:], int64(at))
		if err != nil {
			return 0, errors.Join(fmt.Errorf("write %s: %w", name, err), syscall.Close(fd))
		}
		at += n
	}
	return fd, nil
}
