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
	return Sealed(name, text)
}

// Sealed puts content into a file in memory, ready to be read. No process can change the file
// any more, not even a program that receives it as input and opens it again through /proc.
func Sealed(name string, content []byte) (fd int, err error) {
	fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return 0, fmt.Errorf("make %s: %w", name, err)
	}
	for at := 0; at < len(content) && err == nil; {
		var n int
		n, err = syscall.Pwrite(fd, content[at:], int64(at)) // the file offset stays at the start
		at += n
	}
	if err == nil {
		const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("write %s: %w", name, err), syscall.Close(fd))
	}
	return fd, nil
}
