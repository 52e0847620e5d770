package workloop

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallsRunInOrderAndOnce(t *testing.T) {
	l := New()
	var got []int
	l.Call(func() {
		got = append(got, 1)
		l.Call(func() { got = append(got, 3) })
	})
	l.Call(func() { got = append(got, 2) })
	l.CallAll()
	if want := []int{1, 2}; !slices.Equal(got, want) {
		t.Errorf("the first round made the calls %v, want %v", got, want)
	}
	if !l.HasCalls() {
		t.Error("a call that was added during the first round is missing")
	}
	l.CallAll()
	if want := []int{1, 2, 3}; !slices.Equal(got, want) || l.HasCalls() {
		t.Errorf("after the second round the calls are %v, want %v and none left", got, want)
	}
}

func TestLoopWakesOnceForManyCalls(t *testing.T) {
	l := New()
	for range 3 {
		l.Call(func() {})
	}
	l.Wake()
	<-l.Woken()
	select {
	case <-l.Woken():
		t.Error("the loop was woken twice before it looked")
	default:
	}
}

func TestWorkingCountsPresentWorkOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New()
		if got := l.Working(); got != 0 {
			t.Errorf("a new loop has worked for %v", got)
		}
		l.Begin()
		time.Sleep(time.Second)
		if got := l.Working(); got != time.Second {
			t.Errorf("it has worked for %v, want 1s", got)
		}
		l.Rest()
		time.Sleep(time.Second)
		if got := l.Working(); got != 0 {
			t.Errorf("a waiting loop has worked for %v", got)
		}
	})
}
