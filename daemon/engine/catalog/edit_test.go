package catalog

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
)

// A series of edits has the same result as loading the final crontabs: names, ordinals and edges,
// for edits that remove, add or move entries.
func TestEditedCrontabsAreAsLoadedAtOnce(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		now, crontabs := &Catalog{}, []*crontab.File{}
		for edit := range 30 {
			crontabs = edited(t, rng, crontabs)
			next := New(crontabs, now, nil)
			fresh := New(crontabs, nil, nil)
			if !reflect.DeepEqual(next, fresh) {
				var texts strings.Builder
				for _, file := range crontabs {
					fmt.Fprintf(&texts, "%s:\n", file.Name)
					for i := range file.Entries {
						fmt.Fprintf(&texts, "  %v %s\n", file.Entries[i].Options().Items, file.Entries[i].Command())
					}
				}
				t.Fatalf("seed %d, edit %d: got %+v, want %+v\n%s", seed, edit, next, fresh, &texts)
			}
			now = next
		}
	}
}

// edited is crontabs after one of them was written, removed, or put elsewhere.
func edited(t *testing.T, rng *rand.Rand, crontabs []*crontab.File) []*crontab.File {
	crontabs = slices.Clone(crontabs)
	switch at := rng.IntN(8); {
	case at >= len(crontabs):
		return slices.Insert(crontabs, rng.IntN(len(crontabs)+1), drawn(t, rng))
	case rng.IntN(6) == 0:
		return slices.Delete(crontabs, at, at+1)
	case rng.IntN(10) == 0:
		other := rng.IntN(len(crontabs))
		crontabs[at], crontabs[other] = crontabs[other], crontabs[at]
	default:
		crontabs[at] = drawn(t, rng)
	}
	return crontabs
}

func drawn(t *testing.T, rng *rand.Rand) *crontab.File {
	name := func() string { return fmt.Sprintf("job%d", rng.IntN(30)) }
	var b strings.Builder
	for range rng.IntN(6) {
		if rng.IntN(4) == 0 {
			fmt.Fprintf(&b, "#@ name=%s\n", name())
		}
		if rng.IntN(6) == 0 {
			fmt.Fprintf(&b, "#@ after=%s\n", name())
		}
		option := []string{"pool=p slots=2", "on=" + name(), "expect=1h", "retry=1", "shards=3", "scope=ring", "scope=ring shards=2"}[rng.IntN(7)]
		if rng.IntN(3) == 0 {
			fmt.Fprintf(&b, "#@ %s\n", option)
		}
		fmt.Fprintf(&b, "%d 0 * * * command %d\n", rng.IntN(60), rng.IntN(200))
	}
	owner := []string{"root", "ann"}[rng.IntN(2)]
	file, _ := crontab.Parse(fmt.Sprintf("table%d", rng.IntN(4)), b.String(), crontab.Config{Owner: owner, Cache: crontab.NewCache()})
	return file
}
