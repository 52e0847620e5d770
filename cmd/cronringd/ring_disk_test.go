package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// A voter whose disk is full starts its own jobs, which the other voters grant.
func TestRingWithAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: daemons on networks of their own take half a minute; make ring runs them")
	}
	t.Parallel()
	l := newDaemonRing(t, api.RingStrict, 3, 200)
	l.signal(0, syscall.SIGTERM)
	l.nodes[0].cmd.Wait()
	state := filepath.Join(l.dirs[0], "state")
	if err := os.RemoveAll(filepath.Join(state, "ring", "ledger")); err != nil { // too large for the small disk
		t.Fatal(err)
	}
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=24m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(small, syscall.MNT_DETACH) })
	if err := os.CopyFS(filepath.Join(small, "state"), os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(small, "state"), state); err != nil {
		t.Fatal(err)
	}
	l.nodes[0] = l.launch(0)
	l.wholeAgain("a voter got a small disk")
	l.pass(5 * time.Second) // the voters take it in again
	ballast, err := os.Create(filepath.Join(small, "ballast"))
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	ballast.Close()
	const says = "this host grants no occurrences, although it is a voter"
	l.until(0, says, func(r *api.Ring) bool {
		return slices.ContainsFunc(r.Problems, func(p api.Problem) bool { return p.What == says && strings.Contains(p.Why, "no space left") })
	})
	for from := time.Now(); ; {
		if s := l.next(); s.member() == 0 && s.due > from.Unix() {
			break
		}
		if time.Since(from) > patience {
			t.Fatal("it starts none of its jobs")
		}
	}
	l.check(l.settle())
}
