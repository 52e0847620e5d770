package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/timetable"
)

// stampLength is that of "20261120\n".
const stampLength = 9

// ReadStamps reads the dates on which anacron's jobs last ran, by their IDs. A
// stamp that anacron could not read is left out, so that its job is due; so is
// everything when the directory cannot be read.
func ReadStamps(dir string) map[string]timetable.Day {
	stamps := map[string]timetable.Day{}
	open, ids, err := list(dir)
	if err != nil {
		return stamps
	}
	defer open.Close()
	for _, id := range ids {
		if day, err := readStamp(int(open.Fd()), id); err == nil {
			stamps[id] = day
		}
	}
	return stamps
}

func readStamp(dir int, id string) (timetable.Day, error) {
	if err := checkStampID(id); err != nil {
		return 0, err
	}
	f, err := openStamp(dir, id, unix.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var text [8]byte
	if _, err := io.ReadFull(f, text[:]); err != nil {
		return 0, err
	}
	date, err := time.Parse("20060102", string(text[:]))
	if err != nil {
		return 0, err
	}
	return timetable.DayOf(date, time.UTC), nil
}

// checkStampID refuses what cannot be the name of a stamp: a job's ID comes
// from a file, and becomes a path.
func checkStampID(id string) error {
	if id == "" || len(id) > unix.NAME_MAX || id[0] == '.' || strings.ContainsFunc(id, func(r rune) bool { return r == '/' || r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("name stamp: %q cannot name a file", id)
	}
	return nil
}

// openStamp opens a stamp in a directory. It follows no link, blocks on no
// pipe, and takes no file that has another name, as that may be anything.
func openStamp(dir int, id string, flags int) (*os.File, error) {
	fd, err := unix.Openat(dir, id, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, pathError("open", id, err)
	}
	f := os.NewFile(uintptr(fd), id)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		f.Close()
		return nil, fmt.Errorf("open stamp %q: not a regular file of one name", id)
	}
	return f, nil
}

func createStamp(dir, id string) (*os.File, error) {
	if err := checkStampID(id); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make directory of stamps: %w", err)
	}
	fd, err := openRetry(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open directory of stamps: %w", pathError("open", dir, err))
	}
	defer unix.Close(fd)
	return openStamp(fd, id, unix.O_RDWR|unix.O_CREAT)
}

// WriteStamp notes the day on which a job ran, without asking for its lock.
func WriteStamp(dir, id string, day timetable.Day) error {
	f, err := createStamp(dir, id)
	if err != nil {
		return err
	}
	return errors.Join(writeStamp(f, id, day), f.Close())
}

// writeStamp writes into the file and does not replace it, because anacron's lock belongs to it.
// Nine bytes in one call to one block are either old or new.
func writeStamp(f *os.File, id string, day timetable.Day) error {
	year, month, date := day.Date()
	text := fmt.Sprintf("%04d%02d%02d\n", year, month, date)
	if len(text) != stampLength {
		return fmt.Errorf("write stamp %q: year %d has no four digits", id, year)
	}
	_, err := f.WriteAt([]byte(text), 0)
	if err == nil {
		err = f.Truncate(stampLength)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("write stamp %q: %w", id, err)
	}
	return nil
}
