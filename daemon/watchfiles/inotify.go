package watchfiles

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// inotify is a queue of the kernel's events. The library fsnotify does not report that a file was
// closed after writing, so that a slow writer of another user would look like a finished
// one.
type inotify struct {
	fd      int
	buf     []byte
	drained time.Time // when the queue was empty last
}

// fileEvent is an event in a directory.
type fileEvent struct {
	number int32 // of the directory's watch
	mask   uint32
	name   string // "": the directory itself
}

// Events of all watched directories, and of those with files that a job waits for.
const (
	dirEvents  = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	fileEvents = dirEvents | unix.IN_CLOSE_WRITE | unix.IN_MOVED_FROM | unix.IN_DELETE
)

const eventHead = 16 // struct inotify_event without the name

// maxEvent is the length of the longest event.
const maxEvent = eventHead + unix.NAME_MAX + 1

func openInotify(now time.Time) (*inotify, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	switch err {
	case nil:
		return &inotify{fd: fd, buf: make([]byte, 64<<10), drained: now}, nil
	case unix.EMFILE:
		return nil, fmt.Errorf("the user's limit fs.inotify.max_user_instances is reached")
	}
	return nil, fmt.Errorf("watch directories: %w", err)
}

// add watches a directory, or changes the events of one that is watched. The number identifies
// the directory: if the path leads to another directory now, the number changes.
func (i *inotify) add(path string, mask uint32) (number int32, err error) {
	n, err := unix.InotifyAddWatch(i.fd, path, mask|unix.IN_ONLYDIR|unix.IN_EXCL_UNLINK)
	return int32(n), err
}

// remove ends the watch of a directory. The kernel may have ended it before.
func (i *inotify) remove(number int32) { _, _ = unix.InotifyRmWatch(i.fd, uint32(number)) }

// read returns some events without waiting, and whether there are more. If events were lost, lost
// is a time before the first lost event.
func (i *inotify) read(now time.Time) (events []fileEvent, lost time.Time, more bool, err error) {
	n, err := unix.Read(i.fd, i.buf)
	switch {
	case err == unix.EINTR:
		return nil, lost, true, nil
	case err == unix.EAGAIN:
		i.drained = now
		return nil, lost, false, nil
	case err != nil:
		return nil, lost, false, fmt.Errorf("read events of directories: %w", err)
	}
	for data := i.buf[:n]; len(data) >= eventHead; {
		e := fileEvent{number: int32(binary.NativeEndian.Uint32(data)), mask: binary.NativeEndian.Uint32(data[4:])}
		end := min(eventHead+int(binary.NativeEndian.Uint32(data[12:])), len(data))
		name, _, _ := bytes.Cut(data[eventHead:end], []byte{0})
		e.name, data = string(name), data[end:]
		if e.mask&unix.IN_Q_OVERFLOW != 0 {
			lost = i.drained
			continue
		}
		events = append(events, e)
	}
	more = n > len(i.buf)-maxEvent
	if !more {
		i.drained = now
	}
	return events, lost, more, nil
}

func (i *inotify) close() { _ = unix.Close(i.fd) }
