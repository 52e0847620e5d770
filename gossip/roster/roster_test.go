package roster

import (
	"encoding/binary"
	"reflect"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

func someRoster(n int) *Roster {
	entries := make([]catalog.Holding, n)
	for i := range entries {
		entries[i] = catalog.Holding{Key: numbered(uint64(i+1) * 0x9e3779b97f4a7c15), Hash: numbered(uint64(i))}
	}
	return New(entries)
}

func FuzzPage(f *testing.F) {
	ours := someRoster(40)
	p := someRoster(60).Page(0)
	f.Add(p.Encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePage(b)
		if err != nil {
			return
		}
		if again, err := DecodePage(append(p.Encode(), "later"...)); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("read %+v, then %+v (%v)", p, again, err)
		}
		for key := range ours.Compare(p.Entries, Difference{}, time.Now()).Lacks {
			if _, ok := ours.Find(key); !ok {
				t.Errorf("lacks %x, which nobody holds here", key)
			}
		}
	})
}

// numbered returns a key that contains a number.
func numbered(n uint64) (k job.Key) {
	binary.BigEndian.PutUint64(k[:], n)
	return k
}
