package outbox

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile returns a message as a file in memory. It is sealed, because a program that gets it as
// its input could open it again through /proc.
func memoryFile(message []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("message", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "message")
	_, err = f.Write(message)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write memory file: %w", err)
	}
	return f, nil
}
