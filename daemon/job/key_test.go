package job

import (
	"encoding/json"
	"testing"
	"time"
)

func TestKeyOfDiffersByOwnerUserAndName(t *testing.T) {
	seen := map[Key][2]string{}
	for _, id := range []ID{"", "a", "ab", "b", "alice/a", "alice/ab", "bob/a", "a\x00b"} {
		for _, user := range []string{"", "a", "b", "ba", "alice", "\x00b"} {
			key := KeyOf(id, user)
			if other, ok := seen[key]; ok {
				t.Errorf("job %q of user %q has the key of job %q of user %q", id, user, other[0], other[1])
			}
			if key != KeyOf(id, user) {
				t.Errorf("job %q of user %q has two keys", id, user)
			}
			seen[key] = [2]string{string(id), user}
		}
	}
}

// Members compare keys with each other: a change of the hash separates those of
// one version from those of another.
func TestKeyOfIsStable(t *testing.T) {
	key := KeyOf("alice/backup", "alice")
	if got, want := key.String(), "29472402952b43d94e68f268dafcd761"; got != want {
		t.Errorf("key %s, want %s", got, want)
	}
	if got, want := key.Uint64(), uint64(0x29472402952b43d9); got != want {
		t.Errorf("number %x, want %x", got, want)
	}
}

// Jobs use the ID of an invocation to detect work that is done: it is the same in all versions.
func TestInvocationIsStable(t *testing.T) {
	if got, want := Invocation("ann/backup", time.Unix(1795176000, 0), 1, 7), "3de07e7d2b6d0ce0eb87a9f7dce5adfe"; got != want {
		t.Errorf("invocation %s, want %s", got, want)
	}
}

func TestKeyCompare(t *testing.T) {
	a, b := Key{0, 1}, Key{1}
	if a.Compare(b) != -1 || b.Compare(a) != 1 || a.Compare(a) != 0 {
		t.Errorf("%v and %v compare as %d, %d and %d", a, b, a.Compare(b), b.Compare(a), a.Compare(a))
	}
}

func TestKeyText(t *testing.T) {
	key := KeyOf("a", "b")
	text, err := json.Marshal(key)
	var back Key
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || back != key {
		t.Errorf("%v came back from %s as %v, %v", key, text, back, err)
	}
	for _, bad := range []string{"", "12", key.String() + "00", "x" + key.String()[1:]} {
		if err := back.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is read as the key %v", bad, back)
		}
	}
}

func BenchmarkKeyOf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		KeyOf("cronring.root.c15ea7ed-2", "root")
	}
}
