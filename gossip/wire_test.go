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

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

func someMeta() meta {
	at := time.Unix(1700000000, 5).UTC()
	return meta{
		name: "web1.example", version: "1.2.3", order: 3, linkPort: 7947, weight: 2.5,
		since: at, from: at.Add(time.Second), until: at.Add(time.Hour), stamp: at.Add(2), leaving: true,
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
	entries := make([]engine.Holding, n)
	for i := range entries {
		entries[i] = engine.Holding{Key: numbered(uint64(i+1) * 0x9e3779b97f4a7c15), Hash: numbered(uint64(i))}
	}
	return newRoster(entries, nil, time.Time{})
}

// differenceOf asks for all pages, as fetch does over a link.
func differenceOf(t *testing.T, ours, theirs *roster) (d difference, pages int) {
	t.Helper()
	for first := 0; first < buckets; pages++ {
		from, have, err := decodeQuery(encodeQuery(first, &ours.buckets))
		if err != nil {
			t.Fatal(err)
		}
		sent := theirs.page(from, have, map[string]string{"a": "b"})
		b := sent.encode()
		if len(b) > 1<<20 {
			t.Fatalf("a page of %d bytes", len(b))
		}
		p, err := decodePage(b, first)
		if err != nil {
			t.Fatal(err)
		}
		d.compare(ours, &p)
		first = p.next
	}
	return d, pages
}

func TestRosterDifference(t *testing.T) {
	for _, n := range []int{0, 1, 100, 20000} {
		ours := someRoster(n)
		changed := slices.Clone(ours.entries)
		wantLacks, wantOther := map[job.Key]bool{}, map[job.Key]bool{}
		for i := 0; i < len(changed); i += 50 {
			changed[i].Hash[3]++
			wantLacks[changed[i].Key], wantOther[changed[i].Key] = true, true
		}
		if n > 2 {
			wantLacks[changed[n-1].Key] = true
			delete(wantOther, changed[n-1].Key)
			changed = changed[:n-1]
		}
		changed = append(changed, engine.Holding{Key: numbered(3), Hash: numbered(3)})
		d, _ := differenceOf(t, ours, newRoster(changed, nil, time.Time{}))
		if len(wantLacks) == 0 {
			wantLacks = nil
		}
		if !maps.Equal(d.lacks, wantLacks) || !maps.Equal(d.other, wantOther) || !slices.Equal(d.extra, []job.Key{numbered(3)}) {
			t.Errorf("%d entries: lacks %d, others %d, extra %v, want %d, %d and 3", n, len(d.lacks), len(d.other), d.extra, len(wantLacks), len(wantOther))
		}
	}
}

func TestRosterAsked(t *testing.T) {
	large := someRoster(100_000)
	if _, pages := differenceOf(t, large, large); pages != 1 {
		t.Errorf("equal rosters took %d pages, want 1", pages)
	}
	d, pages := differenceOf(t, someRoster(0), large)
	if pages < 2 || len(d.extra) != maxExtra {
		t.Errorf("all of a large one: %d pages, %d entries kept, want some pages and %d", pages, len(d.extra), maxExtra)
	}
}

func TestRosterManyEditedAtOnce(t *testing.T) {
	old := someRoster(maxRecent + 10)
	changed := slices.Clone(old.entries)
	for i := range changed {
		changed[i].Hash[0]++
	}
	since := time.Unix(1700000000, 0)
	r := newRoster(changed, old, since)
	if len(r.recent) != 0 || !r.floor.Equal(since) {
		t.Errorf("%d said one by one, all count from %v, want none and %v", len(r.recent), r.floor, since)
	}
	next := slices.Clone(changed)
	next[3].Hash[0]++
	later := since.Add(recentFor + time.Minute)
	r = newRoster(next, newRoster(next[:5], r, since), later)
	if got := r.recent[next[4].Key]; !got.IsZero() {
		t.Errorf("an entry that was not edited counts from %v", got)
	}
}

func FuzzPage(f *testing.F) {
	ours, theirs := someRoster(40), someRoster(60)
	p := theirs.page(0, &ours.buckets, map[string]string{"a": "b"})
	p.recent = map[job.Key]time.Time{numbered(5): time.Unix(9, 9)}
	f.Add(p.encode(), 0)
	f.Add([]byte{}, 3)
	f.Fuzz(func(t *testing.T, b []byte, first int) {
		p, err := decodePage(b, first)
		if err != nil {
			return
		}
		var d difference
		d.compare(ours, &p)
		for key := range d.lacks {
			if _, ok := ours.find(key); !ok {
				t.Errorf("lacks %x, which nobody holds here", key)
			}
		}
	})
}

func FuzzQuery(f *testing.F) {
	f.Add(encodeQuery(3, &someRoster(10).buckets))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		first, have, err := decodeQuery(b)
		if err == nil && !bytes.Equal(encodeQuery(first, have), b) {
			t.Errorf("read %x, written again otherwise", b)
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
		r.hear(r.box.take())
		if _, err := r.answerClaim(over(), "id-9", b); err == nil {
			t.Error("a claim was answered by a ring that does not run")
		}
	})
}

// TestStampsHaveAnEnd: who is said to have given the last stamp there is could say
// nothing any more.
func TestStampsHaveAnEnd(t *testing.T) {
	now := time.Unix(1700000000, 0).UTC()
	m := meta{name: "a", weight: 1, since: now, from: now, stamp: now.AddDate(100, 0, 0)}
	if _, err := decodeMeta(m.encode()); err != nil {
		t.Errorf("a clock that is a century ahead: %v", err)
	}
	m.stamp = fromNano(math.MaxInt64)
	if _, err := decodeMeta(m.encode()); err == nil {
		t.Error("the last stamp is taken, want an error")
	}
}
