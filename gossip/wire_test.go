package gossip

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/register"
)

func someMeta() meta {
	at := time.Unix(1700000000, 5).UTC()
	return meta{
		name: "web1.example", version: "1.2.3", order: 3, linkPort: 7947, weight: 2.5,
		since: at, stamp: at.Add(2), part: Draining,
		root: digest{1, 2}, edited: at.Add(3), keys: []uint32{7, 8},
		labels: map[string]string{"zone": "a", "disk": "ssd"}, labelSum: sumLabels(map[string]string{"zone": "a", "disk": "ssd"}),
		rules: Rules{Strict: true, HoldOff: 1500 * time.Millisecond},
	}
}

func TestMetaThereAndBack(t *testing.T) {
	want := someMeta()
	got, err := decodeMeta(want.encode())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestMetaAtItsLongest holds it below the 512 bytes at which memberlist panics.
func TestMetaAtItsLongest(t *testing.T) {
	m := someMeta()
	m.name, m.version = strings.Repeat("n", maxName), strings.Repeat("v", maxVersion)
	m.keys = make([]uint32, maxKeys)
	for n := range maxLabels + 1 {
		m.labels = map[string]string{}
		for i := range n {
			m.labels[fmt.Sprintf("%02d", i)+strings.Repeat("k", maxLabel-2)] = strings.Repeat("v", maxLabel)
		}
		b := m.encode()
		if len(b) > maxMeta {
			t.Fatalf("%d labels: %d bytes, want at most %d", n, len(b), maxMeta)
		}
		got, err := decodeMeta(b)
		if err != nil {
			t.Fatalf("%d labels: %v", n, err)
		}
		if got.labelSum != sumLabels(m.labels) || !got.wide && len(got.labels) != n {
			t.Errorf("%d labels: they are neither there nor said to be missing", n)
		}
	}
}

func FuzzMeta(f *testing.F) {
	m := someMeta()
	f.Add(m.encode())
	m.labels = nil
	f.Add(m.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMeta(b)
		if err != nil {
			return
		}
		if m.wide { // its labels are not there to be written again
			return
		}
		if got, err := decodeMeta(m.encode()); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("read %+v, written and read again %+v, %v", m, got, err)
		}
	})
}

func someRoster(n int) *roster {
	entries := make([]catalog.Holding, n)
	for i := range entries {
		entries[i] = catalog.Holding{Key: numbered(uint64(i+1) * 0x9e3779b97f4a7c15), Hash: numbered(uint64(i))}
	}
	return newRoster(entries)
}

// differenceOf requests all pages over a link.
func differenceOf(t *testing.T, ours, theirs *roster, before difference, now time.Time) difference {
	t.Helper()
	board := &switchboard{handlers: make(map[string]map[string]link.Handler)}
	asker, other := idle(t), idle(t)
	asker.o.Link = jack{board, "a", "1"}
	other.setRoster(theirs)
	jack{board, "b", "2"}.Handle(verbRoster, other.answerRoster)
	all, err := asker.fetch(t.Context(), link.Peer{ID: "b", Addr: "2"})
	if err != nil {
		t.Fatal(err)
	}
	if all.root != theirs.root {
		t.Errorf("got the root %x, want %x", all.root, theirs.root)
	}
	return ours.compare(all.entries, before, now)
}

func TestRosterDifference(t *testing.T) {
	noon := time.Unix(1700000000, 0).UTC()
	for _, n := range []int{0, 1, 100, 20000} {
		ours := someRoster(n)
		changed := slices.Clone(ours.entries)
		want := map[job.Key]register.Lack{}
		for i := 0; i < len(changed); i += 50 {
			ours := changed[i].Hash
			changed[i].Hash[3]++
			want[changed[i].Key] = register.Lack{Ours: ours, Theirs: changed[i].Hash, Since: noon}
		}
		if n > 2 {
			want[changed[n-1].Key] = register.Lack{Ours: ours.entries[n-1].Hash, Since: noon}
			changed = changed[:n-1]
		}
		changed = append(changed, catalog.Holding{Key: numbered(3), Hash: numbered(3)})
		d := differenceOf(t, ours, newRoster(changed), difference{}, noon)
		if !maps.Equal(d.lacks, want) || !slices.Equal(d.extra, []job.Key{numbered(3)}) {
			t.Errorf("%d entries: lacks %d, extra %v, want %d and 3", n, len(d.lacks), d.extra, len(want))
		}
		if n < 100 {
			continue
		}
		changed[50].Hash[3]++
		later := differenceOf(t, ours, newRoster(changed), d, noon.Add(time.Hour))
		if got := later.lacks[changed[50].Key].Since; !got.Equal(noon.Add(time.Hour)) {
			t.Errorf("an entry that was edited again differs since %v, want the later edit", got)
		}
		if got := later.lacks[changed[0].Key].Since; !got.Equal(noon) {
			t.Errorf("an entry that was not edited again differs since %v, want the first edit", got)
		}
	}
	if d := differenceOf(t, someRoster(0), someRoster(20000), difference{}, noon); len(d.extra) != maxExtra {
		t.Errorf("of a large one %d entries are kept, want %d", len(d.extra), maxExtra)
	}
}

func FuzzPage(f *testing.F) {
	ours := someRoster(40)
	p := someRoster(60).page(0, map[string]string{"a": "b"})
	f.Add(p.encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePage(b)
		if err != nil {
			return
		}
		if got := p.encode(); !bytes.Equal(got, b) {
			t.Errorf("read %x, written again %x", b, got)
		}
		for key := range ours.compare(p.entries, difference{}, time.Now()).lacks {
			if _, ok := ours.find(key); !ok {
				t.Errorf("lacks %x, which nobody holds here", key)
			}
		}
	})
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x07\x00\x00\x00\x02ab\x00\x00\x00\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, messages, err := decodeMessages(b)
		if err == nil && len(slices.Concat(messages...))+4*len(messages)+4 != len(b) {
			t.Errorf("%x: %d messages do not make it up", b, len(messages))
		}
	})
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("# comment\n" + strings.Repeat("A", 43) + "=\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		keys, err := ParseKeys(b)
		if err == nil && checkKeys(keys) != nil {
			t.Errorf("%q: %v", b, checkKeys(keys))
		}
	})
}

// FuzzState feeds an inbox what memberlist would from a push/pull or a packet.
func FuzzState(f *testing.F) {
	f.Add([]byte{0x11})
	f.Add([]byte("\x11\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x02id\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := idle(t)
		r.box.NotifyMsg(b)
		r.box.MergeRemoteState(b, true)
		r.process(r.box.take())
		if _, err := r.answerClaim(over(), "id-9", b); err == nil {
			t.Error("a claim was answered by a ring that does not run")
		}
	})
}

// TestStampsHaveAnEnd: if a message carried the largest stamp, its supposed sender could never
// send a newer one.
func TestStampsHaveAnEnd(t *testing.T) {
	now := time.Unix(1700000000, 0).UTC()
	m := meta{name: "a", weight: 1, since: now, stamp: now.AddDate(100, 0, 0)}
	if _, err := decodeMeta(m.encode()); err != nil {
		t.Errorf("a clock that is a century ahead: %v", err)
	}
	m.stamp = time.Unix(0, math.MaxInt64)
	if _, err := decodeMeta(m.encode()); err == nil {
		t.Error("the last stamp is taken, want an error")
	}
}
