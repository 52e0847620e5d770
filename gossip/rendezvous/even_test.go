package rendezvous

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// patience is how many steps an evening may take in tests.
const patience = 50_000_000

// itemsOf is keys of size 1, for which nodes weigh what they weigh.
func itemsOf(keys []uint64, nodes []Node) []Item {
	weights := make([]Weight, len(nodes))
	for i := range nodes {
		weights[i] = nodes[i].Weight
	}
	items := make([]Item, len(keys))
	for k, key := range keys {
		items[k] = Item{Key: key, Size: 1, Weights: weights}
	}
	return items
}

func evened(t *testing.T, items []Item, nodes []Node, start []Weight) ([]Weight, Loads) {
	t.Helper()
	factors, ok := Even(items, nodes, start, patience)
	if !ok {
		t.Fatalf("%d items and %d nodes are too many", len(items), len(nodes))
	}
	for i, f := range factors {
		if f < LeastFactor || f > MostFactor {
			t.Fatalf("factor %d is %d, out of its bounds", i, f)
		}
	}
	return factors, Measure(items, nodes, factors)
}

func TestEvenSharesOfManyGroups(t *testing.T) {
	keys := jobKeys(10_000)
	for seed := range uint64(12) {
		nodes := group(5, seed)
		_, loads := evened(t, itemsOf(keys, nodes), nodes, nil)
		for i, has := range loads.Has {
			if has < 1990 || has > 2010 {
				t.Errorf("group %d: node %d has %d of 10,000, want 2,000 within 0.5 %%", seed, i, has)
			}
		}
	}
}

func TestEvenSmallGroups(t *testing.T) {
	for _, c := range []struct{ keys, nodes, least, most int }{
		{20, 5, 4, 4}, {22, 5, 4, 5}, {100, 5, 20, 20}, {300, 30, 8, 12}, {999, 2, 499, 500}, {1000, 3, 333, 334}, {7, 1, 7, 7},
	} {
		even := 0
		for seed := range uint64(20) {
			nodes := group(c.nodes, seed)
			_, loads := evened(t, itemsOf(jobKeys(c.keys), nodes), nodes, nil)
			if slices.Min(loads.Has) >= c.least && slices.Max(loads.Has) <= c.most {
				even++
			}
		}
		if even < 18 {
			t.Errorf("%d keys on %d nodes: %d of 20 groups have %d to %d each, want nearly all", c.keys, c.nodes, even, c.least, c.most)
		}
	}
}

func TestEvenByWeight(t *testing.T) {
	nodes := group(5, 9)
	for i, w := range []float64{1, 2, 2, 0.5, 4.5} {
		nodes[i].Weight = WeightOf(w)
	}
	_, loads := evened(t, itemsOf(jobKeys(10_000), nodes), nodes, nil)
	if !loads.Within(3) || slices.Min(loads.Has) != loads.Has[3] || slices.Max(loads.Has) != loads.Has[4] {
		t.Errorf("got %v, want 1000, 2000, 2000, 500 and 4500, nearly", loads.Has)
	}
}

// TestEvenWithLabels: some keys are for some nodes alone, some prefer one, some are
// for nobody. All get what their weights ask for.
func TestEvenWithLabels(t *testing.T) {
	nodes := group(5, 4)
	items := itemsOf(jobKeys(5_000), nodes)
	for k := range items {
		switch k % 10 {
		case 0, 1:
			items[k].Weights = []Weight{One, One, 0, 0, 0}
		case 2:
			items[k].Weights = []Weight{One, One, One, One, 3 * One}
		case 3:
			items[k].Weights = []Weight{0, 0, 0, 0, One}
		case 4:
			items[k].Weights = make([]Weight, 5)
		}
	}
	before := Measure(items, nodes, nil)
	_, loads := evened(t, items, nodes, nil)
	if !loads.Within(2) || loads.Idle != 500 {
		t.Errorf("got %v and %d idle, want %v and 500; before it was %v", loads.Has, loads.Idle, loads.Wants, before.Has)
	}
	if before.Within(2) {
		t.Error("it was even before, so that this tells nothing")
	}
}

// TestEvenWhatCannotBe ends at the best it finds: one item is half of all.
func TestEvenWhatCannotBe(t *testing.T) {
	for seed := range uint64(20) {
		nodes := group(5, seed)
		items := itemsOf(jobKeys(1001), nodes)
		items[500].Size = 1000
		before := Measure(items, nodes, nil)
		_, loads := evened(t, items, nodes, nil)
		if loads.Off() > before.Off() {
			t.Errorf("group %d: it is off by %d more than before", seed, loads.Off()-before.Off())
		}
	}
	nodes := group(3, 1)
	items := itemsOf(jobKeys(30), nodes)
	for k := range items {
		items[k].Weights = []Weight{One, 0, 0}
	}
	if _, loads := evened(t, items, nodes, nil); !slices.Equal(loads.Has, []int{30, 0, 0}) {
		t.Errorf("one node alone fits: got %v", loads.Has)
	}
	if factors, loads := evened(t, nil, nodes, nil); loads.Off() != 0 || factors[0] != One {
		t.Errorf("of no items: got %v, factors %v", loads, factors)
	}
}

func TestEvenLeavesWhatIsTooMuch(t *testing.T) {
	nodes := group(5, 1)
	if _, ok := Even(itemsOf(jobKeys(100), nodes), nodes, nil, 499); ok {
		t.Error("500 looks of 499 were taken")
	}
}

func TestEvenDoesNotDependOnTheOrder(t *testing.T) {
	nodes := group(5, 2)
	items := itemsOf(jobKeys(2_000), nodes)
	want, _ := evened(t, items, nodes, nil)
	r := rand.New(rand.NewPCG(1, 1))
	r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	if got, _ := evened(t, items, nodes, nil); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v as of the same items in another order", got, want)
	}
}

// TestEvenIsFrozen has the same factors come out everywhere.
func TestEvenIsFrozen(t *testing.T) {
	nodes := group(5, 2)
	nodes[3].Weight = 2 * One
	got, _ := evened(t, itemsOf(jobKeys(2_000), nodes), nodes, nil)
	if want := []Weight{69660, 62979, 62595, 66136, 65693}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// moves counts the keys that go from one node to another, and those of them that
// neither come from nor go to one node.
func moves(items []Item, before, after []Node, old, new []Weight, but string) (all, needless int) {
	for k := range items {
		x := items[k]
		weighed := func(nodes []Node, factors []Weight) string {
			i := First(x.Key, nodes, func(i int) Weight { return nodes[i].Weight.Corrected(factors[i]) })
			return nodes[i].ID
		}
		from, to := weighed(before, old), weighed(after, new)
		if from != to {
			all++
			if from != but && to != but {
				needless++
			}
		}
	}
	return all, needless
}

// TestOnlyTheNeededShareMovesThoughEvened: who goes gives its own keys away, who
// comes takes its share, and nothing else moves as long as the factors stand. When
// they are found anew some move once more.
func TestOnlyTheNeededShareMovesThoughEvened(t *testing.T) {
	const n, groups = 10_000, 5
	keys := jobKeys(n)
	var left, leftAgain, came, cameAgain int
	for seed := range uint64(groups) {
		six := group(6, seed)
		five, last := six[:5], six[5].ID
		items5, items6 := itemsOf(keys, five), itemsOf(keys, six)
		f5, _ := evened(t, items5, five, nil)
		f6, _ := evened(t, items6, six, nil)

		all, needless := moves(items6, six, five, f6, f6[:5], last)
		if needless > 0 || all < n/6-10 || all > n/6+10 {
			t.Errorf("group %d: %d keys move as one of six leaves, %d of them not its own, want a sixth of %d and none", seed, all, needless, n)
		}
		left += all
		anew, _ := evened(t, items5, five, f6[:5])
		all, _ = moves(items5, five, five, f6[:5], anew, "")
		leftAgain += all

		joined := append(slices.Clone(f5), One)
		all, needless = moves(items5, five, six, f5, joined, last)
		if needless > 0 {
			t.Errorf("group %d: %d keys move between others as one comes", seed, needless)
		}
		came += all
		anew, _ = evened(t, items6, six, joined)
		all, _ = moves(items6, six, six, joined, anew, "")
		cameAgain += all
	}
	percent := func(sum int) float64 { return float64(sum) * 100 / n / groups }
	t.Logf("one of six leaves: %.1f %% of the keys move, and %.1f %% as the rest is evened; one comes to five: %.1f %%, and %.1f %%",
		percent(left), percent(leftAgain), percent(came), percent(cameAgain))
	if percent(leftAgain) > 2 || percent(cameAgain) > 2 {
		t.Errorf("evening anew moves %.1f %% and %.1f %% of the keys, want at most 2 %%", percent(leftAgain), percent(cameAgain))
	}
}

func TestCorrected(t *testing.T) {
	for _, c := range []struct{ w, factor, want Weight }{
		{One, One, One}, {0, MostFactor, 0}, {1, LeastFactor, 1}, {8 * One, One / 2, 4 * One}, {Most, MostFactor, Most},
	} {
		if got := c.w.Corrected(c.factor); got != c.want {
			t.Errorf("%d.Corrected(%d) = %d, want %d", c.w, c.factor, got, c.want)
		}
	}
}

// BenchmarkEven is what it takes one member of a ring to find the factors, once
// the ring has changed (goal: less than a second at 100,000 keys).
func BenchmarkEven(b *testing.B) {
	for _, c := range []struct{ keys, nodes int }{{10_000, 5}, {100_000, 5}, {10_000, 50}} {
		b.Run(fmt.Sprintf("keys=%d/nodes=%d", c.keys, c.nodes), func(b *testing.B) {
			b.ReportAllocs()
			keys := jobKeys(c.keys)
			worst := 0.0
			for seed := uint64(0); b.Loop(); seed++ {
				nodes := group(c.nodes, seed)
				items := itemsOf(keys, nodes)
				factors, ok := Even(items, nodes, nil, patience)
				if !ok {
					b.Fatal("too many")
				}
				mean := float64(c.keys) / float64(c.nodes)
				worst = max(worst, float64(slices.Max(Measure(items, nodes, factors).Has))/mean*100-100)
			}
			b.ReportMetric(worst, "%over")
		})
	}
}
