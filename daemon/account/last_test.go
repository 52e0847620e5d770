package account

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
)

func TestLastAsksNobody(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		filetest.Write(t, filepath.Join(root, name), text, 0o644)
	}
	put("etc/passwd", "root:x:0:0::/root:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n")
	put("etc/group", "root:x:0:\n")
	put("etc/nsswitch.conf", "passwd: files sss\ngroup: files sss\n")
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		d := New(Options{Root: root, Exec: func(_ context.Context, argv ...string) ([]byte, int, error) {
			asked++
			if argv[len(argv)-2] == "passwd" {
				return []byte("net:x:5000:5000::/home/net:/bin/sh\n"), 0, nil
			}
			return []byte("5000\n"), 0, nil
		}})
		if a, ok := d.Last("net"); ok {
			t.Errorf("nobody was asked, and net is %+v", a)
		}
		if a, ok := d.Last("bob"); !ok || a.UID != 1001 {
			t.Errorf("bob, whose groups were never asked for, is %+v, %t", a, ok)
		}
		if _, err := d.Find(t.Context(), "net"); err != nil {
			t.Fatal(err)
		}
		before := asked
		time.Sleep(2 * time.Hour) // of the bubble
		if _, ok := d.Known("net"); ok {
			t.Error("an answer of two hours ago is taken for a good one")
		}
		if a, ok := d.Last("net"); !ok || a.UID != 5000 || a.Home != "/home/net" {
			t.Errorf("two hours after the answer net is %+v, %t", a, ok)
		}
		if a, ok := d.Last("root"); !ok || a.UID != 0 {
			t.Errorf("root is %+v, %t", a, ok)
		}
		if asked != before {
			t.Errorf("the service was asked %d times more", asked-before)
		}
	})
}
