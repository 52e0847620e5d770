package rendezvous

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestVectors(t *testing.T) {
	f, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		seen[verb]++
		switch verb {
		case "key":
			var text string
			var want uint64
			scan(t, rest, "%q %x", &text, &want)
			if got := Key(text); got != want {
				t.Errorf("Key(%q) = %016x, want %016x", text, got, want)
			}
		case "draw":
			var key, want uint64
			var id string
			scan(t, rest, "%x %q %x", &key, &id, &want)
			if n := NewNode(id, One); n.draw(key) != want {
				t.Errorf("draw of %q for %016x = %016x, want %016x", id, key, n.draw(key), want)
			}
		case "cost":
			var h, want uint64
			scan(t, rest, "%x %d", &h, &want)
			if got := cost(h); got != want {
				t.Errorf("cost(%016x) = %d, want %d", h, got, want)
			}
		case "rank":
			checkRankVector(t, rest)
		default:
			t.Errorf("vector %q is of no kind", line)
		}
	}
	for _, verb := range []string{"key", "draw", "cost", "rank"} {
		if seen[verb] < 5 {
			t.Errorf("%d vectors of kind %s were read, want at least 5", seen[verb], verb)
		}
	}
}

func scan(t *testing.T, text, format string, to ...any) {
	t.Helper()
	if _, err := fmt.Sscanf(text, format, to...); err != nil {
		t.Fatalf("read vector %q: %v", text, err)
	}
}

func checkRankVector(t *testing.T, text string) {
	t.Helper()
	given, want, _ := strings.Cut(text, " : ")
	words := strings.Fields(given)
	key, err := strconv.Unquote(words[0])
	if err != nil {
		t.Fatalf("read vector %q: %v", text, err)
	}
	var nodes []Node
	for _, word := range words[1:] {
		id, weight, _ := strings.Cut(word, "=")
		w, err := strconv.ParseUint(weight, 10, 64)
		if err != nil {
			t.Fatalf("read vector %q: %v", text, err)
		}
		nodes = append(nodes, NewNode(id, Weight(w)))
	}
	var got []string
	for _, i := range Rank(Key(key), nodes, nil, nil) {
		got = append(got, nodes[i].ID)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("Rank(%s) = %v, want %s", given, got, want)
	}
}

// group is n members with IDs that differ by seed, as those of real hosts do.
func group(n int, seed uint64) []Node {
	r := rand.New(rand.NewPCG(seed, 1))
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = NewNode(fmt.Sprintf("%016x", r.Uint64()), One)
	}
	return nodes
}

// jobKeys is the keys of n jobs with names as people and programs give them:
// numbered, dated, dotted, derived.
func jobKeys(n int) []uint64 {
	keys := make([]uint64, 0, n)
	for i := 0; len(keys) < n; i++ {
		keys = append(keys,
			Key(fmt.Sprintf("probe-%d", i)),
			Key(fmt.Sprintf("backup.shop%03d.daily", i)),
			Key(fmt.Sprintf("report#%d", i)),
			Key(fmt.Sprintf("crontab.root.%08x", uint32(i)*2654435761)))
	}
	return keys[:n]
}

func loads(keys []uint64, nodes []Node) []int {
	counts := make([]int, len(nodes))
	for _, key := range keys {
		counts[First(key, nodes, nil)]++
	}
	return counts
}

// TestSpreadIsBinomial holds the hash to what lots would give, and to no more:
// with 10,000 keys and 5 nodes the spread is 40 of 2,000, which is 2 %, and the
// fullest node has 2.3 % more than the mean on average, as five lots do.
func TestSpreadIsBinomial(t *testing.T) {
	const n, m, seeds = 10_000, 5, 100
	keys := jobKeys(n)
	var squares, fullest, worst float64
	for seed := range uint64(seeds) {
		most := 0.0
		for _, load := range loads(keys, group(m, seed)) {
			off := float64(load)/(n/m) - 1
			squares += off * off
			most = max(most, off)
		}
		fullest += most / seeds
		worst = max(worst, most)
	}
	spread := math.Sqrt(squares / (m * seeds))
	want := math.Sqrt((m - 1.0) / n)
	t.Logf("of %d groups: spread %.2f %% of the mean, lots give %.2f %%; the fullest node has %.2f %% more on average, %.2f %% at worst",
		seeds, spread*100, want*100, fullest*100, worst*100)
	if spread > 1.1*want || spread < 0.9*want {
		t.Errorf("the spread is %.2f %%, want %.2f %% within a tenth of it, as lots have", spread*100, want*100)
	}
	if fullest > 0.026 || worst > 0.09 {
		t.Errorf("the fullest node has %.2f %% more than the mean on average and %.2f %% at worst, want at most 2.6 %% and 9 %%", fullest*100, worst*100)
	}
}

func TestWeightsAreShares(t *testing.T) {
	nodes := group(5, 7)
	total := 0.0
	for i, w := range []float64{1, 2, 3, 0.5, 1.25} {
		nodes[i].Weight = WeightOf(w)
		total += w
	}
	const n = 100_000
	for i, load := range loads(jobKeys(n), nodes) {
		share := float64(nodes[i].Weight) / float64(One) / total
		want, spread := share*n, math.Sqrt(n*share*(1-share))
		if off := math.Abs(float64(load) - want); off > 4*spread {
			t.Errorf("node %d of weight %v has %d keys of %d, want %.0f within %.0f", i, nodes[i].Weight, load, n, want, 4*spread)
		}
	}
}

// TestOnlyTheNeededShareMoves takes each node out in turn. All others keep every
// key; its own keys go to the second in line. Put in again it is a join.
func TestOnlyTheNeededShareMoves(t *testing.T) {
	for _, weights := range [][]float64{{1, 1, 1, 1, 1}, {1, 2, 1, 0.5, 3}} {
		nodes := group(5, 3)
		for i, w := range weights {
			nodes[i].Weight = WeightOf(w)
		}
		for gone := range nodes {
			rest := slices.Delete(slices.Clone(nodes), gone, gone+1)
			moved := 0
			for _, key := range jobKeys(10_000) {
				order := Rank(key, nodes, nil, nil)
				want := order[0]
				if want == gone {
					moved++
					want = order[1]
				}
				if got := rest[First(key, rest, nil)].ID; got != nodes[want].ID {
					t.Fatalf("weights %v: without %s key %016x goes to %s, want %s", weights, nodes[gone].ID, key, got, nodes[want].ID)
				}
			}
			if moved == 0 {
				t.Errorf("weights %v: node %d owned nothing", weights, gone)
			}
		}
	}
}

// TestHeavierTakesOnlyFromOthers: a changed weight moves keys to the node that
// grew, and between no others.
func TestHeavierTakesOnlyFromOthers(t *testing.T) {
	before := group(5, 11)
	after := slices.Clone(before)
	after[2].Weight = WeightOf(1.5)
	grown := 0
	for _, key := range jobKeys(10_000) {
		from, to := First(key, before, nil), First(key, after, nil)
		if from != to && to != 2 {
			t.Fatalf("key %016x went from node %d to %d as node 2 grew", key, from, to)
		}
		if from != to {
			grown++
		}
	}
	if grown == 0 {
		t.Error("node 2 grew and got no key")
	}
}

// TestFirstIsFirstOfRank covers the bound that spares logarithms, which Rank
// does not use, in groups large enough for it to act.
func TestFirstIsFirstOfRank(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	weights := []Weight{0, 1, One / 2, One, One + 1, 2 * One, 100 * One, Most}
	for range 3000 {
		nodes := group(1+r.IntN(40), r.Uint64())
		weigh := func(i int) Weight { return weights[(i*7+len(nodes))%len(weights)] }
		key := r.Uint64()
		order := Rank(key, nodes, weigh, nil)
		want := -1
		if len(order) > 0 {
			want = order[0]
		}
		if got := First(key, nodes, weigh); got != want {
			t.Fatalf("First(%016x) of %d nodes = %d, want %d, the first of %v", key, len(nodes), got, want, order)
		}
	}
}

func TestOrderDoesNotDependOnTheList(t *testing.T) {
	nodes := group(9, 5)
	shuffled := slices.Clone(nodes)
	r := rand.New(rand.NewPCG(3, 4))
	for _, key := range jobKeys(500) {
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		want, got := Rank(key, nodes, nil, nil), Rank(key, shuffled, nil, nil)
		for i := range want {
			if nodes[want[i]].ID != shuffled[got[i]].ID {
				t.Fatalf("place %d of key %016x is %s, and %s in another list", i, key, nodes[want[i]].ID, shuffled[got[i]].ID)
			}
		}
	}
}

// TestTiesGoByID makes nodes equal but for their IDs, which chance does not.
func TestTiesGoByID(t *testing.T) {
	nodes := []Node{NewNode("c", One), NewNode("a", One), NewNode("b", One)}
	for i := range nodes {
		nodes[i].seed = 42
	}
	if got, want := Rank(1, nodes, nil, nil), []int{1, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("Rank of equal nodes = %v, want %v", got, want)
	}
	if got := First(1, nodes, nil); got != 1 {
		t.Errorf("First of equal nodes = %d, want 1", got)
	}
}

func TestNobody(t *testing.T) {
	if got := First(1, nil, nil); got != -1 {
		t.Errorf("First of no nodes = %d, want -1", got)
	}
	none := func(int) Weight { return 0 }
	if got := First(1, group(3, 1), none); got != -1 {
		t.Errorf("First of nodes without weight = %d, want -1", got)
	}
	if got := Rank(1, group(3, 1), none, nil); len(got) != 0 {
		t.Errorf("Rank of nodes without weight = %v, want none", got)
	}
}

func TestCostIsALogarithmAndMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		h := max(r.Uint64()>>r.IntN(64), 2)
		want := 64 - math.Log2(float64(h))
		if got := float64(cost(h)) / (1 << 48); math.Abs(got-want) > 1e-12*64 {
			t.Fatalf("cost(%016x) = %.15f, want %.15f", h, got, want)
		}
		if cost(h) > cost(h-1) {
			t.Fatalf("cost(%016x) = %d is more than %d, the cost of one less", h, cost(h), cost(h-1))
		}
	}
	if cost(math.MaxUint64) == 0 {
		t.Error("the best draw costs nothing")
	}
}

func TestWeightOf(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want Weight
	}{
		{1, One}, {0.5, One / 2}, {3, 3 * One}, {1e-9, 0}, {0, 0}, {-1, 0}, {math.NaN(), 0},
		{math.Inf(1), Most}, {math.Inf(-1), 0}, {1e30, Most}, {1.0 / 65536, 1},
	} {
		if got := WeightOf(c.f); got != c.want {
			t.Errorf("WeightOf(%v) = %d, want %d", c.f, got, c.want)
		}
	}
	for _, c := range []struct{ w, factor, want Weight }{
		{One, 3 * One, 3 * One}, {One / 2, One / 2, One / 4}, {Most, Most, Most}, {Most, One, Most}, {0, One, 0}, {1 << 63, 1 << 63, Most},
	} {
		if got := c.w.Times(c.factor); got != c.want {
			t.Errorf("%d.Times(%d) = %d, want %d", c.w, c.factor, got, c.want)
		}
	}
}

func TestFirstAllocatesNothing(t *testing.T) {
	nodes := group(5, 1)
	prefer := 3
	got := testing.AllocsPerRun(100, func() {
		First(77, nodes, func(i int) Weight {
			if i == prefer {
				return nodes[i].Weight.Times(3 * One)
			}
			return nodes[i].Weight
		})
	})
	if got != 0 {
		t.Errorf("First allocates %v times, want 0", got)
	}
}

func BenchmarkFirst(b *testing.B) {
	for _, n := range []int{5, 300} {
		nodes := group(n, 1)
		uneven := func(i int) Weight { return One * Weight(1+i%3) }
		b.Run(fmt.Sprintf("%d-even", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				First(uint64(i)*0x9e3779b97f4a7c15, nodes, nil)
			}
		})
		b.Run(fmt.Sprintf("%d-weighted", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				First(uint64(i)*0x9e3779b97f4a7c15, nodes, uneven)
			}
		})
	}
}

func BenchmarkRank(b *testing.B) {
	nodes := group(5, 1)
	order := make([]int, 0, len(nodes))
	b.ReportAllocs()
	for i := range b.N {
		order = Rank(uint64(i)*0x9e3779b97f4a7c15, nodes, nil, order[:0])
	}
}
