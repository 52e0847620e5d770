package api

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// The board travels over the socket as frames: a kind, the length of the payload, the payload.
// Numbers are varints, times are nanoseconds relative to the frame's own, and text that many rows
// share is sent once. JSON for a hundred thousand rows would take longer than all other steps.

// boardGreeting begins the stream. Its number changes with the form of frames.
const boardGreeting = "cronring board 2\n"

// The kinds of frame.
const (
	frameUpdate = 'U'
	frameError  = 'E'
)

// Bounds of a stream of frames.
const (
	maxFrame     = 8 << 20
	longPart     = 1 << 20 // bytes of text after which a frame gets no more
	maxRows      = 4096    // in one frame
	sharedTexts  = 1 << 14 // how many texts both ends remember
	sharedLength = 256     // of the longest of them
)

// boardStates numbers the states on the wire; new ones go to the end.
var boardStates = [...]job.State{
	job.StateFailing, job.StateLate, job.StateRunning, job.StateHeld, job.StateDisabled, job.StateOK, job.StateNew,
}

// What a row has, beside what each has.
const (
	hasProtected = 1 << iota
	hasAcked
	hasNext
	hasBegan
	hasLast
	hasHeldUntil
	hasEnding
	hasWhy
	hasLive
	hasFixed
	hasNode
	hasElsewhere
)

// BoardEncoder writes updates. Its zero value begins a stream.
type BoardEncoder struct {
	begun  bool
	frame  []byte
	known  map[string]uint64
	now    int64
	latest [6]sharedText
}

// sharedText is the text that a column had last: neighbours are often alike.
type sharedText struct {
	text string
	ref  uint64
}

// Append adds an update to the bytes of a stream, as several if one frame would
// be too long. The update's text is not kept but for what rows share.
func (e *BoardEncoder) Append(to []byte, u *BoardUpdate) ([]byte, error) {
	to = e.begin(to)
	part := BoardUpdate{Now: u.Now, Head: u.Head}
	gone, rows := u.Gone, u.Rows
	for done := false; !done; part.Head = nil {
		part.Gone, gone = longest(gone, func(id *job.ID) int { return len(*id) })
		if part.Rows = nil; len(gone) == 0 {
			part.Rows, rows = longest(rows, (*Row).textSize)
		}
		done = len(gone)+len(rows) == 0
		part.Complete = done && u.Complete
		var err error
		if to, err = e.appendPart(to, &part); err != nil {
			return to, err
		}
	}
	return to, nil
}

// longest cuts off as many things as go into one frame.
func longest[T any](all []T, size func(*T) int) (some, rest []T) {
	n := 0
	for sum := 0; n < len(all) && n < maxRows && sum < longPart; n++ {
		sum += size(&all[n])
	}
	return all[:n], all[n:]
}

func (r *Row) textSize() int {
	return len(r.Job) + len(r.User) + len(r.Crontab) + len(r.Schedule) + len(r.Zone) + len(r.Command) + len(r.Ending) + len(r.Why) + len(r.Node) + len(r.Elsewhere)
}

func (e *BoardEncoder) appendPart(to []byte, u *BoardUpdate) ([]byte, error) {
	e.frame = e.frame[:0]
	e.now = u.Now.UnixNano()
	e.number(e.now)
	var head []byte
	if u.Head != nil {
		var err error
		if head, err = json.Marshal(u.Head); err != nil {
			return to, fmt.Errorf("encode status: %w", err)
		}
	}
	e.text(string(head))
	e.flag(u.Complete)
	e.size(len(u.Gone))
	for _, id := range u.Gone {
		e.text(string(id))
	}
	e.size(len(u.Rows))
	for i := range u.Rows {
		if err := e.row(&u.Rows[i]); err != nil {
			return to, err
		}
	}
	return appendFrame(to, frameUpdate, e.frame), nil
}

// AppendError ends a stream with what went wrong.
func (e *BoardEncoder) AppendError(to []byte, err *Error) ([]byte, error) {
	text, unencoded := json.Marshal(err)
	if unencoded != nil {
		return to, fmt.Errorf("encode error: %w", unencoded)
	}
	return appendFrame(e.begin(to), frameError, text), nil
}

func (e *BoardEncoder) begin(to []byte) []byte {
	if e.begun {
		return to
	}
	e.begun, e.known = true, map[string]uint64{}
	return append(to, boardGreeting...)
}

func appendFrame(to []byte, kind byte, payload []byte) []byte {
	to = append(to, kind)
	to = binary.AppendUvarint(to, uint64(len(payload)))
	return append(to, payload...)
}

func (e *BoardEncoder) row(r *Row) error {
	state, err := stateNumber(r.State)
	if err != nil {
		return err
	}
	e.frame = append(e.frame, state)
	e.frame = binary.AppendUvarint(e.frame, r.has())
	e.text(string(r.Job))
	e.shared(0, r.User)
	e.shared(1, r.Crontab)
	e.shared(2, r.Schedule)
	e.shared(3, r.Zone)
	e.size(r.Line)
	e.text(r.Command)
	e.size(r.Streak)
	e.time(r.Next)
	e.time(r.Began)
	e.time(r.HeldUntil)
	e.time(r.Last)
	e.size(int(r.LastRun))
	e.number(int64(r.Took))
	if r.Live != 0 {
		e.size(r.Live)
	}
	if r.Ending != "" {
		e.text(r.Ending)
	}
	if r.Why != "" {
		e.text(r.Why)
	}
	if r.Node != "" {
		e.shared(4, r.Node)
	}
	if r.Elsewhere != "" {
		e.shared(5, r.Elsewhere)
	}
	return nil
}

func stateNumber(s job.State) (byte, error) {
	for i, known := range boardStates {
		if s == known {
			return byte(i), nil
		}
	}
	return 0, fmt.Errorf("encode row: invalid state %q", s)
}

func (r *Row) has() (has uint64) {
	for _, f := range []struct {
		bit uint64
		set bool
	}{
		{hasProtected, r.Protected}, {hasAcked, r.Acked}, {hasNext, !r.Next.IsZero()}, {hasBegan, !r.Began.IsZero()},
		{hasLast, !r.Last.IsZero()}, {hasHeldUntil, !r.HeldUntil.IsZero()}, {hasEnding, r.Ending != ""},
		{hasWhy, r.Why != ""}, {hasLive, r.Live != 0}, {hasFixed, r.Fixed},
		{hasNode, r.Node != ""}, {hasElsewhere, r.Elsewhere != ""},
	} {
		if f.set {
			has |= f.bit
		}
	}
	return has
}

func (e *BoardEncoder) number(n int64) { e.frame = binary.AppendVarint(e.frame, n) }
func (e *BoardEncoder) size(n int)     { e.frame = binary.AppendUvarint(e.frame, uint64(n)) }

// time writes nothing for the zero time; the row's bits in has record that.
func (e *BoardEncoder) time(t time.Time) {
	if !t.IsZero() {
		e.number(t.UnixNano() - e.now)
	}
}

func (e *BoardEncoder) flag(set bool) {
	if set {
		e.frame = append(e.frame, 1)
		return
	}
	e.frame = append(e.frame, 0)
}

func (e *BoardEncoder) text(text string) {
	e.size(len(text))
	e.frame = append(e.frame, text...)
}

// shared writes a text of a column, or its index in the stream if it was sent before. 0 precedes a
// text that is not stored for later use, 1 a text that is stored from here on.
func (e *BoardEncoder) shared(column int, text string) {
	latest := &e.latest[column]
	if latest.ref >= 2 && latest.text == text {
		e.frame = binary.AppendUvarint(e.frame, latest.ref)
		return
	}
	ref, known := e.known[text]
	switch {
	case known:
		e.frame = binary.AppendUvarint(e.frame, ref)
	case len(e.known) == sharedTexts || len(text) > sharedLength:
		e.frame = append(e.frame, 0)
		e.text(text)
	default:
		ref = uint64(len(e.known)) + 2
		e.known[text] = ref
		e.frame = append(e.frame, 1)
		e.text(text)
	}
	*latest = sharedText{text, ref}
}

// boardDecoder reads updates.
type boardDecoder struct {
	from    *bufio.Reader
	payload []byte // of the newest frame
	known   []string
}

var errFrame = errors.New("read board: a frame is cut short or makes no sense")

// newBoardDecoder reads the greeting.
func newBoardDecoder(from io.Reader) (*boardDecoder, error) {
	d := &boardDecoder{from: bufio.NewReaderSize(from, 64<<10)}
	greeting := make([]byte, len(boardGreeting))
	if _, err := io.ReadFull(d.from, greeting); err != nil {
		return nil, fmt.Errorf("read board: %w", err)
	}
	if string(greeting) != boardGreeting {
		return nil, fmt.Errorf("read board: the daemon has another version: %q", greeting)
	}
	return d, nil
}

// next is the next update; io.EOF is the end of the stream.
func (d *boardDecoder) next() (BoardUpdate, error) {
	kind, err := d.from.ReadByte()
	if err != nil {
		return BoardUpdate{}, err
	}
	size, err := binary.ReadUvarint(d.from)
	if err != nil || size > maxFrame {
		return BoardUpdate{}, errors.Join(errFrame, err)
	}
	d.payload = slices.Grow(d.payload[:0], int(size))[:size]
	if _, err := io.ReadFull(d.from, d.payload); err != nil {
		return BoardUpdate{}, fmt.Errorf("read board: %w", err)
	}
	switch kind {
	case frameUpdate:
		return d.update(string(d.payload))
	case frameError:
		var e Error
		if err := json.Unmarshal(d.payload, &e); err != nil {
			return BoardUpdate{}, errors.Join(errFrame, err)
		}
		return BoardUpdate{}, &e
	}
	return BoardUpdate{}, errFrame
}

func (d *boardDecoder) update(payload string) (BoardUpdate, error) {
	f := frame{rest: payload, decoder: d}
	f.now = f.number()
	u := BoardUpdate{Now: time.Unix(0, f.now).UTC()}
	if head := f.text(); head != "" {
		u.Head = new(Status)
		if err := json.Unmarshal([]byte(head), u.Head); err != nil {
			return u, errors.Join(errFrame, err)
		}
	}
	u.Complete = f.byte() != 0
	if n := f.count(); n > 0 {
		u.Gone = make([]job.ID, n)
	}
	for i := range u.Gone {
		u.Gone[i] = job.ID(f.text())
	}
	switch n := f.count(); {
	case n > maxRows:
		return u, errFrame
	case n > 0:
		u.Rows = makeRows(n)
	}
	for i := range u.Rows {
		f.row(&u.Rows[i])
	}
	if f.bad || f.rest != "" {
		return u, errFrame
	}
	return u, nil
}

// freeRows has the rows of updates that were given back.
var freeRows sync.Pool

func makeRows(n int) []Row {
	if rows, ok := freeRows.Get().(*[]Row); ok && cap(*rows) >= n {
		return (*rows)[:n]
	}
	return make([]Row, n)
}

// Free returns the rows to the pool when the caller no longer needs them. Reading a hundred
// thousand rows one update at a time then needs the memory of a few thousand.
func (u *BoardUpdate) Free() {
	if len(u.Rows) == 0 {
		return
	}
	clear(u.Rows)
	rows := u.Rows[:0]
	u.Rows = nil
	freeRows.Put(&rows)
}

// frame is a frame that is being read. After the first invalid value it is bad, and all further
// values are zero.
type frame struct {
	rest    string
	decoder *boardDecoder
	now     int64
	bad     bool
}

func (f *frame) row(r *Row) {
	state, has := f.byte(), f.unsigned()
	if int(state) >= len(boardStates) {
		f.spoil()
		return
	}
	r.State = boardStates[state]
	r.Protected, r.Acked, r.Fixed = has&hasProtected != 0, has&hasAcked != 0, has&hasFixed != 0
	r.Job = job.ID(f.text())
	r.User, r.Crontab, r.Schedule, r.Zone = f.shared(), f.shared(), f.shared(), f.shared()
	r.Line = int(f.unsigned())
	r.Command = f.text()
	r.Streak = int(f.unsigned())
	r.Next, r.Began, r.HeldUntil = f.time(has&hasNext), f.time(has&hasBegan), f.time(has&hasHeldUntil)
	r.Last = f.time(has & hasLast)
	r.LastRun = job.RunID(f.unsigned())
	r.Took = time.Duration(f.number())
	if has&hasLive != 0 {
		r.Live = int(f.unsigned())
	}
	if has&hasEnding != 0 {
		r.Ending = f.text()
	}
	if has&hasWhy != 0 {
		r.Why = f.text()
	}
	if has&hasNode != 0 {
		r.Node = f.shared()
	}
	if has&hasElsewhere != 0 {
		r.Elsewhere = f.shared()
	}
}

func (f *frame) spoil() { f.bad, f.rest = true, "" }

func (f *frame) byte() byte {
	if f.rest == "" {
		f.spoil()
		return 0
	}
	b := f.rest[0]
	f.rest = f.rest[1:]
	return b
}

func (f *frame) unsigned() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := f.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	f.spoil()
	return 0
}

func (f *frame) number() int64 {
	n := f.unsigned()
	return int64(n>>1) ^ -int64(n&1)
}

func (f *frame) time(has uint64) time.Time {
	if has == 0 {
		return time.Time{}
	}
	return time.Unix(0, f.now+f.number()).UTC()
}

// count returns the number of items that follow, each of at least one byte.
func (f *frame) count() int {
	n := f.unsigned()
	if n > uint64(len(f.rest)) {
		f.spoil()
		return 0
	}
	return int(n)
}

// text shares the memory of the frame.
func (f *frame) text() string {
	n := f.count()
	text := f.rest[:n]
	f.rest = f.rest[n:]
	return text
}

func (f *frame) shared() string {
	known := &f.decoder.known
	ref := f.unsigned()
	switch {
	case ref == 0:
		return f.text()
	case ref == 1:
		text := string([]byte(f.text()))
		if len(*known) < sharedTexts {
			*known = append(*known, text)
		}
		return text
	case ref-2 < uint64(len(*known)):
		return (*known)[ref-2]
	}
	f.spoil()
	return ""
}
