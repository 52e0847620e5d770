package outbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/queue"
)

// maxEnvelope bounds the first line of a file. An environment larger than this
// would have kept the job itself from starting.
const maxEnvelope = 8 << 20

// envelope is the first line of a queued file, as JSON; the message follows.
type envelope struct {
	User   string    `json:"user"`
	Dir    string    `json:"dir"`
	Argv   []string  `json:"argv"`
	Env    []string  `json:"env"`
	Output int64     `json:"output"`
	Born   time.Time `json:"born"`
}

func newEnvelope(l *mail.Letter, born time.Time) envelope {
	return envelope{User: l.User, Dir: l.Dir, Argv: l.Argv, Env: l.Env, Output: l.Output, Born: born}
}

// write puts a letter on the disk: whole and for good, or not at all.
func write(dir queue.Dir, it *item, e envelope, message []byte) error {
	first, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode envelope: %w", err)
	}
	return dir.Write(it.number, append(first, '\n'), message)
}

// open returns a message's envelope and its text, ready to be read.
func open(dir queue.Dir, it *item) (envelope, *os.File, error) {
	if it.direct != nil {
		f, err := memoryFile(it.direct.message)
		return it.direct.envelope, f, err
	}
	f, err := dir.Open(it.number)
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

func readEnvelope(f io.Reader) (e envelope, length int64, err error) {
	line, err := bufio.NewReader(io.LimitReader(f, maxEnvelope)).ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF):
		return e, 0, &queue.DamagedError{Why: "it has no first line"}
	case err != nil:
		return e, 0, err
	}
	if err := json.Unmarshal(bytes.TrimSuffix(line, []byte("\n")), &e); err != nil {
		return e, 0, &queue.DamagedError{Why: err.Error()}
	}
	if e.User == "" || len(e.Argv) == 0 {
		return e, 0, &queue.DamagedError{Why: "its user or mailer is missing"}
	}
	return e, int64(len(line)), nil
}

// memoryFile returns a message as a file in memory. It is sealed, because the mailer could open it
// again through /proc.
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

// scan reads the letters that wait, oldest first, and the newest number that
// is in use.
func scan(dir queue.Dir) (items []*item, newest uint64, err error) {
	newest, err = dir.Scan(func(number uint64) error {
		it, err := examine(dir, number)
		if err == nil {
			items = append(items, it)
		}
		return err
	})
	return items, newest, err
}

// examine reads what the queue must know of a letter.
func examine(dir queue.Dir, number uint64) (*item, error) {
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

func remove(dir queue.Dir, it *item) error {
	if it.direct != nil {
		return nil
	}
	return dir.Remove(it.number)
}
