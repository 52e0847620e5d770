package spawn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
)

// maxRecording is how much of a run's output its file holds, bookkeeping
// included. Then comes a mark.
const maxRecording = 10 << 20

// A file is frames: the stream, three bytes of nothing, the length of the
// data, the time in Unix nanoseconds, the data; numbers begin with the lowest
// byte. A daemon that is killed leaves a whole number of frames, as each is
// one write to a file in memory; a reader does not rely on it.
const frameHead = 16

// markFrame stands in place of a stream where the rest was left out.
const markFrame = 0xff

// recording is the file of one run's output. The zero value is one that was
// not begun.
type recording struct {
	fd    int // 0: not open
	size  int
	begun bool          // there is a file
	over  bool          // it takes no more: it is full, or it failed
	space *budget.Lease // for it
}

func (s *Spawner) recordPath(run job.RunID) string {
	return filepath.Join(s.options.Runs, run.String())
}

// record appends a piece of output to the run's file. room is the data with
// space for a frame's head before it. What goes wrong costs the file and not
// the run; in a file system that is full, its space as well.
func (s *Spawner) record(c *child, stream job.Stream, at time.Time, room []byte) {
	f := &c.file
	if f.over || f.fd == 0 && !s.openRecording(c) {
		return
	}
	if f.size+len(room)+frameHead > maxRecording || !f.space.Grow(int64(len(room))) {
		var mark [frameHead]byte
		putHead(mark[:], markFrame, at, 0)
		_, _ = unix.Write(f.fd, mark[:]) // without it the end is only missing its word
		s.closeRecording(c)
		f.over = true
		return
	}
	if (f.size == 0 || f.size/spaceStep != (f.size+len(room))/spaceStep) && !hasSpace(f.fd) {
		s.dropRecording(c)
		return
	}
	putHead(room, number(stream), at, len(room)-frameHead)
	if n, err := unix.Write(f.fd, room); n != len(room) || err != nil {
		s.dropRecording(c)
		return
	}
	f.size += len(room)
}

// recordingSpace is how much the files of users other than root can take in a
// directory together. Those of root are limited by hasSpace alone, and by the
// disk where the directory is not in memory.
func recordingSpace(dir string) *budget.Budget {
	const most = 1 << 30
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || fs.Blocks == 0 {
		return budget.New(most, math.MaxInt64)
	}
	return budget.New(min(int64(fs.Blocks)*int64(fs.Bsize)/4, most), math.MaxInt64)
}

// spaceStep is how much of a file is written between two looks at the space.
const spaceStep = 64 << 10

// hasSpace reports whether a file in memory may grow. What is in memory with
// it, /run as a rule, the whole host needs: what jobs print, and any account
// can have jobs that print, takes half of it at most.
func hasSpace(fd int) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil || fs.Type != unix.TMPFS_MAGIC {
		return true
	}
	return fs.Blocks == 0 || fs.Bavail > fs.Blocks/2 // 0: no limit is set
}

func putHead(frame []byte, stream uint8, at time.Time, size int) {
	frame[0], frame[1], frame[2], frame[3] = stream, 0, 0, 0
	binary.LittleEndian.PutUint32(frame[4:], uint32(size))
	binary.LittleEndian.PutUint64(frame[8:], uint64(at.UnixNano()))
}

// openRecording begins the file, or goes on with that of a daemon before.
func (s *Spawner) openRecording(c *child) bool {
	f := &c.file
	if !s.pump.spare(1) {
		f.over = true
		return false
	}
	fd, err := openRecordingAt(s.recordPath(c.run), f.begun)
	if err != nil {
		s.pump.spare(-1)
		f.over = true
		return false
	}
	f.fd, f.begun = fd, true
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) == nil {
		f.size = int(min(st.Size, maxRecording))
	}
	return true
}

// openRecordingAt makes room for a new file: one that is in its place belongs
// to a history that is gone, in which another run had this number.
func openRecordingAt(path string, begun bool) (int, error) {
	flags := syscall.O_WRONLY | syscall.O_APPEND | syscall.O_CLOEXEC | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	if !begun {
		flags |= syscall.O_CREAT | syscall.O_EXCL
	}
	fd, err := syscall.Open(path, flags, 0o600)
	if err == syscall.EEXIST && syscall.Unlink(path) == nil {
		fd, err = syscall.Open(path, flags, 0o600)
	}
	return fd, err
}

func (s *Spawner) closeRecording(c *child) {
	if c.file.fd != 0 {
		s.files.release(c.file.fd)
		s.pump.spare(-1)
		c.file.fd = 0
	}
}

func (s *Spawner) dropRecording(c *child) {
	s.closeRecording(c)
	_ = os.Remove(s.recordPath(c.run)) // nobody can do better
	c.file.space.Add(-int64(c.file.size))
	c.file = recording{over: true, space: c.file.space}
}

// endRecording returns the file of an ended run and the space that it takes, if
// somebody claims it. Otherwise removeRecording has to be called once the end is
// reported.
func (s *Spawner) endRecording(c *child) (path string, space *budget.Lease) {
	s.closeRecording(c)
	if c.file.begun && s.options.Claim != nil && s.options.Claim(c.run) {
		return s.recordPath(c.run), c.file.space
	}
	return "", nil
}

func (s *Spawner) removeRecording(c *child) {
	if c.file.begun {
		_ = os.Remove(s.recordPath(c.run)) // it may be gone
	}
	c.file.space.Release()
}

// ReadOutput reads the file of a run's output, and whether the run printed
// more than it holds. What follows the last whole frame is left out: a daemon
// was killed while it wrote that.
func ReadOutput(path string) (chunks []job.Chunk, cut bool, err error) {
	chunks, _, cut, err = readFrames(path)
	return chunks, cut, err
}

// readFrames reads a file up to its mark or its last whole frame, and says how
// much of it that is. Without a mark the run may not be over.
func readFrames(path string) (chunks []job.Chunk, whole int64, marked bool, err error) {
	data, err := readRecording(path)
	if err != nil {
		return nil, 0, false, fmt.Errorf("read output: %w", err)
	}
	for int(whole) < len(data) {
		chunk, n, err := readFrame(data[whole:])
		switch {
		case errors.Is(err, errMark):
			return chunks, whole, true, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return chunks, whole, false, nil
		case err != nil:
			return chunks, whole, false, fmt.Errorf("read output: %s: %w", path, err)
		}
		chunks = append(chunks, chunk)
		whole += int64(n)
	}
	return chunks, whole, false, nil
}

func readRecording(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return io.ReadAll(io.LimitReader(file, maxRecording))
}

var errMark = errors.New("the rest was left out")

func readFrame(data []byte) (chunk job.Chunk, n int, err error) {
	if len(data) < frameHead {
		return chunk, 0, io.ErrUnexpectedEOF
	}
	if data[0] == markFrame {
		return chunk, 0, errMark
	}
	if int(data[0]) >= len(streams) {
		return chunk, 0, fmt.Errorf("no stream %d", data[0])
	}
	size := int64(binary.LittleEndian.Uint32(data[4:]))
	if size > int64(len(data)-frameHead) {
		return chunk, 0, io.ErrUnexpectedEOF
	}
	n = frameHead + int(size)
	return job.Chunk{
		Stream: streams[data[0]],
		At:     time.Unix(0, int64(binary.LittleEndian.Uint64(data[8:]))).UTC(),
		Data:   data[frameHead:n:n],
	}, n, nil
}
