package spawn

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
)

// maxRecording is the maximum size of a run's output file, including bookkeeping. A mark follows.
const maxRecording = 10 << 20

// A file consists of frames. Each has a head and then its data. The head holds
// the stream (1 byte), 3 zero bytes, the length of the data (4 bytes) and the
// time in Unix nanoseconds (8 bytes), all little-endian. If the daemon is killed
// between writing the data of a frame and its head, the head is all zero and the
// data extends to the end of the file.
const frameHead = 16

// markFrame replaces a stream's number where the rest was omitted.
const markFrame = 0xff

// lateSuffix follows the number of a run in the name of a file for output after the end of the run.
// The time in nanoseconds follows, because each Late has a file of its own.
const lateSuffix = ".late-"

// recording is the file of one run's output. The zero value has no file yet.
type recording struct {
	late   bool          // it is for output after the end of the run
	suffix string        // of its name
	fd     int           // 0: not open
	size   int           // of its complete frames
	ahead  int           // bytes of data after the space for the next frame's head
	begun  bool          // there is a file
	over   bool          // it takes no more: it is full, or it failed
	space  *budget.Lease // for it
}

func (s *Spawner) recordPath(run job.RunID) string {
	return filepath.Join(s.options.Runs, run.String())
}

func (s *Spawner) recordingPath(c *child) string {
	return s.recordPath(c.run) + c.file.suffix
}

// fetch moves output from a pipe to the data of the next frame of the run's file,
// and reads it from there into data. One system call removes it from the pipe and
// stores it, so that no output is lost if the daemon is killed at any instant.
// ok is false if the file cannot take the output and the pipe is unchanged.
func (s *Spawner) fetch(c *child, pipe int, data []byte) (n int, ok bool, err error) {
	f := &c.file
	most := min(len(data), maxRecording-f.size-2*frameHead)
	if most <= 0 || f.over || f.fd == 0 && (!holdsData(pipe) || !s.openRecording(c)) {
		return 0, false, nil
	}
	at := int64(f.size + frameHead)
	end := at
	moved, err := unix.Splice(pipe, nil, f.fd, &end, most, unix.SPLICE_F_NONBLOCK)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR || err == nil && moved == 0:
		return 0, true, err
	case err != nil: // for example, the file system is full
		return 0, false, nil
	}
	f.ahead = int(moved)
	n, err = unix.Pread(f.fd, data[:moved], at)
	return n, true, err
}

// records reports whether output of a child goes into a file.
func (s *Spawner) records(c *child) bool {
	return s.options.Runs != "" && c.tool == nil && !c.check && (c.tail == nil || s.options.Record || c.tail.left > 0)
}

// holdsData reports whether a pipe has something to read. A run without output
// gets no file.
func holdsData(pipe int) bool {
	n, err := unix.IoctlGetInt(pipe, unix.TIOCINQ)
	return err == nil && n > 0
}

// record appends a piece of output to the run's file. room is the data with
// space for a frame's head before it. If the file cannot be written, the run
// continues without it; if its file system is full, the file is removed.
func (s *Spawner) record(c *child, stream job.Stream, at time.Time, room []byte) {
	f := &c.file
	if f.over || f.fd == 0 && !s.openRecording(c) {
		return
	}
	fetched := f.ahead == len(room)-frameHead
	f.ahead = 0
	if f.size+len(room)+frameHead > maxRecording || !f.space.Grow(int64(len(room))) {
		var mark [frameHead]byte
		putHead(mark[:], markFrame, at, 0)
		_, _ = unix.Pwrite(f.fd, mark[:], int64(f.size)) // without it, readers do not see that output is missing
		_ = unix.Ftruncate(f.fd, int64(f.size+frameHead))
		s.closeRecording(c)
		f.over = true
		return
	}
	if (f.size == 0 || f.size/spaceStep != (f.size+len(room))/spaceStep) && !hasSpace(f.fd) {
		s.dropRecording(c)
		return
	}
	putHead(room, number(stream), at, len(room)-frameHead)
	frame := room
	if fetched {
		frame = room[:frameHead]
	}
	if n, err := unix.Pwrite(f.fd, frame, int64(f.size)); n != len(frame) || err != nil {
		s.dropRecording(c)
		return
	}
	f.size += len(room)
}

// recordingSpace returns the budget for the files of users other than root in a directory. Root's
// files are limited by hasSpace alone, and by the disk if the directory is not in memory.
func recordingSpace(dir string) *budget.Budget {
	const most = 1 << 30
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || fs.Blocks == 0 {
		return budget.New(most, math.MaxInt64)
	}
	return budget.New(min(int64(fs.Blocks)*int64(fs.Bsize)/4, most), math.MaxInt64)
}

// spaceStep is how much of a file is written between two checks of the space.
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

// openRecording begins the file, or continues that of a previous daemon.
func (s *Spawner) openRecording(c *child) bool {
	f := &c.file
	if !s.pump.spare(1) {
		f.over = true
		return false
	}
	if f.late && !f.begun {
		f.suffix = lateSuffix + strconv.FormatInt(time.Now().UnixNano(), 10)
	}
	fd, err := openRecordingAt(s.recordingPath(c), f.begun)
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

// openRecordingAt makes a new file. An existing file belongs to a deleted history, in which another
// run had this number.
func openRecordingAt(path string, begun bool) (int, error) {
	flags := syscall.O_RDWR | syscall.O_CLOEXEC | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	if !begun {
		flags |= syscall.O_CREAT | syscall.O_EXCL
	}
	fd, err := syscall.Open(path, flags, 0o600)
	if err == syscall.EEXIST && syscall.Unlink(path) == nil {
		fd, err = syscall.Open(path, flags, 0o600)
	}
	return fd, err
}

// completeRecording cuts off an incomplete frame at the end of a file, where the
// next frame belongs, and writes the head of the last complete one, which the
// previous daemon may have been killed before writing.
func completeRecording(path string, complete int64, chunks []job.Chunk) {
	fd, err := openRecordingAt(path, true)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	_ = unix.Ftruncate(fd, complete) // if it fails, readers stop there
	if len(chunks) == 0 {
		return
	}
	last := chunks[len(chunks)-1]
	var head [frameHead]byte
	putHead(head[:], number(last.Stream), last.At, len(last.Data))
	_, _ = unix.Pwrite(fd, head[:], complete-int64(len(last.Data))-frameHead)
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
	_ = os.Remove(s.recordingPath(c)) // a failure cannot be repaired here
	c.file.space.Add(-int64(c.file.size))
	c.file = recording{late: c.file.late, over: true, space: c.file.space}
}

// endRecording returns the file of an ended run and the space that it uses, if Claim accepts it.
// Otherwise removeRecording must be called once the end is reported.
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

// ReadOutput reads the file of a run's output, and reports whether the run
// printed more than the file holds. It ignores an incomplete frame at the end.
func ReadOutput(path string) (chunks []job.Chunk, cut bool, err error) {
	chunks, _, cut, err = readFrames(path)
	return chunks, cut, err
}

// Left is a file of output that another daemon left in Options.Runs.
type Left struct {
	Run  job.RunID
	Path string
}

// ListLeft returns the files of output in a directory, as in Options.Runs. Those of a run are in the
// order of the output.
func ListLeft(runs string) (left []Left) {
	entries, _ := os.ReadDir(runs) // sorted by name; there may be none
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), lateSuffix)
		if run, err := strconv.ParseInt(number, 10, 64); err == nil && e.Type().IsRegular() {
			left = append(left, Left{Run: job.RunID(run), Path: filepath.Join(runs, e.Name())})
		}
	}
	return left
}

// ReadLeft reads such a file, and returns as much of the output as a run with this limit keeps; 0 is
// the limit of Options.Output.
func ReadLeft(l Left, limit int) ([]job.Chunk, error) {
	chunks, _, err := ReadOutput(l.Path)
	var kept capture
	kept.restore(cmp.Or(limit, defaultOutput), chunks)
	return kept.chunks(l.Run, ""), err
}

// readFrames reads a file up to its mark or its last whole frame, and returns the length of that
// part. Without a mark the run may not be over.
func readFrames(path string) (chunks []job.Chunk, whole int64, marked bool, err error) {
	data, changed, err := readRecording(path)
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
		if chunk.At.UnixNano() == 0 {
			chunk.At = changed
		}
		chunks = append(chunks, chunk)
		whole += int64(n)
	}
	return chunks, whole, false, nil
}

func readRecording(path string) (data []byte, changed time.Time, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, changed, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, changed, fmt.Errorf("%s is not a regular file", path)
	}
	data, err = io.ReadAll(io.LimitReader(file, maxRecording))
	return data, info.ModTime().UTC(), err
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
	if [frameHead]byte(data) == [frameHead]byte{} { // the daemon was killed before it wrote the head
		size = int64(len(data) - frameHead)
	}
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
