package self

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"unsafe"
)

// Settle sets what children inherit from this process and exec does not
// reset: umask, descriptors, ignored signals.
func Settle() error {
	syscall.Umask(0o022)
	if err := closeOnExec(); err != nil {
		return err
	}
	return catchIgnored()
}

// closeOnExec marks the descriptors that the daemon's own parent left open.
func closeOnExec() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list open files: %w", err)
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

// catchIgnored installs a handler that does nothing for each ignored signal. The daemon stays
// protected, as by nohup, but its children are not: exec passes ignored signals on, and resets
// handlers.
func catchIgnored() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("read signal state: %w", err)
	}
	_, mask, _ := bytes.Cut(status, []byte("\nSigIgn:\t"))
	mask, _, _ = bytes.Cut(mask, []byte("\n"))
	ignored, err := strconv.ParseUint(string(mask), 16, 64)
	if err != nil {
		return fmt.Errorf("read signal state: %w", err)
	}
	drop := make(chan os.Signal, 1)
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if ignored&(1<<(sig-1)) == 0 {
			continue
		}
		signal.Notify(drop, sig)
		if sig >= FirstReserved && sig <= lastReserved {
			setDefault(sig)
		}
	}
	return nil
}

// The C library keeps these signals for itself and Go leaves them to it, so
// package signal cannot catch them. Yet glibc's posix_spawn, and so make,
// leaves the first two ignored in what it starts.
const FirstReserved, lastReserved = 32, 34

// setDefault sets the default action of a signal. All of struct sigaction is zero then, on every
// architecture.
func setDefault(sig syscall.Signal) {
	var action [4]uint64
	const maskSize = 8
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0)
}
