package account

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/atomicfile"
)

// cached is the parsed content of some files, until one of them changes.
type cached[T any] struct {
	stamps []stamp
	value  T
}

// stamp changes whenever a file does.
type stamp struct {
	dev, inode        uint64
	size              int64
	modified, changed unix.Timespec
}

// get reads again if a file has another stamp than it had. What could not be
// read is not remembered.
func (c *cached[T]) get(paths []string, read func() (T, error)) (T, error) {
	stamps, settled := stampAll(paths)
	if c.stamps != nil && slices.Equal(stamps, c.stamps) {
		return c.value, nil
	}
	value, err := read()
	c.stamps = nil
	if err == nil && settled {
		c.stamps, c.value = stamps, value
	}
	return value, err
}

// parse is like get, for what is parsed from the text of one file.
func (c *cached[T]) parse(path string, parse func(text string) T) (T, error) {
	return c.get([]string{path}, func() (T, error) {
		text, err := read(path)
		return parse(text), err
	})
}

// tick is longer than the kernel takes to give two changes of one file
// different times.
const tick = 50 * time.Millisecond

// stampAll also reports whether all changes are old enough for the next one
// to have another time.
func stampAll(paths []string) (stamps []stamp, settled bool) {
	stamps = make([]stamp, len(paths))
	recent := time.Now().Add(-tick)
	settled = true
	for i, path := range paths {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err == nil { // a missing file has the zero stamp
			stamps[i] = stamp{uint64(st.Dev), st.Ino, st.Size, st.Mtim, st.Ctim}
			settled = settled && time.Unix(st.Ctim.Unix()).Before(recent)
		}
	}
	return stamps, settled
}

// fileLimit is more than any of the files that are read here needs.
const fileLimit = 64 << 20

// read is the text of a file: none, when there is no such file.
func read(path string) (string, error) {
	text, err := atomicfile.ReadRegular(path, fileLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}
