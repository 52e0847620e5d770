package runoutput

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Read reads the file of a run's output, and reports whether the run
// printed more than the file holds. It ignores an incomplete frame at the end.
func Read(path string) (chunks []job.Chunk, cut bool, err error) {
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

// DefaultLimit is the default of Options.Output.
const DefaultLimit = 64 << 10

// ReadLeft reads such a file, and returns as much of the output as a run with this limit keeps; 0 is
// the limit of Options.Output.
func ReadLeft(l Left, limit int) ([]job.Chunk, error) {
	chunks, _, err := Read(l.Path)
	var kept Capture
	kept.Restore(cmp.Or(limit, DefaultLimit), chunks)
	return kept.Chunks(l.Run, ""), err
}

// readFrames reads a file up to its mark or its last whole frame, and returns the length of that
// part. Without a mark the run may not be over.
func readFrames(path string) (chunks []job.Chunk, whole int64, marked bool, err error) {
	data, changed, err := readRecording(path)
	if err != nil {
		return nil, 0, false, fmt.Errorf("read output: %w", err)
	}
	chunks, whole, marked, err = splitFrames(data, changed)
	if err != nil {
		err = fmt.Errorf("read output: %s: %w", path, err)
	}
	return chunks, whole, marked, err
}

// splitFrames is readFrames for the content of a file, which was last changed at an instant.
func splitFrames(data []byte, changed time.Time) (chunks []job.Chunk, whole int64, marked bool, err error) {
	for int(whole) < len(data) {
		chunk, n, err := readFrame(data[whole:])
		switch {
		case errors.Is(err, errMark):
			return chunks, whole, true, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return chunks, whole, false, nil
		case err != nil:
			return chunks, whole, false, err
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
	data, err = io.ReadAll(io.LimitReader(file, MaxFile))
	return data, info.ModTime().UTC(), err
}

var errMark = errors.New("the rest was left out")

func readFrame(data []byte) (chunk job.Chunk, n int, err error) {
	if len(data) < FrameHead {
		return chunk, 0, io.ErrUnexpectedEOF
	}
	if data[0] == markFrame {
		return chunk, 0, errMark
	}
	if int(data[0]) >= len(streams) {
		return chunk, 0, fmt.Errorf("no stream %d", data[0])
	}
	size := int64(binary.LittleEndian.Uint32(data[4:]))
	if [FrameHead]byte(data) == [FrameHead]byte{} { // the daemon was killed before it wrote the head
		size = int64(len(data) - FrameHead)
	}
	if size > int64(len(data)-FrameHead) {
		return chunk, 0, io.ErrUnexpectedEOF
	}
	n = FrameHead + int(size)
	return job.Chunk{
		Stream: streams[data[0]],
		At:     time.Unix(0, int64(binary.LittleEndian.Uint64(data[8:]))).UTC(),
		Data:   data[FrameHead:n:n],
	}, n, nil
}
