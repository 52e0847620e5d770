package runoutput

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/job"
)

// MaxFile is the maximum size of a run's output file, including bookkeeping. A mark follows.
const MaxFile = 10 << 20

// A file consists of frames. Each has a head and then its data. The head holds
// the stream (1 byte), 3 zero bytes, the length of the data (4 bytes) and the
// time in Unix nanoseconds (8 bytes), all little-endian. If the daemon is killed
// between writing the data of a frame and its head, the head is all zero and the
// data extends to the end of the file.
const FrameHead = 16

// markFrame replaces a stream's number where the rest was omitted.
const markFrame = 0xff

// lateSuffix follows the number of a run in the name of a file for output after the end of the run.
// The time in nanoseconds follows, because each Late has a file of its own.
const lateSuffix = ".late-"

// File is the file of one run's output. The zero value has no file yet.
type File struct {
	Late   bool          // it is for output after the end of the run
	suffix string        // of its name
	fd     int           // 0: not open
	size   int           // of its complete frames
	ahead  int           // bytes of data after the space for the next frame's head
	Begun  bool          // there is a file
	over   bool          // it takes no more: it is full, or it failed
	Space  *budget.Lease // for it
}

// Dir is a directory of such files. The zero value records nothing.
type Dir struct {
	Path  string           // "": there is none
	Spare func(n int) bool // reserves n descriptors; a negative n releases them
}

// Base returns the path of the files of a run, which may have a suffix.
func (d *Dir) Base(run job.RunID) string {
	return filepath.Join(d.Path, run.String())
}

// PathOf returns the path of a file of a run.
func (d *Dir) PathOf(f *File, run job.RunID) string {
	return d.Base(run) + f.suffix
}

// Fetch moves output from a pipe to the data of the next frame of the run's file,
// and reads it from there into data. One system call removes it from the pipe and
// stores it, so that no output is lost if the daemon is killed at any instant.
// ok is false if the file cannot take the output and the pipe is unchanged.
func (d *Dir) Fetch(f *File, run job.RunID, pipe int, data []byte) (n int, ok bool, err error) {
	most := min(len(data), MaxFile-f.size-2*FrameHead)
	if most <= 0 || f.over || f.fd == 0 && (!holdsData(pipe) || !d.open(f, run)) {
		return 0, false, nil
	}
	at := int64(f.size + FrameHead)
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

// holdsData reports whether a pipe has something to read. A run without output
// gets no file.
func holdsData(pipe int) bool {
	n, err := unix.IoctlGetInt(pipe, unix.TIOCINQ)
	return err == nil && n > 0
}

// Record appends a piece of output to the run's file. room is the data with
// space for a frame's head before it. If the file cannot be written, the run
// continues without it; if its file system is full, the file is removed.
func (d *Dir) Record(f *File, run job.RunID, stream job.Stream, at time.Time, room []byte) {
	if f.over || f.fd == 0 && !d.open(f, run) {
		return
	}
	fetched := f.ahead == len(room)-FrameHead
	f.ahead = 0
	if f.size+len(room)+FrameHead > MaxFile || !f.Space.Grow(int64(len(room))) {
		var mark [FrameHead]byte
		putHead(mark[:], markFrame, at, 0)
		_, _ = unix.Pwrite(f.fd, mark[:], int64(f.size)) // without it, readers do not see that output is missing
		_ = unix.Ftruncate(f.fd, int64(f.size+FrameHead))
		d.Close(f)
		f.over = true
		return
	}
	if (f.size == 0 || f.size/spaceStep != (f.size+len(room))/spaceStep) && !hasSpace(f.fd) {
		d.drop(f, run)
		return
	}
	putHead(room, number(stream), at, len(room)-FrameHead)
	frame := room
	if fetched {
		frame = room[:FrameHead]
	}
	if n, err := unix.Pwrite(f.fd, frame, int64(f.size)); n != len(frame) || err != nil {
		d.drop(f, run)
		return
	}
	f.size += len(room)
}

// NewSpace returns the budget for the files of users other than root in a directory. Root's
// files are limited by hasSpace alone, and by the disk if the directory is not in memory.
func NewSpace(dir string) *budget.Budget {
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

// HasInodes reports whether a directory in memory may get more files that their user can open. A process can keep
// the inodes of removed files, and nothing reports that, so these files take half of all inodes at most: the
// whole host needs /run.
func (d *Dir) HasInodes() bool {
	var fs unix.Statfs_t
	if unix.Statfs(d.Path, &fs) != nil || fs.Type != unix.TMPFS_MAGIC {
		return true
	}
	return fs.Files == 0 || fs.Ffree > fs.Files/2 // 0: no limit is set
}

func putHead(frame []byte, stream uint8, at time.Time, size int) {
	frame[0], frame[1], frame[2], frame[3] = stream, 0, 0, 0
	binary.LittleEndian.PutUint32(frame[4:], uint32(size))
	binary.LittleEndian.PutUint64(frame[8:], uint64(at.UnixNano()))
}

// open begins the file, or continues that of a previous daemon.
func (d *Dir) open(f *File, run job.RunID) bool {
	if !d.Spare(1) {
		f.over = true
		return false
	}
	if f.Late && !f.Begun {
		f.suffix = lateSuffix + strconv.FormatInt(time.Now().UnixNano(), 10)
	}
	fd, err := openRecordingAt(d.PathOf(f, run), f.Begun)
	if err != nil {
		d.Spare(-1)
		f.over = true
		return false
	}
	f.fd, f.Begun = fd, true
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) == nil {
		f.size = int(min(st.Size, MaxFile))
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

// Resume finds the file of a run, and cuts off what a daemon that was
// killed did not write to its end.
func (d *Dir) Resume(f *File, run job.RunID) []job.Chunk {
	path := d.PathOf(f, run)
	chunks, whole, cut, err := readFrames(path)
	if err != nil {
		return chunks
	}
	f.Begun = true
	f.Space.Add(whole)
	if cut {
		f.over = true
		return chunks
	}
	completeRecording(path, whole, chunks)
	return chunks
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
	var head [FrameHead]byte
	putHead(head[:], number(last.Stream), last.At, len(last.Data))
	_, _ = unix.Pwrite(fd, head[:], complete-int64(len(last.Data))-FrameHead)
}

// Close closes the file if it is open. It can be continued.
func (d *Dir) Close(f *File) {
	if f.fd != 0 {
		_ = unix.Close(f.fd) // readers stop at what is missing
		d.Spare(-1)
		f.fd = 0
	}
}

func (d *Dir) drop(f *File, run job.RunID) {
	d.Close(f)
	_ = os.Remove(d.PathOf(f, run)) // a failure cannot be repaired here
	f.Space.Add(-int64(f.size))
	*f = File{Late: f.Late, over: true, Space: f.Space}
}

// Remove removes the file of a run whose output is known elsewhere.
func (d *Dir) Remove(f *File, run job.RunID) {
	if f.Begun {
		_ = os.Remove(d.Base(run)) // it may be gone
	}
	f.Space.Release()
}
