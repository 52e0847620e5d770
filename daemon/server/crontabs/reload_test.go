package crontabs

import (
	"runtime"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
)

func TestReloadsAreShared(t *testing.T) {
	var s sharedReload
	begun, goOn := make(chan struct{}), make(chan struct{})
	n := 0
	first := make(chan error)
	go func() {
		first <- s.after(func() error { n++; close(begun); <-goOn; return nil })
	}()
	<-begun
	const waiting = 10
	rest := make(chan error)
	for range waiting {
		go func() { rest <- s.after(func() error { n++; return nil }) }()
	}
	for s.changes.Load() != waiting+1 { // all have asked while the first reload runs
		runtime.Gosched()
	}
	close(goOn)
	for range waiting {
		<-rest
	}
	if err := <-first; err != nil || n != 2 {
		t.Errorf("%d reloads for %d changes, %v; want 2", n, waiting+1, err)
	}
}

// TestDiagnosticsOfOthersAreNotCounted: a user learns of the errors in their own crontab only.
func TestDiagnosticsOfOthersAreNotCounted(t *testing.T) {
	h := newHost(t)
	for _, name := range []string{"ann", "ann", "bob"} {
		path, err := h.places.UserCrontab(name)
		if err != nil {
			t.Fatal(err)
		}
		h.diagnostics = append(h.diagnostics, crontab.Diagnostic{File: path, Severity: crontab.Error})
	}
	for _, tc := range []struct {
		peer call.Peer
		want int
	}{{call.Peer{UID: annUID, Name: "ann"}, 2}, {call.Peer{UID: bobUID, Name: "bob"}, 1}, {call.Peer{UID: noneUID}, 0}, {call.Peer{Name: "root", Admin: true}, 3}} {
		if errors, _ := h.editor().CountFor(tc.peer); errors != tc.want {
			t.Errorf("%s: got %d errors, want %d", tc.peer, errors, tc.want)
		}
	}
}

// A change of a crontab reports that the daemon does not read this crontab, and nothing about others, such
// as that of a removed user: programs that call crontab(1) as root take output for a failure.
func TestInstallReportsOnlyItsOwnRefusal(t *testing.T) {
	h := newHost(t)
	own, err := h.places.UserCrontab("ann")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{own: "the daemon does not read it: others may write it", own + "-removed": ""} {
		h.refused = []spool.Refusal{{Path: path, Why: "others may write it"}}
		for _, uid := range []uint32{0, annUID} {
			done, e := h.install(uid, "ann", "# "+path+"\n")
			if e != nil || done.Notice != want {
				t.Errorf("uid %d, %s is refused: got %q, %v, want %q", uid, path, done.Notice, e, want)
			}
		}
	}
}
