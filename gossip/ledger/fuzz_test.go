package ledger

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/ledger/disk"
	"github.com/cronring/cronring/gossip/wire"
)

func logOf(index uint64, data []byte) *raft.Log { return &raft.Log{Index: index, Data: data} }

type readCloser struct{ io.Reader }

func (readCloser) Close() error { return nil }

var unexported = cmp.AllowUnexported(entry{}, batch{}, claim{}, request{}, newestToken{}, answer{}, result{}, hello{})

// resum sets the checksum of fuzzed bytes, so that the decoder reads past it.
func resum(b []byte) []byte {
	sum := crc32.Checksum(b, crcTable)
	return append(bytes.Clone(b), byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
}

// formerEntry returns an entry without its checksum as version 0.7.0 wrote it.
func formerEntry(e entry) []byte {
	b := binary.BigEndian.AppendUint64([]byte{formerForm}, uint64(e.time))
	b = binary.AppendUvarint(b, uint64(len(e.batches)))
	for _, batch := range e.batches {
		b = binary.AppendUvarint(wire.AppendText(b, batch.claimant), uint64(len(batch.claims)))
		for _, c := range batch.claims {
			b = binary.BigEndian.AppendUint64(b, c.former)
			b = binary.BigEndian.AppendUint64(b, uint64(c.Due))
			b = append(wire.AppendText(b, c.from), 0)
		}
	}
	return b
}

// FuzzDecoders checks that what is read stays the same when it is written and read again.
func FuzzDecoders(f *testing.F) {
	e := entry{time: 7, batches: []batch{{"a", 8, []claim{{exchange.Occurrence{Key: numbered(1), Due: -2}, numbered(5), 6, 7, "", 0}, {Occurrence: exchange.Occurrence{Key: numbered(3), Due: 4}, from: "b", gaveUp: 9}}}, {"c", 0, nil}}}
	whole := e.encode()
	f.Add(whole[:len(whole)-4])
	f.Add(entry{}.encode())
	f.Add(formerEntry(e))
	f.Add(request{true, newestToken{9, 2}, batch{"a", 8, []claim{{exchange.Occurrence{Key: numbered(1), Due: 2}, numbered(5), 6, 7, "b", 9}}}}.encode())
	f.Add(answer{true, "c", []result{{holders.Granted, "", 5, false, 0}, {holders.Refused, "b", 0, true, 0}}}.encode())
	f.Add(answer{leader: "b"}.encode())
	f.Add(append(hello{"0123456789abcdef", true, []string{"a", "b"}, disk.Progress{Incarnation: "0123456789abcdef", Term: 1, Index: 2}, disk.Progress{Term: 3}}.encode(), "more"...))
	g := newGrants()
	g.apply(1, entry{time: noon.UnixNano(), batches: []batch{{"a", 0, []claim{at(1, noon), at(2, noon)}}, {"b", 0, []claim{at(3, noon.AddDate(0, 0, 1))}}}})
	g.floors[7] = g.order[1]
	var b bytes.Buffer
	if err := g.freeze().encode(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(append([]byte{formerForm}, b.Bytes()[1:]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkEntry(t, b)
		checkRequest(t, b)
		checkAnswer(t, b)
		checkHello(t, b)
		checkSnapshot(t, b)
	})
}

func checkEntry(t *testing.T, b []byte) {
	decodeEntry(b)
	e, err := decodeEntry(resum(b))
	if err != nil {
		return
	}
	again, err := decodeEntry(e.encode())
	if err != nil {
		t.Fatalf("written anew: %v", err)
	}
	if d := cmp.Diff(e, again, unexported); d != "" {
		t.Error(d)
	}
	newGrants().apply(1, e)
}

func checkRequest(t *testing.T, b []byte) {
	q, err := decodeRequest(b)
	if err != nil {
		return
	}
	again, err := decodeRequest(append(q.encode(), "later"...))
	if d := cmp.Diff(q, again, unexported); d != "" || err != nil {
		t.Error(err, d)
	}
}

func checkAnswer(t *testing.T, b []byte) {
	a, err := decodeAnswer(b)
	if err != nil {
		return
	}
	again, err := decodeAnswer(append(a.encode(), "later"...))
	if d := cmp.Diff(a, again, unexported); d != "" || err != nil {
		t.Error(err, d)
	}
}

// TestHelloOfAnOlderVersion: it ends before the progress of the voters.
func TestHelloOfAnOlderVersion(t *testing.T) {
	want := hello{incarnation: log16, fresh: true, voters: three}
	b := want.encode()
	got, err := decodeHello(b[:len(b)-2*len(disk.Progress{}.AppendTo(nil))])
	if d := cmp.Diff(want, got, unexported); d != "" || err != nil {
		t.Error(err, d)
	}
}

func checkHello(t *testing.T, b []byte) {
	h, err := decodeHello(b)
	if err != nil {
		return
	}
	again, err := decodeHello(append(h.encode(), "later"...))
	if d := cmp.Diff(h, again, unexported); d != "" || err != nil {
		t.Error(err, d)
	}
}

func checkSnapshot(t *testing.T, b []byte) {
	g, err := decodeGrants(bytes.NewReader(b))
	if err != nil {
		return
	}
	count := 0
	for minute, b := range g.buckets {
		count += len(b.grants)
		for o := range b.grants {
			if minuteOf(o.Due) != minute {
				t.Errorf("%+v is in the bucket of minute %d", o, minute)
			}
		}
	}
	if count != g.count || len(g.order) != len(g.buckets) {
		t.Errorf("got %d grants in %d buckets, counted %d in %d", count, len(g.buckets), g.count, len(g.order))
	}
	var out bytes.Buffer
	if err := g.freeze().encode(&out); err != nil {
		t.Fatal(err)
	}
	again, err := decodeGrants(&out)
	if err != nil || again.count != g.count || again.floor != g.floor || !maps.Equal(again.floors, g.floors) || !maps.Equal(again.counts, g.counts) {
		t.Errorf("written anew: got %+v, %v, want %+v", again, err, g)
	}
}
