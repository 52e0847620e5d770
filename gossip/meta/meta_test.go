package meta

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func someMeta() Meta {
	at := time.Unix(1700000000, 5).UTC()
	return Meta{
		Name: "web1.example", Version: "1.2.3", Weight: 2.5,
		Since: at, Stamp: at.Add(2), Part: Draining,
		Root: Digest{1, 2}, Edited: at.Add(3), Keys: []uint32{7, 8},
		Labels: map[string]string{"zone": "a", "disk": "ssd"},
		Rules:  Rules{Strict: true, HoldOff: 1500 * time.Millisecond, Voters: VotersSum([]string{"a", "b", "c"})},
	}
}

func TestMetaThereAndBack(t *testing.T) {
	want := someMeta()
	got, err := Decode(want.Encode())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestMetaAtItsLongest holds it below the 512 bytes at which memberlist panics.
func TestMetaAtItsLongest(t *testing.T) {
	m := someMeta()
	m.Name, m.Version = strings.Repeat("n", MaxName), strings.Repeat("v", MaxVersion)
	m.Keys = make([]uint32, MaxKeys)
	m.Labels = map[string]string{}
	for i := 0; len(AppendLabels(nil, m.Labels)) < MaxLabels; i++ {
		m.Labels[string(rune('!'+i))] = ""
	}
	b := m.Encode()
	if len(b) > maxMeta {
		t.Errorf("%d bytes, want at most %d", len(b), maxMeta)
	}
	if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, %v, want %+v", got, err, m)
	}
}

func FuzzMeta(f *testing.F) {
	m := someMeta()
	f.Add(m.Encode())
	m.Labels = nil
	f.Add(m.Encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		if got, err := Decode(m.Encode()); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("read %+v, written and read again %+v, %v", m, got, err)
		}
	})
}

// TestStampsHaveAnEnd: if a message carried the largest stamp, its supposed sender could never
// send a newer one.
func TestStampsHaveAnEnd(t *testing.T) {
	now := time.Unix(1700000000, 0).UTC()
	m := Meta{Name: "a", Weight: 1, Since: now, Stamp: now.AddDate(100, 0, 0)}
	if _, err := Decode(m.Encode()); err != nil {
		t.Errorf("a clock that is a century ahead: %v", err)
	}
	m.Stamp = time.Unix(0, math.MaxInt64)
	if _, err := Decode(m.Encode()); err == nil {
		t.Error("the last stamp is taken, want an error")
	}
}

// A message of a later version may have more fields at its end; they are ignored if the message
// declares that this version can read it.
func TestMessagesOfALaterVersion(t *testing.T) {
	m := someMeta()
	b := append(m.Encode(), "more"...)
	b[0] = Version + 1
	if got, err := Decode(b); err != nil || got.Name != m.Name || got.Root != m.Root {
		t.Errorf("got %+v, %v, want %+v", got, err, m)
	}
	least := 1 + 1 + len(m.Name) + 1 + len(m.Version)
	b[least] = Version + 1
	if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("form %d", Version)) {
		t.Errorf("that only later versions can read: got %v", err)
	}
}

func TestVotersSum(t *testing.T) {
	abc := VotersSum([]string{"a", "b", "c"})
	if got := VotersSum([]string{"c", "a", "b"}); got != abc {
		t.Errorf("in another order: got %x, want %x", got, abc)
	}
	if other, none := VotersSum([]string{"a", "b", "d"}), VotersSum(nil); other == abc || none != 0 {
		t.Errorf("of others %x, of none %x, want neither %x", other, none, abc)
	}
}
