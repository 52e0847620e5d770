package watchfiles

import (
	"time"

	"golang.org/x/sys/unix"
)

// condition is the state of a file that may have arrived.
type condition int

const (
	gone    condition = iota // removed, or not a regular file
	open                     // a process has it open for writing
	closed                   // no process has
	unknown                  // it cannot be determined
)

// examine returns the state of a file, and when it changed last (ctime). Only the owner of a file
// and root can determine whether another process has it open for writing.
func examine(path string) (c condition, changed time.Time) {
	var status unix.Stat_t
	if err := unix.Lstat(path, &status); err != nil || !isRegular(&status) {
		return gone, time.Time{}
	}
	changed = changeTime(&status)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unknown, changed
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &status); err != nil || !isRegular(&status) {
		return gone, time.Time{}
	}
	return leaseOf(fd), changed
}

// leaseOf requests a lease, which the kernel refuses while a process has the file open for writing.
// It is returned at once: see fcntl(2).
func leaseOf(fd int) condition {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case err == nil:
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
		return closed
	case err == unix.EAGAIN && !isRemote(fd):
		return open
	}
	return unknown
}

// isRemote reports whether a file is on a network file system, where leases are also refused for
// other reasons.
func isRemote(fd int) bool {
	const cifs, smb2 = 0xff534d42, 0xfe534d42 // linux/magic.h
	var status unix.Statfs_t
	if unix.Fstatfs(fd, &status) != nil {
		return true
	}
	switch uint32(status.Type) {
	case unix.NFS_SUPER_MAGIC, cifs, smb2:
		return true
	}
	return false
}

func isRegular(s *unix.Stat_t) bool { return s.Mode&unix.S_IFMT == unix.S_IFREG }

func changeTime(s *unix.Stat_t) time.Time { return time.Unix(s.Ctim.Unix()) }
