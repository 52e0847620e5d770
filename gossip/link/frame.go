package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Bounds on frames. MaxBody is that of requests and of answers.
const (
	MaxBody  = 1 << 20
	maxVerb  = 32
	maxFrame = 1 + 4 + 4 + 1 + maxVerb + MaxBody
)

// What a frame is.
const (
	frameAsk     = iota + 1 // with Wait and Verb
	frameAnswer             // to the ask of the same ID
	frameRefusal            // likewise: the body is why
	framePing
	framePong
)

// frame is what travels on a connection for asking: four bytes of length, one
// of kind, four of ID, and of an ask four of milliseconds that the asker waits
// and a verb with one byte of length; the rest is the body. Numbers are
// big-endian.
type frame struct {
	Kind byte
	ID   uint32
	Wait time.Duration
	Verb string
	Body []byte
}

func (f frame) append(b []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, f.Kind)
	b = binary.BigEndian.AppendUint32(b, f.ID)
	if f.Kind == frameAsk {
		b = binary.BigEndian.AppendUint32(b, uint32(f.Wait.Milliseconds()))
		b = append(b, byte(len(f.Verb)))
		b = append(b, f.Verb...)
	}
	b = append(b, f.Body...)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

var errFrame = errors.New("malformed frame")

// readFrame reads the next frame. What it allocates follows what arrives, not
// what was announced.
func readFrame(r io.Reader) (frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return frame{}, fmt.Errorf("%w: %d bytes", errFrame, n)
	}
	b, err := readGrowing(r, int(n))
	if err != nil {
		return frame{}, err
	}
	return parseFrame(b)
}

func readGrowing(r io.Reader, n int) ([]byte, error) {
	const first = 4 << 10
	b := make([]byte, 0, min(n, first))
	for len(b) < n {
		had, step := len(b), min(n-len(b), max(len(b), first))
		b = slices.Grow(b, step)[:had+step]
		if _, err := io.ReadFull(r, b[had:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func parseFrame(b []byte) (frame, error) {
	if len(b) < 5 {
		return frame{}, fmt.Errorf("%w: %d bytes", errFrame, len(b))
	}
	f := frame{Kind: b[0], ID: binary.BigEndian.Uint32(b[1:])}
	b = b[5:]
	if f.Kind == 0 || f.Kind > framePong {
		return frame{}, fmt.Errorf("%w: kind %d", errFrame, f.Kind)
	}
	if f.Kind == frameAsk {
		if len(b) < 5 || b[4] == 0 || b[4] > maxVerb || len(b) < 5+int(b[4]) {
			return frame{}, fmt.Errorf("%w: no verb", errFrame)
		}
		f.Wait = time.Duration(binary.BigEndian.Uint32(b)) * time.Millisecond
		n := 5 + int(b[4])
		f.Verb, b = string(b[5:n]), b[n:]
	}
	if len(b) > MaxBody {
		return frame{}, fmt.Errorf("%w: body of %d bytes", errFrame, len(b))
	}
	f.Body = b
	return f, nil
}
