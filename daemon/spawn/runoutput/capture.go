package runoutput

import (
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Capture keeps the head and the tail of a run's output, each up to half of a
// limit. The zero value is empty and holds no buffer. It takes at most
// Cost times the limit, however the output is cut up.
type Capture struct {
	head, tail part
	full       bool // the head is, so that more goes to the tail
	cut        int64
}

// part is bytes and how they came. Where there are more bytes than the pieces
// count, the last ones are meant.
type part struct {
	bytes  []byte
	pieces []piece
	size   int // of all pieces
}

// piece is output of one stream that came at about one time. It is small, as
// a command may print byte by byte, now here and now there.
type piece struct {
	at     int64 // when it began, Unix nanoseconds
	size   int32
	stream uint8 // index in streams
}

// mostPieces returns the maximum number of pieces in a part of half bytes. Each piece becomes a row
// of the history: output that alternates between two streams byte by byte must not make a million
// rows.
func mostPieces(half int) int { return min(max(64, half/64), 1024) }

// Cost is the maximum memory of a capture for each byte of its limit, including pieces and
// room to grow.
const Cost = 3

var streams = [...]job.Stream{job.Stdout, job.Stderr, job.System}

// together is the maximum time in nanoseconds between writes to one stream that become one piece.
const together = int64(100 * time.Millisecond)

// MinLimit keeps the arithmetic of halves and pieces away from nothing.
const MinLimit = 1 << 10

// Add takes a piece of output; at most limit bytes are kept of all.
func (c *Capture) Add(limit int, name job.Stream, at time.Time, data []byte) {
	limit = max(limit, MinLimit)
	p := piece{at: at.UnixNano(), stream: number(name)}
	data = data[c.addHead(limit/2, p, data):]
	if len(data) > 0 {
		c.full = true
		c.addTail(max(min(limit/2, limit-c.head.size), MinLimit/2), p, data)
	}
}

// Size returns how many bytes are kept.
func (c *Capture) Size() int { return c.head.size + c.tail.size }

func number(name job.Stream) uint8 {
	for i, stream := range streams {
		if stream == name {
			return uint8(i)
		}
	}
	panic("unknown stream " + name)
}

// addHead returns how many bytes it had room for.
func (c *Capture) addHead(half int, p piece, data []byte) int {
	n := min(half-c.head.size, len(data))
	if c.full || n <= 0 || c.head.crowded(half, p) {
		return 0
	}
	c.head.append(half, p, data[:n])
	return n
}

func (c *Capture) addTail(half int, p piece, data []byte) {
	if over := len(data) - half; over > 0 {
		c.cut += int64(over + c.tail.size)
		c.tail.reset()
		data = data[over:]
	}
	if c.tail.crowded(half, p) {
		c.cut += int64(c.tail.drop(int(c.tail.pieces[0].size)))
	}
	if over := c.tail.size + len(data) - half; over > 0 {
		c.cut += int64(c.tail.drop(over))
	}
	c.tail.append(half, p, data)
}

// Chunks returns all output that was kept. The first chunk after the gap has the number of omitted
// bytes.
func (c *Capture) Chunks(run job.RunID, id job.ID) []job.Chunk {
	chunks := make([]job.Chunk, 0, len(c.head.pieces)+len(c.tail.pieces))
	chunks = c.head.appendChunks(chunks)
	gap := len(chunks)
	chunks = c.tail.appendChunks(chunks)
	if c.cut > 0 {
		chunks[gap].Cut = c.cut
	}
	for i := range chunks {
		chunks[i].Run, chunks[i].Job = run, id
	}
	return chunks
}

// Restore adds what chunks returned, so that the capture continues after it.
func (c *Capture) Restore(limit int, chunks []job.Chunk) {
	for _, chunk := range chunks {
		if chunk.Cut > 0 {
			c.full = true
			c.cut += chunk.Cut
		}
		if len(chunk.Data) > 0 && slices.Contains(streams[:], chunk.Stream) {
			c.Add(limit, chunk.Stream, chunk.At, chunk.Data)
		}
	}
}

// crowded reports whether the part has as many pieces as it can keep.
func (p *part) crowded(half int, next piece) bool {
	return len(p.pieces) >= mostPieces(half) && !p.merges(half, next)
}

// merges reports whether a piece continues the last one. In a crowded part
// the time between them does not matter.
func (p *part) merges(half int, next piece) bool {
	if len(p.pieces) == 0 {
		return false
	}
	last := p.pieces[len(p.pieces)-1]
	close := next.at-last.at < together && next.at >= last.at
	return last.stream == next.stream && (close || len(p.pieces) >= mostPieces(half))
}

func (p *part) append(half int, next piece, data []byte) {
	if p.merges(half, next) {
		p.pieces[len(p.pieces)-1].size += int32(len(data))
	} else {
		next.size = int32(len(data))
		p.pieces = append(p.pieces, next)
	}
	if len(p.bytes)+len(data) > half+half/2 {
		p.bytes = append(p.bytes[:0], p.kept()...)
	}
	p.bytes = append(p.bytes, data...)
	p.size += len(data)
}

// drop takes n bytes off the front and returns n.
func (p *part) drop(n int) int {
	p.size -= n
	for left := int32(n); left > 0; {
		first := &p.pieces[0]
		if first.size > left {
			first.size -= left
			break
		}
		left -= first.size
		p.pieces = p.pieces[1:]
	}
	return n
}

func (p *part) reset() {
	p.bytes, p.pieces, p.size = p.bytes[:0], p.pieces[:0], 0
}

// kept is the bytes that the pieces speak of.
func (p *part) kept() []byte { return p.bytes[len(p.bytes)-p.size:] }

func (p *part) appendChunks(chunks []job.Chunk) []job.Chunk {
	left := p.kept()
	for _, piece := range p.pieces {
		n := int(piece.size)
		chunks = append(chunks, job.Chunk{
			Stream: streams[piece.stream],
			At:     time.Unix(0, piece.at).UTC(),
			Data:   left[:n:n],
		})
		left = left[n:]
	}
	return chunks
}
