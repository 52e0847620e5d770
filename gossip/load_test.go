package gossip

import (
	"strings"
	"testing"
	"time"
)

// knowLoad tells whether the engines of all have heard that a member has so many
// runs.
func (w *world) knowLoad(of *host, runs int) bool {
	for _, h := range w.hosts {
		if m, ok := h.of(of.id); !ok || m.Load != runs {
			return false
		}
	}
	return true
}

func TestLoadIsToldAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(5)
		busy := w.hosts[2]
		for _, runs := range []int{7, 3, 0} {
			busy.SetLoad(runs)
			w.await(3*foldTime, "all know its load", func() bool { return w.knowLoad(busy, runs) })
		}
		if got := w.hosts[0].view(busy.id).Load; got != 0 {
			t.Errorf("it is shown with %d runs, want 0", got)
		}
		time.Sleep(foldTime)
		before := w.hosts[0].changes()
		for range 5 {
			busy.SetLoad(0)
			time.Sleep(time.Second)
		}
		if n := w.hosts[0].changes() - before; n > 0 {
			t.Errorf("another member's engine heard %d times of a ring in which nothing changed", n)
		}
	})
}

// TestLoadComesWithProbes is what there is where the packet was lost.
func TestLoadComesWithProbes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(3)
		busy := w.hosts[1]
		busy.load.Store(9)
		others := append([]*host{w.hosts[0]}, w.hosts[2])
		w.await(10*time.Second, "the others know its load", func() bool {
			for _, h := range others {
				if m, _ := h.of(busy.id); m.Load != 9 {
					return false
				}
			}
			return true
		})
	})
}

// TestLoadOfWhoCameAnew: what a daemon had before it was started again is not its
// load.
func TestLoadOfWhoCameAnew(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(3)
		busy := w.hosts[1]
		busy.SetLoad(5)
		w.await(time.Second, "all know its load", func() bool { return w.knowLoad(busy, 5) })
		busy.stop()
		busy.start()
		w.agree(time.Minute, w.hosts)
		w.await(time.Second, "all know that it has none", func() bool { return w.knowLoad(busy, 0) })
	})
}

func TestLoadThereAndBack(t *testing.T) {
	id, runs, err := decodeLoad(encodeLoad("id-7", 12))
	if id != "id-7" || runs != 12 || err != nil {
		t.Errorf("got %q %d %v, want id-7 and 12", id, runs, err)
	}
	whole := string(encodeLoad("id-7", 12))
	for _, b := range []string{
		"", whole[:1], whole[:len(whole)-1], whole + "x", "\x21" + whole[1:],
		string(encodeLoad("", 1)), string(encodeLoad("no name", 1)), string(encodeLoad(strings.Repeat("x", maxID+1), 1)),
	} {
		if id, runs, err := decodeLoad([]byte(b)); err == nil {
			t.Errorf("%q is read as %d runs of %q, want an error", b, runs, id)
		}
	}
}
