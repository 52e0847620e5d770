package disk

import (
	"strings"
	"testing"
)

// TestProgressIsRemembered: the progress of other voters only grows while they keep their logs, and survives a
// restart.
func TestProgressIsRemembered(t *testing.T) {
	dir := t.TempDir()
	d, err := openTestDisk(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ learns, want Progress }{
		{Progress{"a", 2, 7}, Progress{"a", 2, 7}},
		{Progress{"a", 2, 5}, Progress{"a", 2, 7}},
		{Progress{"a", 1, 9}, Progress{"a", 2, 7}},
		{Progress{}, Progress{"a", 2, 7}}, // of an older version
		{Progress{"a", 3, 0}, Progress{"a", 3, 0}},
		{Progress{"b", 1, 1}, Progress{"b", 1, 1}}, // with a new log
	} {
		d.Remember("x", c.learns)
		if got := d.Remembered("x"); got != c.want {
			t.Errorf("after %+v: got %+v, want %+v", c.learns, got, c.want)
		}
	}
	d.Mark()
	d.WAL.Close()
	if d, err = openTestDisk(t, dir); err != nil {
		t.Fatal(err)
	}
	defer d.WAL.Close()
	if got, want := d.Remembered("x"), (Progress{"b", 1, 1}); got != want {
		t.Errorf("after a restart: got %+v, want %+v", got, want)
	}
}

func TestRejectedLogIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	d, err := openTestDisk(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Reject("it is an older copy"); err == nil || err.Error() != "it is an older copy" {
		t.Errorf("got error %v, want the reason", err)
	}
	d.WAL.Close()
	if _, err := openTestDisk(t, dir); err == nil || !strings.Contains(err.Error(), "older copy") {
		t.Errorf("opened again: got error %v, want the reason", err)
	}
}
