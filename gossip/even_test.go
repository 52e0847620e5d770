package gossip

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/gossip/rendezvous"
)

// evenings is what the host's engine heard of last.
func (h *host) engineHeard() (all []engine.Evening, wary bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		return nil, false
	}
	return h.last.Evenings, h.last.Wary
}

// goesBy tells whether the newest evening that the host's engine knows is one.
func (h *host) goesBy(factors map[string]rendezvous.Weight) bool {
	all, _ := h.engineHeard()
	return len(all) > 0 && maps.Equal(all[len(all)-1].Factors, factors)
}

func (w *world) allGoBy(limit time.Duration, hosts []*host, factors map[string]rendezvous.Weight) time.Duration {
	w.t.Helper()
	return w.await(limit, "all go by the same factors", func() bool {
		return !slices.ContainsFunc(hosts, func(h *host) bool { return !h.goesBy(factors) })
	})
}

func factorsOf(first rendezvous.Weight, hosts ...*host) map[string]rendezvous.Weight {
	factors := map[string]rendezvous.Weight{}
	for i, h := range hosts {
		factors[h.id] = first + rendezvous.Weight(i)
	}
	return factors
}

func TestEveningComesToAllBeforeItsTime(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(8)
		w.net.lose(0.1)
		factors, began := factorsOf(rendezvous.One, w.hosts...), time.Now()
		if err := w.hosts[3].Even(context.Background(), factors); err != nil {
			t.Fatal(err)
		}
		t.Logf("all know it after %s", w.allGoBy(EvenAhead/2, w.hosts, factors))
		for _, h := range w.hosts {
			all, _ := h.engineHeard()
			if len(all) != 2 || all[0].Factors != nil || !all[1].From.Equal(began.Add(EvenAhead)) {
				t.Errorf("%s: the engine heard %+v, want none and then that from %s on", h.id, all, began.Add(EvenAhead))
			}
		}
		time.Sleep(EvenAhead + overlaps + 2*time.Second)
		for _, h := range w.hosts {
			if all, _ := h.engineHeard(); len(all) != 1 {
				t.Errorf("%s: the engine heard of %d, want the one alone that all know", h.id, len(all))
			}
		}
	})
}

func TestEveningIsKnownToWhoComes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(4)
		factors := factorsOf(rendezvous.One, w.hosts...)
		if err := w.hosts[0].Even(context.Background(), factors); err != nil {
			t.Fatal(err)
		}
		w.allGoBy(EvenAhead, w.hosts, factors)
		w.hosts[0].stop() // it outlives its maker
		w.agree(time.Minute, w.hosts[1:])
		time.Sleep(EvenAhead + overlaps + 2*time.Second)
		newcomer := w.host()
		newcomer.seeds = []string{w.hosts[1].addr.String()}
		newcomer.start()
		w.await(time.Minute, "it takes part", func() bool {
			m, ok := newcomer.of(newcomer.id)
			return ok && !time.Now().Before(m.From)
		})
		if !newcomer.goesBy(factors) {
			t.Error("it takes part and goes by other factors than the others")
		}
		again := w.hosts[0].start()
		w.allGoBy(time.Minute, []*host{again}, factors)
		for _, h := range w.hosts[1:4] {
			if _, wary := h.engineHeard(); wary {
				t.Errorf("%s is wary of who has come and knows all", h.id)
			}
		}
	})
}

// TestEveningsOfBothSidesOfACut: after the heal the later one holds everywhere, and
// until all know it they ask.
func TestEveningsOfBothSidesOfACut(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(5)
		small, large := w.hosts[:2], w.hosts[2:]
		w.cut(small, large)
		w.agree(3*time.Minute, large)
		w.agree(3*time.Minute, small)
		one, other := factorsOf(rendezvous.One+10, small...), factorsOf(rendezvous.One+20, large...)
		if err := small[0].Even(context.Background(), one); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := large[0].Even(context.Background(), other); err != nil {
			t.Fatal(err)
		}
		time.Sleep(EvenAhead + overlaps + 2*time.Second) // so that neither side thinks of what was before
		w.heal()
		w.await(3*time.Minute, "a member of the small side sees the large one", func() bool {
			return slices.ContainsFunc(small, func(h *host) bool { return len(h.sees()) > 2 })
		})
		for _, h := range small {
			if _, wary := h.engineHeard(); len(h.sees()) > 2 && !wary && !h.goesBy(other) {
				t.Errorf("%s sees members that go by other factors, knows neither those nor that", h.id)
			}
		}
		w.agree(3*time.Minute, w.hosts)
		w.allGoBy(10*time.Second, w.hosts, other)
		time.Sleep(waryTime + 2*time.Second)
		for _, h := range w.hosts {
			if _, wary := h.engineHeard(); wary {
				t.Errorf("%s is wary still", h.id)
			}
		}
	})
}

func TestLaterEveningCountsWhoeverHeardItFirst(t *testing.T) {
	at := time.Unix(1700000000, 0).UTC()
	make := func(maker string, stamp, from int) *evening {
		e := &evening{stamp: at.Add(time.Duration(stamp)), maker: maker, from: at.Add(time.Duration(from) * time.Second), factors: map[string]rendezvous.Weight{"x": rendezvous.One}}
		e.sum = sumOf(e.append(nil))
		return e
	}
	a, b, c := make("a", 1, 0), make("b", 1, 0), make("a", 2, -60)
	for _, order := range [][]*evening{{a, b, c}, {c, b, a}, {b, c, a}} {
		r := idle(t)
		r.o.Now = func() time.Time { return at }
		for _, e := range order {
			r.adopt([]*evening{e})
		}
		if r.evening() != c || r.own.evening != c.sum {
			t.Errorf("%v counts most, want that with the latest stamp", r.evening())
		}
	}
	if a.compare(b) >= 0 {
		t.Error("of equal stamps the lower maker counts more, want the higher one")
	}
}

func TestEveningFarAheadIsRefused(t *testing.T) {
	at := time.Unix(1700000000, 0).UTC()
	r := idle(t)
	r.o.Now = func() time.Time { return at }
	for _, e := range []*evening{
		{maker: "a", stamp: at.Add(mostAhead + 1), from: at},
		{maker: "a", stamp: at, from: at.Add(mostAhead + 1)},
	} {
		r.adopt([]*evening{e})
		if len(r.evenings) != 1 {
			t.Errorf("one of stamp %s and from %s is taken at %s", e.stamp, e.from, at)
		}
	}
	if r.isWary() {
		t.Error("a member is wary of evenings that it has refused")
	}
	for i := range 100 {
		e := &evening{maker: "a", stamp: at.Add(time.Duration(i)), from: at.Add(time.Minute)}
		e.sum = sumOf(e.append(nil))
		r.adopt([]*evening{e})
	}
	if len(r.evenings) != maxEvenings || !r.evenings[0].stamp.IsZero() || r.evening().stamp != at.Add(99) {
		t.Errorf("of 100 that are to come %d are held, want %d, the one in force and the newest among them", len(r.evenings), maxEvenings)
	}
	if !r.isWary() {
		t.Error("a member that has no room for all evenings takes occurrences unasked, want it wary")
	}
	at = at.Add(overlaps)
	if r.isWary() {
		t.Error("a member is wary of evenings that all others have forgotten")
	}
}

// TestEveningThatIsRefusedIsAskedFor: members that cannot agree by what they go, as
// one refuses what the other has, ask for each occurrence for as long as that lasts.
func TestEveningThatIsRefusedIsAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.ring(2)
		e := &evening{stamp: time.Now().Add(time.Hour), maker: w.hosts[0].id, from: time.Now(), factors: factorsOf(rendezvous.One, w.hosts...)}
		e.sum = sumOf(e.append(nil))
		err := w.hosts[0].do(t.Context(), func() error { // its clock was ahead, and was set back
			w.hosts[0].evenings = append(w.hosts[0].evenings, e)
			w.hosts[0].own.evening = e.sum
			w.hosts[0].say()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wary := func(want bool) {
			t.Helper()
			for _, h := range w.hosts {
				if _, wary := h.engineHeard(); wary != want {
					t.Errorf("%s: wary is %v, want %v", h.id, wary, want)
				}
			}
		}
		time.Sleep(5 * time.Minute)
		wary(true)
		time.Sleep(time.Hour)
		w.allGoBy(time.Minute, w.hosts, e.factors)
		time.Sleep(2 * time.Second)
		wary(false)
	})
}

func TestEvenInNoRing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host().start()
		w.agree(time.Minute, w.hosts)
		if err := h.Leave(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := h.Even(context.Background(), nil); err == nil {
			t.Error("a host in no ring evens shares out, want an error")
		}
	})
}

func FuzzEvenings(f *testing.F) {
	at := time.Unix(1700000000, 5).UTC()
	f.Add(encodeEvenings([]*evening{{}, {stamp: at, from: at.Add(EvenAhead), maker: "id-1", factors: map[string]rendezvous.Weight{"id-1": rendezvous.One, "id-2": rendezvous.MostFactor}}}))
	f.Add(encodeEvenings(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := decodeEvenings(b)
		if err != nil {
			return
		}
		if got := encodeEvenings(all); !bytes.Equal(got, b) {
			t.Errorf("read %x, written again %x", b, got)
		}
		r := idle(t)
		r.adopt(all)
		if len(r.evenings) > maxEvenings {
			t.Errorf("%d are held, want at most %d", len(r.evenings), maxEvenings)
		}
	})
}
