package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestCheckID(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "0f-9": true, "": false, "A": false, "a/b": false, "a b": false, "aAb": false, "a\nb": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
	} {
		if got := CheckID(id) == nil; got != want {
			t.Errorf("CheckID(%q): got %v, want %v", id, got, want)
		}
	}
}

// message has a value of each kind.
func message() []byte {
	var members Members
	b := []byte{8}
	b = binary.BigEndian.AppendUint32(b, 32)
	b = binary.BigEndian.AppendUint64(b, 64)
	b = binary.AppendVarint(binary.AppendUvarint(b, math.MaxUint64), math.MinInt64)
	b = AppendBool(AppendBool(b, true), false)
	b = AppendTime(AppendTime(AppendFloat(b, 2.5), time.Unix(7, 8)), time.Time{})
	b = append(b, "sixteen bytes ok"...)
	b = AppendText(AppendText(AppendText(b, "text"), "a-1"), "")
	for _, id := range []string{"a", "b", "a"} {
		b = members.Append(b, id)
	}
	return append(binary.AppendUvarint(b, 2), 1, 2)
}

func readMessage(t *testing.T, r *Reader) {
	t.Helper()
	var members Members
	equal(t, "numbers", []uint64{uint64(r.Uint8()), uint64(r.Uint32()), r.Uint64(), r.Uvarint()}, []uint64{8, 32, 64, math.MaxUint64})
	equal(t, "signed number", []int64{r.Varint()}, []int64{math.MinInt64})
	equal(t, "booleans", []bool{r.Bool(), r.Bool()}, []bool{true, false})
	equal(t, "float", []float64{r.Float()}, []float64{2.5})
	equal(t, "times", []time.Time{r.Time(), r.Time()}, []time.Time{time.Unix(7, 8).UTC(), {}})
	key := r.Key()
	equal(t, "texts", []string{string(key[:]), r.Text(4), r.Member(), r.MemberOrNone()}, []string{"sixteen bytes ok", "text", "a-1", ""})
	equal(t, "members", []string{members.Read(r), members.Read(r), members.Read(r)}, []string{"a", "b", "a"})
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestReaderReadsWhatWasAppended(t *testing.T) {
	r := NewReader(message())
	readMessage(t, r)
	equal(t, "count", []int{r.Count(2, 1)}, []int{2})
	if !r.More() {
		t.Error("there is no more, want 2 bytes")
	}
	equal(t, "bytes", r.Take(2), []byte{1, 2})
	if err := r.End(); err != nil || r.More() {
		t.Errorf("at the end: %v", err)
	}
	s := NewStream(iotest.OneByteReader(bytes.NewReader(message())))
	readMessage(t, s)
	equal(t, "bytes of the stream", s.Take(3), []byte{2, 1, 2})
	if err := s.End(); err != nil {
		t.Errorf("at the end of the stream: %v", err)
	}
}

func TestReaderRejectsWhatNobodyWrites(t *testing.T) {
	for name, read := range map[string]func(r *Reader){
		"too short":        func(r *Reader) { r.Uint64() },
		"a negative size":  func(r *Reader) { r.Take(-1) },
		"no boolean":       func(r *Reader) { r.Uint8(); r.Bool() },
		"too long a text":  func(r *Reader) { r.Text(1) },
		"too many values":  func(r *Reader) { r.Count(1, 1) },
		"more than follow": func(r *Reader) { r.Count(2, 2) },
		"no member ID":     func(r *Reader) { r.Member() },
		"an unknown number": func(r *Reader) {
			var members Members
			members.Read(r)
		},
		"more than expected": func(r *Reader) { r.End() },
		"a broken rule":      func(r *Reader) { r.Check(false) },
	} {
		r := NewReader([]byte{2, 3, 4})
		read(r)
		if r.Err() != ErrMalformed {
			t.Errorf("%s: got %v, want %v", name, r.Err(), ErrMalformed)
		}
		if n := r.Uint8(); n != 0 || r.More() {
			t.Errorf("%s: after the error there is %d", name, n)
		}
	}
	for name, b := range map[string]string{"a member twice": "\x00\x01a\x01\x01a", "a number that is too long": "\x80\x00\x01a"} {
		var members Members
		r := NewReader([]byte(b))
		for r.More() {
			members.Read(r)
		}
		if r.Err() != ErrMalformed {
			t.Errorf("%s: got %v, want %v", name, r.Err(), ErrMalformed)
		}
	}
	broken := errors.New("broken disk")
	r := NewStream(io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)))
	if r.Uint32(); r.Err() != broken {
		t.Errorf("a broken stream: got %v", r.Err())
	}
}

// FuzzMembers checks that accepted bytes are equal to the output of Append.
func FuzzMembers(f *testing.F) {
	f.Add([]byte("\x00\x01a\x01\x01b\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var in, out Members
		var again []byte
		r := NewReader(b)
		for r.More() {
			if id := in.Read(r); r.Err() == nil {
				again = out.Append(again, id)
			}
		}
		if r.Err() == nil && !bytes.Equal(again, b) {
			t.Errorf("%x was written again as %x", b, again)
		}
	})
}
