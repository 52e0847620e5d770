package budget

import (
	"fmt"
	"testing"
)

// fill takes one after the other until the share is used up.
func fill(b *Budget, user string) (n int64) {
	for b.Take(user, 1) {
		n++
	}
	return n
}

func TestTakeLeavesOthersTheirShare(t *testing.T) {
	b := New(1200, 100)
	if n := fill(b, "alice"); n != 600 {
		t.Errorf("alice alone took %d of 1200, want half", n)
	}
	if n := fill(b, "bob"); n != 300 {
		t.Errorf("bob took %d beside alice, want half of what was left", n)
	}
	if n := fill(b, Root); n != 100 {
		t.Errorf("root took %d, want the 100 of root", n)
	}
	for i := range 6 {
		if n := fill(b, fmt.Sprint("user", i)); n == 0 {
			t.Errorf("nothing was left for the next user, after %d others", i)
		}
	}
	b.Return("alice", 600)
	if b.Held("alice") != 0 || !b.Take("bob", 1) {
		t.Errorf("what alice gave back is not there: she holds %d", b.Held("alice"))
	}
}

func TestTakeConvergesToEqualShares(t *testing.T) {
	b := New(1200, 0)
	fill(b, "alice")
	for range 1000 { // alice releases and takes again, like runs that end and begin
		b.Return("alice", 10)
		fill(b, "bob")
		b.Take("alice", 10)
	}
	if a, bob := b.Held("alice"), b.Held("bob"); a < 390 || a > 410 || bob < 390 || bob > 410 {
		t.Errorf("alice holds %d and bob %d of 1200, want a third each", a, bob)
	}
}

func TestLeaseEndsWithItsLastHolder(t *testing.T) {
	b := New(100, 0)
	l := b.Lease("alice")
	if !l.Grow(40) || l.Grow(40) {
		t.Error("want 40 of 100, and not 80")
	}
	l.Add(40)
	l.Share()
	if l.Release(); b.Held("alice") != 80 {
		t.Errorf("alice holds %d while a second holder is left, want 80", b.Held("alice"))
	}
	if l.Release(); b.Held("alice") != 0 || fill(b, "bob") != 50 {
		t.Error("the last holder did not give everything back")
	}
}

func TestNilLeaseTakesEverything(t *testing.T) {
	var l *Lease
	if !l.Grow(1 << 60) {
		t.Error("a nil lease refused")
	}
	l.Add(1)
	l.Share().Release()
}
