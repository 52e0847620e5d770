package mail

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The names in the queue's directory: NNN is a letter, NNN.tmp one that is
// being written, NNN.dead one that nobody could be made to take.
const (
	tmpSuffix  = ".tmp"
	deadSuffix = ".dead"
)

// maxEnvelope bounds the first line of a file. An environment larger than this
// would have kept the job itself from starting.
const maxEnvelope = 8 << 20

// maxDead bounds the letters that are kept for a person to look at.
const maxDead = 100

func fileName(number uint64) string { return fmt.Sprintf("%020d", number) }

// write puts a letter on the disk: whole and for good, or not at all.
func write(dir string, it *item, e envelope, message []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	first, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode envelope: %w", err)
	}
	path := filepath.Join(dir, fileName(it.number))
	if err := writeFile(path+tmpSuffix, append(first, '\n'), message); err != nil {
		os.Remove(path + tmpSuffix)
		return err
	}
	if err := os.Rename(path+tmpSuffix, path); err != nil {
		os.Remove(path + tmpSuffix)
		return err
	}
	return syncDir(dir)
}

func writeFile(path string, parts ...[]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, part := range parts {
		if _, err := f.Write(part); err != nil {
			return err
		}
	}
	return f.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// open gives a letter's envelope, and its message ready to be read.
func open(dir string, it *item) (envelope, *os.File, error) {
	if it.direct != nil {
		f, err := memoryFile(it.direct.message)
		return it.direct.envelope, f, err
	}
	f, err := os.OpenFile(filepath.Join(dir, fileName(it.number)), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return envelope{}, nil, err
	}
	e, length, err := readEnvelope(f)
	if err == nil {
		_, err = f.Seek(length, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return envelope{}, nil, err
	}
	return e, f, nil
}

// damagedError tells of a file that is no letter, which trying again does not
// mend.
type damagedError struct{ why string }

func (e *damagedError) Error() string { return "damaged: " + e.why }

func readEnvelope(f io.Reader) (e envelope, length int64, err error) {
	line, err := bufio.NewReader(io.LimitReader(f, maxEnvelope)).ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF):
		return e, 0, &damagedError{"it has no first line"}
	case err != nil:
		return e, 0, err
	}
	if err := json.Unmarshal(bytes.TrimSuffix(line, []byte("\n")), &e); err != nil {
		return e, 0, &damagedError{err.Error()}
	}
	if e.User == "" || len(e.Argv) == 0 {
		return e, 0, &damagedError{"it says no account or no mailer"}
	}
	return e, int64(len(line)), nil
}

// memoryFile is a message as a file that needs no disk. Nobody can change it,
// as the mailer could open it again through /proc.
func memoryFile(message []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("mail", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "mail")
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

// found is what stands in a queue's directory.
type found struct {
	items []*item // oldest first
	next  uint64
	dead  int
}

// scan reads the directory and removes what was being written when the daemon
// died. Files that it cannot make sense of are put with the dead.
func scan(dir string) (found, error) {
	var all found
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return all, err
	}
	entries, err := os.ReadDir(dir) // by name, which is by age
	if err != nil {
		return all, err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), tmpSuffix) {
			os.Remove(filepath.Join(dir, entry.Name()))
			continue
		}
		digits, dead := strings.CutSuffix(entry.Name(), deadSuffix)
		number, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || fileName(number) != digits {
			continue // not ours
		}
		all.next = max(all.next, number)
		if !entry.Type().IsRegular() {
			continue
		}
		if dead {
			all.dead++
			continue
		}
		it, err := examine(dir, number)
		var damaged *damagedError
		switch {
		case err == nil:
			all.items = append(all.items, it)
		case errors.As(err, &damaged):
			bury(dir, number)
			all.dead++
		}
	}
	return all, nil
}

// examine reads what the queue must know of a letter.
func examine(dir string, number uint64) (*item, error) {
	e, f, err := open(dir, &item{number: number})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &item{number: number, user: e.User, size: info.Size(), output: e.Output, born: e.Born}, nil
}

func remove(dir string, it *item) error {
	if it.direct != nil {
		return nil
	}
	err := os.Remove(filepath.Join(dir, fileName(it.number)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// bury keeps a letter for a person, and drops the oldest of too many.
func bury(dir string, number uint64) {
	path := filepath.Join(dir, fileName(number))
	_ = os.Rename(path, path+deadSuffix) // a letter that stays is found at the next start
	dead, _ := filepath.Glob(filepath.Join(dir, "*"+deadSuffix))
	slices.Sort(dead)
	for _, path := range dead[:max(0, len(dead)-maxDead)] {
		os.Remove(path)
	}
}
