package crontabs

import (
	"runtime"
	"testing"
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
