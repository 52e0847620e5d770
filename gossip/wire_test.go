package gossip

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/roster"
)

func someRoster(n int) *roster.Roster {
	entries := make([]catalog.Holding, n)
	for i := range entries {
		entries[i] = catalog.Holding{Key: numbered(uint64(i+1) * 0x9e3779b97f4a7c15), Hash: numbered(uint64(i))}
	}
	return roster.New(entries)
}

// differenceOf requests all pages over a link.
func differenceOf(t *testing.T, ours, theirs *roster.Roster, before roster.Difference, now time.Time) roster.Difference {
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
	if all.Root != theirs.Root {
		t.Errorf("got the root %x, want %x", all.Root, theirs.Root)
	}
	return ours.Compare(all.Entries, before, now)
}

func TestRosterDifference(t *testing.T) {
	noon := time.Unix(1700000000, 0).UTC()
	for _, n := range []int{0, 1, 100, 20000} {
		ours := someRoster(n)
		changed := slices.Clone(ours.Entries)
		want := map[job.Key]holders.Lack{}
		for i := 0; i < len(changed); i += 50 {
			ours := changed[i].Hash
			changed[i].Hash[3]++
			want[changed[i].Key] = holders.Lack{Ours: ours, Theirs: changed[i].Hash, Since: noon}
		}
		if n > 2 {
			want[changed[n-1].Key] = holders.Lack{Ours: ours.Entries[n-1].Hash, Since: noon}
			changed = changed[:n-1]
		}
		changed = append(changed, catalog.Holding{Key: numbered(3), Hash: numbered(3)})
		d := differenceOf(t, ours, roster.New(changed), roster.Difference{}, noon)
		if !maps.Equal(d.Lacks, want) || !slices.Equal(d.Extra, []job.Key{numbered(3)}) {
			t.Errorf("%d entries: lacks %d, extra %v, want %d and 3", n, len(d.Lacks), d.Extra, len(want))
		}
		if n < 100 {
			continue
		}
		changed[50].Hash[3]++
		later := differenceOf(t, ours, roster.New(changed), d, noon.Add(time.Hour))
		if got := later.Lacks[changed[50].Key].Since; !got.Equal(noon.Add(time.Hour)) {
			t.Errorf("an entry that was edited again differs since %v, want the later edit", got)
		}
		if got := later.Lacks[changed[0].Key].Since; !got.Equal(noon) {
			t.Errorf("an entry that was not edited again differs since %v, want the first edit", got)
		}
	}
	if d := differenceOf(t, someRoster(0), someRoster(20000), roster.Difference{}, noon); len(d.Extra) != roster.MaxExtra {
		t.Errorf("of a large one %d entries are kept, want %d", len(d.Extra), roster.MaxExtra)
	}
}

// FuzzDecoders feeds a ring what the link and memberlist would.
func FuzzDecoders(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x07\x00\x00\x00\x02ab\x00\x00\x00\x00"))
	f.Add([]byte{})
	f.Add([]byte{0x11})
	f.Add([]byte("\x11\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x02id\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkMessages(t, b)
		checkState(t, b)
	})
}

func checkMessages(t *testing.T, b []byte) {
	_, messages, err := decodeMessages(b)
	if err == nil && len(slices.Concat(messages...))+4*len(messages)+4 != len(b) {
		t.Errorf("%x: %d messages do not make it up", b, len(messages))
	}
}

func checkState(t *testing.T, b []byte) {
	r := idle(t)
	r.box.NotifyMsg(b)
	r.box.MergeRemoteState(b, true)
	r.process(r.box.Take())
	if _, err := r.answerClaim(over(), "id-9", b); err == nil {
		t.Error("a claim was answered by a ring that does not run")
	}
}
